//! The reaction to what agents signal.

use super::Turn;
use super::scheduler::START_WITHIN;
use crate::effect::Action;
use crate::ids::{Epoch, JobId, Role};
use crate::phase::{Phase, PhaseReport};
use crate::state::{Goal, JobState};

impl Turn<'_> {
    pub(super) fn phase_written(&mut self, epoch: Epoch, stamp: &str, report: &PhaseReport) {
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        if session.phase_stamp.as_deref() == Some(stamp) {
            return;
        }
        session.phase_stamp = Some(stamp.to_owned());
        let (id, role) = (session.job, session.role);
        let Some(job) = self.job(id) else { return };
        let current = match role {
            Role::Dev => job.session == Some(epoch),
            Role::Review => job.review_session == Some(epoch),
        };
        if !current || report.session.is_some_and(|s| s != epoch) {
            self.stale(id, format!("phase {} of a session that is not the current one", report.phase));
            return;
        }
        // A reviewer that has not read what it is to do next speaks of what it did before.
        let early = role == Role::Review && self.floor.next_message(epoch).is_some();
        if let Some(session) = self.floor.sessions.edit(&epoch) {
            session.phase = Some(report.phase).filter(|_| !early);
            // It got somewhere: what failed before is over.
            session.nudges = 0;
        }
        self.seen(epoch);
        if role == Role::Dev {
            // Whose turn it is has something left to do: `done` is no answer to that.
            if report.phase != Phase::Done || self.job(id).is_some_and(|j| j.state != JobState::Working) {
                self.taken_are_answered(id);
            }
            self.record_phase(id, report.phase, report.detail.as_deref());
            self.checkpoint(id);
        }
        match role {
            Role::Dev => self.dev_phase(id, report),
            Role::Review => match report.phase {
                Phase::Done => {
                    self.collect_review(epoch);
                }
                Phase::Failed => {
                    let why = report.detail.as_deref().unwrap_or("no reason given").to_owned();
                    self.reviewer_failed(id, epoch, &format!("the reviewer gave up: {why}"));
                }
                Phase::AwaitingCi | Phase::AwaitingReview | Phase::NeedsHuman => {
                    self.stale(id, format!("a reviewer signalled {}", report.phase));
                }
            },
        }
    }

    fn dev_phase(&mut self, id: JobId, report: &PhaseReport) {
        let Some(job) = self.job(id) else { return };
        match &job.state {
            // The last effects are under way: nothing an agent says changes that.
            JobState::Finishing { .. } | JobState::Ended { .. } => return,
            JobState::Merging { .. } if report.phase != Phase::Failed => {
                // Approved and queued. Only the queue merges, so there is nothing to do but wait.
                let more = job.reminders < self.policy_of(id).reminders_max;
                if report.phase == Phase::Done && more && job.session.is_some() && !self.reminder_is_due(id) {
                    self.inform(
                        id,
                        "PR not merged yet\nIt is in the merge queue, which merges it. Wait: nothing is left for you to do.",
                    );
                    self.is_reminder(id);
                }
                return;
            }
            _ => {}
        }
        match report.phase {
            Phase::AwaitingCi => self.publish(id, Goal::Ci),
            Phase::AwaitingReview => self.publish(id, Goal::Review),
            Phase::NeedsHuman => {
                let question = report.detail.clone().unwrap_or_else(|| "(no question was given)".into());
                self.ask(id, &question, &report.ask);
            }
            Phase::Done => self.remind(
                id,
                "PR not merged yet\nYour work is not in the primary branch. Commit it, then signal awaiting_ci; after \"CI passed\" signal awaiting_review. The merge queue merges an approved change.",
                "the agent says it is done, but nothing is merged",
            ),
            Phase::Failed => {
                let why = report.detail.clone().unwrap_or_else(|| "no reason given".into());
                self.gave_up(id, &why);
            }
        }
    }

    pub(super) fn phase_unreadable(&mut self, epoch: Epoch, stamp: &str, first_line: &str) {
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        if session.phase_stamp.as_deref() == Some(stamp) {
            return;
        }
        session.phase_stamp = Some(stamp.to_owned());
        let (id, role) = (session.job, session.role);
        let current = self.job(id).is_some_and(|j| j.session == Some(epoch) && j.state == JobState::Working);
        if role == Role::Dev && current {
            let line = crate::text::one_line(first_line, 80);
            self.remind(
                id,
                &format!("PHASE not understood\nThe phase file's first line is {line:?}. Write PHASE:awaiting_ci, PHASE:awaiting_review, PHASE:needs_human, PHASE:done or PHASE:failed."),
                "the agent writes a phase that is none",
            );
        }
    }

    /// Has the branch pushed and looked at.
    pub(super) fn publish(&mut self, id: JobId, goal: Goal) {
        let Some(job) = self.job(id) else { return };
        let action = Action::PublishBranch {
            job: id,
            project: job.project.clone(),
            issue: job.issue,
            branch: job.branch.clone(),
            reviewed: self.floor.heads_to_compare(job),
            each_commit: self.floor.policy(&job.project).lands_each_commit(),
            target: job.target.clone(),
        };
        self.enter(id, JobState::Publishing { goal }, START_WITHIN);
        self.act(action);
    }

    /// Tells the agent what is amiss, a bounded number of times. What it has not read yet is no
    /// reminder; one at a time is on its way, and has its own deadline.
    pub(super) fn remind(&mut self, id: JobId, text: &str, verdict: &str) {
        let policy = self.policy_of(id);
        let Some(job) = self.job(id) else { return };
        if self.reminder_is_due(id) {
            self.enter(id, JobState::Working, policy.idle_timeout);
            self.respawn_if_needed(id);
        } else if job.reminders >= policy.reminders_max {
            self.block(id, &format!("{verdict}, after {} reminders", job.reminders));
        } else {
            self.nudge(id, text);
            self.is_reminder(id);
        }
    }
}
