//! How runs end.

use super::Runs;
use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{JobId, ProjectName, RunNumber};
use crate::state::{End, JobState, Run, RunResult, RunState, StepRecord, StepState};
use crate::step::Turn;
use crate::texts::{notes, reasons};

impl Turn<'_> {
    pub(in crate::step) fn run_cancelled(&mut self, project: &ProjectName, number: RunNumber) {
        if self.floor.runs.get(&number).is_some_and(|run| run.project == *project) {
            self.end_run(number, RunResult::Cancelled, reasons::cancelled());
        }
    }

    /// It was not through in time. The time that a person has its agent, or its project is paused, does not count.
    pub(in crate::step) fn run_due(&mut self, number: RunNumber) {
        let Some((lifetime, job)) = self.floor.runs.get(&number).map(|run| (run.recipe.lifetime, run.job()))
        else {
            return;
        };
        if let Some(until) = job.and_then(|job| self.job_held_until(job)) {
            if let Some(run) = self.floor.run_mut(number) {
                run.spared_until = Some(until);
            }
            return;
        }
        self.end_run(number, RunResult::TimedOut, &reasons::run_took_too_long(lifetime));
    }

    /// Ends a run, now or when its job has ended.
    pub(super) fn end_run(&mut self, number: RunNumber, result: RunResult, reason: &str) {
        let Some(run) = self.floor.run_mut(number) else { return };
        match &mut run.state {
            RunState::Waiting => match self.floor.job_of_action(number).map(|job| job.id) {
                // It ends with the job of its issue.
                Some(job) => self.finish(job, End::Cancelled, reason),
                None => self.run_ended(number, result, reason),
            },
            RunState::Live { ending: Some(_), .. } | RunState::Ended { .. } => {}
            RunState::Live { job, ending } => {
                let id = *job;
                *ending = Some((result, reason.to_owned()));
                self.stop_step(number, result);
                let end = match result {
                    RunResult::Done | RunResult::NothingToDo => End::Done,
                    RunResult::Cancelled => End::Cancelled,
                    RunResult::Failed | RunResult::TimedOut => End::Failed,
                };
                if end == End::Cancelled {
                    self.end_is_wanted(id);
                }
                self.finish(id, end, reason);
            }
        }
    }

    /// What is under way is not waited for any longer.
    fn stop_step(&mut self, number: RunNumber, result: RunResult) {
        if !self.leave_step(number, result) {
            return;
        }
        let Some(run) = self.floor.runs.get(&number) else { return };
        let (project, role, issue) = (run.project.clone(), run.recipe.role, run.issue);
        self.act(Action::StopStep { project, role, run: number, issue });
    }

    /// A command that was under way has failed; a claim is as open as it was. Returns whether there was one.
    fn leave_step(&mut self, number: RunNumber, result: RunResult) -> bool {
        let now = self.now;
        let Some(run) = self.floor.run_mut(number) else { return false };
        let is_at_it = |record: &&mut StepRecord| {
            matches!(record.state, StepState::Running { .. } | StepState::Claimed { .. })
        };
        let Some(record) = run.steps.iter_mut().find(is_at_it) else { return false };
        record.at = now;
        match record.state {
            StepState::Running { .. } => {
                record.state = StepState::Failed;
                reasons::run_ended_meanwhile(result).clone_into(&mut record.note);
            }
            _ => record.state = StepState::Open,
        }
        true
    }

    /// The job that carried it out has ended.
    pub(in crate::step) fn run_is_over(&mut self, job: JobId) {
        let Some((number, state)) = self.floor.run_of(job).map(|run| (run.number, run.state.clone())) else {
            return;
        };
        let ending = match state {
            RunState::Live { ending, .. } => ending,
            RunState::Waiting => None,
            RunState::Ended { .. } => return,
        };
        let Some(JobState::Ended { end, .. }) = self.job(job).map(|job| job.state.clone()) else { return };
        let reason = self.job(job).and_then(|job| job.reason.clone()).unwrap_or_default();
        let by_job = match end {
            End::Merged | End::Done | End::Reviewed => (RunResult::Done, String::new()),
            End::Cancelled => (RunResult::Cancelled, reason),
            End::Blocked | End::Failed | End::Refused => (RunResult::Failed, reason),
        };
        // It may have landed before what was wanted of it.
        let (result, reason) = ending.filter(|_| end != End::Merged).unwrap_or(by_job);
        self.run_ended(number, result, &reason);
    }

    fn run_ended(&mut self, number: RunNumber, result: RunResult, reason: &str) {
        let now = self.now;
        let job = self.floor.runs.get(&number).and_then(Run::job);
        let spent = job.map(|job| self.floor.cost_of(job)).unwrap_or_default();
        if let Some(run) = self.floor.run_mut(number) {
            run.spent = spent;
        }
        self.leave_step(number, result);
        self.schedule_ran(number, result);
        let Some(run) = self.floor.run_mut(number) else { return };
        run.state = RunState::Ended { result, reason: reason.to_owned(), at: now, job };
        let text = notes::run_ended(number, &run.recipe.formula, result, reason);
        let project = run.project.clone();
        self.note(NoteKind::RunState, &project, None, text);
        self.begin_actions_in_turn();
        self.supervisor_ran(number, result);
    }

    pub(in crate::step) fn shelve_run(&mut self, number: RunNumber) {
        self.floor.runs.shelve(Runs(()), &number);
    }
}
