//! Runs of formulas: commands first, the agent when it is its turn, one thing after another, and an end.

use super::*;
use crate::capability::Rights;
use crate::effect::{AgentTrouble, PlannedRun, RunStep};
use crate::event::{RunAsk, StepSaid};
use crate::ids::{Assignment, Role, RunNumber, StepId};
use crate::liveness::{Confidence, State};
use crate::recipe::{Context, Recipe, Step as Part};
use crate::state::{
    Came, Cost, End, OnMissed, Run, RunResult, RunState, Schedule, SchedulePlan, SessionStatus, StepState,
    Tokens,
};
use crate::step::{NotAStep, RunWaiting, may_run, may_say};

const RUN: RunNumber = RunNumber(1);
const HOUR: Duration = Duration::from_secs(3600);

fn id(name: &str) -> StepId {
    name.parse().expect("an id")
}

pub(super) fn part(name: &str, needs: &[&str]) -> Part {
    Part {
        id: id(name),
        title: String::new(),
        needs: needs.iter().map(|needed| id(needed)).collect(),
        description: "do it".into(),
        skipped: false,
        run: None,
        timeout: None,
        verify: None,
        answer: None,
    }
}

fn command(name: &str, needs: &[&str]) -> Part {
    Part { run: Some(vec!["true".into()]), ..part(name, needs) }
}

pub(super) fn recipe(steps: Vec<Part>) -> Recipe {
    Recipe {
        formula: "tidy".parse().expect("a name"),
        version: "1".into(),
        description: "Tidy up".into(),
        role: Role::DEV,
        model: None,
        vars: Default::default(),
        lifetime: 4 * HOUR,
        idle: None,
        context: Context::default(),
        steps,
    }
}

fn ask(steps: Vec<Part>) -> Event {
    let ask = RunAsk { recipe: recipe(steps), by: "ann".into(), schedule: None };
    Event::RunAsked { project: project(), ask }
}

impl Scene {
    /// A run whose worktree is ready.
    fn run(steps: Vec<Part>) -> Scene {
        let mut scene = Scene::new(Policy::default());
        scene.event(ask(steps));
        scene.worktree_ready();
        scene
    }

    pub(super) fn worktree_ready(&mut self) -> &mut Self {
        self.answer(
            "prepare_worktree",
            Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
        )
    }

    fn the_run(&self) -> &Run {
        self.floor.runs.get(&RUN).expect("there is a run")
    }

    fn step_is(&self, name: &str) -> &StepState {
        &self.the_run().step(&id(name)).expect("there is such a step").2.state
    }

    /// The oldest command ends.
    fn ran(&mut self, code: i32) -> &mut Self {
        let (how, output) = (format!("exit code {code}"), "said".to_owned());
        self.answer("run_step", Outcome::StepRan(outcome::StepRan { code: Some(code), how, output }))
    }

    pub(super) fn said(&mut self, epoch: Epoch, name: &str) -> &mut Self {
        let said = StepSaid { step: id(name), skip: false, note: "so it is".into() };
        self.event(Event::StepSaid { epoch, said })
    }

    fn next_command(&self) -> &RunStep {
        let found = self.pending.iter().find_map(|action| match action {
            Action::RunStep(step) => Some(step),
            _ => None,
        });
        found.expect("a command is ordered")
    }
}

#[test]
fn commands_alone_start_no_agent_and_end_the_run() {
    let mut scene = Scene::run(vec![command("look", &[]), command("tell", &["look"])]);
    assert_eq!((scene.state(), scene.next_command().step.as_str()), ("running_step", "look"));
    scene.ran(0);
    assert_eq!(scene.next_command().step, id("tell"));
    scene.ran(0).branch(0);
    assert!(!scene.has("start_session") && !scene.has("open_pr"), "{:?}", scene.names());
    assert_eq!(scene.state(), "finishing");
    scene.settle();
    assert_eq!(scene.job().end(), Some(End::Done));
    assert_eq!(scene.the_run().result(), Some(RunResult::Done));
    assert_eq!(scene.the_run().steps[0].output, "said");
}

/// What a run waits for is asked of what begins it.
#[test]
fn a_run_says_what_it_waits_for_until_it_begins() {
    let named = |name: &str, steps| {
        let recipe = Recipe { formula: name.parse().expect("a name"), ..recipe(steps) };
        Event::RunAsked { project: project(), ask: RunAsk { recipe, by: "ann".into(), schedule: None } }
    };
    let agents = || vec![part("write", &[])];
    let mut scene = Scene::new(Policy { max_jobs: 1, floor_max_jobs: Some(2), ..Policy::default() });
    scene.staffed = false;
    scene.event(Event::Resumed).event(Event::WorkPaused { project: None, why: "lunch".into() });
    scene.event(named("a", agents())).event(named("b", agents()));
    let waits = |scene: &Scene, number| {
        let run = scene.floor.runs.get(&RunNumber(number)).expect("there is a run");
        (run.state == RunState::Waiting).then(|| RunWaiting::of(&scene.floor, run))
    };
    assert_eq!(waits(&scene, 1), Some(RunWaiting::Paused("lunch".into())));
    scene.event(Event::WorkResumed { project: None });
    assert_eq!(waits(&scene, 1), Some(RunWaiting::Looking));
    let trouble = AgentTrouble { role: Role::DEV, why: "no key".into() };
    let looked = outcome::AgentsChecked { troubles: vec![trouble], unset: vec![] };
    scene.answer("check_agents", Outcome::AgentsChecked(looked));
    let out = RunWaiting::Outage { role: Role::DEV, why: "no key".into() };
    assert_eq!((waits(&scene, 1), waits(&scene, 2)), (Some(out.clone()), Some(out)));
    // What needs no agent begins meanwhile, and takes the room.
    scene.event(named("c", vec![command("look", &[])]));
    assert_eq!(waits(&scene, 3), None);
    assert_eq!(waits(&scene, 1), Some(RunWaiting::Room { live: 1, max: 1 }));
}

#[test]
fn a_run_waits_for_room_on_the_floor() {
    let mut scene = Scene::new(Policy { max_jobs: 2, floor_max_jobs: Some(1), ..Policy::default() });
    scene.issue(1, &["backlog"], &[]);
    scene.event(ask(vec![command("look", &[])]));
    assert_eq!(RunWaiting::of(&scene.floor, scene.the_run()), RunWaiting::FloorRoom { live: 1, max: 1 });
}

#[test]
fn a_command_that_finds_nothing_to_do_ends_the_run_before_its_agent() {
    let mut scene = Scene::run(vec![command("look", &[]), part("write", &["look"])]);
    scene.ran(78).settle();
    assert_eq!(scene.the_run().result(), Some(RunResult::NothingToDo));
    assert_eq!(scene.floor.sessions.iter().count(), 0);
    assert_eq!(scene.noted(NoteKind::Escalation), 0);
}

#[test]
fn a_command_that_fails_ends_the_run_and_somebody_is_told() {
    let mut scene = Scene::run(vec![command("look", &[]), part("write", &["look"])]);
    scene.ran(3);
    assert!(scene.has("escalate"), "{:?}", scene.names());
    scene.settle();
    assert_eq!(scene.the_run().result(), Some(RunResult::Failed));
    assert_eq!(scene.reason(), "step look failed: exit code 3");
}

#[test]
fn an_agent_does_its_steps_in_order_and_what_it_leaves_is_landed() {
    let mut scene =
        Scene::run(vec![command("look", &[]), part("write", &["look"]), part("check", &["write"])]);
    scene.ran(0);
    let Action::StartSession(start) = scene.take("start_session") else { unreachable!() };
    let task = start.task.as_deref().expect("it is told what to do");
    assert_eq!((task.run, task.steps[0].1.output.as_str()), (RUN, "said"));
    assert_eq!(start.assignment, Assignment::Run(RUN));
    scene.pending.push(Action::StartSession(start));
    scene.start_session();
    let may = |scene: &Scene, name: &str| may_say(&scene.floor, DEV, &id(name));
    assert_eq!(may(&scene, "check"), Err(NotAStep::Needs(id("check"), vec![id("write")])));
    assert_eq!(may(&scene, "look"), Err(NotAStep::Ours(id("look"))));
    assert_eq!(may(&scene, "what"), Err(NotAStep::Unknown(id("what"))));
    // Said all the same, it changes nothing.
    scene.said(DEV, "check");
    assert_eq!(scene.step_is("check"), &StepState::Open);
    scene.said(DEV, "write");
    assert_eq!(may(&scene, "write"), Err(NotAStep::Over(id("write"), "done")));
    // It is not through.
    scene.signal(DEV, Phase::Done);
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["STEPS open"]));
    scene.said(DEV, "check").signal(DEV, Phase::Done);
    // All of its steps are over: what is on its branch goes the way of any change.
    scene.branch(7);
    let Action::OpenPr { assignment, title, .. } = scene.take("open_pr") else { unreachable!() };
    assert_eq!((assignment, title.as_deref()), (Assignment::Run(RUN), Some("Tidy up")));
    let action = Action::OpenPr {
        job: JOB,
        project: project(),
        assignment,
        title,
        branch: "run/tidy-1".into(),
        head: sha(7),
    };
    scene.event(Event::Performed { action, outcome: Outcome::PrOpen(outcome::PrOpen { pr: PR }) });
    scene.ci(CiVerdict::Green);
    assert_eq!(scene.state(), "reviewing");
    scene.start_session().review(1, 7, Verdict::Approve).end_session();
    assert_eq!(scene.state(), "merging");
}

#[test]
fn what_is_verified_is_not_done_because_somebody_says_so() {
    let write = Part { verify: Some("docs".into()), ..part("write", &[]) };
    let mut scene = Scene::run(vec![write]);
    scene.start_session();
    let seen = |there| Outcome::StepVerified(outcome::StepVerified { there, why: "no docs".into() });
    for _ in 0..2 {
        scene.said(DEV, "write");
        assert_eq!(may_say(&scene.floor, DEV, &id("write")), Err(NotAStep::BeingVerified(id("write"))));
        assert_eq!(scene.the_run().steps_to_do().count(), 0);
        scene.answer("verify_step", seen(false));
        assert_eq!(scene.step_is("write"), &StepState::Open);
        assert_eq!(scene.the_run().steps_to_do().count(), 1);
    }
    assert_eq!(scene.unread(), ["STEP not verified", "STEP not verified"]);
    scene.said(DEV, "write").answer("verify_step", seen(true));
    assert_eq!(scene.step_is("write"), &StepState::Done);
    assert_eq!(scene.unread().last(), Some(&"STEPS over"));
    scene.signal(DEV, Phase::Done);
    assert!(scene.has("publish_branch"), "{:?}", scene.names());
}

#[test]
fn an_agent_is_left_in_peace_until_it_says_that_it_is_through() {
    let mut scene = Scene::run(vec![part("write", &[])]);
    scene.start_session().said(DEV, "write");
    assert!(!scene.has("publish_branch"), "it may still commit: {:?}", scene.names());
    assert_eq!(scene.state(), "working");
    scene.signal(DEV, Phase::Done);
    assert!(scene.has("publish_branch"), "{:?}", scene.names());
    // One that ends instead has said enough, and has no successor.
    let mut scene = Scene::run(vec![part("write", &[])]);
    scene.start_session().said(DEV, "write").exited(DEV, Some(0)).end_session();
    assert!(scene.has("publish_branch") && !scene.has("start_session"), "{:?}", scene.names());
    // One that says nothing more has no more time than the run.
    let mut scene = Scene::run(vec![part("write", &[])]);
    scene.start_session().said(DEV, "write");
    assert!(scene.the_run().due().is_some());
}

#[test]
fn what_is_not_committed_is_asked_for_and_then_kept() {
    let dirty = Outcome::Branch(outcome::Branch {
        head: sha(0),
        ahead: 0,
        dirty: 2,
        note: None,
        same_as: vec![],
        base: None,
        protected: vec![],
    });
    let mut scene = Scene::run(vec![part("write", &[])]);
    scene.start_session().said(DEV, "write").signal(DEV, Phase::Done).answer("publish_branch", dirty.clone());
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["STEPS over"]));
    // It cannot be made to commit: what it left is kept, and people read so.
    let policy = Policy::default();
    for _ in 0..policy.reminders_max {
        scene.read(scene.floor.counters.get(&()).map_or(0, |c| c.message), DEV);
        scene.signal(DEV, Phase::Done).answer("publish_branch", dirty.clone());
    }
    assert!(scene.reason().starts_with("2 changed files were not committed"), "{}", scene.reason());
    scene.settle();
    assert_eq!(scene.the_run().result(), Some(RunResult::Done));
    // Without an agent there is nobody to ask.
    let mut scene = Scene::run(vec![command("look", &[])]);
    scene.ran(0).answer("publish_branch", dirty);
    scene.settle();
    assert!(scene.reason().starts_with("2 changed files were not committed"), "{}", scene.reason());
}

#[test]
fn an_agent_that_is_never_right_about_a_step_ends_the_run() {
    let write = Part { verify: Some("docs".into()), ..part("write", &[]) };
    let mut scene = Scene::run(vec![write]);
    scene.start_session();
    for _ in 0..5 {
        scene.said(DEV, "write");
        let seen = outcome::StepVerified { there: false, why: "no docs".into() };
        scene.answer("verify_step", Outcome::StepVerified(seen));
    }
    scene.settle();
    assert_eq!(scene.the_run().result(), Some(RunResult::Failed));
}

#[test]
fn a_successor_continues_at_the_next_step() {
    let mut scene = Scene::run(vec![part("one", &[]), part("two", &["one"])]);
    scene.start_session().said(DEV, "one").exited(DEV, Some(1));
    scene.end_session().wait(Duration::from_secs(120));
    let Action::StartSession(start) = scene.take("start_session") else { unreachable!() };
    let task = start.task.expect("it is told what to do");
    let known: Vec<_> =
        task.steps.iter().map(|(_, record)| (record.state.name(), record.note.as_str())).collect();
    assert_eq!(known, [("done", "so it is"), ("open", "")]);
    // What its predecessor says now changes nothing.
    scene.said(DEV, "two");
    assert_eq!(scene.step_is("two"), &StepState::Open);
}

#[test]
fn a_formula_is_carried_out_once_at_a_time() {
    let mut scene = Scene::run(vec![part("one", &[])]);
    scene.event(ask(vec![part("one", &[])]));
    assert_eq!(may_run(&scene.floor, &project(), &"tidy".parse().expect("a name")), Err(RUN));
    assert_eq!(scene.floor.runs.iter().count(), 1);
}

#[test]
fn a_run_that_takes_too_long_ends() {
    let mut scene = Scene::run(vec![part("one", &[])]);
    scene.start_session();
    let status_is_over = |scene: &mut Scene| {
        scene.wait(HOUR);
        scene.the_run().is_ending()
    };
    while !status_is_over(&mut scene) {
        assert!(scene.now.since(Time(1_000)) < 5 * HOUR, "{:?}", scene.the_run().state);
        scene.settle();
    }
    scene.settle();
    assert_eq!(scene.the_run().result(), Some(RunResult::TimedOut));
    assert!(!scene.job().is_live());
}

#[test]
fn the_time_in_which_its_project_is_paused_does_not_count() {
    let mut scene = Scene::run(vec![part("write", &[])]);
    scene.start_session();
    let paused = Event::WorkPaused { project: Some(project()), why: "a release".into() };
    scene.event(paused).wait(5 * HOUR);
    assert!(scene.the_run().is_live() && scene.the_run().due() > Some(scene.now));
    scene.event(Event::WorkResumed { project: Some(project()) }).wait(2 * HOUR);
    assert!(scene.the_run().has_timed_out());
}

#[test]
fn a_cancelled_run_stops_its_command() {
    let mut scene = Scene::run(vec![command("look", &[])]);
    scene.event(Event::RunCancelled { project: project(), run: RUN });
    assert!(scene.has("stop_step"), "{:?}", scene.names());
    assert!(!scene.job().is_live());
    assert_eq!(scene.step_is("look"), &StepState::Failed);
    assert_eq!(scene.the_run().steps[0].note, "stopped: the run was cancelled");
    // Its answer is not waited for.
    scene.ran(0).settle();
    assert_eq!(scene.the_run().result(), Some(RunResult::Cancelled));
    assert_eq!(scene.job().end(), Some(End::Cancelled));
}

#[test]
fn a_claim_is_open_again_when_its_run_ends_and_keeps_its_note() {
    let write = Part { verify: Some("docs".into()), ..part("write", &[]) };
    let mut scene = Scene::run(vec![write]);
    scene.start_session().said(DEV, "write");
    scene.event(Event::RunCancelled { project: project(), run: RUN });
    assert_eq!(scene.step_is("write"), &StepState::Open);
    assert_eq!(scene.the_run().steps[0].note, "so it is");
    assert_eq!(scene.the_run().steps_to_do().count(), 0, "nothing can be done any more");
}

#[test]
fn an_agent_that_waits_for_a_command_is_told_when_it_has_ended() {
    let mut scene =
        Scene::run(vec![part("write", &[]), command("build", &["write"]), part("tell", &["build"])]);
    scene.start_session().said(DEV, "write");
    assert_eq!(scene.state(), "working");
    scene.ran(0);
    assert_eq!(scene.unread(), ["STEPS ready"]);
    // It died meanwhile: its successor comes after the command.
    let mut scene =
        Scene::run(vec![part("write", &[]), command("build", &["write"]), part("tell", &["build"])]);
    scene.start_session().said(DEV, "write").exited(DEV, Some(1)).end_session();
    scene.wait(Duration::from_secs(120));
    assert!(!scene.has("start_session"), "{:?}", scene.names());
    scene.ran(0);
    assert!(scene.has("start_session"), "{:?}", scene.names());
}

// ---- schedules ---------------------------------------------------------------------------------

fn plan_of(on_missed: OnMissed) -> SchedulePlan {
    SchedulePlan {
        formula: "tidy".parse().expect("a name"),
        cron: "0 6 * * *".into(),
        tz: None,
        vars: Default::default(),
        timeout: None,
        on_missed,
        enabled: true,
    }
}

impl Scene {
    /// A schedule that is due in an hour.
    fn scheduled(on_missed: OnMissed) -> Scene {
        let mut scene = Scene::new(Policy::default());
        let plans = [("daily".parse().expect("a name"), plan_of(on_missed))].into();
        scene.event(Event::SchedulesSet { project: project(), plans });
        let next = scene.now + HOUR;
        scene.planned(Some(next), PlannedRun::NotDue)
    }

    fn planned(mut self, next: Option<Time>, what: PlannedRun) -> Scene {
        self.answer("plan_run", Outcome::RunPlanned(outcome::RunPlanned { next, what }));
        self
    }

    fn ready(self, next: Option<Time>) -> Scene {
        let recipe = Box::new(recipe(vec![command("look", &[])]));
        self.planned(next, PlannedRun::Ready { recipe })
    }

    fn schedule(&self) -> &Schedule {
        self.floor.schedules.iter().next().expect("there is a schedule")
    }

    fn came(&self) -> &Came {
        &self.schedule().last.as_ref().expect("it was run").came
    }

    fn passed(&self) -> &Came {
        &self.schedule().passed.as_ref().expect("it was due").came
    }
}

#[test]
fn what_is_due_is_run_once_and_then_due_again() {
    let mut scene = Scene::scheduled(OnMissed::Once);
    assert_eq!(scene.schedule().next, Some(scene.now + HOUR));
    scene.wait(HOUR);
    // Asked once, however often it ticks.
    scene.wait(Duration::from_secs(1));
    let next = scene.now + 24 * HOUR;
    let mut scene = scene.ready(Some(next));
    assert_eq!(scene.the_run().by, "schedule daily");
    assert_eq!(scene.schedule().next, Some(next));
    scene.worktree_ready().ran(0).branch(0).settle();
    assert_eq!(scene.came(), &Came::Run { run: RUN, result: Some(RunResult::Done) });
    assert_eq!(scene.schedule().spent.runs, 1);
}

fn told(scene: &mut Scene, micros: u64, input: u64) {
    let status = SessionStatus {
        state: State::Idle,
        since: scene.now,
        confidence: Confidence::High,
        context_percent: None,
        cost_micros: Some(micros),
        tokens: Some(Tokens { input, output: 2, cached: 3 }),
        dialog: None,
        question: None,
    };
    scene.event(Event::StatusSeen { epoch: DEV, status, conversation: None });
}

#[test]
fn a_run_knows_what_it_has_cost_and_its_schedule_what_all_have() {
    let mut scene = Scene::scheduled(OnMissed::Once);
    scene.wait(HOUR);
    let mut ready = recipe(vec![part("write", &[])]);
    ready.formula = "tidy".parse().expect("a name");
    let next = Some(scene.now + 24 * HOUR);
    let mut scene = scene.planned(next, PlannedRun::Ready { recipe: Box::new(ready) });
    scene.worktree_ready().start_session();
    told(&mut scene, 100, 1000);
    told(&mut scene, 250, 4000);
    let cost = Cost { micros: 250, tokens: Tokens { input: 4000, output: 2, cached: 3 } };
    assert_eq!(scene.the_run().cost(&scene.floor), cost, "while it goes on");
    // Its last word comes when it is being ended.
    scene.said(DEV, "write").signal(DEV, Phase::Done).branch(0);
    let cost = Cost { micros: 300, ..cost };
    told(&mut scene, 300, 4000);
    scene.settle();
    assert_eq!(scene.the_run().result(), Some(RunResult::Done));
    assert_eq!((scene.the_run().spent, scene.schedule().spent.cost), (cost, cost));
    // What its session says after its end no longer counts for a run that is over, and breaks nothing.
    told(&mut scene, 900, 9000);
    assert_eq!(scene.the_run().spent, cost);
    let stored = serde_json::to_value(scene.schedule().spent).expect("it is stored");
    assert_eq!((&stored["micros"], &stored["tokens"]["input"]), (&300.into(), &4000.into()));
}

#[test]
fn what_a_role_that_lands_nothing_leaves_goes_no_further() {
    let rights = Rights { lands: false, ..Rights::of(Role::DEV) };
    let mut scene = Scene::new(Policy { roles: [(Role::DEV, rights)].into(), ..Policy::default() });
    scene.event(ask(vec![part("look", &[])]));
    scene.worktree_ready().start_session();
    // However it tries: before its steps are over, with the last of them, and after.
    scene.signal(DEV, Phase::AwaitingCi);
    assert!(!scene.has("push_branch"), "{:?}", scene.names());
    scene.said(DEV, "look").signal(DEV, Phase::AwaitingReview);
    assert_eq!(scene.state(), "finishing");
    assert!(!scene.has("push_branch") && !scene.has("open_pr"), "{:?}", scene.names());
    scene.settle();
    assert_eq!((scene.the_run().result(), scene.job().end()), (Some(RunResult::Done), Some(End::Done)));
}

#[test]
fn what_is_due_while_a_run_is_under_way_is_passed_over() {
    let mut scene = Scene::scheduled(OnMissed::Once);
    scene.event(ask(vec![part("one", &[])]));
    scene.wait(HOUR);
    let next = scene.now + HOUR;
    let scene = scene.ready(Some(next));
    assert!(matches!(scene.passed(), Came::Skipped { why } if why.contains("run 1")), "{:?}", scene.passed());
    assert_eq!((scene.floor.runs.iter().count(), scene.schedule().next), (1, Some(next)));
}

#[test]
fn without_room_a_run_is_put_off_and_begun_when_there_is() {
    let mut scene = Scene::scheduled(OnMissed::Skip);
    scene.wait(HOUR);
    let next = scene.now + HOUR;
    let mut scene = scene.planned(Some(next), PlannedRun::NotNow { why: "memory".into() });
    let put_off = scene.schedule().postponed.clone().expect("it is put off");
    assert_eq!(put_off.why, "memory");
    // However long that takes: it was not missed.
    for _ in 0..10 {
        scene.wait(Duration::from_secs(60));
        scene = scene.planned(Some(next), PlannedRun::NotNow { why: "memory".into() });
    }
    assert_eq!(scene.noted(NoteKind::RunState), 1, "it is said once");
    scene.wait(Duration::from_secs(60));
    let scene = scene.ready(Some(next));
    assert!(scene.schedule().postponed.is_none() && scene.floor.runs.iter().count() == 1);
}

#[test]
fn what_was_missed_is_made_up_for_once_or_not_at_all() {
    let mut scene = Scene::scheduled(OnMissed::Once);
    scene.wait(100 * HOUR);
    let next = scene.now + HOUR;
    let scene = scene.ready(Some(next));
    assert_eq!(scene.floor.runs.iter().count(), 1);

    let mut scene = Scene::scheduled(OnMissed::Skip);
    scene.wait(100 * HOUR);
    let next = scene.now + HOUR;
    let scene = scene.planned(Some(next), PlannedRun::NotDue);
    assert!(matches!(scene.passed(), Came::Skipped { .. }));
    assert_eq!((scene.floor.runs.iter().count(), scene.schedule().next), (0, Some(next)));
}

#[test]
fn a_schedule_that_is_paused_changed_or_gone_runs_nothing() {
    let name = || "daily".parse().expect("a name");
    let mut scene = Scene::scheduled(OnMissed::Once);
    scene.wait(HOUR);
    scene.event(Event::SchedulePaused { project: project(), schedule: name(), by: "ann".into() });
    let next = scene.now + HOUR;
    let mut scene = scene.ready(Some(next));
    assert_eq!((scene.floor.runs.iter().count(), scene.schedule().next), (0, None));
    scene.wait(100 * HOUR);
    assert!(!scene.has("plan_run"));
    scene.event(Event::ScheduleResumed { project: project(), schedule: name(), by: "ann".into() });
    let next = scene.now + HOUR;
    let mut scene = scene.planned(Some(next), PlannedRun::NotDue);
    // As it was, it is due in an hour; as it is now, nobody knows yet.
    let changed = SchedulePlan { cron: "0 7 * * *".into(), ..plan_of(OnMissed::Once) };
    scene.event(Event::SchedulesSet { project: project(), plans: [(name(), changed)].into() });
    assert_eq!(scene.schedule().next, None);
    assert!(scene.has("plan_run"));
    scene.event(Event::SchedulesSet { project: project(), plans: Default::default() });
    assert_eq!(scene.floor.schedules.iter().count(), 0);
}

#[test]
fn what_is_passed_over_does_not_hide_how_the_run_before_it_ended() {
    let mut scene = Scene::scheduled(OnMissed::Once);
    scene.wait(HOUR);
    let minute = Duration::from_secs(60);
    let next = scene.now + minute;
    let mut scene = scene.ready(Some(next));
    scene.worktree_ready();
    // It is due again while that run goes on.
    scene.wait(minute);
    let next = scene.now + HOUR;
    let mut scene = scene.ready(Some(next));
    assert!(matches!(scene.passed(), Came::Skipped { .. }));
    assert_eq!(scene.came(), &Came::Run { run: RUN, result: None });
    scene.ran(0).branch(0).settle();
    assert_eq!(scene.came(), &Came::Run { run: RUN, result: Some(RunResult::Done) });
    assert!(matches!(scene.passed(), Came::Skipped { .. }));
    // The next run begins with a clean slate.
    scene.wait(HOUR);
    let scene = scene.ready(None);
    assert!(scene.schedule().passed.is_none());
}

#[test]
fn that_a_schedule_cannot_be_run_is_told_once_for_each_reason() {
    let mut scene = Scene::scheduled(OnMissed::Once);
    let reasons = [("no formula", 1), ("no formula", 1), ("no role", 2), ("no formula", 3)];
    for (why, told) in reasons {
        scene.wait(HOUR);
        let next = scene.now + HOUR;
        scene = scene.planned(Some(next), PlannedRun::Cannot { why: why.into() });
        assert_eq!(scene.noted(NoteKind::Escalation), told, "{why}");
        assert_eq!(scene.passed(), &Came::Failed { why: why.into() });
        assert_eq!(scene.schedule().next, Some(next));
    }
}
