//! How sessions end, by themselves or by order, and what follows: their remains are cleared away, and a successor
//! takes over their work.

use super::Sessions;
use super::reviewer::is_done;
use super::staff::how_it_ended;
use crate::effect::Action;
use crate::effect::outcome;
use crate::event::NoteKind;
use crate::ids::{Assignment, Epoch, JobId, ProjectName, Role, agent_name};
use crate::state::{Agent, AgentStatus, Job, JobState, Message, MessageState, Session, SessionState};
use crate::step::Turn;
use crate::table::Record;
use crate::texts::notes;

impl Turn<'_> {
    /// A process is proven gone.
    pub(in crate::step) fn session_exited(&mut self, epoch: Epoch, status: Option<i32>) {
        let Some(session) = self.floor.session_mut(epoch) else { return };
        // Nobody can be typing there any more.
        session.hold = None;
        session.asks.open = None;
        session.end_put_off = false;
        let (id, role) = (session.job, session.role);
        // Its end was ordered, or is known, and everything follows from that. How it ended may become known later
        // than that it did.
        if matches!(session.state, SessionState::Exited | SessionState::Ending | SessionState::Ended) {
            let unknown = session.crashed && session.exit_status.is_none();
            if let Some(session) = self.floor.session_mut(epoch).filter(|_| unknown && status.is_some()) {
                session.exit_status = status;
            }
            return;
        }
        if session.state == SessionState::Unended {
            // It could not be ended; now it has ended by itself, and its claims with it.
            self.session_gone(id, epoch);
            return;
        }
        let clean = status == Some(0);
        let agent = if clean { AgentStatus::Terminated } else { AgentStatus::Crashed };
        self.set_agent(epoch, agent);
        let never_begins = self.is_stillborn(epoch, status);
        let worked = self.floor.sessions.get(&epoch).is_some_and(|s| !s.client.stillborn);
        if clean && worked && role.reviews() {
            self.proves(epoch);
        }
        self.forget_own(epoch);
        if let Some(session) = self.floor.session_mut(epoch) {
            session.state = SessionState::Exited;
            session.exit_status = status;
            session.crashed = !clean;
        }
        let how = self.floor.sessions.get(&epoch).map(how_it_ended).unwrap_or_default();
        let kind = if clean { NoteKind::AgentTerminated } else { NoteKind::AgentCrashed };
        self.note_job(kind, id, notes::session_stopped(role, epoch, &how));
        // Its remains (its pane, its last words, processes) are cleared away before any successor starts. A
        // reviewer's result is read first.
        let done = self.floor.sessions.get(&epoch).is_some_and(is_done);
        let collected = role.reviews() && !never_begins && done && self.collect_review(epoch);
        let needed =
            |j: &Job| j.session == Some(epoch) && matches!(j.state, JobState::Working | JobState::Starting);
        if self.job(id).is_some_and(needed) {
            // The record tells a successor what it left, so it is brought up to date first.
            self.checkpoint(id);
            self.hand_back(epoch);
        }
        if !collected && role.reviews() && self.owes_review(epoch) && !never_begins {
            self.reviewer_stopped(epoch);
        } else if !collected {
            self.end_session(epoch);
        }
        self.judge_resume(id, epoch);
        if role.develops() && self.job(id).is_some_and(|j| j.session == Some(epoch)) {
            self.dev_stopped(id, &how);
        }
    }

    /// A session that was to resume a conversation, and ended without having taken its prompt, could not resume
    /// it.
    fn judge_resume(&mut self, id: JobId, epoch: Epoch) {
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let prompted = |m: &Message| m.prompt && m.to == Some(epoch) && m.state == MessageState::Taken;
        let failed = session.client.resumed && !self.floor.messages.iter().any(prompted);
        if failed {
            self.resume_failed(id);
        }
    }

    /// Whatever kept a session from being ended may be gone.
    pub(in crate::step) fn sessions_resumed(&mut self) {
        let unended = |s: &&Session| s.state == SessionState::Unended;
        let sessions: Vec<Epoch> = self.floor.sessions.iter().filter(unended).map(|s| s.epoch).collect();
        for session in sessions {
            self.end_session(session);
        }
    }

    /// A session could not be ended, and somebody was told.
    pub(in crate::step) fn is_unended(&mut self, epoch: Epoch) {
        if let Some(session) = self.floor.session_mut(epoch) {
            session.state = SessionState::Unended;
        }
    }

    pub(in crate::step) fn shelve_sessions(&mut self, id: JobId) {
        let mine: Vec<Epoch> = self.floor.sessions.iter().filter(|s| s.job == id).map(|s| s.epoch).collect();
        for session in mine {
            self.floor.sessions.shelve(Sessions(()), &session);
        }
    }

    pub(in crate::step) fn shelve_agents(&mut self, project: &ProjectName, assignment: Assignment) {
        let mine = |a: &&Agent| a.project == *project && a.assignment.tag() == assignment.tag();
        let mine: Vec<String> = self.floor.agents.iter().filter(mine).map(Record::key).collect();
        for agent in mine {
            self.floor.agents.shelve(Sessions(()), &agent);
        }
    }

    /// Orders a session's end, once. Returns the action, even if it was ordered before and is under way.
    pub(in crate::step) fn end_session(&mut self, epoch: Epoch) -> Option<Action> {
        let held = self.is_held_from_its_end(epoch);
        let session = self.floor.session_mut(epoch)?;
        let action = Action::EndSession {
            job: session.job,
            role: session.role,
            project: session.project.clone(),
            assignment: session.assignment,
            epoch,
        };
        match session.state {
            SessionState::Ended => return None,
            SessionState::Ending => {}
            SessionState::Live if held => session.end_put_off = true,
            SessionState::Starting | SessionState::Live | SessionState::Exited | SessionState::Unended => {
                session.state = SessionState::Ending;
                session.asks.open = None;
                self.act(action.clone());
            }
        }
        Some(action)
    }

    pub(in crate::step) fn session_ended(
        &mut self,
        id: JobId,
        role: Role,
        epoch: Epoch,
        ended: &outcome::SessionEnded,
    ) {
        let outcome::SessionEnded { rescue, last_output, note } = ended;
        self.note_worktree(id, note.as_slice());
        self.reviewer_cleared(id, epoch, last_output);
        self.session_gone(id, epoch);
        if let Some(session) = self.floor.sessions.get(&epoch).cloned() {
            self.last_words(&session, last_output);
        }
        if role.develops() {
            self.dev_ended(id, last_output, rescue.as_deref());
        }
        self.release_after(id, role);
    }

    /// Nothing is left of the session: whoever waited for that begins.
    pub(in crate::step) fn session_cleared(&mut self, id: JobId) {
        self.reviewer_ended(id);
        if self.job(id).is_some_and(|j| matches!(j.state, JobState::Respawning { successor_due: true, .. })) {
            self.start_successor(id);
        }
    }

    /// Nothing is left of a session.
    fn session_gone(&mut self, id: JobId, epoch: Epoch) {
        self.forget_own(epoch);
        let Some(session) = self.floor.session_mut(epoch) else { return };
        session.state = SessionState::Ended;
        let identity = agent_name(session.role, &session.project, session.assignment);
        let active = self.floor.agents.get(&identity).is_some_and(|a| a.status == AgentStatus::Active);
        if active {
            self.set_agent(epoch, AgentStatus::Terminated);
            self.note_job(NoteKind::AgentTerminated, id, notes::session_ended(epoch));
        }
        self.agent_gone(id, epoch);
    }
}
