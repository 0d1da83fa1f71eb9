//! What is shown about a hand session.

use crate::record::Stand;
use crate::sessions::Hand;
use serde::Serialize;
use shopfloor_adapters::host::process::{Liveness, is_same};
use shopfloor_adapters::terminal::tmux::Probe;
use shopfloor_core::ids::ProjectName;
use shopfloor_desk::now;
use shopfloor_desk::time::moment;

#[derive(Serialize)]
pub struct SessionView {
    pub name: String,
    pub project: Option<ProjectName>,
    pub step: Option<String>,
    pub epic: Option<String>,
    pub story: Option<String>,
    pub cycle: Option<u32>,
    pub runtime: Option<String>,
    /// `alive`, `exited`, `starting`, `ended` if only its worktree is left, or `unknown`, which is not dead.
    pub state: &'static str,
    pub exit_status: Option<i32>,
    pub pid: Option<u32>,
    pub created_at: Option<String>,
    pub age_s: Option<u64>,
    pub cwd: Option<String>,
    /// The branch of its own worktree.
    pub branch: Option<String>,
    pub forked_from: Option<String>,
}

/// A session without a record belongs to no known project.
pub fn is_of(hand: &Hand, project: Option<&ProjectName>) -> bool {
    project.is_none_or(|project| hand.record.as_ref().is_some_and(|record| record.project == *project))
}

pub fn view(hand: &Hand) -> SessionView {
    let (state, exit_status) = state(hand);
    let record = hand.record.as_ref();
    SessionView {
        name: hand.name.to_string(),
        project: record.map(|r| r.project.clone()),
        step: record.map(|r| r.step.clone()),
        epic: record.map(|r| r.epic.clone()),
        story: record.map(|r| r.story.clone()),
        cycle: record.and_then(|r| r.cycle),
        runtime: record.map(|r| r.runtime.clone()),
        state,
        exit_status,
        pid: hand.process().map(|process| process.pid),
        created_at: record.map(|r| moment(r.created)),
        age_s: record.map(|r| now().since(r.created).as_secs()),
        cwd: record.map(|r| r.cwd.clone()),
        branch: record.and_then(|r| r.branch.clone()),
        forked_from: record.and_then(|r| r.forked_from.clone()),
    }
}

fn state(hand: &Hand) -> (&'static str, Option<i32>) {
    match (&hand.probe, hand.record.as_ref().map(|record| &record.stand)) {
        // It left a worktree.
        (Ok(Probe::Absent) | Err(_), Some(Stand::Ended(_))) => ("ended", None),
        (Ok(Probe::Alive(_)), _) => ("alive", None),
        (Ok(Probe::Dead { status }), _) => ("exited", *status),
        (_, Some(Stand::Starting { .. })) => ("starting", None),
        // tmux no longer has it, or does not answer; the process itself can still be asked.
        (probe, _) => match (hand.process().map(is_same), probe) {
            (Some(Liveness::Alive), _) => ("alive", None),
            (Some(Liveness::Gone), _) | (None, Ok(_)) => ("exited", None),
            _ => ("unknown", None),
        },
    }
}
