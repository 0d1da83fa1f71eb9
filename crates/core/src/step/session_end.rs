//! How sessions end, by themselves or ordered, and what follows: what they left is cleared away, and a
//! successor takes their work over.

use super::Turn;
use super::reviewer::is_done;
use super::scheduler::START_WITHIN;
use super::staff::how_it_ended;
use crate::effect::{Action, Outcome};
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, Role, agent_name};
use crate::liveness::State;
use crate::state::{AgentStatus, Job, JobState, Message, MessageState, Session, SessionState};

impl Turn<'_> {
    /// A process is proven gone.
    pub(super) fn session_exited(&mut self, epoch: Epoch, status: Option<i32>) {
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        // Nobody can be typing there any more.
        session.hold = None;
        session.asks = None;
        session.end_put_off = false;
        let (id, role) = (session.job, session.role);
        // Its end was ordered, or is known: what is to follow follows from that. How it ended may be
        // known later than that it did.
        if matches!(session.state, SessionState::Exited | SessionState::Ending | SessionState::Ended) {
            let unknown = session.crashed && session.exit_status.is_none();
            if let Some(session) = self.floor.sessions.edit(&epoch).filter(|_| unknown && status.is_some()) {
                session.exit_status = status;
            }
            return;
        }
        if session.state == SessionState::Unended {
            // It could not be ended; now it has ended by itself, and with it its claims.
            self.session_gone(id, epoch);
            return;
        }
        let clean = status == Some(0);
        let agent = if clean { AgentStatus::Terminated } else { AgentStatus::Crashed };
        self.set_agent(epoch, agent);
        let never_begins = self.is_stillborn(epoch, status);
        let worked = self.floor.sessions.get(&epoch).is_some_and(|s| !s.stillborn);
        if clean && worked && role == Role::Review {
            self.proves(epoch);
        }
        self.forget_own(epoch);
        if let Some(session) = self.floor.sessions.edit(&epoch) {
            session.state = SessionState::Exited;
            session.exit_status = status;
            session.crashed = !clean;
        }
        let how = self.floor.sessions.get(&epoch).map(how_it_ended).unwrap_or_default();
        let kind = if clean { NoteKind::AgentTerminated } else { NoteKind::AgentCrashed };
        self.note_job(kind, id, format!("{role} session {epoch}: {how}"));
        // What it left (its pane, its last words, processes) is cleared away before any successor.
        // A reviewer's result is read first.
        let done = self.floor.sessions.get(&epoch).is_some_and(is_done);
        let collected = role == Role::Review && !never_begins && done && self.collect_review(epoch);
        let needed =
            |j: &Job| j.session == Some(epoch) && matches!(j.state, JobState::Working | JobState::Starting);
        if self.job(id).is_some_and(needed) {
            // The record tells its successor what it left: it is brought up to date first.
            self.checkpoint(id);
            self.hand_back(epoch);
        }
        if !collected && role == Role::Review && self.owes_review(epoch) && !never_begins {
            self.reviewer_stopped(epoch);
        } else if !collected {
            self.end_session(epoch);
        }
        self.judge_resume(id, epoch);
        if role == Role::Dev && self.job(id).is_some_and(|j| j.session == Some(epoch)) {
            self.dev_stopped(id, &how);
        }
    }

    /// A job has lost its agent.
    fn dev_stopped(&mut self, id: JobId, how: &str) {
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.session = None;
        match job.state {
            // Its turn: it is needed.
            JobState::Working | JobState::Starting => {
                self.respawn(id, &format!("the agent stopped ({how}) without a phase"));
            }
            // Its question stays open, and is not asked twice: the answer starts a successor.
            JobState::NeedsHuman { .. } => {}
            // The factory's turn: what it left unread told it nothing to do. A successor is
            // started when there is something to tell it.
            _ => self.forget_unread(id),
        }
    }

    /// A session that took up a conversation and ended without having taken its prompt could not.
    fn judge_resume(&mut self, id: JobId, epoch: Epoch) {
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let prompted = |m: &Message| m.prompt && m.to == Some(epoch) && m.state == MessageState::Taken;
        let failed = session.resumed && !self.floor.messages.iter().any(prompted);
        if let Some(job) = self.floor.jobs.edit(&id)
            && failed
        {
            job.resume_failed = true;
        }
    }

    /// Starts a successor once nothing of its predecessor is left in the worktree.
    pub(super) fn start_successor(&mut self, id: JobId) {
        if self.may_not_start(id) {
            return self.put_start_off(id);
        }
        let left = |s: &Session| s.job == id && s.role == Role::Dev && s.state != SessionState::Ended;
        let left = self.floor.sessions.iter().any(left);
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.successor_due = left;
        }
        if left {
            self.enter(id, JobState::Respawning, START_WITHIN);
        } else {
            self.start_dev(id);
        }
    }

    /// A session that should work gave no sign for too long: it is replaced. One that waits for a person
    /// is not: its successor would come to wait as well.
    pub(super) fn silent(&mut self, id: JobId, why: &str) {
        let session = self.job(id).and_then(|j| self.floor.session_of(j));
        let waits = |s: &Session| {
            let state = s.status.as_ref().map(|status| &status.state);
            matches!(
                state,
                Some(State::Dialog { .. } | State::LimitedUntil { .. } | State::Background { .. })
            )
        };
        let Some(epoch) = session.filter(|s| !waits(s)).map(|s| s.epoch) else {
            self.block(id, why);
            return;
        };
        self.note_job(NoteKind::AgentCrashed, id, format!("{} session {epoch}: {why}", Role::Dev));
        self.escalate_job(id, why);
        self.replace(id, epoch);
        self.respawn(id, why);
    }

    /// Starts a successor after a pause, or gives up when too many died.
    pub(super) fn respawn(&mut self, id: JobId, why: &str) {
        let policy = self.policy_of(id);
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.respawns += 1;
        if job.respawns > policy.respawns_max {
            let reason = format!("{why}; {} successors were tried", policy.respawns_max);
            self.block(id, &reason);
            return;
        }
        let pause = policy.respawn_backoff * 2u32.saturating_pow(job.respawns.saturating_sub(1).min(10));
        self.enter(id, JobState::Respawning, pause);
    }

    /// Orders a session's end, once. The action, also if it was ordered before and is under way.
    pub(super) fn end_session(&mut self, epoch: Epoch) -> Option<Action> {
        let held = self.is_held_from_its_end(epoch);
        let session = self.floor.sessions.edit(&epoch)?;
        let action = Action::EndSession {
            job: session.job,
            role: session.role,
            project: session.project.clone(),
            issue: session.issue,
            epoch,
        };
        match session.state {
            SessionState::Ended => return None,
            SessionState::Ending => {}
            SessionState::Live if held => session.end_put_off = true,
            SessionState::Starting | SessionState::Live | SessionState::Exited | SessionState::Unended => {
                session.state = SessionState::Ending;
                session.asks = None;
                self.act(action.clone());
            }
        }
        Some(action)
    }

    pub(super) fn session_ended(&mut self, id: JobId, epoch: Epoch, action: &Action, outcome: &Outcome) {
        let Outcome::SessionEnded { rescue, last_output, note } = outcome else { return };
        self.note_worktree(id, note.as_slice());
        self.reviewer_cleared(id, epoch, last_output);
        self.session_gone(id, epoch);
        if let Some(session) = self.floor.sessions.get(&epoch).cloned() {
            self.last_words(&session, last_output);
        }
        let dev = matches!(action, Action::EndSession { role: Role::Dev, .. });
        if let Some(job) = self.floor.jobs.edit(&id)
            && dev
        {
            job.last_output = last_output.clone();
            if let Some(rescue) = rescue {
                job.rescue = Some(rescue.clone());
            }
        }
        if dev {
            self.report_end(id);
        }
        if let Action::EndSession { role, .. } = action {
            self.release_after(id, *role);
        }
        self.finishing_done(id, action);
        self.reviewer_ended(id);
        if self.job(id).is_some_and(|j| j.state == JobState::Respawning && j.successor_due) {
            self.start_successor(id);
        }
    }

    /// Nothing is left of a session.
    fn session_gone(&mut self, id: JobId, epoch: Epoch) {
        self.forget_own(epoch);
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        session.state = SessionState::Ended;
        let identity = agent_name(session.role, &session.project, session.issue);
        let active = self.floor.agents.get(&identity).is_some_and(|a| a.status == AgentStatus::Active);
        if active {
            self.set_agent(epoch, AgentStatus::Terminated);
            self.note_job(NoteKind::AgentTerminated, id, format!("session {epoch} ended"));
        }
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.session = job.session.filter(|s| *s != epoch);
            job.review_session = job.review_session.filter(|s| *s != epoch);
        }
    }
}
