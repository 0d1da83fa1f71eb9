//! Agents that cannot work, whatever the issue: a client that is missing, too old or not logged in, a
//! key that is not there or not accepted, a configuration that it does not read.
//!
//! - The project's role is held: one question, one line in `status`. No issue is touched; work that was
//!   begun waits where it is, and nothing of it is counted against anybody.
//! - It goes on by itself: when looking again finds nothing wrong, or, for what only a session can tell,
//!   when one that was let to try gets on.
//! - A hold is tried again when something changed, when a person says so, and after a growing pause.

use super::Turn;
use super::reviewer::REVIEWERS_MAX;
use crate::effect::{Action, AgentTrouble, Outcome, StartSession};
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, ProjectName, QuestionId, Role};
use crate::liveness::{Activity, State};
use crate::state::{AgentStatus, Found, Job, JobState, Session, Staff, StaffHold};
use crate::text::{neutralise, one_line, tail};
use std::time::Duration;

/// Sessions in a row that end before they have taken their prompt, until it is the client's fault.
const STILLBORN_MAX: u32 = 2;
/// How much of what such a session printed is told.
const WORDS_BYTES_MAX: usize = 600;
const WHY_CHARS_MAX: usize = 1000;
/// A job that is held waits for the hold, which has its own deadlines; this is only to look at it.
const HELD: Duration = Duration::from_secs(24 * 3600);

/// Before it is tried again by itself, which costs a look, or a session's request to the model: ever more
/// rarely, so that a hold that nobody cares about costs nothing in the end.
fn pause(found: Found, tries: u32) -> Duration {
    let first: u64 = match found {
        Found::Look => 60,
        Found::Session => 5 * 60,
    };
    Duration::from_secs((first << tries.min(11)).min(24 * 3600))
}

impl Turn<'_> {
    /// Has the project's agents looked at. Nothing new is begun before.
    pub(super) fn look_at_staff(&mut self, project: &ProjectName) {
        if self.floor.staff.get(project).is_none() {
            self.floor.staff.put(Staff::new(project.clone()));
        }
        let Some(staff) = self.floor.staff.edit(project) else { return };
        if staff.looking {
            staff.again = true;
            return;
        }
        staff.looking = true;
        self.act(Action::CheckAgents { project: project.clone() });
    }

    pub(super) fn staff_seen(&mut self, project: &ProjectName, outcome: &Outcome) {
        let (troubles, unset): (&[AgentTrouble], &[String]) = match outcome {
            Outcome::AgentsChecked { troubles, unset } => (troubles, unset),
            _ => (&[], &[]),
        };
        let Some(staff) = self.floor.staff.edit(project) else { return };
        staff.looking = false;
        let again = std::mem::take(&mut staff.again);
        if staff.unset != unset {
            staff.unset = unset.to_vec();
            if !unset.is_empty() {
                let text = format!("not set in the environment: {}", one_line(&unset.join(", "), 500));
                self.note(NoteKind::Escalation, project, None, text);
            }
        }
        for role in [Role::Dev, Role::Review] {
            match troubles.iter().find(|trouble| trouble.role == role) {
                Some(trouble) => self.hold(project, role, &trouble.why, Found::Look),
                None if self.floor.hold(project, role).is_some_and(|h| h.found == Found::Look) => {
                    self.lift(project, role);
                }
                None => {}
            }
        }
        if again {
            self.look_at_staff(project);
        }
    }

    /// Something that agents need may have changed, or a person says so; `None`: anywhere.
    pub(super) fn staff_touched(&mut self, only: Option<&ProjectName>) {
        let touched = |s: &&Staff| only.is_none_or(|p| s.project == *p) && !s.holds.is_empty();
        let projects: Vec<ProjectName> =
            self.floor.staff.iter().filter(touched).map(|s| s.project.clone()).collect();
        for project in projects {
            self.look_at_staff(&project);
            for role in [Role::Dev, Role::Review] {
                if self.floor.hold(&project, role).is_some_and(|h| h.found == Found::Session) {
                    self.let_one_try(&project, role);
                }
            }
        }
    }

    /// Holds a role. The same trouble found again is told once.
    fn hold(&mut self, project: &ProjectName, role: Role, why: &str, found: Found) {
        let why = one_line(&neutralise(why), WHY_CHARS_MAX);
        let (now, remind) = (self.now, self.policy(project).renotify_after);
        let known = self.floor.hold(project, role);
        if let Some(known) = known.cloned() {
            let news = known.why != why;
            if let Some(hold) = self.hold_mut(project, role) {
                hold.trial = None;
                hold.retry_at = now + pause(found, hold.tries);
                hold.why = why.clone();
                hold.found = found;
            }
            if news {
                self.note(NoteKind::NeedsHuman, project, None, told(role, &why, known.question));
            }
            return;
        }
        let question = QuestionId(self.number(|c| &mut c.question));
        let hold = StaffHold {
            role,
            why: why.clone(),
            found,
            since: now,
            question,
            remind_at: now + remind,
            reminded: 0,
            retry_at: now + pause(found, 0),
            tries: 0,
            trial: None,
        };
        if self.floor.staff.get(project).is_none() {
            self.floor.staff.put(Staff::new(project.clone()));
        }
        let Some(staff) = self.floor.staff.edit(project) else { return };
        staff.holds.push(hold);
        self.note(NoteKind::NeedsHuman, project, None, told(role, &why, question));
    }

    fn hold_mut(&mut self, project: &ProjectName, role: Role) -> Option<&mut StaffHold> {
        self.floor.staff.edit(project)?.holds.iter_mut().find(|hold| hold.role == role)
    }

    /// It is mended: what waited goes on.
    fn lift(&mut self, project: &ProjectName, role: Role) {
        let Some(staff) = self.floor.staff.edit(project) else { return };
        staff.holds.retain(|hold| hold.role != role);
        self.note(NoteKind::AgentStatus, project, None, format!("the {role} agents can work again"));
        for job in self.held_jobs(project, role) {
            self.start_held(job, role);
        }
    }

    /// The jobs that a role's hold keeps, oldest first.
    fn held_jobs(&self, project: &ProjectName, role: Role) -> Vec<JobId> {
        let waits = |j: &&Job| match role {
            Role::Dev => j.state == JobState::Respawning && j.held,
            Role::Review => {
                let waits = matches!(j.state, JobState::Reviewing { .. }) && j.review_session.is_none();
                waits && j.review_attempts < REVIEWERS_MAX
            }
        };
        self.floor.live_jobs(project).filter(waits).map(|j| j.id).collect()
    }

    fn start_held(&mut self, id: JobId, role: Role) {
        match (role, self.job(id).map(|j| j.state.clone())) {
            (Role::Dev, Some(JobState::Respawning)) => {
                if let Some(job) = self.floor.jobs.edit(&id) {
                    job.held = false;
                }
                self.start_successor(id);
            }
            (Role::Review, Some(JobState::Reviewing { head })) => self.see_to_a_reviewer(id, &head),
            _ => {}
        }
    }

    /// One of those that wait finds out; the others wait on, and nothing new is begun.
    fn let_one_try(&mut self, project: &ProjectName, role: Role) {
        if self.floor.hold(project, role).is_some_and(|h| h.trial.is_some_and(|job| self.tries(job, role))) {
            return;
        }
        let Some(job) = self.held_jobs(project, role).first().copied() else {
            // Whoever found it is gone: the next to begin finds out.
            self.lift(project, role);
            return;
        };
        let now = self.now;
        if let Some(hold) = self.hold_mut(project, role) {
            hold.trial = Some(job);
            hold.tries = hold.tries.saturating_add(1);
            hold.retry_at = now + pause(hold.found, hold.tries);
        }
        self.start_held(job, role);
    }

    /// Whether the job's session is there to find out.
    fn tries(&self, job: JobId, role: Role) -> bool {
        self.job(job).is_some_and(|j| match role {
            Role::Dev => j.session.is_some(),
            Role::Review => j.review_session.is_some(),
        })
    }

    /// Whether a job has to wait before a session of that role is started for it.
    pub(super) fn lacks_staff(&self, id: JobId, role: Role) -> bool {
        let Some(job) = self.job(id) else { return false };
        self.floor.hold(&job.project, role).is_some_and(|hold| hold.trial != Some(id))
    }

    /// The job waits for its project's agents to be mended.
    pub(super) fn wait_for_staff(&mut self, id: JobId) {
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.held = true;
        }
        for message in self.unread(id) {
            if let Some(message) = self.floor.messages.edit(&message) {
                message.deadline = None;
            }
        }
        self.enter(id, JobState::Respawning, HELD);
    }

    /// A session cannot be started, whatever it is for.
    pub(super) fn session_unusable(&mut self, start: &StartSession, why: &str) {
        self.set_agent(start.epoch, AgentStatus::Crashed);
        self.hold(&start.project, start.role, why, Found::Look);
        self.not_begun(start.job, start.epoch, start.role);
    }

    /// A session's client cannot work: its login, its bill, its model.
    pub(super) fn client_fails(&mut self, id: JobId, epoch: Epoch, role: Role, why: &str) {
        let Some(project) = self.job(id).map(|j| j.project.clone()) else { return };
        self.hold(&project, role, why, Found::Session);
        match role {
            Role::Dev => {
                // Its successor has another environment, and goes on with the conversation.
                self.replace(id, epoch);
                self.wait_for_staff(id);
            }
            Role::Review => self.not_begun(id, epoch, role),
        }
    }

    /// What was ordered for a job did not come about: it is ordered again when the hold is over.
    fn not_begun(&mut self, id: JobId, epoch: Epoch, role: Role) {
        let before = self.floor.sessions.get(&epoch).and_then(|s| s.predecessor);
        let current = self.job(id).is_some_and(|j| match role {
            Role::Dev => j.session == Some(epoch),
            Role::Review => j.review_session == Some(epoch),
        });
        let ending = self.end_session(epoch).is_some();
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        match role {
            Role::Dev if current => {
                job.session = None;
                job.last_session = before;
                self.wait_for_staff(id);
            }
            Role::Review if current => {
                job.review_attempts = job.review_attempts.saturating_sub(1);
                job.reviewer_wanted = ending;
                if !ending {
                    job.review_session = None;
                }
            }
            _ => {}
        }
    }

    /// Whether a session ended before it took its prompt: then it never worked. Counted in a row.
    pub(super) fn is_stillborn(&mut self, epoch: Epoch) -> bool {
        let Some(session) = self.floor.sessions.get(&epoch) else { return false };
        let prompt = |m: &crate::state::Message| m.prompt && m.to == Some(epoch);
        let waits = self.floor.messages.iter().any(|m| prompt(m) && m.taken_at.is_none());
        let (id, stillborn) =
            (session.job, session.typed && !session.resumed && session.phase.is_none() && waits);
        if let Some(session) = self.floor.sessions.edit(&epoch) {
            session.stillborn = stillborn;
        }
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.stillborn = if stillborn { job.stillborn + 1 } else { 0 };
            return stillborn && job.stillborn >= STILLBORN_MAX;
        }
        false
    }

    /// What was left of a session is cleared away, and what it said last is known.
    pub(super) fn last_words(&mut self, session: &Session, output: &str) {
        let Some(job) = self.job(session.job) else { return };
        let (id, project) = (job.id, job.project.clone());
        let words = tail(output.trim(), WORDS_BYTES_MAX);
        if session.stillborn && job.stillborn >= STILLBORN_MAX {
            let how = session.exit_status.map_or_else(|| "killed".to_owned(), |s| format!("exit {s}"));
            let why = format!("the client ends as soon as it is started ({how}); it says: {words}");
            self.hold(&project, session.role, &why, Found::Session);
            if let Some(job) = self.floor.jobs.edit(&id) {
                job.respawns = job.respawns.saturating_sub(STILLBORN_MAX);
                job.review_attempts = 0;
                job.stillborn = 0;
            }
        }
    }

    /// A session shows that the model answers it: whatever held its role is mended.
    pub(super) fn proves(&mut self, epoch: Epoch) {
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let (project, role, job) = (session.project.clone(), session.role, session.job);
        if self.floor.hold(&project, role).is_some_and(|hold| hold.trial == Some(job)) {
            self.lift(&project, role);
        }
    }

    /// What holds were waiting for the time to pass for.
    pub(super) fn staff_due(&mut self) {
        let now = self.now;
        let due: Vec<(ProjectName, StaffHold)> = self
            .floor
            .holds()
            .filter(|(_, h)| h.remind_at <= now || h.retry_at <= now)
            .map(|(project, hold)| (project.clone(), hold.clone()))
            .collect();
        for (project, due) in due {
            if due.remind_at <= now {
                let again = self.policy(&project).escalate_after;
                if let Some(hold) = self.hold_mut(&project, due.role) {
                    hold.reminded += 1;
                    hold.remind_at = now + again.max(Duration::from_secs(60));
                }
                let kind = if due.reminded == 0 { NoteKind::NeedsHuman } else { NoteKind::Escalation };
                self.note(kind, &project, None, told(due.role, &due.why, due.question));
            }
            if due.retry_at <= now {
                if let Some(hold) = self.hold_mut(&project, due.role) {
                    hold.tries = hold.tries.saturating_add(1);
                    hold.retry_at = now + pause(hold.found, hold.tries);
                }
                match due.found {
                    Found::Look => self.look_at_staff(&project),
                    Found::Session => self.let_one_try(&project, due.role),
                }
            }
        }
    }
}

/// Whether only somebody to whom the model answers can be in that state.
pub(super) fn is_answered(state: &State) -> bool {
    matches!(
        state,
        State::Working { activity: Activity::Tool { .. } | Activity::Compacting }
            | State::Idle
            | State::IdlePrompt
            | State::ContextLow { .. }
    )
}

fn told(role: Role, why: &str, question: QuestionId) -> String {
    format!("the {role} agents cannot work: {why} (q{question}; it goes on by itself when that is mended)")
}
