//! Issues that ask for an action: each is carried by an ordinary job, whose agent carries out a formula instead of a
//! change alone. What the issue asks for, the world reads and fills in; from then on it is a run like any other.
//!
//! A run whose formula is being carried out already waits, and keeps its job: the issue has its turn.

use super::Runs;
use crate::effect::{PlanAction, PlannedRun};
use crate::event::NoteKind;
use crate::ids::{FormulaName, JobId, RunNumber};
use crate::label::Label;
use crate::recipe::Recipe;
use crate::state::{Floor, Job, JobState, Run, RunState};
use crate::step::Turn;
use crate::texts::{notes, reasons};
use std::time::Duration;

/// How long an action may wait for another run of its formula before somebody is told.
const TURN_WITHIN: Duration = Duration::from_secs(9 * 3600);

impl Floor {
    /// Whether the job waits to be told what its issue asks for.
    pub(in crate::step) fn awaits_plan(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|job| job.state == JobState::Preparing && job.action.is_none())
    }

    /// The job whose issue asks for that run.
    pub(super) fn job_of_action(&self, run: RunNumber) -> Option<&Job> {
        self.jobs.iter().rfind(|job| job.action == Some(run))
    }

    /// Another run that has to end before this one begins.
    pub(in crate::step) fn run_before(&self, run: &Run) -> Option<RunNumber> {
        // The formula that only says "do what the issue asks for" is about something else each time.
        if run.recipe.formula.as_str() == Label::Action.as_str() {
            return None;
        }
        let same = |other: &&Run| {
            let earlier = other.number < run.number || other.state != RunState::Waiting;
            // What it left may wait long for people; nobody works in its worktree any more.
            other.is_live()
                && !other.landing
                && other.number != run.number
                && other.project == run.project
                && other.recipe.formula == run.recipe.formula
                && earlier
        };
        self.runs.iter().find(same).map(|other| other.number)
    }
}

impl Turn<'_> {
    pub(in crate::step) fn action_planned(&mut self, plan: &PlanAction, planned: &PlannedRun) {
        if !self.floor.awaits_plan(plan.job) {
            return self.stale(plan.job, notes::action_not_waited_for());
        }
        match planned {
            PlannedRun::Ready { recipe } => self.begin_action(plan, recipe),
            PlannedRun::Cannot { why } | PlannedRun::NotNow { why } => self.block(plan.job, why),
            PlannedRun::NotDue => self.block(plan.job, reasons::none_known()),
        }
    }

    pub(in crate::step) fn action_impossible(&mut self, plan: &PlanAction, reason: &str) {
        match self.floor.awaits_plan(plan.job) {
            true => self.block(plan.job, reason),
            false => self.stale(plan.job, reason),
        }
    }

    fn begin_action(&mut self, plan: &PlanAction, recipe: &Recipe) {
        if let Some(flaw) = recipe.flaw() {
            return self.block(plan.job, &flaw.to_string());
        }
        let number = RunNumber(self.number(|c| &mut c.runs));
        let (id, now, by) = (plan.job, self.now, reasons::by_issue(plan.issue));
        let formula: FormulaName = recipe.formula.clone();
        let run = Run::new(number, plan.project.clone(), recipe.clone(), by.clone(), now);
        self.floor.runs.put(Runs(()), Run { issue: Some(plan.issue), ..run });
        self.carries_out(id, number, recipe.role);
        self.note(
            NoteKind::RunState,
            &plan.project,
            Some(plan.issue),
            notes::run_asked(number, &formula, &by),
        );
        self.enter(id, JobState::Preparing, TURN_WITHIN);
        self.begin_actions_in_turn();
    }

    /// Begins those whose turn it is: whatever happened may have ended what they waited for.
    pub(in crate::step) fn begin_actions_in_turn(&mut self) {
        let waits = |run: &&Run| run.state == RunState::Waiting && run.issue.is_some();
        let ready = |run: &Run| self.floor.run_before(run).is_none();
        let next: Vec<(RunNumber, JobId)> = self
            .floor
            .runs
            .iter()
            .filter(waits)
            .filter(|run| ready(run))
            .filter_map(|run| Some((run.number, self.floor.job_of_action(run.number)?.id)))
            .collect();
        for (number, job) in next {
            self.run_begins(number, job);
            self.prepare(job);
        }
    }
}
