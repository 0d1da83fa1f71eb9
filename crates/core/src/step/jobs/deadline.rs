//! A job that has been in its state for too long, or for as long as it was meant to be.

use crate::ids::{JobId, Sha};
use crate::liveness::State;
use crate::state::{Job, JobState, PersonsWord, Session};
use crate::step::Turn;
use crate::texts::{agents, comments, escalations, markers, reasons};
use std::time::Duration;

/// How long until somebody is told again that something takes long.
const LONG_AGAIN: Duration = Duration::from_secs(3600);

impl Turn<'_> {
    pub(in crate::step) fn job_due(&mut self, id: JobId) {
        let Some(job) = self.job(id) else { return };
        let suspended = matches!(job.state, JobState::Working | JobState::Respawning { .. })
            || matches!(&job.state, JobState::Finishing { .. } if self.waits_for_a_person_to_leave(id));
        if let Some(until) = self.job_held_until(id).filter(|_| suspended) {
            // A person has it: the time that takes is not held against anyone.
            self.floor.job_mut(id).expect("just read").deadline = Some(until);
            return;
        }
        match job.state.clone() {
            JobState::Respawning { .. } => self.start_successor(id),
            JobState::Working => {
                let since = job.history.last().map_or(job.created_at, |stage| stage.at);
                if let Some(at) = self.patience(job.session, since) {
                    let background = |s: &Session| {
                        s.status.as_ref().is_some_and(|s| matches!(s.state, State::Background { .. }))
                    };
                    // People are told when the background work's own time is over.
                    if !self.floor.session_of(job).is_some_and(background) {
                        self.escalate_job(id, escalations::agent_waits());
                    }
                    if let Some(job) = self.floor.job_mut(id) {
                        job.deadline = Some(at);
                    }
                    return;
                }
                if self.background_over(id) || self.extended(id) {
                    return;
                }
                self.silent(id, &reasons::silent(self.idle_limit(id)));
            }
            JobState::NeedsHuman { .. } => self.question_due(id),
            JobState::Retrying { goal, head } => self.check(id, goal, head),
            JobState::Reviewing { head } => self.no_review(id, &head),
            state @ JobState::Parked { .. } => self.parked_due(id, state),
            // Effects under way: the engine repeats them until they work. If they fail, that is reported
            // elsewhere; otherwise somebody is told, again and again, that it takes long.
            state @ (JobState::Preparing
            | JobState::Starting
            | JobState::RunningStep
            | JobState::Pushing { .. }
            | JobState::Checking { .. }
            | JobState::InQueue { .. }
            | JobState::Finishing { .. }) => {
                if self.floor.trouble_of(job).is_some() {
                    let at = self.now + LONG_AGAIN;
                    if let Some(job) = self.floor.job_mut(id) {
                        job.deadline = Some(at);
                    }
                    return;
                }
                self.escalate_job(id, &escalations::takes_long(state.name()));
                self.enter(id, state, LONG_AGAIN);
            }
            JobState::Ended { .. } => {}
        }
    }

    /// Nobody reviews: that is reported each time, and acted upon once for each head.
    fn no_review(&mut self, id: JobId, head: &Sha) {
        let within = self.policy_of(id).review_timeout;
        if let PersonsWord::Needed(files) = self.persons_word(id, head) {
            let text = escalations::persons_word(head, &files);
            if let Some(job) = self.floor.job_mut(id) {
                job.memo.review_late = Some(head.clone());
            }
            self.escalate_job(id, &text);
            self.enter(id, JobState::Reviewing { head: head.clone() }, within);
            return;
        }
        let text = escalations::no_review(head, within);
        let told_only = self.job(id).is_some_and(Job::is_review);
        let Some(job) = self.floor.job_mut(id) else { return };
        let told = job.memo.review_late.replace(head.clone()).as_ref() == Some(head);
        let pr = job.pr.unwrap_or_default();
        // A person's pull request waits for nothing: the review was only meant as advice.
        if told || told_only {
            self.escalate_job(id, &text);
        } else {
            self.escalate_on_record(id, "review_timeout", head.short(), &text);
            self.comment_on(id, markers::no_review(id, head), comments::no_review(pr, head, within));
            self.inform(id, &agents::no_review(head, within));
        }
        self.enter(id, JobState::Reviewing { head: head.clone() }, within);
    }
}
