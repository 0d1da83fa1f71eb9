//! Runs that somebody asks for.

use super::Runs;
use crate::event::{NoteKind, RunAsk};
use crate::ids::{FormulaName, JobId, ProjectName, RunNumber};
use crate::state::{Floor, Run, RunState};
use crate::step::Turn;
use crate::texts::notes;

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
            return self.note(NoteKind::StaleSignal, project, None, notes::run_asked_again(formula, other));
        }
        if let Some(flaw) = ask.recipe.flaw() {
            return self.note(NoteKind::StaleSignal, project, None, notes::no_recipe(formula, &flaw));
        }
        let number = RunNumber(self.number(|c| &mut c.runs));
        let (now, recipe) = (self.now, ask.recipe.clone());
        let run = Run::new(number, project.clone(), recipe, ask.by.clone(), now);
        self.floor.runs.put(Runs(()), Run { schedule: ask.schedule.clone(), ..run });
        if let Some(schedule) = &ask.schedule {
            self.schedule_runs(project, schedule, number);
        }
        self.note(NoteKind::RunState, project, None, notes::run_asked(number, formula, &ask.by));
    }

    /// The job carries it out from now on.
    pub(in crate::step) fn run_begins(&mut self, number: RunNumber, job: JobId) {
        let now = self.now;
        let Some(run) = self.floor.run_mut(number) else { return };
        run.state = RunState::Live { job, ending: None };
        run.started_at = Some(now);
        let (project, text) = (run.project.clone(), notes::run_begun(number, &run.recipe.formula, job));
        self.note(NoteKind::RunState, &project, None, text);
        self.letters_go_to(number);
    }
}
