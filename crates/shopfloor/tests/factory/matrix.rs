//! kill -9 on real processes at each point of a job's life, whoever is killed: what lands is the tree that
//! an undisturbed run lands, nothing is said twice, nothing is left.
//!
//! Each job is held at a point of its own ([`POINTS`]): by its agent (`demo: hold`), by its checks (a gate
//! in the step) or by the question that it asks. When all are there, the victim is killed; then they are
//! let go. The last point, a change that has landed and whose job has not ended, comes after.

use crate::client::{FAST, wait_for};
use crate::floor::{DEMO, Floor};
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::{End, JobState, SessionState};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The tree of the primary branch after an undisturbed run.
const LANDED: &str = "13301b7faf6e76e0974697aaf0b73f0441d93d4a";

/// Where a job is when somebody is killed, and what its agent is told.
const POINTS: [(Point, &str); 10] = [
    (Point::Agent("start"), "demo: hold start\ndemo: write start.txt <<begun"),
    // What it started and left behind is ended with it.
    (Point::Agent("read"), "demo: grandchildren\ndemo: hold read\ndemo: write read.txt <<thought about"),
    (Point::Agent("edited"), "demo: hold edited\ndemo: write edited.txt <<edited"),
    (Point::Agent("committed"), "demo: hold committed\ndemo: write committed.txt <<committed"),
    (Point::Checks("gate-ci"), "demo: write gate-ci.txt <<checked"),
    (Point::Reviewer("review"), "demo: hold review\ndemo: write review.txt <<reviewed"),
    (Point::Agent("fixed"), "demo: hold fixed\ndemo: fail-review-once fixed.txt <<as it should be"),
    (Point::Question, "demo: ask <<A or B?\ndemo: write answer.txt <<{answer}"),
    // Held once before, until the primary branch has moved: else its candidate needs no checks.
    (Point::Checks("gate-merge"), "demo: hold committed\ndemo: write gate-merge.txt <<queued"),
    // Whoever does not obey takes a while to be ended: so long its job is merged and not closed.
    (Point::Finishing, "demo: hold committed\ndemo: ignore-sigterm\ndemo: write last.txt <<landed"),
];
const MOVES: &str = "demo: write moved.txt <<first";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Point {
    /// The developer's `demo: hold`.
    Agent(&'static str),
    Reviewer(&'static str),
    /// The file in the tree that holds the checks up.
    Checks(&'static str),
    Question,
    Finishing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Victim {
    Nobody,
    Agents,
    Server,
    Daemon,
    Everything,
}

/// Holds a tree with a gate in it up, once. That of the queue is for a candidate, not for a branch.
const GATES: &str = r#"
for file in gate-*.txt; do
    gate="$1/${file%.txt}"
    [ -e "$file" ] || continue
    [ "$file" = gate-merge.txt ] && [ ! -e moved.txt ] && continue
    mkdir "$gate" 2>/dev/null || continue
    until [ -e "$gate/go" ]; do sleep 0.1; done
done
"#;

struct Matrix {
    floor: Floor,
    issues: Vec<(Point, IssueNumber)>,
    moves: IssueNumber,
}

impl Matrix {
    fn new(floor: Floor) -> Matrix {
        std::fs::create_dir(floor.path("gates")).expect("a folder");
        std::fs::write(floor.path("gates.sh"), GATES).expect("written");
        let toml = floor.path("repo/shopfloor.toml");
        let checks = format!(
            "./check.sh && sh {} {}",
            floor.path("gates.sh").display(),
            floor.path("gates").display()
        );
        let config = std::fs::read_to_string(&toml).expect("read");
        let config = config.replace("max_jobs = 2", "max_jobs = 20").replace("./check.sh", &checks);
        std::fs::write(&toml, format!("{config}[merge]\nslots = 3\n")).expect("written");
        floor.accept();
        let moves = floor.issue("First", MOVES);
        let issues = POINTS.map(|(point, body)| (point, floor.issue("One of many", body)));
        Matrix { floor, issues: issues.into(), moves }
    }

    fn git_folder(&self, name: &str, issue: IssueNumber) -> PathBuf {
        self.floor.home().join(format!("projects/sample/repos/{name}-{issue}.git"))
    }

    fn is_held(&self, point: Point, issue: IssueNumber) -> bool {
        let held = |name, point| self.git_folder(name, issue).join(format!("demo-hold-{point}")).exists();
        match point {
            Point::Agent(at) => held("issue", at),
            Point::Reviewer(at) => held("review", at),
            Point::Checks(gate) => self.floor.path("gates").join(gate).exists(),
            Point::Question => matches!(self.floor.job(issue).state, JobState::NeedsHuman { .. }),
            Point::Finishing => held("issue", "committed"),
        }
    }

    /// Whoever is not there any more needs no letting go: the successor does not stop there.
    fn let_go(&self, point: Point, issue: IssueNumber) {
        let go = |name, point| {
            let _ = std::fs::write(self.git_folder(name, issue).join(format!("demo-go-{point}")), "");
        };
        match point {
            Point::Agent(at) => go("issue", at),
            Point::Reviewer(at) => go("review", at),
            Point::Checks(gate) => {
                std::fs::write(self.floor.path("gates").join(gate).join("go"), "").expect("written");
            }
            Point::Question => drop(self.floor.ok(&["answer", &issue.to_string(), "B"])),
            Point::Finishing => go("issue", "committed"),
        }
    }

    /// Waits until the job of each is so. One reader for all looks: only what changed is read again.
    fn until(&self, what: &str, issues: &[IssueNumber], is: impl Fn(&JobState) -> bool) {
        let mut engine = self.floor.engine();
        wait_for(what, || {
            engine.refresh().expect("the floor");
            let floor = engine.floor();
            // Whoever ended otherwise is named at once: nothing that is waited for comes after that.
            if let Some(job) = floor.jobs.iter().find(|j| j.end().is_some_and(|end| end != End::Merged)) {
                panic!("{what}: {} ended {}: {:?}", job.assignment, job.state.name(), job.reason);
            }
            let job = |issue: &IssueNumber| floor.job_of(&self.floor.project, *issue);
            issues.iter().all(|issue| job(issue).is_some_and(|job| is(&job.state))).then_some(())
        });
    }

    /// Kills, and sees to it that a daemon runs afterwards.
    fn kill(&self, victim: Victim) {
        match victim {
            Victim::Nobody => return,
            Victim::Agents => {
                let engine = self.floor.engine();
                let live = engine.floor().sessions.iter().filter(|s| s.state == SessionState::Live);
                for pid in live.filter_map(|s| s.process).map(|p| p.pid) {
                    kill_nine(pid);
                }
            }
            Victim::Server => {
                let pid = self.floor.tmux(&["display-message", "-p", "#{pid}"]);
                kill_nine(pid.trim().parse().expect("the server's pid"));
            }
            Victim::Daemon => self.floor.kill_daemon(),
            Victim::Everything => wait_for("everything is dead", || {
                let there = self.everything();
                there.iter().for_each(|pid| kill_nine(*pid));
                there.is_empty().then_some(())
            }),
        }
        if matches!(victim, Victim::Daemon | Victim::Everything) {
            self.floor.up();
        }
    }

    /// All that runs on this floor: daemon, server, agents, checks and what they started.
    fn everything(&self) -> BTreeSet<u32> {
        let mark = self.floor.folder.path().as_os_str().as_encoded_bytes();
        let all = std::fs::read_dir("/proc").expect("/proc").flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let ours = |pid: &u32| {
            let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.windows(mark.len()).any(|part| part == mark)
        };
        pids.filter(ours).collect()
    }

    /// The daemon is killed as it is about to start the first sessions.
    fn kill_half_spawned(&self) {
        let mut daemon =
            self.floor.command(&["up", "--json"]).stdout(Stdio::piped()).spawn().expect("it runs");
        let lines = BufReader::new(daemon.stdout.take().expect("piped")).lines();
        let registered = lines.map_while(Result::ok).find(|line| line.contains("AGENT_REGISTERED"));
        daemon.kill().expect("killed");
        daemon.wait().expect("waited for");
        registered.expect("an agent is registered");
    }

    fn play(&self, victim: Victim) {
        if matches!(victim, Victim::Daemon | Victim::Everything) {
            self.kill_half_spawned();
        }
        self.floor.up();
        self.until("the primary branch moves", &[self.moves], is_ended);
        let queued = self.issue(Point::Checks("gate-merge"));
        wait_for("it has committed", || self.is_held(Point::Agent("committed"), queued).then_some(()));
        self.let_go(Point::Agent("committed"), queued);
        let asks = self.issue(Point::Question);
        self.until("it asks", &[asks], |state| matches!(state, JobState::NeedsHuman { .. }));
        wait_for("each is at its point", || {
            self.issues.iter().all(|(point, issue)| self.is_held(*point, *issue)).then_some(())
        });
        self.kill(victim);
        let (last, rest): (Vec<_>, Vec<_>) =
            self.issues.iter().copied().partition(|(point, _)| *point == Point::Finishing);
        rest.iter().for_each(|(point, issue)| self.let_go(*point, *issue));
        let rest: Vec<IssueNumber> = rest.into_iter().map(|(_, issue)| issue).collect();
        self.until("they land", &rest, is_ended);
        let (point, last) = last[0];
        self.let_go(point, last);
        self.until("it lands", &[last], |state| {
            is_ended(state) || matches!(state, JobState::Finishing { .. })
        });
        self.kill(victim);
        self.until("it ends", &[last], is_ended);
        self.floor.ok(&["down"]);
        self.check(victim);
    }

    fn issue(&self, point: Point) -> IssueNumber {
        self.issues.iter().find(|(p, _)| *p == point).expect("it is there").1
    }

    fn check(&self, victim: Victim) {
        let floor = &self.floor;
        assert_eq!(
            floor.hub(&["rev-parse", "main^{tree}"]),
            LANDED,
            "{}",
            floor.hub(&["ls-tree", "-r", "main"])
        );
        floor.assert_history_green();
        let prs = floor.forge().prs(&floor.project, None).expect("pull requests");
        for issue in self.issues.iter().map(|(_, issue)| *issue).chain([self.moves]) {
            floor.assert_cleaned_up(issue);
            let job = floor.job(issue);
            assert_eq!(job.end(), Some(End::Merged));
            let mine = prs.iter().filter(|pr| pr.branch == job.branch).count();
            assert_eq!(mine, 1, "pull requests of #{issue}");
            let said = floor.forge().issue(&floor.project, issue).expect("the issue").comments;
            // A question and its answer.
            let asked = usize::from(issue == self.issue(Point::Question));
            assert_eq!(said.len(), 2 * asked, "{said:?}");
            if matches!(victim, Victim::Nobody | Victim::Daemon) {
                let sessions =
                    floor.engine().floor().sessions.iter().filter(|s| s.predecessor.is_some()).count();
                assert_eq!(
                    (job.rounds.respawns, sessions),
                    (0, 0),
                    "live sessions are adopted, not replaced"
                );
            }
        }
        assert_eq!(self.everything(), BTreeSet::new(), "nothing is left");
    }
}

fn is_ended(state: &JobState) -> bool {
    matches!(state, JobState::Ended { .. })
}

fn kill_nine(pid: u32) {
    // It may be gone already.
    let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
}

/// Agents that take their messages from an inbox.
fn with_inboxes(victim: Victim) {
    Matrix::new(Floor::new(DEMO)).play(victim);
}

/// Agents that are clients in a terminal, and typed to.
fn with_clients(victim: Victim) {
    Matrix::new(Floor::with_clients(FAST)).play(victim);
}

#[test]
fn nobody_is_killed() {
    with_inboxes(Victim::Nobody);
}

#[test]
fn the_agents_are_killed_at_each_point() {
    with_inboxes(Victim::Agents);
}

#[test]
fn the_clients_are_killed_at_each_point() {
    with_clients(Victim::Agents);
}

#[test]
fn the_tmux_server_is_killed_at_each_point() {
    with_inboxes(Victim::Server);
}

#[test]
fn the_daemon_is_killed_at_each_point() {
    with_inboxes(Victim::Daemon);
}

#[test]
fn everything_is_killed_at_each_point() {
    with_inboxes(Victim::Everything);
}

#[test]
fn everything_is_killed_at_each_point_with_clients() {
    with_clients(Victim::Everything);
}
