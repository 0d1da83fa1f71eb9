//! Issues that ask for an action: each is carried by a job that carries out a formula.

use super::runs::{part, recipe};
use super::*;
use crate::effect::PlannedRun;
use crate::ids::{Assignment, Role, RunNumber};
use crate::recipe::Recipe;
use crate::state::{End, Run, RunResult, RunState};
use crate::step::{Standings, Waiting};

fn policy() -> Policy {
    Policy { actions: true, max_jobs: 3, ..Policy::default() }
}

impl Scene {
    /// The oldest issue that was read asks for that formula, which has two steps for an agent.
    pub(super) fn planned_action(&mut self, formula: &str) -> &mut Self {
        let recipe = Recipe {
            formula: formula.parse().expect("a name"),
            role: Role::ACTION,
            ..recipe(vec![part("do", &[]), part("report", &["do"])])
        };
        let what = PlannedRun::Ready { recipe: Box::new(recipe) };
        self.answer("plan_action", Outcome::RunPlanned(outcome::RunPlanned { next: None, what }))
    }

    fn action_run(&self, number: u64) -> &Run {
        self.floor.runs.get(&RunNumber(number)).expect("there is such a run")
    }

    fn comment(&self) -> &str {
        let found = self.pending.iter().find_map(|action| match action {
            Action::Comment { body, .. } => Some(body.as_str()),
            _ => None,
        });
        found.expect("there is a comment")
    }
}

#[test]
fn an_action_is_its_issues_job_and_what_it_came_to_is_said_there() {
    let mut scene = Scene::new(policy());
    scene.issue(7, &["action"], &[]);
    assert_eq!(scene.job().assignment, Assignment::Issue(IssueNumber(7)));
    assert!(!scene.has("prepare_worktree"), "first it is read what it asks for: {:?}", scene.names());
    scene.planned_action("action").worktree_ready();
    let start = scene.pending.iter().find_map(|action| match action {
        Action::StartSession(start) => Some(start.clone()),
        _ => None,
    });
    let start = start.expect("its agent starts");
    assert_eq!((start.role, start.assignment), (Role::ACTION, Assignment::Issue(IssueNumber(7))));
    assert_eq!(start.task.as_ref().map(|task| task.run), Some(RunNumber(1)));
    scene.start_session();
    scene.said(start.epoch, "do").said(start.epoch, "report").signal(start.epoch, Phase::Done).branch(0);
    assert!(scene.comment().contains("Run 1 of the formula `action`"), "{}", scene.comment());
    assert!(scene.has("close_issue"), "{:?}", scene.names());
    scene.settle();
    assert_eq!(scene.job().end(), Some(End::Done));
    assert_eq!(scene.action_run(1).result(), Some(RunResult::Done));
}

#[test]
fn what_an_action_leaves_in_files_goes_the_way_of_any_change() {
    let mut scene = Scene::new(policy());
    scene.issue(7, &["action"], &[]);
    scene.planned_action("action").worktree_ready();
    scene.start_session();
    let epoch = scene.job().session.expect("there is an agent");
    scene.said(epoch, "do").said(epoch, "report").signal(epoch, Phase::Done).branch(1);
    assert!(scene.has("open_pr"), "{:?}", scene.names());
    assert!(!scene.has("close_issue"), "{:?}", scene.names());
}

#[test]
fn an_action_that_cannot_be_meant_waits_for_a_person() {
    let mut scene = Scene::new(policy());
    scene.issue(7, &["action"], &[]);
    let what = PlannedRun::Cannot { why: "there is no formula nope".into() };
    scene.answer("plan_action", Outcome::RunPlanned(outcome::RunPlanned { next: None, what }));
    assert!(scene.comment().contains("there is no formula nope"), "{}", scene.comment());
    assert!(scene.comment().contains("add `action`"), "{}", scene.comment());
    scene.settle();
    assert_eq!(scene.job().end(), Some(End::Blocked));
}

#[test]
fn two_actions_of_one_formula_have_their_turns() {
    let mut scene = Scene::new(policy());
    scene.issue(7, &["action"], &[]).issue(8, &["action"], &[]);
    scene.planned_action("upkeep").planned_action("upkeep");
    assert_eq!(scene.action_run(2).state, RunState::Waiting);
    assert_eq!(scene.names().iter().filter(|name| **name == "prepare_worktree").count(), 1);
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(7) });
    scene.settle();
    assert_eq!(scene.action_run(1).result(), Some(RunResult::Cancelled));
    assert!(matches!(scene.action_run(2).state, RunState::Live { .. }), "{:?}", scene.action_run(2).state);
}

#[test]
fn an_action_that_is_cancelled_before_its_turn_ends_with_its_job() {
    let mut scene = Scene::new(policy());
    scene.issue(7, &["action"], &[]).issue(8, &["action"], &[]);
    scene.planned_action("upkeep").planned_action("upkeep");
    scene.event(Event::RunCancelled { project: project(), run: RunNumber(2) });
    scene.settle();
    assert_eq!(scene.action_run(2).result(), Some(RunResult::Cancelled));
}

#[test]
fn nobody_carries_out_actions_unless_the_project_has_an_agent_for_them() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(7, &["action"], &[]);
    assert_eq!(scene.floor.jobs.iter().count(), 0);
    let issue = scene.floor.issues.get(&(project(), IssueNumber(7))).expect("seen");
    assert_eq!(Standings::of(&scene.floor).why(issue), Waiting::NoActions);
}
