//! The merge queue on real git: branches of which some conflict, fail or flake. The agents' part up to the queue is
//! played by the test. `storm.rs` kills the daemon in the middle of it.

use crate::floor::{Floor, wait_for};
use shopfloor_core::effect::outcome;
use shopfloor_core::effect::{Action, CiReport, CiVerdict, Outcome, ProcessId};
use shopfloor_core::event::{Event, Observation, Page};
use shopfloor_core::ids::{Epoch, IssueNumber, Sha};
use shopfloor_core::phase::{Phase, PhaseReport};
use shopfloor_core::state::{End, JobState};
use shopfloor_core::time::Time;
use shopfloor_store::forge::NewPr;
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

/// Red if something is broken or two are there that do not go together, and the first time it sees something flaky.
fn check(floor: &Floor) -> String {
    let seen = floor.path("flakes");
    std::fs::create_dir_all(&seen).expect("a folder");
    format!(
        "#!/bin/sh\nset -u\nfor f in flaky-*.txt; do\n  [ -e \"$f\" ] || continue\n  mkdir \"{}/$f\" 2>/dev/null && exit 1\ndone\nfor f in pair-*-1.txt; do\n  [ -e \"$f\" ] && [ -e \"${{f%-1.txt}}-2.txt\" ] && exit 1\ndone\n! grep -rn BROKEN --include='*.txt' .\n",
        seen.display()
    )
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Good,
    Broken,
    Flaky,
    /// Edits what its neighbour edits.
    Rival,
    /// Good without its neighbour, and red with it.
    Pair,
}

pub fn kind(n: u64) -> Kind {
    match n % 10 {
        3 => Kind::Broken,
        5 => Kind::Flaky,
        7 | 8 => Kind::Rival,
        1 | 2 => Kind::Pair,
        _ => Kind::Good,
    }
}

pub fn file(n: u64) -> String {
    match kind(n) {
        Kind::Pair => format!("pair-{}-{}.txt", n / 10, n % 10),
        Kind::Flaky => format!("flaky-{n}.txt"),
        Kind::Rival => format!("rivals-{}.txt", n / 10),
        Kind::Good | Kind::Broken => format!("file-{n}.txt"),
    }
}

fn now() -> Time {
    Time(SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64)
}

/// A floor whose checks are those, known to the store.
pub fn floor(method: &str) -> Floor {
    let floor = Floor::new(&AGENT.replace("[merge]\n", &format!("[merge]\nmethod = \"{method}\"\n")));
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
pub fn enqueue(floor: &Floor, n: u64) -> IssueNumber {
    let issue = floor.issue(&format!("Change {n}"), "");
    let branch = format!("fix/issue-{issue}");
    let content = if kind(n) == Kind::Broken { "BROKEN".into() } else { format!("change {n}") };
    floor.git(&["checkout", "--quiet", "-B", "work", "shopfloor/main"]);
    // Two commits, so that it matters how they land.
    let note = format!("note-{n}.md");
    std::fs::write(floor.path("repo").join(&note), "what is to come\n").expect("written");
    floor.git(&["add", &note]);
    floor.git(&["commit", "--quiet", "-m", &format!("note {n}")]);
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
        by: None,
        revision: 0,
        version: Default::default(),
        hints: Default::default(),
    };
    let project = floor.project.clone();
    engine
        .submit(now(), &Event::Observed { project: project.clone(), page: Page::of(observation) })
        .expect("seen");
    loop {
        let queued = engine.floor().job_of(&project, issue).map(|j| j.state.clone());
        if matches!(queued, Some(JobState::InQueue { .. })) {
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
            outbox.iter().find(|q| !matches!(*q.action, Action::FindPrimary { .. })).expect("an effect");
        let outcome = match &*effect.action {
            Action::PrepareWorktree { .. } => Outcome::WorktreeReady(outcome::WorktreeReady {
                path: "/nowhere".into(),
                head: head.clone(),
                notes: Vec::new(),
            }),
            Action::StartSession(start) => started(start.epoch),
            Action::PushBranch { .. } => Outcome::Branch(outcome::Branch {
                head: head.clone(),
                ahead: 1,
                dirty: 0,
                note: None,
                same_as: Vec::new(),
                protected: Vec::new(),
                base: None,
            }),
            Action::OpenPr { .. } => {
                let new = NewPr {
                    title: format!("Change {n}"),
                    body: String::new(),
                    branch: branch.clone(),
                    head: head.clone(),
                    issue: Some(issue),
                    author: "shopfloor-dev".into(),
                };
                let pr = floor.forge().open_pr(&project, &new).expect("a pull request");
                floor.hub(&["update-ref", &format!("refs/pull/{pr}/head"), head.as_str()]);
                Outcome::PrOpen(outcome::PrOpen { pr })
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
                engine.floor().uneventful(&effect.action)
            }
            action => engine.floor().uneventful(action),
        };
        engine.complete(now(), effect, outcome).expect("performed");
    }
}

fn started(epoch: Epoch) -> Outcome {
    Outcome::SessionStarted(outcome::SessionStarted {
        tmux: format!("gone-{epoch}"),
        process: ProcessId { pid: u32::MAX >> 2, start: 1 },
        phase_file: "/nowhere/phase".into(),
        runtime: "generic".into(),
        prompt: None,
        notes: Vec::new(),
    })
}

#[test]
fn the_next_change_is_processed_in_the_foreground() {
    let floor = floor("squash");
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
    let third = enqueue(&floor, 4);
    floor.ok(&["up", "--detach"]);
    floor.run(&["merge-queue", "process"]);
    wait_for("it is merged", || floor.job(third).end() == Some(End::Merged));
    floor.ok(&["down"]);
    floor.assert_history_green();
}
