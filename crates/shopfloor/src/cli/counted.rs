//! What commands and events ask of the store, on a small floor and on a large one: counted, not timed. A statement for
//! each issue is a shape that no fast machine makes good.

use super::*;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::effect::outcome;
use shopfloor_core::effect::{Action, Outcome, ProcessId};
use shopfloor_core::event::{Event, Page, Seen};
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::label::Label;
use shopfloor_core::policy::Policy;
use shopfloor_core::state::Floor;
use shopfloor_desk::Desk;
use shopfloor_engine::Engine;
use shopfloor_engine::ports::forge::{By, NewIssue};
use shopfloor_engine::ports::{Changes, Forge};
use shopfloor_store::Store;
use shopfloor_store::sqlite::count::{Counts, counted};
use std::time::Duration;
use tempfile::TempDir;

const FEW: usize = 5;
/// So many ended jobs are loaded; the test of those beyond does not take long.
const AT_HAND: usize = 5;
const MANY: usize = 150;

const STATUS: &[&str] = &["status"];
const LIST: &[&str] = &["issue", "list"];
const ADD: &[&str] = &["issue", "add", "One more"];

fn project() -> ProjectName {
    "sample".parse().unwrap()
}

/// A floor with one project, whose forge is read as a daemon does it.
struct Counted {
    home: TempDir,
    desk: Desk,
    engine: Engine<Box<dyn Store>>,
}

impl Counted {
    fn new() -> Counted {
        let home = tempfile::tempdir().unwrap();
        let desk = Desk::new(Layout::new(home.path()));
        let mut engine = desk.new_engine().unwrap();
        let config = "[project]\nname = \"sample\"\n[ci]\nno_checks = true\n";
        std::fs::write(home.path().join("shopfloor.toml"), config).unwrap();
        let checkout = home.path().display().to_string();
        // Worktrees of jobs that did not merge are removed at once.
        let policy = Policy { jobs_at_hand: AT_HAND, keep_worktrees: Duration::ZERO, ..Policy::default() };
        let set = Event::ProjectSet { project: project(), checkout, policy };
        engine.submit(now(), &set).unwrap();
        desk.forges().unwrap().init(&project()).unwrap();
        Counted { home, desk, engine }
    }

    /// Open issues that nobody is to work on.
    fn with_open(count: usize) -> Counted {
        let mut floor = Counted::new();
        for _ in 0..count {
            floor.add(&[]);
        }
        floor.read();
        floor
    }

    /// Issues that were worked on and closed.
    fn with_past(count: usize) -> Counted {
        let mut floor = Counted::new();
        for _ in 0..count {
            let issue = floor.add(&[Label::Backlog.as_str().to_owned()]);
            floor.read();
            floor.perform();
            floor.forge().close_issue(issue).unwrap();
            floor.read();
            floor.perform();
            floor.engine.submit(now(), &Event::Tick).unwrap();
            floor.perform();
        }
        let jobs = &floor.engine.floor().jobs;
        assert!(jobs.iter().all(|job| !job.is_live()), "every job has ended");
        assert_eq!(jobs.len(), AT_HAND.min(count), "the rest are on the shelf");
        floor
    }

    fn forge(&self) -> std::sync::Arc<dyn Forge> {
        self.desk.forge(&project()).unwrap()
    }

    fn add(&self, labels: &[String]) -> IssueNumber {
        let by = By::Person("somebody");
        let new = NewIssue { by, marker: None, title: "Something", body: "It is wanted.", labels, deps: &[] };
        self.forge().create_issue(&new).unwrap()
    }

    /// Takes in what is new on the forge.
    fn read(&mut self) {
        while let Some(page) = self.next_page() {
            self.engine.submit(now(), &Event::Observed { project: project(), page }).unwrap();
        }
    }

    fn next_page(&self) -> Option<Page> {
        let after = self.engine.floor().projects.get(&project()).unwrap().cursor.clone();
        let Changes { cursor, observations, more } = self.forge().changes(&after).unwrap();
        let page = Page { seen: Seen(observations), after: Some(after.clone()), cursor, more };
        (page.cursor != after).then_some(page)
    }

    /// Everything that is wanted works.
    fn perform(&mut self) {
        while let Some(effect) = self.engine.outbox().unwrap().first() {
            let outcome = outcome_of(self.engine.floor(), &effect.action);
            self.engine.complete(now(), effect, outcome).unwrap();
        }
    }

    /// What the store is asked by a command.
    fn asked_by(&self, args: &[&str]) -> Counts {
        let home = self.home.path().to_str().unwrap();
        let words = [&["shopfloor", "--home", home, "--project", "sample"], args].concat();
        let cli = Cli::try_parse_from(words).unwrap();
        let (done, counts) = counted(|| {
            let context = Context::from_environment(cli.home, cli.project, cli.json)?;
            run(&context, cli.command)
        });
        done.unwrap_or_else(|e| panic!("{args:?}: {}", e.message));
        counts
    }

    /// What the store is asked by an event, in a process that has the floor in memory, as a daemon does.
    fn asked_by_an_event(&mut self) -> Counts {
        self.add(&[]);
        let page = self.next_page().unwrap();
        counted(|| self.engine.submit(now(), &Event::Observed { project: project(), page }).unwrap()).1
    }
}

fn outcome_of(floor: &Floor, action: &Action) -> Outcome {
    match action {
        Action::PrepareWorktree { branch, .. } => Outcome::WorktreeReady(outcome::WorktreeReady {
            path: format!("/nowhere/{branch}"),
            head: "0".repeat(40).parse().unwrap(),
            notes: Vec::new(),
        }),
        Action::StartSession(start) => Outcome::SessionStarted(outcome::SessionStarted {
            tmux: format!("sample-{}", start.epoch),
            process: ProcessId { pid: 0, start: 0 },
            phase_file: "/nowhere/phase".into(),
            runtime: "generic".into(),
            prompt: None,
            notes: Vec::new(),
        }),
        action => floor.uneventful(action),
    }
}

#[test]
fn commands_run_no_more_statements_on_a_large_backlog() {
    let (small, large) = (Counted::with_open(FEW), Counted::with_open(MANY));
    for args in [STATUS, LIST, ADD] {
        let (few, many) = (small.asked_by(args), large.asked_by(args));
        assert_eq!(few.statements, many.statements, "{args:?} with {FEW} and with {MANY} open issues");
    }
}

#[test]
fn commands_read_a_row_or_two_of_each_issue_that_they_show() {
    let (small, large) = (Counted::with_open(FEW), Counted::with_open(MANY));
    for (args, rows_an_issue) in [(STATUS, 1), (LIST, 2), (ADD, 0)] {
        let (few, many) = (small.asked_by(args).rows, large.asked_by(args).rows);
        let allowed = few + rows_an_issue * (MANY - FEW) as u64;
        assert!(many <= allowed, "{args:?} reads {few} rows of {FEW} issues and {many} of {MANY}");
    }
}

#[test]
fn an_event_costs_the_same_on_a_large_backlog() {
    let (few, many) =
        (Counted::with_open(FEW).asked_by_an_event(), Counted::with_open(MANY).asked_by_an_event());
    assert_eq!(
        few.without_instructions(),
        many.without_instructions(),
        "with {FEW} and with {MANY} open issues"
    );
}

#[test]
fn an_event_costs_the_same_after_a_long_past() {
    let (few, many) =
        (Counted::with_past(FEW).asked_by_an_event(), Counted::with_past(MANY).asked_by_an_event());
    assert_eq!(few.without_instructions(), many.without_instructions(), "after {FEW} and after {MANY} jobs");
}

#[test]
fn commands_run_no_more_statements_after_a_long_past() {
    let (small, large) = (Counted::with_past(FEW), Counted::with_past(MANY));
    for args in [STATUS, LIST, ADD] {
        let (few, many) = (small.asked_by(args), large.asked_by(args));
        assert_eq!(few.statements, many.statements, "{args:?} after {FEW} and after {MANY} jobs");
    }
}

#[test]
fn commands_read_no_more_rows_after_a_long_past() {
    let (small, large) = (Counted::with_past(FEW), Counted::with_past(MANY));
    for args in [STATUS, LIST, ADD] {
        let (few, many) = (small.asked_by(args).rows, large.asked_by(args).rows);
        assert!(many <= few, "{args:?} reads {few} rows after {FEW} jobs and {many} after {MANY}");
    }
}

#[test]
fn commands_walk_over_no_more_rows_after_a_long_past() {
    let (small, large) = (Counted::with_past(FEW), Counted::with_past(MANY));
    for args in [STATUS, LIST, ADD] {
        let (few, many) = (small.asked_by(args).scanned, large.asked_by(args).scanned);
        assert!(many <= few, "{args:?} walks over {few} rows after {FEW} jobs and {many} after {MANY}");
    }
}

/// What is on the shelf of one issue is read, and nothing else that is there.
#[test]
fn commands_about_one_issue_read_what_is_about_it() {
    const OF_ONE: u64 = 20;
    let (small, large) = (Counted::with_past(FEW), Counted::with_past(MANY));
    for args in [&["explain", "2"], &["ci", "failures", "2"][..]] {
        let (few, many) = (small.asked_by(args), large.asked_by(args));
        assert!(
            many.rows <= few.rows + OF_ONE,
            "{args:?} reads {few:?} after {FEW} jobs, {many:?} after {MANY}"
        );
        assert!(
            many.scanned <= few.scanned + OF_ONE,
            "{args:?} walks over {few:?} after {FEW} jobs, {many:?} after {MANY}"
        );
    }
}

#[test]
fn a_page_of_the_forge_is_read_with_as_many_statements_however_much_is_on_it() {
    let asked = |count| {
        let floor = Counted::new();
        for _ in 0..count {
            floor.add(&[Label::Backlog.as_str().to_owned()]);
        }
        let (page, counts) = counted(|| floor.next_page().unwrap());
        assert_eq!(page.seen.0.len(), count);
        counts
    };
    let (few, many) = (asked(FEW), asked(MANY));
    assert_eq!(few.statements, many.statements, "with {FEW} and with {MANY} issues");
    assert!(many.rows <= few.rows + 3 * (MANY - FEW) as u64, "{few:?} and {many:?}");
}
