//! What every [`Agents`] does.

use shopfloor_core::effect::StartSession;
use shopfloor_core::ids::{
    Assignment, Epoch, IssueNumber, JobId, MessageId, PrNumber, ProjectName, Role, Sha,
};
use shopfloor_engine::ports::{Agents, Briefing, Tree};

/// A project with agents that stay until they are ended.
pub trait AgentsWorld {
    fn agents(&self) -> &dyn Agents;
    fn project(&self) -> ProjectName;
    /// A folder to work in.
    fn worktree(&self) -> String;
    fn is_alive(&self, start: &StartSession) -> bool;
    /// A reviewer leaves an approval of that commit.
    fn approves(&self, epoch: Epoch, of: &Sha);
}

fn sha(digit: &str) -> Sha {
    digit.repeat(40).parse().expect("forty digits")
}

fn start_of(world: &impl AgentsWorld, epoch: u64, role: Role) -> StartSession {
    StartSession {
        epoch: Epoch(epoch),
        job: JobId(1),
        role,
        project: world.project(),
        assignment: Assignment::Issue(IssueNumber(epoch)),
        branch: "fix/issue-1".into(),
        pr: role.reviews().then_some(PrNumber(3)),
        head: role.reviews().then(|| sha("a")),
        resume: None,
        reviewed: None,
        diff_bytes: 1000,
        trouble: None,
        target: None,
        task: None,
    }
}

fn briefing(world: &impl AgentsWorld) -> Briefing {
    Briefing { worktree: world.worktree(), ..Briefing::default() }
}

fn tree(start: &StartSession) -> Tree {
    Tree::of_job(&start.project, start.role, start.assignment)
}

pub fn a_session_that_was_started_is_adopted(world: &impl AgentsWorld) {
    let start = start_of(world, 1, Role::DEV);
    assert_eq!(world.agents().adopt(&start).expect("looked for"), None);
    let started = world.agents().start(&start, &briefing(world)).expect("started");
    assert!(world.is_alive(&start));
    assert_eq!(world.agents().adopt(&start).expect("looked for"), Some(started));
    assert_eq!(world.agents().adopt(&start_of(world, 2, Role::DEV)).expect("looked for"), None);
    world.agents().end(&tree(&start), start.epoch).expect("ended");
}

pub fn only_the_session_that_is_meant_is_ended(world: &impl AgentsWorld) {
    let (one, other) = (start_of(world, 1, Role::DEV), start_of(world, 2, Role::DEV));
    for start in [&one, &other] {
        world.agents().start(start, &briefing(world)).expect("started");
    }
    for _ in 0..2 {
        world.agents().end(&tree(&one), one.epoch).expect("ended");
        assert!(!world.is_alive(&one) && world.is_alive(&other));
    }
    assert_eq!(world.agents().adopt(&one).expect("looked for"), None, "it was ended");
    assert_eq!(world.agents().last_output(&tree(&one), one.epoch).expect("asked"), "", "it is gone");
    world.agents().end(&tree(&other), other.epoch).expect("ended");
    let nobody = start_of(world, 9, Role::DEV);
    world.agents().end(&tree(&nobody), nobody.epoch).expect("a session that is gone already is fine");
}

pub fn a_bell_can_be_rung_for_anybody(world: &impl AgentsWorld) {
    for _ in 0..2 {
        world.agents().ring(Epoch(1), MessageId(1)).expect("rung");
    }
}

pub fn a_verdict_is_of_the_commit_that_it_names(world: &impl AgentsWorld) {
    let (start, project) = (start_of(world, 1, Role::REVIEW), world.project());
    let result = |head: &Sha| world.agents().review_result(&project, start.epoch, head, true).expect("read");
    world.agents().start(&start, &briefing(world)).expect("started");
    assert!(result(&sha("a")).is_err(), "it has left none");
    world.approves(start.epoch, &sha("a"));
    assert!(result(&sha("a")).is_ok() && result(&sha("b")).is_err());
    let news = world.agents().begin_review(&project, start.epoch, &sha("a"), "another head").expect("moved");
    assert_eq!(news, "another head");
    assert!(result(&sha("a")).is_err() && result(&sha("b")).is_err(), "it was put away");
    world.approves(start.epoch, &sha("b"));
    assert!(result(&sha("b")).is_ok());
    world.agents().end(&tree(&start), start.epoch).expect("ended");
}
