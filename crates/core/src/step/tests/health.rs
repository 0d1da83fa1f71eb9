//! A floor's health: what is urgent is told first and once, what can be mended is mended a few times, and an agent is
//! started only for what is left.

use super::*;
use crate::effect::{CheckHealth, PlannedRun, RecordHealth};
use crate::event::{HealthAck, StepSaid};
use crate::health::{CheckSeen, Machine, Measured, Priority, Recent, Stray, wanted_checks};
use crate::ids::{Assignment, Role, RunId, RunNumber};
use crate::recipe::{Context, Recipe, Step as Part};
use crate::state::{Came, Health, OnMissed, Planning, RunResult, Schedule, SchedulePlan};
use crate::step::may_tell;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const EVERY: Duration = Duration::from_secs(20 * 60);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn disk(used: u64) -> Measured {
    let machine =
        Machine { disk_free: Some((100 - used) * 1_000), disk_total: Some(100_000), ..Machine::default() };
    Measured { machine, ..Measured::default() }
}

/// Half of the checks are red: for an agent to look into.
fn trend() -> Measured {
    Measured { recent: Some(Recent { ended: 10, red: 5 }), ..Measured::default() }
}

fn supervision() -> Recipe {
    let part = |id: &str, needs: &[&str], run: Option<Vec<String>>| Part {
        id: id.parse().expect("an id"),
        title: String::new(),
        needs: needs.iter().map(|id| id.parse().expect("an id")).collect(),
        description: "look".into(),
        skipped: false,
        run,
        timeout: None,
        verify: None,
    };
    let collect = labelled(&["shopfloor", "health", "--check"]);
    Recipe {
        formula: "supervisor".parse().expect("a name"),
        version: "1".into(),
        description: "Look after the floor".into(),
        role: Role::SUPERVISOR,
        model: None,
        vars: Default::default(),
        lifetime: HOUR,
        idle: None,
        context: Context::default(),
        steps: vec![part("collect", &[], Some(collect)), part("report", &["collect"], None)],
    }
}

impl Scene {
    /// The supervisor is due in 20 minutes, and every 20 minutes from then on.
    fn supervised() -> Scene {
        let mut scene = Scene::new(Policy::default());
        let plan = SchedulePlan {
            formula: "supervisor".parse().expect("a name"),
            cron: "*/20 * * * *".into(),
            tz: None,
            vars: Default::default(),
            timeout: None,
            on_missed: OnMissed::Once,
            enabled: true,
        };
        let plans = [("supervisor".parse().expect("a name"), plan)].into();
        scene.event(Event::SchedulesSet { project: project(), plans });
        scene.planned_for(PlannedRun::NotDue);
        scene
    }

    fn planned_for(&mut self, what: PlannedRun) -> &mut Self {
        let next = Some(self.now + EVERY);
        self.answer("plan_run", Outcome::RunPlanned(outcome::RunPlanned { next, what }))
    }

    /// Its time comes, and that is measured.
    fn checkup(&mut self, measured: Measured) -> &mut Self {
        self.wait(EVERY);
        assert!(!self.has("plan_run"), "first it is looked");
        self.measured(measured)
    }

    fn measured(&mut self, measured: Measured) -> &mut Self {
        let measured = Box::new(measured);
        self.answer("check_health", Outcome::HealthChecked(outcome::HealthChecked { measured }))
    }

    /// A checkup that leaves nothing for an agent.
    fn quiet(&mut self, measured: Measured) -> &mut Self {
        self.checkup(measured);
        assert_eq!(self.the_schedule().planning, Planning::Next);
        self.planned_for(PlannedRun::NotDue)
    }

    fn the_schedule(&self) -> &Schedule {
        self.floor.schedules.iter().next().expect("there is a schedule")
    }

    fn told(&self) -> usize {
        self.noted(NoteKind::Escalation)
    }

    fn health(&self, place: Option<ProjectName>) -> &Health {
        self.floor.health.get(&place).expect("there is a row")
    }

    fn recorded(&mut self) -> RecordHealth {
        let Action::RecordHealth(record) = self.take("record_health") else { panic!("a record") };
        record
    }

    fn ack(&mut self, key: &str, within: Duration) -> &mut Self {
        let ack = HealthAck { key: key.parse().expect("a key"), until: self.now + within, by: "ann".into() };
        self.event(Event::HealthAcked { project: project(), ack })
    }

    fn write(&mut self, text: &str) -> &mut Self {
        self.event(Event::SupervisorTold { project: project(), text: text.into(), by: "ann".into() })
    }

    /// The supervisor's run is due, and its worktree is ready.
    fn supervisor_begins(&mut self) -> &mut Self {
        self.planned_for(PlannedRun::Ready { recipe: Box::new(supervision()) });
        self.answer(
            "prepare_worktree",
            Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
        )
    }

    fn collected(&mut self, code: i32) -> &mut Self {
        let ran = outcome::StepRan { code: Some(code), how: String::new(), output: "found".into() };
        self.answer("run_step", Outcome::StepRan(ran))
    }

    /// It looks, reports, and is through.
    fn supervisor_reports(&mut self, text: &str) -> &mut Self {
        self.supervisor_begins().collected(0).start_session();
        let epoch = self.floor.sessions.iter().last().expect("a session").epoch;
        let said = StepSaid { step: "report".parse().expect("an id"), skip: false, note: text.into() };
        self.event(Event::StepSaid { epoch, said }).branch(0);
        self.pending.retain(|action| action.name() != "record_health");
        self.settle()
    }

    fn last_run(&self) -> &crate::state::Run {
        self.floor.runs.iter().last().expect("a run")
    }
}

#[test]
fn a_floor_that_is_well_starts_nothing() {
    let mut scene = Scene::supervised();
    scene.quiet(disk(50));
    // The first look of a day is in its journal.
    assert_eq!(scene.recorded().entry, "- nothing new is wrong");
    for _ in 0..5 {
        scene.quiet(disk(50));
        assert_eq!(scene.pending, Vec::new());
    }
    assert_eq!((scene.told(), scene.noted(NoteKind::Health)), (0, 0));
    assert!(matches!(&scene.the_schedule().last.as_ref().expect("it was due").came, Came::Skipped { .. }));
    assert_eq!((scene.floor.runs.iter().count(), scene.floor.jobs.iter().count()), (0, 0));
}

#[test]
fn without_a_schedule_nobody_looks() {
    let mut scene = Scene::new(Policy::default());
    scene.wait(10 * DAY);
    assert!(!scene.has("check_health"), "{:?}", scene.names());
    assert_eq!(scene.floor.health.iter().count(), 0);
}

#[test]
fn what_is_urgent_is_told_before_anything_is_tried_and_once() {
    let mut scene = Scene::supervised();
    scene.wait(EVERY);
    let at = scene.notes.len();
    scene.measured(disk(85));
    // In the very step that finds it: the note comes first, and so does the record.
    assert_eq!(scene.notes[at].kind, NoteKind::Escalation);
    assert!(scene.notes[at].text.starts_with("P1 disk: 85 %"), "{}", scene.notes[at].text);
    assert_eq!(scene.names()[0], "record_health");
    assert!(scene.has("tidy"), "{:?}", scene.names());
    let record = scene.recorded();
    assert_eq!(record.urgent[0].0, "disk");
    assert!(record.entry.contains("P1 disk") && record.entry.contains("pruned"), "{}", record.entry);
    // A remedy may still end it: no agent.
    assert!(scene.floor.runs.iter().next().is_none());
    scene.planned_for(PlannedRun::NotDue);
    scene.quiet(disk(85));
    assert_eq!(scene.told(), 1, "once");
    scene.quiet(disk(97));
    assert_eq!(scene.told(), 2, "and again when it is worse");
    scene.quiet(disk(85)).quiet(disk(50)).quiet(disk(50));
    assert_eq!(scene.told(), 2);
    assert_eq!(scene.health(None).findings.len(), 0);
    scene.quiet(disk(85));
    assert_eq!(scene.told(), 3, "and when it comes back");
}

#[test]
fn people_get_a_summary_only_when_something_changed() {
    let mut scene = Scene::supervised();
    let said = |scene: &Scene| -> Vec<String> {
        let notes = scene.notes.iter().filter(|note| note.text.starts_with("health: "));
        notes.map(|note| note.text.clone()).collect()
    };
    let loaded = |load: u64| {
        let machine = Machine { load: Some(load), cpus: Some(1), ..Machine::default() };
        Measured { machine, ..Measured::default() }
    };
    scene.quiet(loaded(900)).quiet(loaded(950)).quiet(loaded(990));
    assert_eq!(said(&scene).len(), 1, "{:?}", said(&scene));
    scene.quiet(loaded(1));
    assert_eq!(said(&scene)[1], "health: all is well; over: load");
    scene.quiet(loaded(1));
    assert_eq!(said(&scene).len(), 2);
}

#[test]
fn a_remedy_is_tried_a_few_times_and_then_an_agent_looks() {
    let mut scene = Scene::supervised();
    let mut ordered = 0;
    for _ in 0..100 {
        scene.checkup(disk(85));
        if scene.has("tidy") {
            ordered += 1;
            scene.done("tidy");
        }
        if scene.the_schedule().planning != Planning::Next {
            break;
        }
        scene.planned_for(PlannedRun::NotDue);
    }
    assert_eq!(ordered, 3);
    assert!(matches!(scene.the_schedule().planning, Planning::Due(_)), "now a run is planned");
    // Every six hours at the most.
    assert!(scene.now.since(Time(0)) >= 12 * HOUR);
}

#[test]
fn checks_that_nobody_waits_for_are_cancelled_and_others_are_not() {
    let mut scene = Scene::supervised();
    scene.issue(1, &["backlog"], &[]).done("edit_labels");
    scene.answer(
        "prepare_worktree",
        Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
    );
    scene.start_session().checking(Phase::AwaitingCi, 1);
    let wanted = *wanted_checks(&scene.floor, &project()).iter().next().expect("the job's");
    let other = RunId(wanted.0 + 7);
    let seen = |scene: &Scene, run, alive| CheckSeen { run, since: scene.now, alive };
    let checks = vec![seen(&scene, wanted, true), seen(&scene, other, true), seen(&scene, RunId(99), false)];
    scene.wait(EVERY);
    scene.measured(Measured { checks: Some(checks), ..Measured::default() });
    let Action::CancelCi { run, .. } = scene.take("cancel_ci") else { panic!("cancelled") };
    assert_eq!(run, other);
    assert!(!scene.has("cancel_ci"), "that one alone");
}

#[test]
fn only_sessions_that_nobody_knows_are_ended() {
    let mut scene = Scene::supervised();
    scene.issue(1, &["backlog"], &[]).done("edit_labels");
    scene.answer(
        "prepare_worktree",
        Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
    );
    scene.start_session();
    let stray = |name: &str, epoch: u64| Stray {
        project: name.parse().expect("a name"),
        role: Role::DEV,
        assignment: Assignment::Issue(IssueNumber(1)),
        epoch: Epoch(epoch),
    };
    scene.wait(EVERY);
    // The one at work, one that is nobody's, and one of a project that this floor does not look after.
    let strays = Some(vec![stray("p", DEV.0), stray("p", 77), stray("other", 78)]);
    scene.measured(Measured { strays, ..Measured::default() });
    let Action::EndStray(order) = scene.take("end_stray") else { panic!("ended") };
    assert_eq!((order.stray.epoch, order.job), (Epoch(77), Some(JOB)), "in the lane of who works there");
    assert!(!scene.has("end_stray"));
    let ended = outcome::SessionEnded { rescue: Some("r".into()), last_output: String::new(), note: None };
    let action = Action::EndStray(order);
    scene.event(Event::Performed { action, outcome: Outcome::SessionEnded(ended) });
    assert!(scene.notes.iter().any(|note| note.text.contains("kept at r")));
    assert_eq!(scene.state(), "working");
}

#[test]
fn an_agent_looks_once_into_what_nobody_can_explain() {
    let mut scene = Scene::supervised();
    scene.checkup(trend());
    assert!(scene.has("plan_run"), "{:?}", scene.names());
    scene.supervisor_reports("The tests are flaky.");
    assert_eq!(scene.last_run().result(), Some(RunResult::Done));
    let runs = scene.floor.runs.iter().count();
    for _ in 0..5 {
        scene.quiet(trend());
    }
    assert_eq!(scene.floor.runs.iter().count(), runs, "it has been looked into");
    scene.wait(DAY);
    scene.measured(trend());
    assert!(matches!(scene.the_schedule().planning, Planning::Due(_)), "a day later it is looked into again");
}

#[test]
fn while_there_is_no_room_it_is_looked_at_no_more_often_than_usual() {
    let mut scene = Scene::supervised();
    scene.checkup(trend());
    scene.planned_for(PlannedRun::NotNow { why: "memory".into() });
    for _ in 0..18 {
        scene.wait(MINUTE);
        assert!(!scene.has("check_health"));
        scene.planned_for(PlannedRun::NotNow { why: "memory".into() });
    }
    // But as often: what becomes urgent meanwhile is told.
    scene.wait(2 * MINUTE);
    scene.measured(disk(90));
    assert_eq!(scene.told(), 1);
}

#[test]
fn what_people_acknowledge_is_quiet_until_then_or_until_it_gets_worse() {
    let mut scene = Scene::supervised();
    scene.quiet(disk(85));
    assert_eq!(scene.told(), 1);
    scene.ack("disk", 2 * DAY);
    assert_eq!(scene.health(None).acks.len(), 1, "it is the machine's");
    scene.quiet(disk(85));
    assert_eq!(scene.health(None).shown(scene.now).count(), 0);
    scene.quiet(disk(97));
    assert_eq!(scene.told(), 2, "worse");
    assert_eq!(scene.health(None).shown(scene.now).count(), 1);
    scene.quiet(disk(85));
    assert_eq!(scene.health(None).shown(scene.now).count(), 0, "as it was acknowledged");
    // It ends by itself, by a timer, and is told again.
    scene.pending.clear();
    scene.now = scene.now + 2 * DAY;
    scene.event(Event::Tick);
    assert_eq!(scene.health(None).acks.len(), 0);
    scene.measured(disk(85));
    assert_eq!(scene.told(), 3);
    // And at a person's word.
    scene.ack("disk", DAY);
    let ack = HealthAck { key: "disk".parse().expect("a key"), until: Time(0), by: "ann".into() };
    scene.event(Event::HealthUnacked { project: project(), ack });
    assert_eq!(scene.health(None).acks.len(), 0);
}

#[test]
fn an_acknowledgement_of_a_projects_own_is_no_other_projects() {
    let mut scene = Scene::supervised();
    scene.ack("ci.trend", DAY);
    assert_eq!(scene.health(Some(project())).acks.len(), 1);
    assert!(scene.floor.health.get(&None).is_none());
    scene.quiet(trend());
    assert_eq!(scene.floor.runs.iter().count(), 0, "acknowledged: no agent");
}

#[test]
fn a_letter_starts_a_run_that_answers_it() {
    let mut scene = Scene::supervised();
    scene.write("what is \u{1b}[2Jstuck?");
    let letter = &scene.health(Some(project())).letters[0];
    assert_eq!((letter.text.as_str(), letter.by.as_str()), ("what is stuck?", "ann"));
    scene.checkup(Measured::default());
    scene.supervisor_begins();
    assert_eq!(scene.health(Some(project())).letters[0].run, Some(RunNumber(1)));
    // One that comes in the middle waits for the next.
    scene.write("and now?");
    scene.collected(0).start_session();
    let said = StepSaid { step: "report".parse().expect("an id"), skip: false, note: "Nothing is.".into() };
    let epoch = scene.floor.sessions.iter().last().expect("a session").epoch;
    scene.event(Event::StepSaid { epoch, said }).branch(0).settle();
    let letters = &scene.health(Some(project())).letters;
    assert_eq!((letters[0].answer.as_deref(), letters[1].answer.as_deref()), (Some("Nothing is."), None));
    assert!(scene.notes.iter().any(|note| note.text == "the supervisor answers letter 1: Nothing is."));
    scene.checkup(Measured::default());
    assert!(matches!(scene.the_schedule().planning, Planning::Due(_)), "the second is due");
}

#[test]
fn a_letter_that_no_run_answers_is_given_up_and_people_are_told() {
    let mut scene = Scene::supervised();
    scene.write("what is stuck?");
    for _ in 0..3 {
        assert_eq!(scene.health(Some(project())).open_letters().count(), 1);
        scene.checkup(Measured::default()).supervisor_begins().collected(3);
        scene.settle();
    }
    assert_eq!(scene.health(Some(project())).open_letters().count(), 0);
    let told = scene.notes.iter().filter(|note| note.text.contains("cannot be answered"));
    assert_eq!(told.count(), 1);
    scene.pending.clear();
    scene.quiet(Measured::default());
}

#[test]
fn letters_are_bounded() {
    let mut scene = Scene::supervised();
    for _ in 0..30 {
        scene.write(&"x".repeat(10_000));
    }
    let letters = &scene.health(Some(project())).letters;
    assert_eq!((letters.len(), may_tell(&scene.floor, &project())), (20, Err(20)));
    assert!(letters.iter().all(|letter| letter.text.len() < 5 * 1024));
}

#[test]
fn a_change_that_nobody_reviews_is_found_after_an_hour() {
    let mut scene = Scene::working(Policy { review_agent: false, ..Policy::default() });
    scene.checking(Phase::AwaitingReview, 1).ci(CiVerdict::Green);
    let found = |scene: &Scene| {
        let found = crate::health::of_project(&scene.floor, scene.now, &project(), &Measured::default());
        found.iter().map(|finding| format!("{} {}", finding.priority, finding.key)).collect::<Vec<_>>()
    };
    assert_eq!(scene.state(), "reviewing");
    scene.now = scene.now + 60 * MINUTE;
    assert_eq!(found(&scene), Vec::<String>::new());
    scene.now = scene.now + MINUTE;
    assert_eq!(found(&scene), ["P3 pr.100.review"]);
}

#[test]
fn issues_that_wait_for_one_another_or_for_old_ones_are_found() {
    let mut scene = Scene::new(Policy { max_jobs: 1, ..Policy::default() });
    scene.issue(1, &["backlog"], &[2]).issue(2, &["backlog"], &[1]).issue(3, &["blocked"], &[]);
    scene.issue(4, &[], &[]).issue(5, &["backlog"], &[4]);
    scene.now = scene.now + 31 * DAY;
    let found = crate::health::of_project(&scene.floor, scene.now, &project(), &Measured::default());
    let keys: Vec<&str> = found.iter().map(|finding| finding.key.as_str()).collect();
    for key in ["dependencies.circle", "dependencies.old", "issues.blocked"] {
        assert!(keys.contains(&key), "{keys:?}");
    }
    assert!(found.iter().all(|finding| finding.priority >= Priority::P3));
}

#[test]
fn a_checkup_that_cannot_be_done_is_told_and_the_schedule_goes_on() {
    let mut scene = Scene::supervised();
    scene.wait(EVERY).impossible("check_health");
    assert_eq!(scene.told(), 1);
    assert_eq!(scene.the_schedule().planning, Planning::Next);
}

#[test]
fn a_person_has_it_looked_now_and_no_run_follows() {
    let mut scene = Scene::new(Policy::default());
    scene.event(Event::CheckupAsked { project: project() });
    assert_eq!(
        scene.pending.last(),
        Some(&Action::CheckHealth(CheckHealth { project: project(), schedule: None }))
    );
    scene.measured(disk(90));
    assert!(scene.has("tidy") && scene.told() == 1);
    assert!(!scene.has("plan_run"));
}
