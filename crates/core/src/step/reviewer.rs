//! Review agents: one for each pull request. A reviewer that is typed to rests after its verdict, and is
//! told what is new when the next head comes; any other is started anew. One that does not do its part
//! is replaced, and then a person is asked.
//!
//! A verdict counts when its reviewer says that it is done, or leaves in good order: what it writes before is
//! a draft. It is of the commit that the session was told to review, never of another: a session that was moved, or whose
//! result's place was not cleared before it began, has to name the commit.
//!
//! What is wrong with a result is told once: in an event, to the next reviewer and, when there is none, to
//! people.

use super::Turn;
use super::deadline::minutes;
use crate::effect::{Action, Outcome, Verdict};
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, MessageId, PrNumber, Sha};
use crate::liveness::State;
use crate::phase::Phase;
use crate::runtime::ErrorKind;
use crate::state::{Job, JobKind, JobState, MessageState, Session, SessionState, Standing};
use crate::step::staff::{how_it_ended, words};
use crate::text::{fence, one_line};

/// How often a head's reviewer that leaves nothing usable is replaced before a person is asked.
pub(super) const REVIEWERS_MAX: u32 = 2;
/// It quotes what an agent wrote.
const TROUBLE_CHARS_MAX: usize = 300;
/// So much of what one that stopped said last.
const WORDS_CHARS_MAX: usize = 200;

impl Turn<'_> {
    /// Makes sure that somebody reviews exactly this head.
    pub(super) fn see_to_a_reviewer(&mut self, id: JobId, head: &Sha) {
        let Some(job) = self.job(id) else { return };
        let attempts = job.review_attempts;
        let Some(session) = job.review_session.and_then(|e| self.floor.sessions.get(&e)) else {
            if attempts < REVIEWERS_MAX {
                self.start_reviewer(id);
            }
            return;
        };
        let (epoch, state, next) = (session.epoch, session.state, session.next_head.clone());
        // One that failed has nothing more to say.
        let this_head = session.head.as_ref() == Some(head) && !session.verdict.failed;
        let done = is_done(session);
        match state {
            SessionState::Starting | SessionState::Live if this_head && !done => {}
            // Its verdict may have come while nobody waited for it.
            SessionState::Live | SessionState::Exited | SessionState::Ended if this_head && done => {
                self.collect_review(epoch);
            }
            SessionState::Live if next.as_ref() == Some(head) => {}
            SessionState::Live if rests(session) => self.move_reviewer(id, epoch, head),
            SessionState::Ended if attempts < REVIEWERS_MAX => self.start_reviewer(id),
            SessionState::Ended => {}
            SessionState::Starting
            | SessionState::Live
            | SessionState::Exited
            | SessionState::Ending
            | SessionState::Unended => {
                self.end_session(epoch);
                if let Some(job) = self.floor.jobs.edit(&id) {
                    job.reviewer_wanted = true;
                }
            }
        }
    }

    /// The head that an agent reviewed last, if it is another than the one that waits now.
    pub(super) fn reviewed_before(&self, id: JobId) -> Option<Sha> {
        let job = self.job(id)?;
        let last = self.floor.pull_of(job)?.reviews.iter().rfind(|r| r.agent)?;
        Some(last.head.clone()).filter(|head| job.head.as_ref() != Some(head))
    }

    fn move_reviewer(&mut self, id: JobId, epoch: Epoch, head: &Sha) {
        let diff_bytes = self.policy_of(id).review_diff_bytes;
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        let Some(reviewed) = session.reviewed.clone() else { return };
        session.next_head = Some(head.clone());
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.review_attempts += 1;
        let action = Action::MoveReview {
            job: id,
            project: job.project.clone(),
            issue: job.issue,
            branch: job.branch.clone(),
            epoch,
            reviewed,
            head: head.clone(),
            diff_bytes,
            target: job.target.clone(),
        };
        self.act(action);
    }

    /// The reviewer's worktree is at the next head: it is told what is new there.
    pub(super) fn reviewer_moved(&mut self, id: JobId, epoch: Epoch, head: &Sha, outcome: &Outcome) {
        let Outcome::ReviewMoved { diff, notes } = outcome else { return };
        self.note_worktree(id, notes);
        let waits = self.waits_for_review(id, epoch, head);
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        if session.next_head.as_ref() != Some(head) {
            return;
        }
        session.next_head = None;
        // One that stopped was seen to when it did. What nobody waits for is ordered again if need be.
        if session.state != SessionState::Live || !waits {
            return;
        }
        let before = session.reviewed.clone();
        session.head = Some(head.clone());
        session.moved = true;
        session.repaired = false;
        session.phase = None;
        session.nudges = 0;
        self.expect_review(epoch);
        let before = before.as_ref().map_or("", |sha| sha.as_str());
        let fence = fence(diff);
        self.queue_to(
            id,
            epoch,
            &format!("Review again\nThe branch has moved from {before}, which you reviewed, to commit {head}. Your worktree is there now. See whether your findings are dealt with, and review what is new. Then write a new JSON object to the file named by $SHOPFLOOR_RESULT_FILE, as you were told at the start, with \"commit\": \"{head}\" in it, and run `shopfloor phase done`.\n\nWhat changed since (`git diff {before} {head}`):\n\n{fence}diff\n{}\n{fence}", diff.trim_end()),
        );
    }

    pub(super) fn reviewer_not_moved(&mut self, id: JobId, epoch: Epoch, head: &Sha, reason: &str) {
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        if session.next_head.as_ref() == Some(head) {
            session.next_head = None;
            self.reviewer_failed(id, epoch, reason);
        }
    }

    fn waits_for_review(&self, id: JobId, epoch: Epoch, head: &Sha) -> bool {
        let waits = |j: &Job| {
            let reviewing = matches!(&j.state, JobState::Reviewing { head: waiting } if waiting == head);
            reviewing && j.review_session == Some(epoch)
        };
        self.job(id).is_some_and(waits)
    }

    /// Whether the head that waits has no review yet, and this session is to write it.
    pub(super) fn owes_review(&self, epoch: Epoch) -> bool {
        let Some(session) = self.floor.sessions.get(&epoch) else { return false };
        let Some(job) = self.job(session.job) else { return false };
        let JobState::Reviewing { head } = &job.state else { return false };
        job.review_session == Some(epoch)
            && session.reviewed.as_ref() != Some(head)
            && self.is_owed(job, head)
    }

    /// Of a job's change whoever reviews it first is enough; of a person's the agent was asked.
    fn is_owed(&self, job: &Job, head: &Sha) -> bool {
        match job.kind {
            JobKind::Issue => self.floor.review_standing(job, head) == Standing::NotReviewed,
            JobKind::Review => true,
        }
    }

    /// It was told what to review.
    pub(super) fn expect_review(&mut self, epoch: Epoch) {
        let Some(project) = self.floor.sessions.get(&epoch).map(|s| s.project.clone()) else { return };
        let due = self.now + self.policy(&project).reviewer_timeout;
        if let Some(session) = self.floor.sessions.edit(&epoch) {
            session.review_due = Some(due);
        }
    }

    /// It had time enough, unless it is at work or has a good reason for silence.
    pub(super) fn review_due(&mut self, epoch: Epoch) {
        let owes = self.owes_review(epoch);
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        let (id, since) = (session.job, session.review_due.take().unwrap_or(self.now));
        if !owes {
            return;
        }
        let works = session.status.as_ref().is_some_and(|s| matches!(s.state, State::Working { .. }));
        let resumes = session.resume_at.is_some();
        let patience = self.patience(Some(epoch), since);
        // What it has not taken yet has a deadline of its own.
        if works || resumes || self.floor.next_message(epoch).is_some() {
            self.expect_review(epoch);
        } else if patience.is_some() {
            self.floor.sessions.edit(&epoch).expect("just read").review_due = patience;
        } else {
            // What it may have written is a draft: it never said that it is done.
            let within = minutes(self.policy_of(id).reviewer_timeout);
            let why =
                format!("the reviewer left no review for {within}, or did not say `shopfloor phase done`");
            self.reviewer_failed(id, epoch, &why);
        }
    }

    /// Time that passed while nobody was there counts against no reviewer.
    pub(super) fn reviewers_resumed(&mut self) {
        let owing = |s: &&Session| s.state == SessionState::Live && s.review_due.is_some();
        let reviewers: Vec<Epoch> = self.floor.sessions.iter().filter(owing).map(|s| s.epoch).collect();
        for reviewer in reviewers {
            self.expect_review(reviewer);
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
        let stopped =
            self.floor.sessions.edit(&epoch).is_some_and(|s| std::mem::take(&mut s.verdict.stopped));
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if (job.reviewer_wanted || stopped) && job.review_session == Some(epoch) {
            job.reviewer_wanted = false;
            if matches!(job.state, JobState::Reviewing { .. }) {
                self.ask_a_person_to_review(id, epoch, why);
            }
        }
    }

    /// A reviewer wrote to its result. That is a sign of life, and a draft until it says that it is done.
    pub(super) fn result_written(&mut self, epoch: Epoch) {
        self.seen(epoch);
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        session.verdict.mute_since = None;
        if session.review_due.is_some() {
            self.expect_review(epoch);
        }
        self.proves(epoch);
    }

    /// A reviewer says, or its end says, that its result can be read. Whether it is looked at.
    pub(super) fn collect_review(&mut self, epoch: Epoch) -> bool {
        let Some(session) = self.floor.sessions.get(&epoch) else { return false };
        let (id, moved) = (session.job, session.moved || !session.verdict.cleared);
        // It died, and could not be cleared away: whoever speaks in its name now, what is there may be a draft.
        if session.crashed && session.state == SessionState::Unended {
            return false;
        }
        let Some(job) = self.job(id) else { return false };
        let (JobState::Reviewing { head }, Some(pr)) = (&job.state, job.pr) else { return false };
        if job.review_session != Some(epoch) || session.reviewed.as_ref() == Some(head) {
            return false;
        }
        if session.head.as_ref() != Some(head) {
            self.stale(id, format!("the review of session {epoch} is of another commit"));
            return false;
        }
        let (project, head) = (job.project.clone(), head.clone());
        self.seen(epoch);
        self.act(Action::CollectReview { job: id, project, epoch, pr, head, moved });
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
        // It was looked at when it said that it is done, and once more when it ended.
        let done = |s: &Session| s.reviewed.as_ref() == Some(head) || s.verdict.failed;
        if self.floor.sessions.get(&epoch).is_some_and(done) {
            return;
        }
        if !self.waits_for_review(id, epoch, head) {
            self.stale(id, format!("review of session {epoch} is not waited for any more"));
            return;
        }
        let Some(project) = self.job(id).map(|j| j.project.clone()) else { return };
        match outcome {
            Outcome::ReviewCollected { review } => {
                if let Some(session) = self.floor.sessions.edit(&epoch) {
                    session.reviewed = Some(head.clone());
                    session.review_due = None;
                    session.resume_at = None;
                }
                if let Some(job) = self.floor.jobs.edit(&id) {
                    job.memo.review_trouble = None;
                }
                let review = review.clone();
                self.act(Action::PostReview { job: id, project, pr, head: head.clone(), epoch, review });
            }
            Outcome::ReviewUnusable { why } => {
                // One that was done with something else, before it read what it is to do now, may still
                // be at it; when it is done, or ends, that is looked at.
                let at_it = |s: &Session| s.state == SessionState::Live && s.phase != Some(Phase::Done);
                if !self.floor.sessions.get(&epoch).is_some_and(at_it) && !self.repair(id, epoch, why) {
                    self.reviewer_failed(id, epoch, &format!("the review is of no use: {why}"));
                }
            }
            _ => {}
        }
    }

    /// On record, and for whoever tries next.
    fn note_trouble(&mut self, id: JobId, epoch: Epoch, why: &str) {
        let why = one_line(why, TROUBLE_CHARS_MAX);
        self.note_job(NoteKind::ReviewUnusable, id, format!("session {epoch}: {why}"));
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.memo.review_trouble = Some(why);
        }
    }

    /// A reviewer that can be spoken to is told once what is wrong with its result. Whether it was.
    fn repair(&mut self, id: JobId, epoch: Epoch, why: &str) -> bool {
        let Some(session) = self.floor.sessions.edit(&epoch) else { return false };
        if session.state != SessionState::Live || !session.typed || session.repaired {
            return false;
        }
        session.repaired = true;
        // It is at work again.
        session.phase = None;
        self.note_trouble(id, epoch, why);
        self.expect_review(epoch);
        self.queue_to(
            id,
            epoch,
            &format!("RESULT unusable\nYour review cannot be used: {why}. Write the JSON object to the file named by $SHOPFLOOR_RESULT_FILE again, as you were told at the start, and run `shopfloor phase done`."),
        );
        true
    }

    /// The verdict is on the forge, from where it is observed.
    pub(super) fn review_posted(&mut self, id: JobId, epoch: Epoch, head: &Sha, verdict: Verdict) {
        let Some(job) = self.job(id) else { return };
        match job.kind {
            JobKind::Issue if job.review_session == Some(epoch) => self.rest_or_dismiss(id, epoch),
            JobKind::Issue => {}
            // Whoever wrote it may have ended before.
            JobKind::Review => self.pull_reviewed(id, head, verdict),
        }
    }

    pub(super) fn review_not_posted(&mut self, id: JobId, epoch: Epoch, head: &Sha, reason: &str) {
        let left = |j: &Job| {
            let waits = matches!(&j.state, JobState::Reviewing { head: waits } if waits == head);
            j.is_review() && j.review_session.is_none() && waits
        };
        if self.job(id).is_some_and(left) {
            return self.review_given_up(id, reason);
        }
        if let Some(session) = self.floor.sessions.edit(&epoch) {
            session.reviewed = None;
        }
        self.reviewer_failed(id, epoch, reason);
    }

    /// The head has its verdict: nobody else is needed for it.
    pub(super) fn settle_reviewer(&mut self, id: JobId) {
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.review_attempts = 0;
        job.reviewer_wanted = false;
        if let Some(epoch) = job.review_session {
            self.rest_or_dismiss(id, epoch);
        }
    }

    /// A reviewer that has said all it had to say waits for the next head, if it can be told of one.
    fn rest_or_dismiss(&mut self, id: JobId, epoch: Epoch) {
        if self.floor.sessions.get(&epoch).is_some_and(rests) {
            let own = |m: &&crate::state::Message| m.to == Some(epoch) && m.state == MessageState::Queued;
            // A reminder that it did not need.
            let left: Vec<MessageId> = self.floor.messages.iter().filter(own).map(|m| m.id).collect();
            for message in left {
                self.superseded(message);
            }
        } else if self.end_session(epoch).is_none()
            && let Some(job) = self.floor.jobs.edit(&id)
        {
            job.review_session = None;
        }
    }

    /// A reviewer stopped without a review. Why may be in what it said last, which is known when it is
    /// cleared away.
    pub(super) fn reviewer_stopped(&mut self, epoch: Epoch) {
        if let Some(session) = self.floor.sessions.edit(&epoch) {
            session.verdict.stopped = true;
        }
        self.end_session(epoch);
    }

    /// What is left of a reviewer is cleared away, and what it said last is known.
    pub(super) fn reviewer_cleared(&mut self, id: JobId, epoch: Epoch, output: &str) {
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        let stopped = std::mem::take(&mut session.verdict.stopped);
        let how = how_it_ended(session);
        let heads = [session.head.clone(), session.next_head.clone()];
        // Else nobody waits any more for what it was to review.
        if stopped && self.job(id).is_some_and(|job| job.head.is_some() && heads.contains(&job.head)) {
            let words = words(output, WORDS_CHARS_MAX);
            let why = format!("the reviewer stopped ({how}) without a review; it says: {words}");
            self.reviewer_failed(id, epoch, &why);
        }
    }

    /// Another reviewer, or a person.
    pub(super) fn reviewer_failed(&mut self, id: JobId, epoch: Epoch, why: &str) {
        let Some(job) = self.job(id) else { return };
        let (mine, attempts) = (job.review_session == Some(epoch), job.review_attempts);
        let Some(session) = self.floor.sessions.edit(&epoch).filter(|_| mine) else { return };
        // Whatever else is wrong with it: it was acted upon once.
        if std::mem::replace(&mut session.verdict.failed, true) {
            return;
        }
        let waits = self.owes_review(epoch);
        if waits {
            self.note_trouble(id, epoch, why);
        }
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

    /// Once for each head.
    fn ask_a_person_to_review(&mut self, id: JobId, epoch: Epoch, why: &str) {
        if self.job(id).is_some_and(Job::is_review) {
            return self.review_given_up(id, why);
        }
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        let head = job.head.clone();
        if head.is_some() && job.memo.review_asked == head {
            return;
        }
        job.memo.review_asked = head.clone();
        let (project, issue, pr) = (job.project.clone(), job.issue, job.pr.unwrap_or_default());
        let about = head.as_ref().map_or("", Sha::short);
        self.escalate_on_record(id, "no_review", about, &format!("{why}; a person has to review"));
        let marker = format!("review-failed-{id}-{epoch}");
        let body = format!(
            "No reviewer gave a usable review of pull request #{pr} ({why}). Review it with `shopfloor pr review {pr} --approve` or `--request-changes`."
        );
        self.act(Action::Comment { project, issue, marker, body });
    }
}

/// Whether a reviewer has said all it had to say: it says so, or left in good order. What one that died
/// leaves may be a draft.
pub(super) fn is_done(session: &Session) -> bool {
    session.phase == Some(Phase::Done) || session.exit_status == Some(0)
}

/// Whether a reviewer has finished, and can be told of another head.
fn rests(session: &Session) -> bool {
    let spent = matches!(
        session.status.as_ref().map(|s| &s.state),
        Some(
            State::ContextLow { .. }
                | State::Failed {
                    error: ErrorKind::ContextFull | ErrorKind::Compaction | ErrorKind::NoConversation
                }
        )
    );
    let finished = session.reviewed.is_some() && session.reviewed == session.head;
    session.typed && session.state == SessionState::Live && finished && !spent
}
