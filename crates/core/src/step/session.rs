//! Sessions: started with a fresh epoch, fenced by it, and what is known of them while they live.

use super::Turn;
use super::scheduler::START_WITHIN;
use crate::effect::{Action, Outcome, Resume, StartSession, Unread, WorkSummary};
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, Role, agent_name, tmux_name};
use crate::liveness::State;
use crate::runtime::ErrorKind;
use crate::state::{Agent, AgentStatus, JobState, MessageState, Session, SessionState, VerdictDuty};
use crate::text::one_line;

const WORKTREE_NOTES_MAX: usize = 10;

/// Times a job's worktree is set up before a person is asked.
const SETUPS_MAX: u32 = 2;

impl Turn<'_> {
    pub(super) fn worktree_ready(&mut self, id: JobId, outcome: &Outcome) {
        let (path, head, notes) = match outcome {
            Outcome::WorktreeReady { path, head, notes } => (path, head, notes),
            Outcome::SetupFailed { path, why, excerpt } => return self.setup_failed(id, path, why, excerpt),
            _ => return,
        };
        self.note_worktree(id, notes);
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if job.state != JobState::Preparing {
            return;
        }
        job.worktree = Some(path.clone());
        job.head = Some(head.clone());
        if self.may_not_start(id) {
            return self.put_start_off(id);
        }
        self.start_dev(id);
    }

    /// The project's own commands failed: once more, in case it was an accident, then a person looks.
    fn setup_failed(&mut self, id: JobId, path: &str, why: &str, excerpt: &str) {
        let within = self.policy_of(id).setup_timeout + START_WITHIN;
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if job.state != JobState::Preparing {
            return;
        }
        job.worktree = Some(path.to_owned());
        job.last_output = excerpt.to_owned();
        job.setups_failed += 1;
        let again = Action::PrepareWorktree {
            job: id,
            project: job.project.clone(),
            issue: job.issue,
            branch: job.branch.clone(),
            target: job.target.clone(),
        };
        let failed = job.setups_failed;
        self.note_worktree(id, &[format!("its setup failed: {why}")]);
        if failed < SETUPS_MAX {
            self.enter(id, JobState::Preparing, within);
            self.act(again);
        } else {
            self.block(id, &format!("the setup of its worktree failed {failed} times: {why}"));
        }
    }

    /// People are told what an agent found, or would have found, out of order.
    pub(super) fn note_worktree(&mut self, id: JobId, notes: &[String]) {
        for note in notes.iter().take(WORKTREE_NOTES_MAX) {
            self.note_job(NoteKind::Worktree, id, one_line(note, 300));
        }
    }

    /// Starts the job's dev session, as a successor if there was one before.
    pub(super) fn start_dev(&mut self, id: JobId) {
        if self.lacks_staff(id, Role::Dev) {
            self.wait_for_staff(id);
            return;
        }
        let resume = self.resume_of(id);
        let epoch = self.start(id, Role::Dev, resume);
        self.record_session(id, epoch);
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.session = Some(epoch);
        job.last_session = Some(epoch);
        self.readdress(id, epoch);
        self.enter(id, JobState::Starting, START_WITHIN);
    }

    /// What a successor of the job's newest dev session is told.
    pub(super) fn resume_of(&self, id: JobId) -> Option<Resume> {
        let predecessor = self.job(id)?.last_session?;
        let phase = self.floor.sessions.get(&predecessor).and_then(|s| s.phase).map(|p| p.to_string());
        let record = self.work_summary(id);
        // What it signalled has come back since.
        let rework = record.as_ref().is_some_and(|r| r.rework.is_some());
        // One that died before it signalled anything has still got somewhere.
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

    /// The conversation to go on with, if it broke off in good order: not one that was full, and not
    /// after one that could not be taken up.
    fn conversation_of(&self, id: JobId, predecessor: Epoch) -> Option<String> {
        let session = self.floor.sessions.get(&predecessor)?;
        let lost = error_of(session) == Some(ErrorKind::NoConversation);
        let usable = !lost && !was_full(session) && !self.job(id)?.resume_failed;
        session.conversation.clone().filter(|_| usable)
    }

    fn work_summary(&self, id: JobId) -> Option<Box<WorkSummary>> {
        let job = self.job(id)?;
        let record = self.floor.records.get(&agent_name(Role::Dev, &job.project, job.issue))?;
        Some(Box::new(WorkSummary {
            phase: record.work_phase.to_string(),
            summary: record.work_summary.clone(),
            tests: record.tests_status.clone(),
            files: record.files_modified.clone(),
            rework: record.rework.clone(),
        }))
    }

    pub(super) fn start_reviewer(&mut self, id: JobId) {
        if self.is_paused(id) {
            if let Some(job) = self.floor.jobs.edit(&id) {
                job.reviewer_put_off = true;
            }
            return;
        }
        if self.lacks_staff(id, Role::Review) {
            return;
        }
        let epoch = self.start(id, Role::Review, None);
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.review_session = Some(epoch);
            job.review_attempts += 1;
            // An earlier one may have been put off, for another head.
            job.reviewer_put_off = false;
        }
    }

    /// Registers a session and its agent, then orders the start: the registry is never behind.
    fn start(&mut self, id: JobId, role: Role, resume: Option<Resume>) -> Epoch {
        let epoch = Epoch(self.number(|c| &mut c.epoch));
        let job = self.floor.jobs.get(&id).expect("sessions are started for jobs that exist").clone();
        let predecessor = resume.as_ref().map(|r| r.predecessor);
        self.floor.sessions.put(Session {
            epoch,
            job: id,
            role,
            project: job.project.clone(),
            issue: job.issue,
            state: SessionState::Starting,
            tmux: tmux_name(role, &job.project, job.issue, epoch),
            process: None,
            phase_file: None,
            phase: None,
            phase_stamp: None,
            created_at: self.now,
            last_seen: self.now,
            exit_status: None,
            crashed: false,
            predecessor,
            head: (role == Role::Review).then(|| job.head.clone()).flatten(),
            runtime: String::new(),
            conversation: None,
            status: None,
            strikes: 0,
            resume_at: None,
            nudges: 0,
            dialog_told: None,
            asks: None,
            answered: None,
            hold: None,
            handed_back: None,
            end_put_off: false,
            repaired: false,
            reviewed: None,
            next_head: None,
            moved: false,
            review_due: None,
            verdict: VerdictDuty { cleared: true, ..VerdictDuty::default() },
            typed: false,
            stillborn: false,
            resumed: resume.as_ref().is_some_and(|r| r.conversation.is_some()),
        });
        let identity = agent_name(role, &job.project, job.issue);
        let created_at = self.floor.agents.get(&identity).map_or(self.now, |a| a.created_at);
        self.floor.agents.put(Agent {
            role,
            name: format!("{}-{}", job.project, job.issue),
            project: job.project.clone(),
            issue: job.issue,
            session: epoch,
            predecessor,
            status: AgentStatus::Active,
            created_at,
            last_seen: self.now,
        });
        self.note_job(NoteKind::AgentRegistered, id, format!("{identity}, session {epoch}"));
        self.act(Action::StartSession(StartSession {
            epoch,
            job: id,
            role,
            project: job.project,
            issue: job.issue,
            branch: job.branch,
            pr: job.pr,
            reviewed: self.reviewed_before(id).filter(|_| role == Role::Review),
            diff_bytes: self.policy_of(id).review_diff_bytes,
            head: (role == Role::Review).then_some(job.head).flatten(),
            trouble: job.memo.review_trouble.filter(|_| role == Role::Review),
            resume,
            target: job.target,
            kind: job.kind,
        }));
        epoch
    }

    pub(super) fn session_started(&mut self, start: &StartSession, outcome: &Outcome) {
        if let Outcome::AgentUnusable { why } = outcome {
            self.session_unusable(start, why);
            return;
        }
        let Outcome::SessionStarted { tmux, process, phase_file, runtime, prompt, notes } = outcome else {
            return;
        };
        self.note_worktree(start.job, notes);
        let now = self.now;
        let Some(session) = self.floor.sessions.edit(&start.epoch) else { return };
        session.tmux = tmux.clone();
        session.process = Some(*process);
        session.phase_file = Some(phase_file.clone());
        session.runtime = runtime.clone();
        session.typed = prompt.is_some();
        session.last_seen = now;
        if session.state != SessionState::Starting {
            return;
        }
        session.state = SessionState::Live;
        let checkpoint = self.now + self.policy(&start.project).checkpoint_every;
        if let Some(job) = self.floor.jobs.edit(&start.job)
            && start.role == Role::Dev
        {
            job.checkpoint_at = Some(checkpoint);
        }
        let idle = self.policy(&start.project).idle_timeout;
        let Some(job) = self.job(start.job) else { return };
        if start.role == Role::Dev && job.session == Some(start.epoch) && job.state == JobState::Starting {
            self.enter(start.job, JobState::Working, idle);
        }
        // What the predecessor left unread is in the successor's prompt.
        let unread = start.resume.iter().flat_map(|r| &r.unread);
        for message in unread.map(|u| u.message).collect::<Vec<_>>() {
            if let Some(message) = self.floor.messages.edit(&message)
                && message.state == MessageState::Queued
            {
                message.in_prompt_of = Some(start.epoch);
                message.deadline = None;
            }
        }
        let before = start.resume.as_ref().and_then(|r| self.floor.sessions.get(&r.predecessor));
        if let Some(full) = before.filter(|s| was_full(s)).map(|s| s.epoch) {
            let text = format!("session {} goes on for session {full}", start.epoch);
            self.note_job(NoteKind::HandoffComplete, start.job, text);
        }
        if let Some(prompt) = prompt {
            self.queue_prompt(start.job, start.epoch, prompt);
        }
        if start.role == Role::Review {
            self.expect_review(start.epoch);
            if let Some(session) = self.floor.sessions.edit(&start.epoch) {
                session.verdict.mute_since = Some(now);
            }
        }
        let signalled = self.floor.sessions.get(&start.epoch).is_some_and(|s| s.phase.is_some());
        if signalled {
            self.take_prompt(start.epoch);
        }
    }

    pub(super) fn session_impossible(&mut self, start: &StartSession, reason: &str) {
        // An attempt whose answer was lost may have started it: it is ended, not taken for gone.
        self.set_agent(start.epoch, AgentStatus::Crashed);
        match start.role {
            Role::Dev if self.job(start.job).is_some_and(|j| j.session != Some(start.epoch)) => {
                self.stale(start.job, reason);
                self.end_session(start.epoch);
            }
            Role::Dev => self.block(start.job, reason),
            Role::Review => self.reviewer_failed(start.job, start.epoch, reason),
        }
    }

    pub(super) fn set_agent(&mut self, epoch: Epoch, status: AgentStatus) {
        let now = self.now;
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let identity = agent_name(session.role, &session.project, session.issue);
        if let Some(agent) = self.floor.agents.edit(&identity)
            && agent.session == epoch
        {
            agent.status = status;
            agent.last_seen = now;
        }
    }

    /// Notes a sign of life.
    pub(super) fn seen(&mut self, epoch: Epoch) {
        let now = self.now;
        self.take_prompt(epoch);
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
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
        let identity = agent_name(session.role, &session.project, session.issue);
        if let Some(agent) = self.floor.agents.edit(&identity)
            && agent.session == epoch
        {
            agent.last_seen = now;
        }
    }

    pub(super) fn agent_crashed(&mut self, epoch: Epoch) {
        if let Some(session) = self.floor.sessions.edit(&epoch) {
            session.crashed = true;
        }
        self.set_agent(epoch, AgentStatus::Crashed);
    }
}

/// What its last turn failed with.
fn error_of(session: &Session) -> Option<ErrorKind> {
    match session.status.as_ref()?.state {
        State::Failed { error } => Some(error),
        _ => None,
    }
}

/// Whether its context was full, so that another had to go on.
fn was_full(session: &Session) -> bool {
    matches!(error_of(session), Some(ErrorKind::ContextFull | ErrorKind::Compaction))
}
