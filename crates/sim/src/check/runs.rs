//! Runs of formulas: each once, in order, and nothing done twice.

use super::Checker;
use crate::world::World;
use shopfloor_core::ids::{RunNumber, ScheduleName, StepId};
use shopfloor_core::label::Label;
use shopfloor_core::state::{Floor, Planning, RunState, StepState};
use std::collections::{BTreeMap, BTreeSet};

/// What is remembered of them.
#[derive(Default)]
pub struct Seen {
    /// Steps that were over.
    over: BTreeSet<(RunNumber, StepId)>,
}

const WAITS: &str = "7 every wait has a deadline";
const ORDER: &str = "4 a run's steps are carried out once and in order";

impl Checker {
    pub(super) fn runs_are_carried_out_once(&mut self, world: &mut World, floor: &Floor) {
        let mut broken = Vec::new();
        let mut live = BTreeSet::new();
        for run in floor.runs.iter() {
            // An action may wait for its turn; one that is only its issue's text is about something else each time.
            let waits = run.issue.is_some() && run.state == RunState::Waiting;
            let alone = run.recipe.formula.as_str() != Label::Action.as_str();
            if run.is_live()
                && !run.landing
                && !waits
                && alone
                && !live.insert((&run.project, &run.recipe.formula))
            {
                broken.push(format!("a second run of {} goes on, {}", run.recipe.formula, run.number));
            }
            for (step, record) in run.steps() {
                let key = (run.number, step.id.clone());
                if record.state.is_over() {
                    self.runs.over.insert(key);
                } else if self.runs.over.contains(&key) {
                    broken.push(format!("step {} of run {} was over, and is not", step.id, run.number));
                }
                let begun = !matches!(record.state, StepState::Open) && !step.skipped;
                if begun && !run.missing(step).is_empty() {
                    broken.push(format!("step {} of run {} did not wait", step.id, run.number));
                }
            }
            if run.is_ending() && run.under_way().is_some() {
                broken.push(format!("run {} ends, and a step of it is under way", run.number));
            }
            let job = run.job().and_then(|job| floor.jobs.get(&job));
            match &run.state {
                RunState::Live { .. } if job.is_none_or(|job| !job.is_live()) => {
                    broken.push(format!("run {} goes on without a job", run.number));
                }
                // A person may have revived the job of an action, as that of any issue.
                RunState::Ended { .. } if run.issue.is_none() && job.is_some_and(|job| job.is_live()) => {
                    broken.push(format!("run {} has ended and its job has not", run.number));
                }
                _ => {}
            }
        }
        for session in floor.sessions.iter().filter(|session| session.role.develops()) {
            let run = floor.run_of(session.job);
            if let Some(run) = run.filter(|run| !run.has_agent_steps() && !run.is_through()) {
                broken.push(format!("run {} has an agent and no step for it", run.number));
            }
        }
        for text in broken {
            world.broken(ORDER, text);
        }
        self.schedules_are_kept(world, floor);
    }

    /// For each time that a schedule was due, at most one run; and one that is in force knows what is next.
    fn schedules_are_kept(&self, world: &mut World, floor: &Floor) {
        let mut runs: BTreeMap<&ScheduleName, usize> = BTreeMap::new();
        floor.runs.iter().filter_map(|run| run.schedule.as_ref()).for_each(|name| {
            *runs.entry(name).or_default() += 1;
        });
        let mut broken = Vec::new();
        for (name, runs) in runs {
            let due = world.timetable.ready.get(name).map_or(0, BTreeSet::len);
            if runs > due {
                broken.push((ORDER, format!("schedule {name} has {runs} runs for {due} times")));
            }
        }
        for schedule in floor.schedules.iter().filter(|schedule| schedule.is_in_force()) {
            if schedule.due().is_none() && schedule.planning == Planning::Nothing {
                broken.push((WAITS, format!("nobody knows when schedule {} is due", schedule.name)));
            }
        }
        for (invariant, text) in broken {
            world.broken(invariant, text);
        }
    }

    /// Whether people know of a run's job.
    pub(super) fn no_run_is_left(&self, world: &mut World, floor: &Floor, room: bool) {
        let waits = |run: &&shopfloor_core::state::Run| run.state == RunState::Waiting && run.issue.is_none();
        let staffed = floor.outages().next().is_none();
        let free = floor.jobs.iter().all(|job| !job.is_live());
        if let Some(run) = floor.runs.iter().find(waits).filter(|_| room && staffed && free) {
            world.broken(WAITS, format!("run {} was never begun", run.number));
        }
    }
}
