//! Reviews, level-triggered: the newest review of the very change counts, whoever wrote it, whether it
//! came before or after the job began to wait for it, and whatever commit carried the change then. A
//! person's request for changes stands until a person lifts it. Who writes reviews: `reviewer.rs`.

use super::Turn;
use crate::effect::{Action, Verdict};
use crate::event::NoteKind;
use crate::ids::{JobId, PrNumber, ProjectName, Sha};
use crate::state::{JobState, SeenReview, Standing};

/// Who the factory's reviews were from before its reviewer had a name of its own.
const OLD_AUTHOR: &str = "shopfloor";

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
            // A new head gets new attempts; the same again does not.
            job.review_head = Some(head.clone());
            job.review_attempts = 0;
        }
        if !self.react_to_review(id) && policy.review_agent {
            self.see_to_a_reviewer(id, &head);
        }
    }

    /// What the newest head's reviews say.
    fn standing(&self, id: JobId) -> Standing {
        let job = self.job(id);
        let head = job.and_then(|job| Some((job, job.head.as_ref()?)));
        head.map_or(Standing::NotReviewed, |(job, head)| self.floor.review_standing(job, head))
    }

    /// A queued change is not approved any more; that came out when nothing could be stopped.
    pub(super) fn heed_late_review(&mut self, id: JobId) {
        let merging = self.job(id).is_some_and(|j| matches!(j.state, JobState::Merging { .. }));
        if merging && self.is_refused(id) && self.withdraw(id, "a review asked for changes") {
            self.review_again(id);
        }
    }

    fn is_refused(&self, id: JobId) -> bool {
        matches!(self.standing(id), Standing::Refused(_) | Standing::Objected { .. })
    }

    /// Out of the queue: back to where its review is reacted to.
    fn review_again(&mut self, id: JobId) {
        let Some(head) = self.job(id).and_then(|j| j.head.clone()) else { return };
        let within = self.policy_of(id).review_timeout;
        self.enter(id, JobState::Reviewing { head }, within);
        self.react_to_review(id);
    }

    pub(super) fn review_seen(&mut self, project: &ProjectName, pr: PrNumber, review: SeenReview) {
        let job = self.floor.live_jobs(project).find(|j| j.pr == Some(pr)).map(|j| j.id);
        // A pull request may be seen before its job knows its number.
        let expected = self.floor.live_jobs(project).any(|j| j.pr.is_none_or(|known| known == pr));
        if job.is_none() {
            self.reviewed_by_hand(project, pr, &review.head, review.verdict, review.agent);
        }
        let key = (project.clone(), pr);
        if self.floor.pulls.get(&key).is_none() && !expected {
            return;
        }
        let text = format!("{} by {} of {}", review.verdict.as_str(), review.author, review.head.short());
        if !self.floor.pull(project, pr).see(review) {
            return;
        }
        let Some(id) = job else {
            self.note(NoteKind::ReviewResult, project, None, format!("pull request #{pr}: {text}"));
            return;
        };
        self.note_job(NoteKind::ReviewResult, id, text);
        let merging = self.job(id).is_some_and(|j| matches!(j.state, JobState::Merging { .. }));
        if !(merging && self.is_refused(id)) {
            self.react_to_review(id);
        } else if self.withdraw(id, "a review asked for changes") {
            self.review_again(id);
        } else {
            // The publication is under way and cannot be called back.
            self.escalate_job(id, "a review asked for changes while the change was being published");
        }
    }

    /// What an older program kept with the job.
    pub(super) fn reviews_resumed(&mut self) {
        let old = |j: &&crate::state::Job| j.review.is_some();
        let jobs: Vec<JobId> = self.floor.jobs.iter().filter(old).map(|j| j.id).collect();
        for id in jobs {
            let Some(job) = self.floor.jobs.edit(&id) else { continue };
            let (Some(mut review), Some(pr)) = (job.review.take(), job.pr) else { continue };
            let key = (job.project.clone(), pr);
            review.agent = review.author == OLD_AUTHOR;
            self.floor.pull(&key.0, pr).see(review);
        }
        self.reviewers_resumed();
    }

    /// Acts on what the reviews say of the head that waits. False if they say nothing.
    fn react_to_review(&mut self, id: JobId) -> bool {
        let Some(job) = self.job(id) else { return false };
        let JobState::Reviewing { head } = &job.state else { return false };
        let (head, told) = (head.clone(), job.review_told);
        let standing = self.floor.review_standing(job, &head);
        let review = match &standing {
            Standing::NotReviewed => return false,
            Standing::Approved(review) | Standing::Refused(review) => review,
            Standing::Objected { approval, .. } => approval,
        };
        let (news, text) = (told != Some(review.id), self.review_text(id, review));
        let Some(job) = self.floor.jobs.edit(&id) else { return false };
        job.review_told = Some(review.id);
        self.settle_reviewer(id);
        match standing {
            Standing::NotReviewed => {}
            Standing::Approved(review) => self.approved(id, head, &review, &text),
            Standing::Refused(review) if news => self.refused(id, &review, &text),
            Standing::Refused(review) => {
                self.record_review(id, &review);
                let SeenReview { author, head, verdict, .. } = &review;
                self.remind(
                    id,
                    &format!("Review: {}\nYour change is as it was when {author} reviewed it, at commit {head}. Address the review, commit and signal awaiting_review again.\n\n{text}", verdict.as_str()),
                    "the agent asks for a review of what was reviewed",
                );
            }
            Standing::Objected { objection, .. } if news => self.ask_objector(id, &head, &objection),
            Standing::Objected { .. } => {}
        }
        true
    }

    fn review_text(&self, id: JobId, review: &SeenReview) -> String {
        let pr = self.job(id).and_then(|j| j.pr).unwrap_or_default();
        match review.text.as_str() {
            "" => format!("Its text: `shopfloor pr show {pr}`."),
            text => text.to_owned(),
        }
    }

    fn approved(&mut self, id: JobId, head: Sha, review: &SeenReview, text: &str) {
        let SeenReview { author, head: of, .. } = review;
        let mut said = format!("{author} approved commit {of}");
        if *of != head {
            let note = format!(
                "the approval of {} by {author} holds for {}: the change is the same",
                of.short(),
                head.short()
            );
            self.note_job(NoteKind::ReviewResult, id, note);
            said.push_str(&format!("; commit {head} makes the same change"));
        }
        self.inform(
            id,
            &format!("Review: APPROVE\n{said}. The merge queue takes it from here; signal done.\n\n{text}"),
        );
        self.enqueue(id, head);
    }

    fn refused(&mut self, id: JobId, review: &SeenReview, text: &str) {
        let max = self.policy_of(id).review_rounds_max;
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.review_rounds += 1;
        if job.review_rounds > max {
            self.block(id, &format!("{max} rounds of review did not end in an approval"));
            return;
        }
        let SeenReview { author, head, verdict, .. } = review;
        let ask = match verdict {
            Verdict::Discuss => {
                "It wants something talked over before it decides. Answer with a change, or with your reasons where the code's readers find them"
            }
            Verdict::Approve | Verdict::RequestChanges => "Address this",
        };
        self.record_review(id, review);
        let first = format!("Review: {}", verdict.as_str());
        self.tell(
            id,
            &format!("{first}\n{author} reviewed commit {head}. {ask}, commit and signal awaiting_review again. If a person has to decide, signal needs_human.\n\n{text}"),
        );
    }

    fn record_review(&mut self, id: JobId, review: &SeenReview) {
        let next = format!("address the review of {} by {}", review.head.short(), review.author);
        self.record_rework(id, review.verdict.as_str(), &next, None);
    }

    /// The agent approves; the person who asked for changes has to say whether they are made.
    fn ask_objector(&mut self, id: JobId, head: &Sha, objection: &SeenReview) {
        let who = &objection.author;
        self.escalate_job(id, &format!("{} is approved, but {who} asked for changes before", head.short()));
        let Some(job) = self.job(id) else { return };
        let (project, issue, pr) = (job.project.clone(), job.issue, job.pr.unwrap_or_default());
        let marker = format!("objection-{id}-{}-{}", objection.id, head.short());
        let body = format!(
            "The reviewer approves pull request #{pr} at {}. {who} asked for changes of {}, so it waits: review it with `shopfloor pr review {pr} --approve` or `--request-changes`.",
            head.short(),
            objection.head.short()
        );
        self.act(Action::Comment { project, issue, marker, body });
    }
}
