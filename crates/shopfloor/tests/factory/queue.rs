//! The merge queue on real git, with the daemon killed again and again: many branches at once, some of which
//! conflict, fail or flake. The agents' part up to the queue is played by the test.

use crate::floor::{Floor, wait_for};
use shopfloor_core::effect::{Action, CiReport, CiVerdict, Outcome, ProcessId};
use shopfloor_core::event::{Event, Observation};
use shopfloor_core::ids::{Epoch, IssueNumber, Sha};
use shopfloor_core::phase::{Phase, PhaseReport};
use shopfloor_core::state::{End, JobState};
use shopfloor_core::time::Time;
use shopfloor_store::forge::NewPr;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

/// Whoever is sent back gives up at once.
const AGENT: &str = r#"
[agents.dev]
runtime = "generic"
command = ["sh", "-c", "shopfloor phase failed --detail 'sent back'"]
[review]
required = false
[merge]
slots = 3
[limits]
max_jobs = 60
respawns = 0
"#;

/// Red if something is broken, and the first time it sees something flaky.
fn check(floor: &Floor) -> String {
    let seen = floor.path("flakes");
    std::fs::create_dir_all(&seen).expect("a folder");
    format!(
        "#!/bin/sh\nset -u\nfor f in flaky-*.txt; do\n  [ -e \"$f\" ] || continue\n  mkdir \"{}/$f\" 2>/dev/null && exit 1\ndone\n! grep -rn BROKEN --include='*.txt' .\n",
        seen.display()
    )
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Good,
    Broken,
    Flaky,
    /// Edits what its neighbour edits.
    Rival,
}

fn kind(n: u64) -> Kind {
    match n % 10 {
        3 => Kind::Broken,
        5 => Kind::Flaky,
        7 | 8 => Kind::Rival,
        _ => Kind::Good,
    }
}

fn file(n: u64) -> String {
    match kind(n) {
        Kind::Flaky => format!("flaky-{n}.txt"),
        Kind::Rival => format!("rivals-{}.txt", n / 10),
        Kind::Good | Kind::Broken => format!("file-{n}.txt"),
    }
}

fn now() -> Time {
    Time(SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64)
}

/// A floor whose checks are those, known to the store.
fn floor() -> Floor {
    let floor = Floor::new(AGENT);
    std::fs::write(floor.path("repo/check.sh"), check(&floor)).expect("written");
    for n in 0..6 {
        std::fs::write(floor.path(&format!("repo/rivals-{n}.txt")), "nobody\n").expect("written");
    }
    floor.git(&["add", "-A", "*.txt", "check.sh"]);
    floor.git(&["commit", "--quiet", "-m", "checks"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    assert_eq!(floor.until_idle().0, 0);
    floor
}

/// Makes a branch in the hub and carries its issue into the merge queue.
fn enqueue(floor: &Floor, n: u64) -> IssueNumber {
    let issue = floor.issue(&format!("Change {n}"), "");
    let branch = format!("fix/issue-{issue}");
    let content = if kind(n) == Kind::Broken { "BROKEN".into() } else { format!("change {n}") };
    floor.git(&["checkout", "--quiet", "-B", "work", "shopfloor/main"]);
    std::fs::write(floor.path("repo").join(file(n)), format!("{content}\n")).expect("written");
    floor.git(&["add", "-A", &file(n)]);
    floor.git(&["commit", "--quiet", "-m", &format!("change {n}")]);
    floor.git(&["push", "--quiet", "shopfloor", &format!("HEAD:{branch}")]);
    let head: Sha = floor.git(&["rev-parse", "HEAD"]).parse().expect("a commit");
    floor.git(&["checkout", "--quiet", "main"]);

    let mut engine = floor.engine();
    let observation = Observation::Issue {
        number: issue,
        title: format!("Change {n}"),
        labels: vec!["backlog".into()],
        open: true,
        deps: Vec::new(),
        created_at: now(),
        revision: 0,
        version: 0,
        hints: Default::default(),
    };
    let project = floor.project.clone();
    engine
        .submit(now(), &Event::Observed { project: project.clone(), observation, cursor: 0, more: false })
        .expect("seen");
    loop {
        let queued = engine.floor().job_of(&project, issue).map(|j| j.state.clone());
        if matches!(queued, Some(JobState::Merging { .. })) {
            return issue;
        }
        if queued == Some(JobState::Working) {
            let epoch = engine.floor().job_of(&project, issue).and_then(|j| j.session).expect("a session");
            let report = PhaseReport {
                phase: Phase::AwaitingReview,
                detail: None,
                session: None,
                ask: Default::default(),
            };
            let event = Event::PhaseWritten { epoch, stamp: "1".into(), report };
            engine.submit(now(), &event).expect("signalled");
        }
        let outbox = engine.outbox().expect("the outbox");
        let effect =
            outbox.iter().find(|q| !matches!(q.action, Action::FindPrimary { .. })).expect("an effect");
        let outcome = match &effect.action {
            Action::PrepareWorktree { .. } => {
                Outcome::WorktreeReady { path: "/nowhere".into(), head: head.clone(), notes: Vec::new() }
            }
            Action::StartSession(start) => started(start.epoch),
            Action::PublishBranch { .. } => Outcome::Branch {
                head: head.clone(),
                ahead: 1,
                dirty: 0,
                note: None,
                same_as: Vec::new(),
                base: None,
            },
            Action::OpenPr { .. } => {
                let new = NewPr {
                    title: format!("Change {n}"),
                    body: String::new(),
                    branch: branch.clone(),
                    head: head.clone(),
                    issue,
                    author: "shopfloor-dev".into(),
                };
                let pr = floor.forge().open_pr(&project, &new).expect("a pull request");
                floor.hub(&["update-ref", &format!("refs/pull/{pr}/head"), head.as_str()]);
                Outcome::PrOpen { pr }
            }
            Action::RunCi { .. } => Outcome::CiFinished(CiReport {
                verdict: CiVerdict::Green,
                step: None,
                excerpt: String::new(),
                log: String::new(),
                steps_run: 1,
                at: None,
                duration_ms: 1,
                checks: engine.floor().policy(&project).checks,
            }),
            // Labels that are not as they were set were set by somebody else.
            Action::EditLabels { issue, add, remove, .. } => {
                floor.forge().edit_labels(&project, *issue, add, remove).expect("labelled");
                Outcome::Done
            }
            _ => Outcome::Done,
        };
        engine.complete(now(), effect, outcome).expect("performed");
    }
}

fn started(epoch: Epoch) -> Outcome {
    Outcome::SessionStarted {
        tmux: format!("gone-{epoch}"),
        process: ProcessId { pid: u32::MAX >> 2, start: 1 },
        phase_file: "/nowhere/phase".into(),
        runtime: "generic".into(),
        prompt: None,
        notes: Vec::new(),
    }
}

/// Runs the factory until it is idle, or kills it after it printed so many lines. Whether it was killed.
fn up_killed_after(floor: &Floor, lines: usize) -> bool {
    let mut child = floor
        .command(&["up", "--until-idle", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let out = BufReader::new(child.stdout.take().expect("piped"));
    let read = out.lines().take(lines).count();
    if read < lines {
        child.wait().expect("waited");
        return false;
    }
    child.kill().expect("killed, or gone by itself");
    child.wait().expect("waited");
    true
}

/// `lines`: the daemon lives for at most so many.
fn storm(changes: u64, kills: usize, lines: usize) {
    let floor = floor();
    let mut issues: Vec<IssueNumber> = (0..changes).map(|n| enqueue(&floor, n)).collect();
    let mut roll = 7_u64;
    let mut killed = 0;
    while killed < kills {
        roll = roll.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if !up_killed_after(&floor, 1 + (roll >> 33) as usize % lines) {
            // All is done and not enough were killed: more comes, with a pair of rivals in it.
            let next = issues.len() as u64;
            issues.extend((next..next + 10).map(|n| enqueue(&floor, n)));
            continue;
        }
        killed += 1;
        if killed % 7 == 0 {
            // A human pushes in between.
            floor.git_insists(&["pull", "--quiet", "--ff-only", "shopfloor", "main"]);
            std::fs::write(floor.path("repo/human.txt"), format!("{killed}\n")).expect("written");
            floor.git_insists(&["add", "human.txt"]);
            floor.git_insists(&["commit", "--quiet", "-m", &format!("human {killed}")]);
            floor.git_insists(&["push", "--quiet", "shopfloor", "main"]);
        }
    }
    let (_, text) = floor.until_idle();
    floor.assert_history_green();
    let subjects = floor.hub(&["log", "--format=%s", "main"]);
    let mut rivals = std::collections::BTreeMap::new();
    for (n, issue) in (0..).zip(&issues) {
        let times = subjects.lines().filter(|s| s.starts_with(&format!("Change {n} ("))).count();
        let end = floor.job(*issue).end();
        assert_eq!(end == Some(End::Merged), times == 1, "{n}: {end:?}, landed {times} times\n{text}");
        match kind(n) {
            Kind::Good | Kind::Flaky => {
                assert_eq!(times, 1, "{n} landed once\n{text}");
                assert_eq!(floor.landed(&file(n)), format!("change {n}"));
            }
            Kind::Broken => assert_eq!(times, 0, "{n} did not land"),
            Kind::Rival => *rivals.entry(n / 10).or_insert(0) += times,
        }
    }
    assert!(rivals.values().all(|landed| *landed == 1), "of two rivals one lands: {rivals:?}");
}

#[test]
fn many_branches_land_once_however_often_the_daemon_is_killed() {
    storm(10, 8, 4);
}

/// What the promise is about, at full size.
#[test]
#[ignore = "takes minutes; run it after changing the queue"]
fn fifty_branches_and_two_hundred_kills() {
    storm(50, 200, 2);
}

#[test]
fn the_next_change_is_processed_in_the_foreground() {
    let floor = floor();
    let (first, second) = (enqueue(&floor, 0), enqueue(&floor, 3));
    let said = floor.ok(&["merge-queue", "process"]);
    assert!(said.contains(&format!("#{first} fix/issue-{first}: merged")), "{said}");
    assert_eq!(floor.landed("file-0.txt"), "change 0");
    // Nothing else was done: the job's last steps are left to a daemon.
    assert_eq!(floor.job(first).state.name(), "finishing");
    // The second is broken: it leaves the queue, and that is said.
    let output = floor.run(&["merge-queue", "process"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains(": failed: "));
    assert_eq!(floor.job(second).merged, None);
    // Beside a daemon it watches.
    let third = enqueue(&floor, 1);
    floor.ok(&["up", "--detach"]);
    floor.run(&["merge-queue", "process"]);
    wait_for("it is merged", || floor.job(third).end() == Some(End::Merged));
    floor.ok(&["down"]);
    floor.assert_history_green();
}
