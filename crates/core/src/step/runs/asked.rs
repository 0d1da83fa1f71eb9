//! Runs that somebody asks for, and those that somebody wants ended.

use super::Runs;
use crate::event::{NoteKind, RunAsk};
use crate::ids::{FormulaName, ProjectName, RunNumber};
use crate::state::{End, Floor, Run, RunResult, RunState, StepRecord, StepState};
use crate::step::Turn;
use crate::texts::{notes, reasons};

/// Why a formula is not carried out now.
pub fn may_run(floor: &Floor, project: &ProjectName, formula: &FormulaName) -> Result<(), RunNumber> {
    floor.live_run(project, formula).map_or(Ok(()), |run| Err(run.number))
}

impl Turn<'_> {
    pub(in crate::step) fn run_asked(&mut self, project: &ProjectName, ask: &RunAsk) {
        if self.floor.projects.get(project).is_none() {
            return;
        }
        let formula = &ask.recipe.formula;
        if let Err(other) = may_run(self.floor, project, formula) {
            return self.note(NoteKind::StaleSignal, project, None, notes::run_goes_on(formula, other));
        }
        if let Some(flaw) = ask.recipe.flaw() {
            return self.note(NoteKind::StaleSignal, project, None, notes::no_recipe(formula, &flaw));
        }
        let number = RunNumber(self.number(|c| &mut c.runs));
        let (now, recipe) = (self.now, ask.recipe.clone());
        let steps = recipe.steps.iter().map(|step| match step.skipped {
            true => StepRecord { state: StepState::Skipped, at: now, ..StepRecord::default() },
            false => StepRecord { at: now, ..StepRecord::default() },
        });
        let run = Run {
            number,
            project: project.clone(),
            steps: steps.collect(),
            recipe,
            by: ask.by.clone(),
            schedule: ask.schedule.clone(),
            asked_at: now,
            started_at: None,
            state: RunState::Waiting,
        };
        self.floor.runs.put(Runs(()), run);
        self.note(NoteKind::RunState, project, None, notes::run_asked(number, formula, &ask.by));
    }

    pub(in crate::step) fn run_cancelled(&mut self, project: &ProjectName, number: RunNumber) {
        let mine = |run: &&Run| run.project == *project;
        match self.floor.runs.get(&number).filter(mine).map(|run| run.state.clone()) {
            Some(RunState::Waiting) => self.end_run(number, RunResult::Cancelled, ""),
            Some(RunState::Live { job }) => self.finish(job, End::Cancelled, reasons::cancelled()),
            Some(RunState::Ended { .. }) | None => {}
        }
    }

    /// It is over. Its job, if it has one, has ended.
    pub(in crate::step) fn end_run(&mut self, number: RunNumber, result: RunResult, reason: &str) {
        let now = self.now;
        let Some(run) = self.floor.run_mut(number) else { return };
        let job = run.job();
        run.state = RunState::Ended { result, reason: reason.to_owned(), at: now, job };
        let (project, text) =
            (run.project.clone(), notes::run_ended(number, &run.recipe.formula, result, reason));
        self.note(NoteKind::RunState, &project, None, text);
    }
}
