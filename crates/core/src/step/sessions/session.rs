//! Sessions: started with a fresh epoch and fenced by it, and what is known of them while they live.

use super::Sessions;
use crate::effect::outcome;
use crate::effect::{Action, Resume, StartSession, Unread, WorkSummary};
use crate::event::NoteKind;
use crate::ids::{Duty, Epoch, JobId, Role, agent_name, short_name, tmux_name};
use crate::liveness::State;
use crate::runtime::ErrorKind;
use crate::state::{
    Agent, AgentStatus, JobState, MessageState, ReviewDuty, Session, SessionAsks, SessionClient,
    SessionState, Stops, VerdictDuty,
};
use crate::step::Turn;
use crate::texts::notes;

impl Turn<'_> {
    /// What a successor of the job's newest dev session is told.
    pub(in crate::step) fn resume_of(&self, id: JobId) -> Option<Resume> {
        let predecessor = self.job(id)?.last_session?;
        let phase = self.floor.sessions.get(&predecessor).and_then(|s| s.phase).map(|p| p.to_string());
        let record = self.work_summary(id);
        // What it signalled has come back since then.
        let rework = record.as_ref().is_some_and(|r| r.rework.is_some());
        // A session that died before it signalled anything may still have got somewhere.
        let phase = phase.filter(|_| !rework).or_else(|| record.as_ref().map(|r| r.phase.clone()));
        let unread = self.unread(id).into_iter().filter_map(|m| self.floor.messages.get(&m));
        Some(Resume {
            predecessor,
            phase: phase.unwrap_or_else(|| "unknown".to_owned()),
            unread: unread.map(|m| Unread { message: m.id, text: m.text.clone() }).collect(),
            conversation: self.conversation_of(id, predecessor),
            record,
        })
    }

    /// The conversation to continue, if it broke off in good order: not one that was full, and not after one that
    /// could not be resumed.
    fn conversation_of(&self, id: JobId, predecessor: Epoch) -> Option<String> {
        let session = self.floor.sessions.get(&predecessor)?;
        let lost = error_of(session) == Some(ErrorKind::NoConversation);
        let usable = !lost && !was_full(session) && !self.job(id)?.resume_failed;
        session.client.conversation.clone().filter(|_| usable)
    }

    fn work_summary(&self, id: JobId) -> Option<Box<WorkSummary>> {
        let job = self.job(id)?;
        let record = self.floor.records.get(&agent_name(job.role, &job.project, job.assignment))?;
        Some(Box::new(WorkSummary {
            phase: record.work_phase.to_string(),
            summary: record.work_summary.clone(),
            tests: record.tests_status.clone(),
            files: record.files_modified.clone(),
            rework: record.rework.clone(),
        }))
    }

    /// Registers a session and its agent, then orders the start: the registry is never behind.
    pub(in crate::step) fn start(&mut self, id: JobId, role: Role, resume: Option<Resume>) -> Epoch {
        let epoch = Epoch(self.number(|c| &mut c.epoch));
        let job = self.floor.jobs.get(&id).expect("sessions are started for jobs that exist").clone();
        let predecessor = resume.as_ref().map(|r| r.predecessor);
        self.floor.sessions.put(
            Sessions(()),
            Session {
                epoch,
                job: id,
                role,
                project: job.project.clone(),
                assignment: job.assignment,
                state: SessionState::Starting,
                tmux: tmux_name(role, &job.project, job.assignment, epoch),
                process: None,
                phase_file: None,
                phase: None,
                phase_stamp: None,
                created_at: self.now,
                last_seen: self.now,
                exit_status: None,
                crashed: false,
                predecessor,
                client: SessionClient {
                    resumed: resume.as_ref().is_some_and(|r| r.conversation.is_some()),
                    ..SessionClient::default()
                },
                status: None,
                stops: Stops::default(),
                asks: SessionAsks::default(),
                hold: None,
                handed_back: None,
                end_put_off: false,
                review: ReviewDuty {
                    head: role.reviews().then(|| job.head.clone()).flatten(),
                    verdict: VerdictDuty { cleared: true, ..VerdictDuty::default() },
                    ..ReviewDuty::default()
                },
            },
        );
        let identity = agent_name(role, &job.project, job.assignment);
        let created_at = self.floor.agents.get(&identity).map_or(self.now, |a| a.created_at);
        self.floor.agents.put(
            Sessions(()),
            Agent {
                role,
                name: short_name(&job.project, job.assignment),
                project: job.project.clone(),
                assignment: job.assignment,
                session: epoch,
                predecessor,
                status: AgentStatus::Active,
                created_at,
                last_seen: self.now,
            },
        );
        self.note_job(NoteKind::AgentRegistered, id, notes::registered(&identity, epoch));
        self.act(Action::StartSession(StartSession {
            epoch,
            job: id,
            role,
            project: job.project,
            assignment: job.assignment,
            branch: job.branch,
            pr: job.pr,
            reviewed: self.reviewed_before(id).filter(|_| role.reviews()),
            diff_bytes: self.policy_of(id).review_diff_bytes,
            head: role.reviews().then_some(job.head).flatten(),
            trouble: job.memo.review_trouble.filter(|_| role.reviews()),
            resume,
            target: job.target,
            task: self.floor.run_of(id).filter(|_| role.develops()).map(|run| Box::new(run.task())),
        }));
        epoch
    }

    pub(in crate::step) fn session_started(
        &mut self,
        start: &StartSession,
        started: &outcome::SessionStarted,
    ) {
        let outcome::SessionStarted { tmux, process, phase_file, runtime, prompt, notes } = started;
        self.note_worktree(start.job, notes);
        let now = self.now;
        let Some(session) = self.floor.session_mut(start.epoch) else { return };
        session.tmux = tmux.clone();
        session.process = Some(*process);
        session.phase_file = Some(phase_file.clone());
        session.client.runtime = runtime.clone();
        session.client.typed = prompt.is_some();
        session.last_seen = now;
        if session.state != SessionState::Starting {
            return;
        }
        session.state = SessionState::Live;
        let checkpoint = self.now + self.policy(&start.project).checkpoint_every;
        if start.role.develops() {
            self.checkpoint_at(start.job, checkpoint);
        }
        let idle = self.idle_limit(start.job);
        let Some(job) = self.job(start.job) else { return };
        if start.role.develops() && job.session == Some(start.epoch) && job.state == JobState::Starting {
            self.enter(start.job, JobState::Working, idle);
        }
        // What the predecessor left unread is in the successor's prompt.
        let unread = start.resume.iter().flat_map(|r| &r.unread);
        for message in unread.map(|u| u.message).collect::<Vec<_>>() {
            if let Some(message) = self.floor.message_mut(message)
                && message.state == MessageState::Queued
            {
                message.in_prompt_of = Some(start.epoch);
                message.deadline = None;
            }
        }
        let before = start.resume.as_ref().and_then(|r| self.floor.sessions.get(&r.predecessor));
        if let Some(full) = before.filter(|s| was_full(s)).map(|s| s.epoch) {
            let text = notes::successor(start.epoch, full);
            self.note_job(NoteKind::HandoffComplete, start.job, text);
        }
        if let Some(prompt) = prompt {
            self.queue_prompt(start.job, start.epoch, prompt);
        }
        if start.role.reviews() {
            self.expect_review(start.epoch);
            if let Some(session) = self.floor.session_mut(start.epoch) {
                session.review.verdict.mute_since = Some(now);
            }
        }
        let signalled = self.floor.sessions.get(&start.epoch).is_some_and(|s| s.phase.is_some());
        if signalled {
            self.take_prompt(start.epoch);
        }
    }

    pub(in crate::step) fn session_impossible(&mut self, start: &StartSession, reason: &str) {
        // An attempt whose answer was lost may have started it: it is ended, not assumed gone.
        self.set_agent(start.epoch, AgentStatus::Crashed);
        match start.role.duty() {
            Duty::Develop if self.job(start.job).is_some_and(|j| j.session != Some(start.epoch)) => {
                self.stale(start.job, reason);
                self.end_session(start.epoch);
            }
            Duty::Develop => self.block(start.job, reason),
            Duty::Review => self.reviewer_failed(start.job, start.epoch, reason),
        }
    }

    pub(super) fn set_agent(&mut self, epoch: Epoch, status: AgentStatus) {
        let now = self.now;
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let identity = agent_name(session.role, &session.project, session.assignment);
        if let Some(agent) = self.floor.agents.edit(Sessions(()), &identity)
            && agent.session == epoch
        {
            agent.status = status;
            agent.last_seen = now;
        }
    }

    /// Notes a sign of life.
    pub(in crate::step) fn seen(&mut self, epoch: Epoch) {
        let now = self.now;
        self.take_prompt(epoch);
        let Some(session) = self.floor.session_mut(epoch) else { return };
        session.last_seen = now;
        let signalled = session.phase.is_some();
        self.agent_seen(epoch);
        if signalled {
            self.proves(epoch);
        }
    }

    pub(super) fn agent_seen(&mut self, epoch: Epoch) {
        let now = self.now;
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let identity = agent_name(session.role, &session.project, session.assignment);
        if let Some(agent) = self.floor.agents.edit(Sessions(()), &identity)
            && agent.session == epoch
        {
            agent.last_seen = now;
        }
    }

    pub(super) fn agent_crashed(&mut self, epoch: Epoch) {
        if let Some(session) = self.floor.session_mut(epoch) {
            session.crashed = true;
        }
        self.set_agent(epoch, AgentStatus::Crashed);
    }
}

/// What the session's last turn failed with.
fn error_of(session: &Session) -> Option<ErrorKind> {
    match session.status.as_ref()?.state {
        State::Failed { error } => Some(error),
        _ => None,
    }
}

/// Whether the session's context was full, so that another had to continue.
fn was_full(session: &Session) -> bool {
    matches!(error_of(session), Some(ErrorKind::ContextFull | ErrorKind::Compaction))
}
