//! Reviews, level-triggered: the newest review of the exact head counts, whoever wrote it and
//! whether it came before or after the job began to wait for it.

use super::Turn;
use crate::effect::{Action, Outcome, Verdict};
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, PrNumber, ProjectName, Sha};
use crate::phase::Phase;
use crate::state::{JobState, SeenReview, Session, SessionState};

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
        if let Some(job) = self.floor.jobs.edit(&id)
            && job.review_head.as_ref() != Some(&head)
        {
            // A new head gets new reviewers; the same again does not.
            job.review_head = Some(head.clone());
            job.review_attempts = 0;
        }
        if !self.react_to_review(id) && policy.review_agent {
            self.see_to_a_reviewer(id, &head);
        }
    }

    /// Makes sure that somebody reviews exactly this head.
    fn see_to_a_reviewer(&mut self, id: JobId, head: &Sha) {
        let Some(job) = self.job(id) else { return };
        let attempts = job.review_attempts;
        let current = job.review_session.and_then(|e| self.floor.sessions.get(&e));
        match current.map(|s| (s.epoch, s.state, s.head.as_ref() == Some(head))) {
            // Its result may have come while nobody waited for it.
            Some((epoch, SessionState::Starting | SessionState::Live | SessionState::Exited, true)) => {
                self.result_written(epoch);
            }
            Some((
                epoch,
                SessionState::Starting
                | SessionState::Live
                | SessionState::Exited
                | SessionState::Ending
                | SessionState::Unended,
                _,
            )) => {
                self.end_session(epoch);
                if let Some(job) = self.floor.jobs.edit(&id) {
                    job.reviewer_wanted = true;
                }
            }
            // One that left may have left a result.
            Some((epoch, SessionState::Ended, true)) => {
                self.result_written(epoch);
            }
            Some((_, SessionState::Ended, false)) | None if attempts < REVIEWERS_MAX => {
                self.start_reviewer(id)
            }
            Some((_, SessionState::Ended, false)) | None => {}
        }
    }

    /// The reviewer that stood in the way has ended.
    pub(super) fn reviewer_ended(&mut self, id: JobId) {
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if job.reviewer_wanted && job.review_session.is_none() {
            job.reviewer_wanted = false;
            if matches!(job.state, JobState::Reviewing { .. }) {
                self.start_reviewer(id);
            }
        }
    }

    /// The reviewer that stands in the way cannot be ended: no second one beside it.
    pub(super) fn reviewer_not_ended(&mut self, id: JobId, epoch: Epoch, why: &str) {
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if job.reviewer_wanted && job.review_session == Some(epoch) {
            job.reviewer_wanted = false;
            if matches!(job.state, JobState::Reviewing { .. }) {
                self.ask_a_person_to_review(id, epoch, why);
            }
        }
    }

    /// The newest review of a queued head asks for changes; it came when nothing could be stopped.
    pub(super) fn heed_late_review(&mut self, id: JobId) {
        let Some(job) = self.job(id) else { return };
        let Some(review) = job.review.clone() else { return };
        let told = job.review_told == Some(review.id);
        if told || review.verdict == Verdict::Approve || job.head.as_ref() != Some(&review.head) {
            return;
        }
        if self.withdraw(id, "a review asked for changes") {
            let within = self.policy_of(id).review_timeout;
            self.enter(id, JobState::Reviewing { head: review.head }, within);
            self.react_to_review(id);
        }
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
        let Some(job) = self.floor.live_jobs(project).find(|j| j.pr == Some(pr)) else {
            self.reviewed_by_hand(project, pr, head, verdict);
            return;
        };
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
        job.reviewer_wanted = false;
        if let Some(epoch) = job.review_session {
            self.dismiss(id, epoch);
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

    /// A reviewer says, or its end says, that its result can be read. Whether it is looked at.
    pub(super) fn result_written(&mut self, epoch: Epoch) -> bool {
        let Some(session) = self.floor.sessions.get(&epoch) else { return false };
        let id = session.job;
        let Some(job) = self.job(id) else { return false };
        let (JobState::Reviewing { head }, Some(pr)) = (&job.state, job.pr) else { return false };
        if job.review_session != Some(epoch) {
            return false;
        }
        if session.head.as_ref() != Some(head) {
            self.stale(id, format!("the review of session {epoch} is of another commit"));
            return false;
        }
        let action =
            Action::CollectReview { job: id, project: job.project.clone(), epoch, pr, head: head.clone() };
        self.seen(epoch);
        self.act(action);
        true
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
                // A live reviewer that has not said it is done may still be writing; its next writing
                // or its end is looked at again.
                let writing = |s: &Session| s.state == SessionState::Live && s.phase != Some(Phase::Done);
                if !self.floor.sessions.get(&epoch).is_some_and(writing) && !self.repair(id, epoch, why) {
                    self.reviewer_failed(id, epoch, &format!("the review is of no use: {why}"));
                }
            }
            _ => {}
        }
    }

    /// A reviewer that can be spoken to is told once what is wrong with its result. Whether it was.
    fn repair(&mut self, id: JobId, epoch: Epoch, why: &str) -> bool {
        let Some(session) = self.floor.sessions.edit(&epoch) else { return false };
        if session.state != SessionState::Live || !session.typed || session.repaired {
            return false;
        }
        session.repaired = true;
        // It is at work again, and what it writes now may be half of it.
        session.phase = None;
        self.queue_to(
            id,
            epoch,
            &format!("RESULT unusable\nYour review cannot be used: {why}. Write the JSON object to the file named by $SHOPFLOOR_RESULT_FILE again, as you were told at the start, and run `shopfloor phase done`."),
        );
        true
    }

    /// The verdict is on the forge, from where it is observed; the reviewer is done.
    pub(super) fn review_posted(&mut self, id: JobId, epoch: Epoch) {
        if self.job(id).is_some_and(|j| j.review_session == Some(epoch)) {
            self.dismiss(id, epoch);
        }
    }

    /// The reviewer has said all it had to say.
    fn dismiss(&mut self, id: JobId, epoch: Epoch) {
        if self.end_session(epoch).is_none()
            && let Some(job) = self.floor.jobs.edit(&id)
        {
            job.review_session = None;
        }
    }

    /// Another reviewer, or a person.
    pub(super) fn reviewer_failed(&mut self, id: JobId, epoch: Epoch, why: &str) {
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if job.review_session != Some(epoch) {
            return;
        }
        let attempts = job.review_attempts;
        let waits = matches!(job.state, JobState::Reviewing { .. });
        let ending = self.end_session(epoch).is_some();
        let more = waits && attempts < REVIEWERS_MAX;
        if let Some(job) = self.floor.jobs.edit(&id) {
            // Never two in one worktree: the next starts when this one has ended.
            job.reviewer_wanted = ending && more;
            if !ending {
                job.review_session = None;
            }
        }
        if more && !ending {
            self.start_reviewer(id);
        }
        if waits && !more {
            self.ask_a_person_to_review(id, epoch, why);
        }
    }

    fn ask_a_person_to_review(&mut self, id: JobId, epoch: Epoch, why: &str) {
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
