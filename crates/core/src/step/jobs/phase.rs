//! What follows for a job from what its agent signals.

use super::START_WITHIN;
use crate::effect::Action;
use crate::ids::{JobId, RunNumber};
use crate::phase::{Phase, PhaseReport};
use crate::state::{Goal, JobState, Run};
use crate::step::Turn;
use crate::texts::{agents, people, reasons};

impl Turn<'_> {
    pub(in crate::step) fn dev_phase(&mut self, id: JobId, report: &PhaseReport) {
        let Some(job) = self.job(id) else { return };
        match &job.state {
            // The last effects are under way: nothing an agent says changes that.
            JobState::Finishing { .. } | JobState::Ended { .. } => return,
            JobState::InQueue { .. } if report.phase != Phase::Failed => {
                // Approved and queued. Only the queue merges, so there is nothing to do but wait.
                let more = job.rounds.reminders < self.policy_of(id).reminders_max;
                if report.phase == Phase::Done && more && job.session.is_some() && !self.reminder_is_due(id) {
                    self.inform(id, &agents::in_merge_queue());
                    self.is_reminder(id);
                }
                return;
            }
            _ => {}
        }
        // One that is over has nothing to say any more: a person revived the job.
        let live = |run: &RunNumber| self.floor.runs.get(run).is_some_and(Run::is_live);
        let run = job.run().filter(live).filter(|_| !matches!(report.phase, Phase::NeedsHuman));
        if run.is_some_and(|run| self.run_signalled(run, report)) {
            return;
        }
        match report.phase {
            Phase::AwaitingCi => self.push(id, Goal::Ci),
            Phase::AwaitingReview => self.push(id, Goal::Review),
            Phase::NeedsHuman => {
                let question = report.detail.clone().unwrap_or_else(|| people::no_question().into());
                self.ask(id, &question, &report.ask);
            }
            Phase::Done => self.remind(id, &agents::not_merged(), reasons::done_but_not_merged()),
            Phase::Failed => {
                let why = report.detail.clone().unwrap_or_else(|| reasons::none_given().into());
                self.gave_up(id, &why);
            }
        }
    }

    /// Has the branch pushed and looked at.
    pub(in crate::step) fn push(&mut self, id: JobId, goal: Goal) {
        let Some(job) = self.job(id) else { return };
        let action = Action::PushBranch {
            job: id,
            project: job.project.clone(),
            assignment: job.assignment,
            role: job.role,
            branch: job.branch.clone(),
            reviewed: self.floor.heads_to_compare(job),
            each_commit: self.floor.policy(&job.project).lands_each_commit(),
            protected: self.floor.policy(&job.project).protected,
            target: job.target.clone(),
        };
        self.enter(id, JobState::Pushing { goal }, START_WITHIN);
        self.act(action);
    }

    /// Tells the agent what is amiss, a bounded number of times. A message it has not read yet does not count as a
    /// reminder; only one is on its way at a time, with a deadline of its own.
    pub(in crate::step) fn remind(&mut self, id: JobId, text: &str, verdict: &str) {
        let policy = self.policy_of(id);
        let Some(job) = self.job(id) else { return };
        if self.reminder_is_due(id) {
            self.enter(id, JobState::Working, self.idle_limit(id));
            self.respawn_if_needed(id);
        } else if job.rounds.reminders >= policy.reminders_max {
            self.block(id, &reasons::after_reminders(verdict, job.rounds.reminders));
        } else {
            self.nudge(id, text);
            self.is_reminder(id);
        }
    }
}
