//! What follows from a session's status: who is told, what is waited for, when the agent is told to continue.
//!
//! - A dialog, a limit and a failed request are waits, not failures: nothing is counted against the
//!   agent, and its session lives on.
//! - An agent that waits for its own background work is given hours; after that, somebody is told, and it counts
//!   as stopped.
//! - What only a person can put right (a login, a bill) is asked of a person, once.
//! - A client that is found frozen three times in a row is replaced; one that is alive never is.

use super::staff::is_answered;
use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{Duty, Epoch, JobId, MessageId, Role};
use crate::liveness::State;
use crate::phase::Ask;
use crate::runtime::{DialogKind, ErrorKind};
use crate::state::{Job, JobState, SessionState, SessionStatus, Tokens};
use crate::step::Turn;
use crate::texts::{agents, escalations, notes, people, reasons};
use crate::time::Time;
use std::time::Duration;

/// How many times in a row a session must be found stuck.
const STRIKES: u32 = 3;
/// The longest pause before a turn that failed through no fault of the agent is restarted.
const NUDGE_AFTER_MAX: Duration = Duration::from_secs(30 * 60);
/// How often one job's session is replaced because its context is full.
const CYCLES_MAX: u32 = 10;
/// How often a session that is alive but makes no progress is given more time.
const EXTENSIONS_MAX: u32 = 5;

impl Turn<'_> {
    pub(in crate::step) fn status_seen(
        &mut self,
        epoch: Epoch,
        status: &SessionStatus,
        conversation: Option<&str>,
    ) {
        let now = self.now;
        let Some(session) = self.floor.session_mut(epoch) else { return };
        if !matches!(session.state, SessionState::Live | SessionState::Starting) {
            // It is over; what it has cost is known last.
            if let Some(known) = &mut session.status {
                known.cost_micros = known.cost_micros.max(status.cost_micros);
                let most = [known.tokens, status.tokens].into_iter().flatten().max_by_key(Tokens::all);
                known.tokens = most;
            }
            return;
        }
        let before = session.status.replace(status.clone());
        if let Some(conversation) = conversation {
            session.client.conversation = Some(conversation.to_owned());
        }
        let of_one_turn = before.as_ref().is_some_and(|b| b.since == status.since);
        let was = before.as_ref().filter(|_| of_one_turn).map(|b| &b.state);
        let limited = matches!(status.state, State::LimitedUntil { .. });
        if limited && matches!(was, Some(State::Failed { .. })) {
            // The failure is this limit, and was counted before the client said so.
            session.stops.nudges = session.stops.nudges.saturating_sub(1);
        }
        // The limit is over: what happens then was decided when it began.
        let over = matches!(status.state, State::Failed { error: ErrorKind::RateLimit })
            && matches!(was, Some(State::LimitedUntil { .. }));
        let stuck = status.state == State::Stuck;
        session.stops.strikes = if stuck { session.stops.strikes + 1 } else { 0 };
        let (id, role, strikes) = (session.job, session.role, session.stops.strikes);
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
            self.note_job(kind, id, notes::session_state(epoch, &status.state));
        }
        if is_answered(&status.state) {
            self.proves(epoch);
        }
        let Some(job) = self.job(id) else { return };
        let current = job.session_on(role.duty()) == Some(epoch);
        if !current {
            return;
        }
        self.mind_dialog(id, epoch, status);
        self.mind_chat(id, epoch, status);
        if self.is_held(epoch) {
            // The person who has it sees for themselves; only what a client asks is shown to all.
            if let Some(session) = self.floor.session_mut(epoch) {
                session.stops.strikes = 0;
            }
        } else if strikes >= STRIKES {
            self.frozen(id, epoch, role);
        } else if news {
            self.status_changed(id, epoch, role, status);
        }
    }

    /// Does what a session's status asks for, although it is not new: it was left alone until now.
    pub(super) fn status_stands(&mut self, epoch: Epoch, status: &SessionStatus) {
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let (id, role) = (session.job, session.role);
        let current = self.job(id).is_some_and(|job| job.session_on(role.duty()) == Some(epoch));
        if current {
            self.status_changed(id, epoch, role, status);
        }
    }

    fn status_changed(&mut self, id: JobId, epoch: Epoch, role: Role, status: &SessionStatus) {
        // Whether it is this agent's turn: otherwise what it cannot do is not asked of it.
        let turn = self.is_its_turn(id, epoch);
        match &status.state {
            // Nobody can log in there for the others; once somebody has, this one continues too.
            State::Dialog { kind: DialogKind::Login } if turn => {
                self.login_asked(id, epoch, role, reasons::client_error(ErrorKind::Auth));
            }
            State::LimitedUntil { until } if turn => self.resume_at(epoch, *until),
            State::Failed { error } if turn => self.turn_failed(id, epoch, role, *error),
            State::IdlePrompt if turn && role.develops() => self.idle_without_phase(id, epoch),
            State::IdlePrompt if turn => self.idle_without_review(id, epoch),
            State::Background { .. } if turn && role.develops() => self.in_background(id, status.since),
            State::Working { .. } => self.gets_on(id, epoch, turn && role.develops()),
            _ => {}
        }
    }

    /// The agent works: it need not be told to continue, and the time it was given starts afresh.
    fn gets_on(&mut self, id: JobId, epoch: Epoch, its_turn: bool) {
        if let Some(session) = self.floor.session_mut(epoch) {
            session.stops.resume_at = None;
        }
        let at = self.now + self.idle_limit(id);
        if its_turn {
            self.extend(id, 0, at);
        }
    }

    /// Its work continues in the background: that has a deadline of its own.
    fn in_background(&mut self, id: JobId, since: Time) {
        let at = since + self.policy_of(id).background_timeout;
        self.wait_until(id, at);
    }

    /// The agent's deadline has passed. Returns whether it was waiting for its own background work all the time.
    pub(in crate::step) fn background_over(&mut self, id: JobId) -> bool {
        let Some(job) = self.job(id) else { return false };
        let (Some(epoch), Some(status)) = (job.session, self.status_of(job)) else { return false };
        let State::Background { what } = status.state.clone() else { return false };
        let policy = self.policy_of(id);
        self.escalate_job(id, &escalations::background_work(policy.background_timeout, &what));
        self.wait_until(id, self.now + self.idle_limit(id));
        self.idle_without_phase(id, epoch);
        true
    }

    /// The session writes to its terminal: that is all that is known of an agent that reports nothing. It is
    /// reported every quarter of the time the agent is given, so a quarter more is given: silence is never
    /// overestimated.
    pub(in crate::step) fn output_seen(&mut self, epoch: Epoch) {
        let Some(session) = self.floor.session_mut(epoch).filter(|s| s.state == SessionState::Live) else {
            return;
        };
        session.last_seen = self.now;
        let (id, role) = (session.job, session.role);
        self.agent_seen(epoch);
        let policy = self.policy_of(id);
        let in_time = |given: Duration| self.now + given + given / 4;
        match role.duty() {
            Duty::Develop => {
                let at = in_time(self.idle_limit(id));
                let known = self.job(id).and_then(|job| job.deadline);
                self.works_until(id, epoch, known.map_or(at, |known| known.max(at)));
            }
            Duty::Review => {
                let at = in_time(policy.reviewer_timeout);
                if let Some(session) = self.floor.session_mut(epoch)
                    && session.review.due.is_some()
                {
                    session.review.due = session.review.due.max(Some(at));
                }
            }
        }
    }

    fn resume_at(&mut self, epoch: Epoch, at: Time) {
        if let Some(session) = self.floor.session_mut(epoch) {
            session.stops.resume_at = Some(at.max(self.now));
        }
    }

    fn turn_failed(&mut self, id: JobId, epoch: Epoch, role: Role, error: ErrorKind) {
        match error {
            // Whatever the issue: no other agent of this role could work either.
            ErrorKind::Auth | ErrorKind::Billing | ErrorKind::ModelNotFound | ErrorKind::Root => {
                self.client_fails(id, epoch, role, reasons::client_error(error));
            }
            ErrorKind::InvalidRequest | ErrorKind::NoConversation => {
                self.cannot_work(id, epoch, role, reasons::client_error(error));
            }
            ErrorKind::ContextFull | ErrorKind::Compaction => match role.duty() {
                Duty::Develop => self.cycle(id, epoch),
                Duty::Review => self.reviewer_failed(id, epoch, reasons::client_error(error)),
            },
            ErrorKind::RateLimit
            | ErrorKind::Overloaded
            | ErrorKind::Server
            | ErrorKind::Connection
            | ErrorKind::Unknown => {
                let policy = self.policy_of(id);
                let Some(session) = self.floor.session_mut(epoch) else { return };
                session.stops.nudges += 1;
                let nudges = session.stops.nudges;
                if nudges > policy.retries_max {
                    session.stops.nudges = 0;
                    let why = reasons::after_attempts(reasons::client_error(error), policy.retries_max);
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
        match role.duty() {
            Duty::Develop => {
                self.ask(id, &people::agent_cannot_work(why), &Ask::default());
            }
            Duty::Review => self.reviewer_failed(id, epoch, &reasons::reviewer_cannot_work(why)),
        }
    }

    fn idle_without_phase(&mut self, id: JobId, epoch: Epoch) {
        let session = self.floor.sessions.get(&epoch);
        let resumes = session.is_some_and(|s| s.stops.resume_at.is_some());
        if !self.unread(id).is_empty() || resumes {
            return;
        }
        match session.and_then(|s| s.status.as_ref()?.question.clone()) {
            Some(question) => self.asked_without_phase(id, epoch, &question),
            None => self.remind(id, &agents::phase_missing(), reasons::no_phase()),
        }
    }

    fn idle_without_review(&mut self, id: JobId, epoch: Epoch) {
        let max = self.policy_of(id).reminders_max;
        let Some(session) = self.floor.session_mut(epoch).filter(|s| s.stops.resume_at.is_none()) else {
            return;
        };
        if session.stops.nudges >= max {
            self.reviewer_failed(id, epoch, &reasons::reviewer_idle(max));
        } else if self.floor.next_message(epoch).is_none() {
            self.queue_to(id, epoch, &agents::result_missing());
            self.is_reminder(id);
        }
    }

    /// The conversation is full: a successor with a fresh one continues from the worktree.
    fn cycle(&mut self, id: JobId, epoch: Epoch) {
        let Some(cycles) = self.count(id, |rounds| &mut rounds.cycles) else { return };
        if cycles > CYCLES_MAX {
            self.block(id, &reasons::context_full(CYCLES_MAX));
            return;
        }
        let text = notes::context_full(epoch);
        self.note_job(NoteKind::HandoffRequested, id, text);
        self.replace(id, epoch);
        self.start_successor(id);
    }

    /// The session neither moved nor showed any sign of life each time it was looked at.
    fn frozen(&mut self, id: JobId, epoch: Epoch, role: Role) {
        let why = reasons::frozen();
        self.note_job(NoteKind::AgentCrashed, id, notes::session_stopped(role, epoch, why));
        if role.reviews() {
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

    /// Ends a job's live dev session, so that another can take its place.
    pub(in crate::step) fn replace(&mut self, id: JobId, epoch: Epoch) {
        self.agent_crashed(epoch);
        self.checkpoint(id);
        if self.job(id).is_some_and(|j| j.state == JobState::Working) {
            self.hand_back(epoch);
        }
        self.end_session(epoch);
        self.agent_gone(id, epoch);
    }

    /// A limit, or the pause after a failed request, is over.
    pub(in crate::step) fn resume_due(&mut self, epoch: Epoch) {
        let held = self.held_until(epoch);
        let Some(session) = self.floor.session_mut(epoch) else { return };
        session.stops.resume_at = held;
        if held.is_some() {
            return;
        }
        let (id, role) = (session.job, session.role);
        let busy = session.status.as_ref().is_some_and(|status| status.state.in_turn());
        let waiting = self.floor.next_message(epoch).is_some();
        let Some(job) = self.job(id) else { return };
        // A waiting message makes the agent continue just as well.
        if busy || waiting {
            return;
        }
        match role.duty() {
            Duty::Develop if job.session == Some(epoch) && job.state == JobState::Working => {
                self.nudge(id, &agents::carry_on());
            }
            Duty::Review if job.reviewer.session == Some(epoch) => {
                self.queue_to(id, epoch, &agents::carry_on());
            }
            _ => {}
        }
    }

    /// Until when a session has a good reason for silence.
    pub(in crate::step) fn patience(&self, epoch: Option<Epoch>, since: Time) -> Option<Time> {
        if let Some(until) = self.held_until(epoch?) {
            return Some(until);
        }
        let session = self.floor.sessions.get(&epoch?)?;
        let policy = self.policy(&session.project);
        // It could not be told that a message waits, and that is still being tried.
        let bell = Action::RingInbox { epoch: session.epoch, message: MessageId::default() };
        if self.floor.trouble(&session.project, &bell.lane()).is_some() {
            return Some(self.now + policy.delivery_timeout);
        }
        let status = session.status.as_ref()?;
        let at = match status.state {
            State::LimitedUntil { until } => until + policy.delivery_timeout,
            // A person has to come; people are told when it begins, and it may take a night.
            State::Dialog { .. } => since.max(status.since) + policy.escalate_after,
            State::Background { .. } => status.since + policy.background_timeout,
            _ => return None,
        };
        (at > self.now).then_some(at)
    }

    /// The time given to a working agent is over. Returns whether it gets more.
    pub(in crate::step) fn extended(&mut self, id: JobId) -> bool {
        let idle = self.idle_limit(id);
        let Some(job) = self.job(id) else { return false };
        let Some(status) = self.status_of(job) else { return false };
        let (alive, gets_on) = match status.state {
            State::Working { .. } => (true, true),
            State::NoProgress => (true, false),
            _ => (false, false),
        };
        if !alive || (!gets_on && job.rounds.extensions >= EXTENSIONS_MAX) {
            return false;
        }
        let extensions = if gets_on { 0 } else { job.rounds.extensions + 1 };
        self.extend(id, extensions, self.now + idle);
        if !gets_on {
            self.escalate_job(id, escalations::nothing_moves());
        }
        true
    }

    fn status_of(&self, job: &Job) -> Option<&SessionStatus> {
        self.floor.session_of(job)?.status.as_ref()
    }
}

/// Whether something else has to be done now. One tool after another is all work.
fn is_news(before: &SessionStatus, now: &SessionStatus) -> bool {
    let failed =
        matches!(now.state, State::Failed { .. } | State::LimitedUntil { .. } | State::Background { .. });
    // The same error in another turn is a new one: the turn between may have been too short to be seen.
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
