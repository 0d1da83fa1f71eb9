//! Reviews, level-triggered: the newest review of the exact head counts, whoever wrote it and
//! whether it came before or after the job began to wait for it.

use super::Turn;
use crate::effect::{Action, Outcome, Verdict};
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, PrNumber, ProjectName, Sha};
use crate::state::{JobState, SeenReview, SessionState};

/// How often a reviewer that leaves nothing usable is replaced before a person is asked.
const REVIEWERS_MAX: u32 = 2;

impl Turn<'_> {
    /// `head` is green and ready: it waits for a review, or goes on if none is needed.
    pub(super) fn await_review(&mut self, id: JobId, head: Sha) {
        let policy = self.policy_of(id);
        if !policy.review_required {
            self.inform(id, "Review: APPROVE\nThis project merges without a review. The merge queue takes it from here; signal done.");
            self.enqueue(id, head);
            return;
        }
        self.enter(id, JobState::Reviewing { head: head.clone() }, policy.review_timeout);
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.review_attempts = 0;
        }
        if !self.react_to_review(id) && policy.review_agent && !self.reviewer_at_work(id) {
            self.start_reviewer(id);
        }
    }

    fn reviewer_at_work(&self, id: JobId) -> bool {
        self.job(id)
            .and_then(|j| j.review_session)
            .and_then(|e| self.floor.sessions.get(&e))
            .is_some_and(|s| matches!(s.state, SessionState::Starting | SessionState::Live))
    }

    #[expect(clippy::too_many_arguments, reason = "an observation's fields, passed through once")]
    pub(super) fn review_seen(
        &mut self,
        project: &ProjectName,
        pr: PrNumber,
        head: &Sha,
        verdict: Verdict,
        text: &str,
        author: &str,
        review: u64,
    ) {
        let Some(job) = self.floor.live_jobs(project).find(|j| j.pr == Some(pr)) else { return };
        if job.review.as_ref().is_some_and(|seen| seen.id >= review) {
            return;
        }
        let id = job.id;
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.review = Some(SeenReview {
                id: review,
                head: head.clone(),
                verdict,
                text: text.to_owned(),
                author: author.to_owned(),
            });
        }
        self.note_job(
            NoteKind::ReviewResult,
            id,
            format!("{} by {author} of {}", verdict.as_str(), head.short()),
        );
        let withdrawn = verdict != Verdict::Approve
            && matches!(self.job(id), Some(j) if matches!(j.state, JobState::Merging { .. }) && j.head.as_ref() == Some(head));
        if withdrawn && !self.withdraw(id, "a review asked for changes") {
            // The publication is under way and cannot be called back.
            self.escalate_job(id, "a review asked for changes while the change was being published");
            return;
        }
        if withdrawn {
            let within = self.policy_of(id).review_timeout;
            self.enter(id, JobState::Reviewing { head: head.clone() }, within);
        }
        self.react_to_review(id);
    }

    /// Acts on the newest review if it is of the head that waits and was not acted upon.
    fn react_to_review(&mut self, id: JobId) -> bool {
        let Some(job) = self.job(id) else { return false };
        let JobState::Reviewing { head } = &job.state else { return false };
        let Some(review) = job.review.clone() else { return false };
        if review.head != *head || job.review_told == Some(review.id) {
            return false;
        }
        let head = head.clone();
        let max = self.policy_of(id).review_rounds_max;
        let job = self.floor.jobs.edit(&id).expect("just read");
        job.review_told = Some(review.id);
        job.review_attempts = 0;
        if let Some(epoch) = job.review_session.take() {
            self.end_session(epoch);
        }
        match review.verdict {
            Verdict::Approve => {
                self.inform(id, &format!("Review: APPROVE\n{} approved commit {head}. The merge queue takes it from here; signal done.\n\n{}", review.author, review.text));
                self.enqueue(id, head);
            }
            Verdict::RequestChanges | Verdict::Discuss => {
                let job = self.floor.jobs.edit(&id).expect("just read");
                job.review_rounds += 1;
                if job.review_rounds > max {
                    self.block(id, &format!("{max} rounds of review did not end in an approval"));
                } else {
                    self.tell(
                        id,
                        &format!("Review: REQUEST_CHANGES\n{} reviewed commit {head}. Address this, commit, push and signal awaiting_review again.\n\n{}", review.author, review.text),
                    );
                }
            }
        }
        true
    }

    /// A reviewer says, or its end says, that its result can be read.
    pub(super) fn result_written(&mut self, epoch: Epoch) {
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let id = session.job;
        let Some(job) = self.job(id) else { return };
        let (JobState::Reviewing { head }, Some(pr)) = (&job.state, job.pr) else { return };
        if job.review_session != Some(epoch) {
            return;
        }
        let action =
            Action::CollectReview { job: id, project: job.project.clone(), epoch, pr, head: head.clone() };
        self.seen(epoch);
        self.act(action);
    }

    pub(super) fn review_collected(
        &mut self,
        id: JobId,
        epoch: Epoch,
        pr: PrNumber,
        head: &Sha,
        outcome: &Outcome,
    ) {
        let Some(job) = self.job(id) else { return };
        let waits = matches!(&job.state, JobState::Reviewing { head: waiting } if waiting == head);
        if !waits || job.review_session != Some(epoch) {
            self.stale(id, format!("review of session {epoch} is not waited for any more"));
            return;
        }
        let project = job.project.clone();
        match outcome {
            Outcome::ReviewCollected { review } => {
                let review = review.clone();
                self.act(Action::PostReview { job: id, project, pr, head: head.clone(), epoch, review });
            }
            Outcome::ReviewUnusable { why } => {
                // A live reviewer may still be writing; its next writing or its end is looked at again.
                let live = self.floor.sessions.get(&epoch).is_some_and(|s| s.state == SessionState::Live);
                if !live {
                    self.reviewer_failed(id, epoch, &format!("the review is of no use: {why}"));
                }
            }
            _ => {}
        }
    }

    /// The verdict is on the forge, from where it is observed; the reviewer is done.
    pub(super) fn review_posted(&mut self, id: JobId, epoch: Epoch) {
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if job.review_session == Some(epoch) {
            job.review_session = None;
            self.end_session(epoch);
        }
    }

    /// Another reviewer, or a person.
    pub(super) fn reviewer_failed(&mut self, id: JobId, epoch: Epoch, why: &str) {
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if job.review_session != Some(epoch) {
            return;
        }
        job.review_session = None;
        let attempts = job.review_attempts;
        let waits = matches!(job.state, JobState::Reviewing { .. });
        self.end_session(epoch);
        if !waits {
            return;
        }
        if attempts < REVIEWERS_MAX {
            self.start_reviewer(id);
            return;
        }
        self.escalate_job(id, &format!("{why}; a person has to review"));
        let Some(job) = self.job(id) else { return };
        let (project, issue, pr) = (job.project.clone(), job.issue, job.pr.unwrap_or_default());
        let marker = format!("review-failed-{id}-{epoch}");
        let body = format!(
            "No reviewer gave a usable review of pull request #{pr} ({why}). Review it with `shopfloor pr review {pr} --approve` or `--request-changes`."
        );
        self.act(Action::Comment { project, issue, marker, body });
    }
}
