//! What follows from a session's status: who is told, what is waited for, when it is told to go on.
//!
//! - A dialog, a limit and a failed request are waits, not failures: nothing is counted against the
//!   agent, and its session lives on.
//! - An agent that waits for its own work in the background is waited for, for hours; then somebody is
//!   told, and it counts as one that has stopped.
//! - What only a person can put right (a login, a bill) is asked of a person, once.
//! - A client that is found frozen three times in a row is replaced; one that lives never is.

use super::Turn;
use super::deadline::minutes;
use super::staff::is_answered;
use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, MessageId, Role};
use crate::liveness::State;
use crate::phase::Ask;
use crate::runtime::{DialogKind, ErrorKind};
use crate::state::{Job, JobState, SessionState, SessionStatus};
use crate::time::Time;
use std::time::Duration;

/// How often in a row a session must be found stuck.
const STRIKES: u32 = 3;
/// The longest pause before a turn that failed for no fault of the agent's is begun again.
const NUDGE_AFTER_MAX: Duration = Duration::from_secs(30 * 60);
/// How often one job's session is replaced because its context is full.
const CYCLES_MAX: u32 = 10;
/// How often a session that lives but does not get on is given more time.
const EXTENSIONS_MAX: u32 = 5;

const CONTINUE: &str =
    "Continue\nYour last turn was broken off by an error outside of your work. Go on where you were.";

impl Turn<'_> {
    pub(super) fn status_seen(&mut self, epoch: Epoch, status: &SessionStatus, conversation: Option<&str>) {
        let now = self.now;
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        if !matches!(session.state, SessionState::Live | SessionState::Starting) {
            return;
        }
        let before = session.status.replace(status.clone());
        if let Some(conversation) = conversation {
            session.conversation = Some(conversation.to_owned());
        }
        let of_one_turn = before.as_ref().is_some_and(|b| b.since == status.since);
        let was = before.as_ref().filter(|_| of_one_turn).map(|b| &b.state);
        let limited = matches!(status.state, State::LimitedUntil { .. });
        if limited && matches!(was, Some(State::Failed { .. })) {
            // The failure is this limit, and was counted before the client said so.
            session.nudges = session.nudges.saturating_sub(1);
        }
        // The limit is over: what is to be done then was decided when it began.
        let over = matches!(status.state, State::Failed { error: ErrorKind::RateLimit })
            && matches!(was, Some(State::LimitedUntil { .. }));
        let stuck = status.state == State::Stuck;
        session.strikes = if stuck { session.strikes + 1 } else { 0 };
        let (id, role, strikes) = (session.job, session.role, session.strikes);
        if !stuck && status.state != State::Unknown {
            session.last_seen = now;
            self.agent_seen(epoch);
        }
        let news = !over && before.is_none_or(|b| is_news(&b, status));
        if news && is_notable(&status.state) {
            let kind = match status.state {
                State::ContextLow { .. } => NoteKind::ContextWarning,
                State::Stuck => NoteKind::OrchestratorStuck,
                _ => NoteKind::AgentStatus,
            };
            self.note_job(kind, id, format!("session {epoch}: {}", status.state));
        }
        if is_answered(&status.state) {
            self.proves(epoch);
        }
        let Some(job) = self.job(id) else { return };
        let current = match role {
            Role::Dev => job.session == Some(epoch),
            Role::Review => job.review_session == Some(epoch),
        };
        if !current {
            return;
        }
        self.mind_dialog(id, epoch, status);
        self.mind_chat(id, epoch, status);
        if self.is_held(epoch) {
            // Who has it sees for themselves; only what a client asks is shown to all.
            if let Some(session) = self.floor.sessions.edit(&epoch) {
                session.strikes = 0;
            }
        } else if strikes >= STRIKES {
            self.frozen(id, epoch, role);
        } else if news {
            self.status_changed(id, epoch, role, status);
        }
    }

    /// What a session's status asks for, though it is not new: it was left alone until now.
    pub(super) fn status_stands(&mut self, epoch: Epoch, status: &SessionStatus) {
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let (id, role) = (session.job, session.role);
        let current = self.job(id).is_some_and(|job| match role {
            Role::Dev => job.session == Some(epoch),
            Role::Review => job.review_session == Some(epoch),
        });
        if current {
            self.status_changed(id, epoch, role, status);
        }
    }

    fn status_changed(&mut self, id: JobId, epoch: Epoch, role: Role, status: &SessionStatus) {
        // Whether it is this agent's turn: else what it can not do is not asked of it.
        let turn = self.is_its_turn(id, epoch);
        match &status.state {
            // Nobody can log in there for the others; once somebody has, this one goes on too.
            State::Dialog { kind: DialogKind::Login } if turn => {
                self.login_asked(id, epoch, role, cause(ErrorKind::Auth));
            }
            State::LimitedUntil { until } if turn => self.resume_at(epoch, *until),
            State::Failed { error } if turn => self.turn_failed(id, epoch, role, *error),
            State::IdlePrompt if turn && role == Role::Dev => self.idle_without_phase(id, epoch),
            State::IdlePrompt if turn => self.idle_without_review(id, epoch),
            State::Background { .. } if turn && role == Role::Dev => self.in_background(id, status.since),
            State::Working { .. } => self.gets_on(id, epoch, turn && role == Role::Dev),
            _ => {}
        }
    }

    /// It works: what was to make it go on is not needed, and the time it was given begins anew.
    fn gets_on(&mut self, id: JobId, epoch: Epoch, its_turn: bool) {
        if let Some(session) = self.floor.sessions.edit(&epoch) {
            session.resume_at = None;
        }
        let at = self.now + self.policy_of(id).idle_timeout;
        if let Some(job) = self.floor.jobs.edit(&id)
            && its_turn
        {
            job.extensions = 0;
            job.deadline = Some(at);
        }
    }

    /// Work of its goes on without it: that has a deadline of its own.
    fn in_background(&mut self, id: JobId, since: Time) {
        let at = since + self.policy_of(id).background_timeout;
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.deadline = Some(at);
        }
    }

    /// The agent's deadline is over, and it was waiting for its own work all the time: whether it was.
    pub(super) fn background_over(&mut self, id: JobId) -> bool {
        let Some(job) = self.job(id) else { return false };
        let (Some(epoch), Some(status)) = (job.session, self.status_of(job)) else { return false };
        let State::Background { what } = status.state.clone() else { return false };
        let policy = self.policy_of(id);
        let within = minutes(policy.background_timeout);
        self.escalate_job(
            id,
            &format!("the agent has waited for its own background work for {within}: {what}"),
        );
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.deadline = Some(self.now + policy.idle_timeout);
        }
        self.idle_without_phase(id, epoch);
        true
    }

    /// It writes to its terminal: all that is known of an agent that tells nothing. It is told every
    /// quarter of the time it is given, so a quarter more is given: silence is never counted too long.
    pub(super) fn output_seen(&mut self, epoch: Epoch) {
        let Some(session) = self.floor.sessions.edit(&epoch).filter(|s| s.state == SessionState::Live) else {
            return;
        };
        session.last_seen = self.now;
        let (id, role) = (session.job, session.role);
        self.agent_seen(epoch);
        let policy = self.policy_of(id);
        let in_time = |given: Duration| self.now + given + given / 4;
        match role {
            Role::Dev => {
                let at = in_time(policy.idle_timeout);
                if let Some(job) = self.floor.jobs.edit(&id)
                    && job.session == Some(epoch)
                    && job.state == JobState::Working
                {
                    job.deadline = job.deadline.max(Some(at));
                }
            }
            Role::Review => {
                let at = in_time(policy.reviewer_timeout);
                if let Some(session) = self.floor.sessions.edit(&epoch)
                    && session.review_due.is_some()
                {
                    session.review_due = session.review_due.max(Some(at));
                }
            }
        }
    }

    fn resume_at(&mut self, epoch: Epoch, at: Time) {
        if let Some(session) = self.floor.sessions.edit(&epoch) {
            session.resume_at = Some(at.max(self.now));
        }
    }

    fn turn_failed(&mut self, id: JobId, epoch: Epoch, role: Role, error: ErrorKind) {
        match error {
            // Whatever the issue is: no other agent of this role could work either.
            ErrorKind::Auth | ErrorKind::Billing | ErrorKind::ModelNotFound | ErrorKind::Root => {
                self.client_fails(id, epoch, role, cause(error));
            }
            ErrorKind::InvalidRequest | ErrorKind::NoConversation => {
                self.cannot_work(id, epoch, role, cause(error));
            }
            ErrorKind::ContextFull | ErrorKind::Compaction => match role {
                Role::Dev => self.cycle(id, epoch),
                Role::Review => self.reviewer_failed(id, epoch, cause(error)),
            },
            ErrorKind::RateLimit
            | ErrorKind::Overloaded
            | ErrorKind::Server
            | ErrorKind::Connection
            | ErrorKind::Unknown => {
                let policy = self.policy_of(id);
                let Some(session) = self.floor.sessions.edit(&epoch) else { return };
                session.nudges += 1;
                let nudges = session.nudges;
                if nudges > policy.retries_max {
                    session.nudges = 0;
                    let why = format!("{}, after {} attempts", cause(error), policy.retries_max);
                    self.cannot_work(id, epoch, role, &why);
                    return;
                }
                let pause = policy.retry_backoff * 2u32.saturating_pow(nudges - 1).min(1 << 16);
                self.resume_at(epoch, self.now + pause.min(NUDGE_AFTER_MAX));
            }
        }
    }

    /// Only a person can put it right.
    fn cannot_work(&mut self, id: JobId, epoch: Epoch, role: Role, why: &str) {
        match role {
            Role::Dev => {
                self.ask(
                    id,
                    &format!("The agent cannot work: {why}. Put it right; any answer has it go on."),
                    &Ask::default(),
                );
            }
            Role::Review => self.reviewer_failed(id, epoch, &format!("the reviewer cannot work: {why}")),
        }
    }

    fn idle_without_phase(&mut self, id: JobId, epoch: Epoch) {
        let session = self.floor.sessions.get(&epoch);
        let resumes = session.is_some_and(|s| s.resume_at.is_some());
        if !self.unread(id).is_empty() || resumes {
            return;
        }
        match session.and_then(|s| s.status.as_ref()?.question.clone()) {
            Some(question) => self.asked_without_phase(id, epoch, &question),
            None => self.remind(
                id,
                "PHASE missing\nYou stopped without saying where you are. Commit your work, then signal a phase: awaiting_ci, awaiting_review, needs_human, done or failed. If you are not finished, go on.",
                "the agent stopped without a phase",
            ),
        }
    }

    fn idle_without_review(&mut self, id: JobId, epoch: Epoch) {
        let max = self.policy_of(id).reminders_max;
        let Some(session) = self.floor.sessions.edit(&epoch).filter(|s| s.resume_at.is_none()) else {
            return;
        };
        if session.nudges >= max {
            self.reviewer_failed(
                id,
                epoch,
                &format!("the reviewer stopped without a review, after {max} reminders"),
            );
        } else if self.floor.next_message(epoch).is_none() {
            self.queue_to(
                id,
                epoch,
                "RESULT missing\nYou stopped without a review. Write your verdict as JSON to the file named by $SHOPFLOOR_RESULT_FILE, then run `shopfloor phase done`.",
            );
            self.is_reminder(id);
        }
    }

    /// The conversation is full: a successor with a fresh one goes on from the worktree.
    fn cycle(&mut self, id: JobId, epoch: Epoch) {
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.cycles += 1;
        if job.cycles > CYCLES_MAX {
            self.block(id, &format!("the agent's context was full {CYCLES_MAX} times"));
            return;
        }
        let text = format!("session {epoch}: its context is full; a successor goes on");
        self.note_job(NoteKind::HandoffRequested, id, text);
        self.replace(id, epoch);
        self.start_successor(id);
    }

    /// Neither moves nor shows that it lives, each time it was looked at.
    fn frozen(&mut self, id: JobId, epoch: Epoch, role: Role) {
        let why = "the client is frozen";
        self.note_job(NoteKind::AgentCrashed, id, format!("{role} session {epoch}: {why}"));
        if role == Role::Review {
            self.reviewer_failed(id, epoch, why);
            return;
        }
        let state = self.job(id).map(|j| j.state.clone());
        self.replace(id, epoch);
        match state {
            Some(JobState::Working | JobState::Starting) => self.respawn(id, why),
            // The answer starts a successor.
            Some(JobState::NeedsHuman { .. }) => {}
            _ => self.forget_unread(id),
        }
    }

    /// Ends a job's dev session, which lives, so that another can take its place.
    pub(super) fn replace(&mut self, id: JobId, epoch: Epoch) {
        self.agent_crashed(epoch);
        self.checkpoint(id);
        if self.job(id).is_some_and(|j| j.state == JobState::Working) {
            self.hand_back(epoch);
        }
        self.end_session(epoch);
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.session = job.session.filter(|s| *s != epoch);
        }
    }

    /// A limit is over, or the pause after a failed request.
    pub(super) fn resume_due(&mut self, epoch: Epoch) {
        let held = self.held_until(epoch);
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        session.resume_at = held;
        if held.is_some() {
            return;
        }
        let (id, role) = (session.job, session.role);
        let busy = session.status.as_ref().is_some_and(|status| status.state.in_turn());
        let waiting = self.floor.next_message(epoch).is_some();
        let Some(job) = self.job(id) else { return };
        // What waits for the agent makes it go on just as well.
        if busy || waiting {
            return;
        }
        match role {
            Role::Dev if job.session == Some(epoch) && job.state == JobState::Working => {
                self.nudge(id, CONTINUE);
            }
            Role::Review if job.review_session == Some(epoch) => self.queue_to(id, epoch, CONTINUE),
            _ => {}
        }
    }

    /// Until when a session has a good reason for silence.
    pub(super) fn patience(&self, epoch: Option<Epoch>, since: Time) -> Option<Time> {
        if let Some(until) = self.held_until(epoch?) {
            return Some(until);
        }
        let session = self.floor.sessions.get(&epoch?)?;
        let policy = self.policy(&session.project);
        // It could not be told that a message waits, and that is still tried.
        let bell = Action::RingInbox { epoch: session.epoch, message: MessageId::default() };
        if self.floor.trouble(&session.project, &bell.lane()).is_some() {
            return Some(self.now + policy.delivery_timeout);
        }
        let status = session.status.as_ref()?;
        let at = match status.state {
            State::LimitedUntil { until } => until + policy.delivery_timeout,
            // A person has to come; that is told when it begins, and may take a night.
            State::Dialog { .. } => since.max(status.since) + policy.escalate_after,
            State::Background { .. } => status.since + policy.background_timeout,
            _ => return None,
        };
        (at > self.now).then_some(at)
    }

    /// The time a working agent was given is over: whether it gets more.
    pub(super) fn extended(&mut self, id: JobId) -> bool {
        let idle = self.policy_of(id).idle_timeout;
        let Some(job) = self.job(id) else { return false };
        let Some(status) = self.status_of(job) else { return false };
        let (alive, gets_on) = match status.state {
            State::Working { .. } => (true, true),
            State::NoProgress => (true, false),
            _ => (false, false),
        };
        if !alive || (!gets_on && job.extensions >= EXTENSIONS_MAX) {
            return false;
        }
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.extensions = if gets_on { 0 } else { job.extensions + 1 };
            job.deadline = Some(self.now + idle);
        }
        if !gets_on {
            self.escalate_job(id, "the agent lives, but nothing has moved for long");
        }
        true
    }

    fn status_of(&self, job: &Job) -> Option<&SessionStatus> {
        self.floor.session_of(job)?.status.as_ref()
    }
}

/// Whether something else is to be done now. One tool after another is all work.
fn is_news(before: &SessionStatus, now: &SessionStatus) -> bool {
    let failed =
        matches!(now.state, State::Failed { .. } | State::LimitedUntil { .. } | State::Background { .. });
    // The same error of another turn is another: the turn between may have been too short to be seen.
    let another = before.state != now.state || before.since != now.since;
    // One dialog after another, of the same kind.
    let asks = now.dialog.as_ref().filter(|_| matches!(now.state, State::Dialog { .. }));
    let other = asks
        .is_some_and(|asks| before.dialog.as_ref().is_none_or(|shown| shown.fingerprint != asks.fingerprint));
    before.state.as_str() != now.state.as_str() || (failed && another) || other
}

fn is_notable(state: &State) -> bool {
    matches!(
        state,
        State::Dialog { .. }
            | State::LimitedUntil { .. }
            | State::Background { .. }
            | State::ContextLow { .. }
            | State::Failed { .. }
            | State::Stuck
            | State::NoProgress
            | State::IdlePrompt
    )
}

fn cause(error: ErrorKind) -> &'static str {
    match error {
        ErrorKind::Auth => "its client is not logged in, or its key is not accepted",
        ErrorKind::Billing => "its account has no credit",
        ErrorKind::ModelNotFound => "its model does not exist or is not allowed (`model` in shopfloor.toml)",
        ErrorKind::InvalidRequest => "its request was refused as invalid",
        ErrorKind::Root => "its client refuses to run as root without a sandbox",
        ErrorKind::NoConversation => "its client does not find the conversation to resume",
        ErrorKind::RateLimit => "a limit is reached",
        ErrorKind::Overloaded => "the model's servers are overloaded",
        ErrorKind::Server => "the model's servers have an error",
        ErrorKind::ContextFull => "its context is full",
        ErrorKind::Connection => "the model cannot be reached",
        ErrorKind::Compaction => "its context could not be compacted",
        ErrorKind::Unknown => "an error that is not known",
    }
}
