//! Reviews, level-triggered: the newest review of this very change counts, whoever wrote it, whether it came
//! before or after the job began to wait for it, and whatever commit carried the change then. A person's request
//! for changes stands until a person lifts it. Who writes reviews: `sessions/reviewer.rs`.
//!
//! What changes a protected file needs a person's approval besides, whether reviews are required or not.

use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{JobId, PrNumber, ProjectName, Sha};
use crate::state::{JobState, PersonsWord, ReviewStanding, SeenReview};
use crate::step::Turn;
use crate::texts::{agents, comments, escalations, markers, notes, reasons, records};

/// The author of the factory's reviews before its reviewer had a name of its own.
const OLD_AUTHOR: &str = "shopfloor";

impl Turn<'_> {
    /// `head` is green and ready: it waits for a review, or proceeds if none is needed.
    pub(super) fn await_review(&mut self, id: JobId, head: Sha) {
        let policy = self.policy_of(id);
        if !policy.review_required {
            match self.persons_word(id, &head) {
                PersonsWord::NotNeeded | PersonsWord::Given => {
                    self.inform(id, &agents::no_review_needed());
                    self.enqueue(id, head);
                }
                PersonsWord::Unknown => self.republish(id),
                PersonsWord::Needed(files) => {
                    self.enter(id, JobState::Reviewing { head: head.clone() }, policy.review_timeout);
                    if !self.react_to_review(id) {
                        self.ask_for_persons_word(id, &head, &files);
                    }
                }
            }
            return;
        }
        self.enter(id, JobState::Reviewing { head: head.clone() }, policy.review_timeout);
        if let Some(job) = self.floor.job_mut(id)
            && job.reviewer.head.as_ref() != Some(&head)
        {
            // A new head gets new attempts; the same head again does not.
            job.reviewer.head = Some(head.clone());
            job.reviewer.attempts = 0;
        }
        if !self.react_to_review(id) && policy.review_agent {
            self.see_to_a_reviewer(id, &head);
        }
    }

    /// What the reviews of the newest head say.
    fn standing(&self, id: JobId) -> ReviewStanding {
        let job = self.job(id);
        let head = job.and_then(|job| Some((job, job.head.as_ref()?)));
        head.map_or(ReviewStanding::NotReviewed, |(job, head)| self.floor.review_standing(job, head))
    }

    /// A queued change is no longer approved; that became known when nothing could be stopped.
    pub(in crate::step) fn heed_late_review(&mut self, id: JobId) {
        let merging = self.job(id).is_some_and(|j| matches!(j.state, JobState::InQueue { .. }));
        if merging && self.is_refused(id) && self.withdraw(id, reasons::changes_requested()) {
            self.review_again(id);
        }
    }

    fn is_refused(&self, id: JobId) -> bool {
        matches!(self.standing(id), ReviewStanding::Refused(_) | ReviewStanding::Objected { .. })
    }

    /// The change leaves the queue and returns to where its review is acted upon.
    fn review_again(&mut self, id: JobId) {
        let Some(head) = self.job(id).and_then(|j| j.head.clone()) else { return };
        let within = self.policy_of(id).review_timeout;
        self.enter(id, JobState::Reviewing { head }, within);
        self.react_to_review(id);
    }

    pub(in crate::step) fn review_seen(&mut self, project: &ProjectName, pr: PrNumber, review: SeenReview) {
        let job = self.floor.live_jobs(project).find(|j| j.pr == Some(pr)).map(|j| j.id);
        // A pull request may be seen before its job knows its number.
        let expected = self.floor.live_jobs(project).any(|j| j.pr.is_none_or(|known| known == pr));
        if job.is_none() {
            self.reviewed_by_person(project, pr, &review.head, review.verdict, review.agent);
        }
        let key = (project.clone(), pr);
        if self.floor.pulls.get(&key).is_none() && !expected {
            return;
        }
        let text = notes::review(&review);
        if !self.keep_review(project, pr, review) {
            return;
        }
        let Some(id) = job else {
            self.note(NoteKind::ReviewResult, project, None, notes::review_of_pull(pr, &text));
            return;
        };
        self.note_job(NoteKind::ReviewResult, id, text);
        let merging = self.job(id).is_some_and(|j| matches!(j.state, JobState::InQueue { .. }));
        if !(merging && self.is_refused(id)) {
            self.react_to_review(id);
        } else if self.withdraw(id, reasons::changes_requested()) {
            self.review_again(id);
        } else {
            // The publication is under way and cannot be called off.
            self.escalate_job(id, escalations::refused_while_published());
        }
    }

    /// Takes over what an older program kept with the job.
    pub(in crate::step) fn reviews_resumed(&mut self) {
        let old = |j: &&crate::state::Job| j.review.is_some();
        let jobs: Vec<JobId> = self.floor.jobs.iter().filter(old).map(|j| j.id).collect();
        for id in jobs {
            let Some(job) = self.floor.job_mut(id) else { continue };
            let (Some(mut review), Some(pr)) = (job.review.take(), job.pr) else { continue };
            let key = (job.project.clone(), pr);
            review.agent = review.author == OLD_AUTHOR;
            self.keep_review(&key.0, pr, review);
        }
        self.reviewers_resumed();
    }

    /// Acts on what the reviews say of the waiting head. False if they say nothing.
    fn react_to_review(&mut self, id: JobId) -> bool {
        let Some(job) = self.job(id) else { return false };
        let JobState::Reviewing { head } = &job.state else { return false };
        let (head, told) = (head.clone(), job.reviewer.told);
        let standing = self.floor.review_standing(job, &head);
        let review = match &standing {
            ReviewStanding::NotReviewed => return false,
            ReviewStanding::Approved(review) | ReviewStanding::Refused(review) => review,
            ReviewStanding::Objected { approval, .. } => approval,
        };
        let (news, text) = (told != Some(review.id), self.review_text(id, review));
        let Some(job) = self.floor.job_mut(id) else { return false };
        job.reviewer.told = Some(review.id);
        self.settle_reviewer(id);
        match standing {
            ReviewStanding::NotReviewed => {}
            ReviewStanding::Approved(review) => self.approved(id, head, &review, &text),
            ReviewStanding::Refused(review) if news => self.refused(id, &review, &text),
            ReviewStanding::Refused(review) => {
                self.record_review(id, &review);
                let SeenReview { author, head, verdict, .. } = &review;
                self.remind(
                    id,
                    &agents::refused_already(*verdict, author, head, &text),
                    reasons::asks_for_needless_review(),
                );
            }
            ReviewStanding::Objected { objection, .. } if news => self.ask_objector(id, &head, &objection),
            ReviewStanding::Objected { .. } => {}
        }
        true
    }

    fn review_text(&self, id: JobId, review: &SeenReview) -> String {
        let pr = self.job(id).and_then(|j| j.pr).unwrap_or_default();
        match review.text.as_str() {
            "" => agents::review_is_on(pr),
            text => text.to_owned(),
        }
    }

    pub(super) fn persons_word(&self, id: JobId, head: &Sha) -> PersonsWord {
        self.job(id).map_or(PersonsWord::Unknown, |job| self.floor.persons_word(job, head))
    }

    /// A person has to approve what it changes besides: they are told once for each change. The agent is told nothing:
    /// it waits as before.
    fn ask_for_persons_word(&mut self, id: JobId, head: &Sha, files: &[String]) {
        let each_commit = self.policy_of(id).lands_each_commit();
        let Some(job) = self.floor.job_mut(id) else { return };
        let asked = job.known.persons_word_asked.replace(head.clone());
        if asked.is_some_and(|asked| job.known.is_same_change(&asked, head, each_commit)) {
            return;
        }
        let (project, pr) = (job.project.clone(), job.pr.unwrap_or_default());
        self.escalate_on_record(id, "persons_word", head.short(), &escalations::persons_word(head, files));
        let marker = markers::persons_word(id, head);
        self.act(Action::CommentPr { project, pr, marker, body: comments::persons_word(pr, head, files) });
    }

    fn approved(&mut self, id: JobId, head: Sha, review: &SeenReview, text: &str) {
        match self.persons_word(id, &head) {
            PersonsWord::NotNeeded | PersonsWord::Given => {}
            PersonsWord::Needed(files) => return self.ask_for_persons_word(id, &head, &files),
            PersonsWord::Unknown => return self.republish(id),
        }
        let SeenReview { author, head: of, .. } = review;
        if *of != head {
            self.note_job(NoteKind::ReviewResult, id, notes::approval_holds(review, &head));
        }
        self.inform(id, &agents::approved(author, of, &head, text));
        self.enqueue(id, head);
    }

    fn refused(&mut self, id: JobId, review: &SeenReview, text: &str) {
        let max = self.policy_of(id).review_rounds_max;
        let Some(job) = self.floor.job_mut(id) else { return };
        job.rounds.review_rounds += 1;
        if job.rounds.review_rounds > max {
            self.block(id, &reasons::reviewed_too_often(max));
            return;
        }
        let SeenReview { author, head, verdict, .. } = review;
        self.record_review(id, review);
        self.tell(id, &agents::refused(*verdict, author, head, text));
    }

    fn record_review(&mut self, id: JobId, review: &SeenReview) {
        let next = records::address_review(review);
        self.record_rework(id, review.verdict.as_str(), &next, None);
    }

    /// The agent approves; the person who asked for changes has to say whether they have been made.
    fn ask_objector(&mut self, id: JobId, head: &Sha, objection: &SeenReview) {
        let who = &objection.author;
        self.escalate_job(id, &escalations::objection_stands(head, who));
        let pr = self.job(id).and_then(|job| job.pr).unwrap_or_default();
        let marker = markers::objection(id, objection.id, head);
        self.comment_on(id, marker, comments::objection_stands(pr, head, who, &objection.head));
    }
}
