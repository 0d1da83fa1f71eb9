//! Review agents: one for each pull request. A reviewer that is typed to rests after its verdict, and is told what
//! is new when the next head comes; any other is started afresh. One that does not do its part is replaced; after
//! that, a person is asked.
//!
//! A verdict counts when its reviewer says that it is done, or exits in good order: what it writes before is a
//! draft. It is about the commit that the session was told to review, never about another: a session that was
//! moved, or whose result's place was not cleared before it began, has to name the commit.
//!
//! What is wrong with a result is reported once: in an event, to the next reviewer and, if there is none, to
//! people.

use super::staff::{how_it_ended, words};
use crate::effect::outcome;
use crate::effect::{Action, Review, Verdict};
use crate::event::NoteKind;
use crate::ids::{Assignment, Epoch, JobId, MessageId, PrNumber, Sha};
use crate::liveness::State;
use crate::phase::Phase;
use crate::runtime::ErrorKind;
use crate::state::{Job, JobState, MessageState, ReviewStanding, Session, SessionState};
use crate::step::Turn;
use crate::text::one_line;
use crate::texts::{agents, notes, reasons};

/// How often a head's reviewer that leaves nothing usable is replaced before a person is asked.
pub(super) const REVIEWERS_MAX: u32 = 2;
/// The trouble quotes what an agent wrote.
const TROUBLE_CHARS_MAX: usize = 300;
/// How much of a stopped reviewer's last words is quoted.
const WORDS_CHARS_MAX: usize = 200;

impl Turn<'_> {
    /// Makes sure that somebody reviews exactly this head.
    pub(in crate::step) fn see_to_a_reviewer(&mut self, id: JobId, head: &Sha) {
        let Some(job) = self.job(id) else { return };
        let attempts = job.reviewer.attempts;
        let Some(session) = job.reviewer.session.and_then(|e| self.floor.sessions.get(&e)) else {
            if attempts < REVIEWERS_MAX {
                self.start_reviewer(id);
            }
            return;
        };
        let (epoch, state, next) = (session.epoch, session.state, session.review.next_head.clone());
        // A reviewer that failed has nothing more to say.
        let this_head = session.review.head.as_ref() == Some(head) && !session.review.verdict.failed;
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
                if let Some(reviewer) = self.reviewer_mut(id) {
                    reviewer.wanted = true;
                }
            }
        }
    }

    /// The head that an agent reviewed last, if it is not the one that waits now.
    pub(in crate::step) fn reviewed_before(&self, id: JobId) -> Option<Sha> {
        let job = self.job(id)?;
        let last = self.floor.pull_of(job)?.reviews.iter().rfind(|r| r.agent)?;
        Some(last.head.clone()).filter(|head| job.head.as_ref() != Some(head))
    }

    fn move_reviewer(&mut self, id: JobId, epoch: Epoch, head: &Sha) {
        let diff_bytes = self.policy_of(id).review_diff_bytes;
        let Some(session) = self.floor.session_mut(epoch) else { return };
        let Some(reviewed) = session.review.reviewed.clone() else { return };
        session.review.next_head = Some(head.clone());
        if let Some(reviewer) = self.reviewer_mut(id) {
            reviewer.attempts += 1;
        }
        let Some(job) = self.job(id) else { return };
        let action = Action::MoveReview {
            job: id,
            project: job.project.clone(),
            assignment: job.assignment,
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
    pub(in crate::step) fn reviewer_moved(
        &mut self,
        id: JobId,
        epoch: Epoch,
        head: &Sha,
        moved: &outcome::ReviewMoved,
    ) {
        let outcome::ReviewMoved { diff, notes } = moved;
        self.note_worktree(id, notes);
        let waits = self.waits_for_review(id, epoch, head);
        let Some(session) = self.floor.session_mut(epoch) else { return };
        if session.review.next_head.as_ref() != Some(head) {
            return;
        }
        session.review.next_head = None;
        // A reviewer that stopped was dealt with when it did. What nobody waits for is ordered again if needed.
        if session.state != SessionState::Live || !waits {
            return;
        }
        let before = session.review.reviewed.clone();
        session.review.head = Some(head.clone());
        session.review.moved = true;
        session.review.repaired = false;
        session.phase = None;
        session.stops.nudges = 0;
        self.expect_review(epoch);
        let before = before.as_ref().map_or("", |sha| sha.as_str());
        self.queue_to(id, epoch, &agents::review_again(before, head, diff));
    }

    pub(in crate::step) fn reviewer_not_moved(&mut self, id: JobId, epoch: Epoch, head: &Sha, reason: &str) {
        let Some(session) = self.floor.session_mut(epoch) else { return };
        if session.review.next_head.as_ref() == Some(head) {
            session.review.next_head = None;
            self.reviewer_failed(id, epoch, reason);
        }
    }

    fn waits_for_review(&self, id: JobId, epoch: Epoch, head: &Sha) -> bool {
        let waits = |j: &Job| {
            let reviewing = matches!(&j.state, JobState::Reviewing { head: waiting } if waiting == head);
            reviewing && j.reviewer.session == Some(epoch)
        };
        self.job(id).is_some_and(waits)
    }

    /// Whether the waiting head has no review yet, and this session is to write it.
    pub(super) fn owes_review(&self, epoch: Epoch) -> bool {
        let Some(session) = self.floor.sessions.get(&epoch) else { return false };
        let Some(job) = self.job(session.job) else { return false };
        let JobState::Reviewing { head } = &job.state else { return false };
        job.reviewer.session == Some(epoch)
            && session.review.reviewed.as_ref() != Some(head)
            && self.is_owed(job, head)
    }

    /// For a job's change, any first review is enough; for a person's pull request, the agent itself was asked.
    fn is_owed(&self, job: &Job, head: &Sha) -> bool {
        match job.assignment {
            Assignment::Issue(_) | Assignment::Run(_) => {
                self.floor.review_standing(job, head) == ReviewStanding::NotReviewed
            }
            Assignment::Pull(_) => true,
        }
    }

    /// The reviewer was told what to review.
    pub(super) fn expect_review(&mut self, epoch: Epoch) {
        let Some(project) = self.floor.sessions.get(&epoch).map(|s| s.project.clone()) else { return };
        let due = self.now + self.policy(&project).reviewer_timeout;
        if let Some(session) = self.floor.session_mut(epoch) {
            session.review.due = Some(due);
        }
    }

    /// The reviewer had enough time, unless it is at work or has a good reason for silence.
    pub(in crate::step) fn review_due(&mut self, epoch: Epoch) {
        let owes = self.owes_review(epoch);
        let Some(session) = self.floor.session_mut(epoch) else { return };
        let (id, since) = (session.job, session.review.due.take().unwrap_or(self.now));
        if !owes {
            return;
        }
        let works = session.status.as_ref().is_some_and(|s| matches!(s.state, State::Working { .. }));
        let resumes = session.stops.resume_at.is_some();
        let patience = self.patience(Some(epoch), since);
        // A message that it has not taken yet has a deadline of its own.
        if works || resumes || self.floor.next_message(epoch).is_some() {
            self.expect_review(epoch);
        } else if patience.is_some() {
            self.floor.session_mut(epoch).expect("just read").review.due = patience;
        } else {
            // What it may have written is a draft: it never said that it was done.
            let why = reasons::reviewer_left_nothing(self.policy_of(id).reviewer_timeout);
            self.reviewer_failed(id, epoch, &why);
        }
    }

    /// Time that passed while nobody was there counts against no reviewer.
    pub(in crate::step) fn reviewers_resumed(&mut self) {
        let owing = |s: &&Session| s.state == SessionState::Live && s.review.due.is_some();
        let reviewers: Vec<Epoch> = self.floor.sessions.iter().filter(owing).map(|s| s.epoch).collect();
        for reviewer in reviewers {
            self.expect_review(reviewer);
        }
    }

    /// The reviewer in the way cannot be ended: no second one may work beside it.
    pub(in crate::step) fn reviewer_not_ended(&mut self, id: JobId, epoch: Epoch, why: &str) {
        let stopped =
            self.floor.session_mut(epoch).is_some_and(|s| std::mem::take(&mut s.review.verdict.stopped));
        let reviewing = self.job(id).is_some_and(|j| matches!(j.state, JobState::Reviewing { .. }));
        let Some(reviewer) = self.reviewer_mut(id) else { return };
        if (reviewer.wanted || stopped) && reviewer.session == Some(epoch) {
            reviewer.wanted = false;
            if reviewing {
                self.ask_a_person_to_review(id, epoch, why);
            }
        }
    }

    /// A reviewer wrote its result. That is a sign of life, and a draft until it says that it is done.
    pub(in crate::step) fn result_written(&mut self, epoch: Epoch) {
        self.seen(epoch);
        let Some(session) = self.floor.session_mut(epoch) else { return };
        session.review.verdict.mute_since = None;
        if session.review.due.is_some() {
            self.expect_review(epoch);
        }
        self.proves(epoch);
    }

    /// A reviewer, or its end, says that its result can be read. Returns whether it is read.
    pub(super) fn collect_review(&mut self, epoch: Epoch) -> bool {
        let Some(session) = self.floor.sessions.get(&epoch) else { return false };
        let (id, moved) = (session.job, session.review.moved || !session.review.verdict.cleared);
        // It died, and could not be cleared away: whoever speaks in its name now, its result may be a draft.
        if session.crashed && session.state == SessionState::Unended {
            return false;
        }
        let Some(job) = self.job(id) else { return false };
        let (JobState::Reviewing { head }, Some(pr)) = (&job.state, job.pr) else { return false };
        if job.reviewer.session != Some(epoch) || session.review.reviewed.as_ref() == Some(head) {
            return false;
        }
        if session.review.head.as_ref() != Some(head) {
            self.stale(id, notes::review_of_another(epoch));
            return false;
        }
        let (project, head) = (job.project.clone(), head.clone());
        self.seen(epoch);
        self.act(Action::CollectReview { job: id, project, epoch, pr, head, moved });
        true
    }

    pub(in crate::step) fn review_collected(
        &mut self,
        id: JobId,
        epoch: Epoch,
        pr: PrNumber,
        head: &Sha,
        result: Result<&Review, &str>,
    ) {
        // A result may be read twice: when the reviewer says that it is done, and when it ends.
        let done = |s: &Session| s.review.reviewed.as_ref() == Some(head) || s.review.verdict.failed;
        if self.floor.sessions.get(&epoch).is_some_and(done) {
            return;
        }
        if !self.waits_for_review(id, epoch, head) {
            self.stale(id, notes::review_too_late(epoch));
            return;
        }
        let Some(project) = self.job(id).map(|j| j.project.clone()) else { return };
        match result {
            Ok(review) => {
                if let Some(session) = self.floor.session_mut(epoch) {
                    session.review.reviewed = Some(head.clone());
                    session.review.due = None;
                    session.stops.resume_at = None;
                }
                self.set_review_trouble(id, None);
                let review = review.clone();
                self.act(Action::PostReview { job: id, project, pr, head: head.clone(), epoch, review });
            }
            Err(why) => {
                // A reviewer that was done with something else, before it read its current task, may still be at
                // work on the latter; when it is done, or ends, its result is read.
                let at_it = |s: &Session| s.state == SessionState::Live && s.phase != Some(Phase::Done);
                if !self.floor.sessions.get(&epoch).is_some_and(at_it) && !self.repair(id, epoch, why) {
                    self.reviewer_failed(id, epoch, &reasons::review_unusable(why));
                }
            }
        }
    }

    /// For the record, and for whoever tries next.
    fn note_trouble(&mut self, id: JobId, epoch: Epoch, why: &str) {
        let why = one_line(why, TROUBLE_CHARS_MAX);
        self.note_job(NoteKind::ReviewUnusable, id, notes::session(epoch, &why));
        self.set_review_trouble(id, Some(why));
    }

    /// A reviewer that can be spoken to is told, once, what is wrong with its result. Returns whether it was.
    fn repair(&mut self, id: JobId, epoch: Epoch, why: &str) -> bool {
        let Some(session) = self.floor.session_mut(epoch) else { return false };
        if session.state != SessionState::Live || !session.client.typed || session.review.repaired {
            return false;
        }
        session.review.repaired = true;
        // It is at work again.
        session.phase = None;
        self.note_trouble(id, epoch, why);
        self.expect_review(epoch);
        self.queue_to(id, epoch, &agents::result_unusable(why));
        true
    }

    /// The verdict is on the forge, from where it is observed.
    pub(in crate::step) fn review_posted(&mut self, id: JobId, epoch: Epoch, head: &Sha, verdict: Verdict) {
        let Some(job) = self.job(id) else { return };
        match job.assignment {
            // Whoever wrote it may have ended already.
            Assignment::Pull(_) => self.pull_reviewed(id, head, verdict),
            _ if job.reviewer.session == Some(epoch) => self.rest_or_dismiss(id, epoch),
            _ => {}
        }
    }

    pub(in crate::step) fn review_not_posted(&mut self, id: JobId, epoch: Epoch, head: &Sha, reason: &str) {
        let left = |j: &Job| {
            let waits = matches!(&j.state, JobState::Reviewing { head: waits } if waits == head);
            j.is_review() && j.reviewer.session.is_none() && waits
        };
        if self.job(id).is_some_and(left) {
            return self.review_given_up(id, reason);
        }
        if let Some(session) = self.floor.session_mut(epoch) {
            session.review.reviewed = None;
        }
        self.reviewer_failed(id, epoch, reason);
    }

    /// The head has its verdict: nobody else is needed for it.
    pub(in crate::step) fn settle_reviewer(&mut self, id: JobId) {
        let Some(reviewer) = self.reviewer_mut(id) else { return };
        reviewer.attempts = 0;
        reviewer.wanted = false;
        if let Some(epoch) = reviewer.session {
            self.rest_or_dismiss(id, epoch);
        }
    }

    /// A reviewer that has said all it had to say waits for the next head, if it can be told of one.
    fn rest_or_dismiss(&mut self, id: JobId, epoch: Epoch) {
        if self.floor.sessions.get(&epoch).is_some_and(rests) {
            let own = |m: &&crate::state::Message| m.to == Some(epoch) && m.state == MessageState::Queued;
            // Reminders that it did not need.
            let left: Vec<MessageId> = self.floor.messages.iter().filter(own).map(|m| m.id).collect();
            for message in left {
                self.superseded(message);
            }
        } else if self.end_session(epoch).is_none()
            && let Some(reviewer) = self.reviewer_mut(id)
        {
            reviewer.session = None;
        }
    }

    /// A reviewer stopped without a review. Its last words may say why; they are known once it is cleared away.
    pub(super) fn reviewer_stopped(&mut self, epoch: Epoch) {
        if let Some(session) = self.floor.session_mut(epoch) {
            session.review.verdict.stopped = true;
        }
        self.end_session(epoch);
    }

    /// A reviewer's remains are cleared away, and its last words are known.
    pub(super) fn reviewer_cleared(&mut self, id: JobId, epoch: Epoch, output: &str) {
        let Some(session) = self.floor.session_mut(epoch) else { return };
        let stopped = std::mem::take(&mut session.review.verdict.stopped);
        let how = how_it_ended(session);
        let heads = [session.review.head.clone(), session.review.next_head.clone()];
        // Else nobody waits any more for what it was to review.
        if stopped && self.job(id).is_some_and(|job| job.head.is_some() && heads.contains(&job.head)) {
            let words = words(output, WORDS_CHARS_MAX);
            let why = reasons::reviewer_stopped(&how, &words);
            self.reviewer_failed(id, epoch, &why);
        }
    }

    /// Another reviewer follows, or a person is asked.
    pub(in crate::step) fn reviewer_failed(&mut self, id: JobId, epoch: Epoch, why: &str) {
        let Some(job) = self.job(id) else { return };
        let (mine, attempts) = (job.reviewer.session == Some(epoch), job.reviewer.attempts);
        let Some(session) = self.floor.session_mut(epoch).filter(|_| mine) else { return };
        // Whatever else is wrong with it: it has been acted upon once.
        if std::mem::replace(&mut session.review.verdict.failed, true) {
            return;
        }
        let waits = self.owes_review(epoch);
        if waits {
            self.note_trouble(id, epoch, why);
        }
        let ending = self.end_session(epoch).is_some();
        let more = waits && attempts < REVIEWERS_MAX;
        if let Some(reviewer) = self.reviewer_mut(id) {
            reviewer.failed(ending, more);
        }
        if more && !ending {
            self.start_reviewer(id);
        }
        if waits && !more {
            self.ask_a_person_to_review(id, epoch, why);
        }
    }
}

/// Whether a reviewer has said all it had to say: it says so, or exited in good order. What a reviewer that died
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
    let finished = session.review.reviewed.is_some() && session.review.reviewed == session.review.head;
    session.client.typed && session.state == SessionState::Live && finished && !spent
}
