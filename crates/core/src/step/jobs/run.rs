//! The job that carries out a run: it begins when there is room for it, and has a branch and a worktree.

use super::run_waiting::RunWaiting;
use super::{Jobs, START_WITHIN};
use crate::effect::Action;
use crate::ids::{Assignment, JobId, ProjectName, Role, RunNumber};
use crate::recipe::Step;
use crate::state::{Job, JobState, Run, RunState, StepRecord, StepState};
use crate::step::Turn;
use crate::text::one_line;

const TITLE_CHARS_MAX: usize = 200;

impl Turn<'_> {
    /// Begins a run that waits, if nothing stands in its way. Returns whether it did.
    pub(in crate::step) fn begin_next_run(&mut self, project: &ProjectName) -> bool {
        if self.floor.projects.get(project).is_none() || RunWaiting::all(self.floor, project).is_some() {
            return false;
        }
        let staffed = |run: &Run| RunWaiting::for_its_agent(self.floor, run).is_none();
        let waits = |run: &&Run| {
            run.project == *project && run.state == RunState::Waiting && run.issue.is_none() && staffed(run)
        };
        let Some(number) = self.floor.runs.iter().find(waits).map(|run| run.number) else { return false };
        self.begin_run(number);
        true
    }

    /// Which run the job of an action carries out, and as what.
    pub(in crate::step) fn carries_out(&mut self, id: JobId, run: RunNumber, role: Role) {
        if let Some(job) = self.floor.job_mut(id) {
            (job.action, job.role) = (Some(run), role);
        }
    }

    /// Has the worktree of a job made that is preparing.
    pub(in crate::step) fn prepare(&mut self, id: JobId) {
        let due = self.now + self.policy_of(id).setup_timeout + START_WITHIN;
        let Some(job) = self.floor.job_mut(id) else { return };
        job.deadline = Some(due);
        let action = Action::PrepareWorktree {
            job: id,
            project: job.project.clone(),
            assignment: job.assignment,
            role: job.role,
            branch: job.branch.clone(),
            target: job.target.clone(),
        };
        self.act(action);
    }

    /// A command of the job's run is under way: whoever follows its agent starts when that has ended. Returns whether
    /// it is.
    pub(super) fn waits_for_command(&mut self, id: JobId) -> bool {
        let running = |(_, record): &(&Step, &StepRecord)| matches!(record.state, StepState::Running { .. });
        let step = self.floor.run_of(id).and_then(|run| run.steps().find(running)).map(|(step, _)| step);
        let Some(within) = step.map(Step::within) else { return false };
        self.enter(id, JobState::RunningStep, within);
        true
    }

    fn begin_run(&mut self, number: RunNumber) {
        let id = JobId(self.number(|c| &mut c.job));
        let now = self.now;
        let Some(run) = self.floor.runs.get(&number) else { return };
        let (project, recipe) = (run.project.clone(), &run.recipe);
        let (role, branch) = (recipe.role, format!("run/{}-{number}", recipe.formula));
        let title = match recipe.description.trim() {
            "" => recipe.formula.to_string(),
            text => one_line(text, TITLE_CHARS_MAX),
        };
        let assignment = Assignment::Run(number);
        let within = self.policy(&project).setup_timeout + START_WITHIN;
        let new = Job::new(id, assignment, project.clone(), branch.clone(), JobState::Preparing, now);
        self.floor.jobs.put(Jobs(()), Job { title, role, deadline: Some(now + within), ..new });
        self.run_begins(number, id);
        self.act(Action::PrepareWorktree { job: id, project, assignment, role, branch, target: None });
    }
}
