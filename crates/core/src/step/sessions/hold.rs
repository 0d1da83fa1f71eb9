//! The person is the boss: whoever types at a session's terminal has it, until they leave, are quiet for long, or
//! hand it back; whoever takes a job has it until they hand it back; a paused project's agents are left alone.
//! What an agent does meanwhile is taken in as usual, but nothing is typed to it, its silence is not held against
//! it, and it is neither replaced nor ended.
//!
//! Invariants:
//! - A hold by typing has a deadline of its own: the floor lets go even if nobody tells it that the person left. A
//!   hold by command shows in `status` until it is withdrawn.
//! - An end that was ordered in the meantime is carried out afterwards. What a person ends by command or on the
//!   forge ends at once.

use crate::event::NoteKind;
use crate::ids::{Epoch, IssueNumber, JobId, ProjectName};
use crate::state::{Held, Hold, Pause, Session, SessionState};
use crate::step::Turn;
use crate::texts::notes;
use crate::time::Time;
use std::time::Duration;

/// How often the floor looks whether what is held by command still is.
const HELD_AGAIN: Duration = Duration::from_secs(3600);

impl Turn<'_> {
    pub(super) fn is_held(&self, epoch: Epoch) -> bool {
        self.held_until(epoch).is_some()
    }

    /// When a held session is looked at again.
    pub(super) fn held_until(&self, epoch: Epoch) -> Option<Time> {
        let session = self.floor.sessions.get(&epoch)?;
        self.floor.held(session).map(|held| self.look_again(held))
    }

    /// The same for whatever agent the job has, or would have.
    pub(in crate::step) fn job_held_until(&self, id: JobId) -> Option<Time> {
        let held = self.job(id).and_then(|job| self.floor.agent_held(job))?;
        Some(self.look_again(held))
    }

    fn look_again(&self, held: Held<'_>) -> Time {
        match held {
            Held::Person(hold) if hold.until > self.now => hold.until,
            _ => self.now + HELD_AGAIN,
        }
    }

    /// Whether no session of the job may be started: a person works there, or nothing is to begin.
    pub(in crate::step) fn may_not_start(&self, id: JobId) -> bool {
        self.job(id).is_some_and(|job| self.floor.job_held(job).is_some())
    }

    /// Whether a person has a live session, so that its end has to wait.
    pub(super) fn is_held_from_its_end(&self, epoch: Epoch) -> bool {
        let Some(session) = self.floor.sessions.get(&epoch) else { return false };
        let held = self.floor.held(session);
        matches!(held, Some(Held::Person(_) | Held::Taken { .. }))
    }

    /// Whether the end of any of the job's sessions was put off.
    pub(in crate::step) fn waits_for_a_person_to_leave(&self, id: JobId) -> bool {
        self.floor.sessions.iter().any(|s| s.job == id && s.end_put_off)
    }

    pub(in crate::step) fn is_paused(&self, id: JobId) -> bool {
        let project = self.job(id).and_then(|job| self.floor.projects.get(&job.project));
        project.is_some_and(|project| project.pause.is_some())
    }

    /// An attached terminal of a person sent a key at that time.
    pub(in crate::step) fn person_typed(&mut self, epoch: Epoch, at: Time) {
        let now = self.now;
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let live = matches!(session.state, SessionState::Starting | SessionState::Live);
        let handback = self.policy(&session.project).handback;
        let until = at.min(now) + handback;
        // Keys from before they handed it back do not count again.
        if !live || until <= now || session.handed_back.is_some_and(|back| at <= back) {
            return;
        }
        let (id, known) = (session.job, session.hold.clone());
        let since = known.as_ref().map_or(now, |hold| hold.since);
        let until = known.as_ref().map_or(until, |hold| hold.until.max(until));
        if let Some(session) = self.floor.session_mut(epoch) {
            session.hold = Some(Hold { since, until });
        }
        if known.is_none() {
            let text = notes::person_types(epoch);
            self.note_job(NoteKind::Held, id, text);
        }
    }

    /// No person's terminal is attached to the session any more.
    pub(in crate::step) fn person_left(&mut self, epoch: Epoch) {
        self.let_go(epoch, notes::person_left());
    }

    pub(in crate::step) fn let_go(&mut self, epoch: Epoch, why: &str) {
        let now = self.now;
        let Some(session) = self.floor.session_mut(epoch) else { return };
        if session.hold.take().is_none() {
            return;
        }
        session.handed_back = Some(now);
        let id = session.job;
        self.note_job(NoteKind::Held, id, notes::session_continues(epoch, why));
        self.carry_on(epoch);
    }

    pub(in crate::step) fn taken(&mut self, project: &ProjectName, issue: IssueNumber) {
        let job = self.floor.live_jobs(project).find(|job| job.issue() == Some(issue));
        let Some(id) = job.filter(|job| job.taken.is_none()).map(|job| job.id) else { return };
        self.set_taken(id, Some(self.now));
        self.note_job(NoteKind::Held, id, notes::taken());
    }

    pub(in crate::step) fn handed_back(&mut self, project: &ProjectName, issue: IssueNumber) {
        let job = self.floor.live_jobs(project).find(|job| job.issue() == Some(issue));
        let Some(id) = job.map(|job| job.id) else { return };
        let taken = self.set_taken(id, None);
        if taken.is_some() {
            self.note_job(NoteKind::Held, id, notes::handed_back());
        }
        let typing = |s: &&Session| s.job == id && s.hold.is_some();
        let typing: Vec<Epoch> = self.floor.sessions.iter().filter(typing).map(|s| s.epoch).collect();
        for epoch in typing {
            self.let_go(epoch, notes::was_handed_back());
        }
        if taken.is_some() {
            self.job_carries_on(id);
        }
    }

    /// The pause that a new project inherits.
    pub(in crate::step) fn floor_pause(&self) -> Option<Pause> {
        let mut pauses = self.floor.projects.iter().filter_map(|project| project.pause.as_ref());
        pauses.find(|pause| pause.floor).cloned()
    }

    /// `None`: every project.
    pub(in crate::step) fn work_paused(&mut self, project: Option<&ProjectName>, why: &str) {
        for name in self.meant(project) {
            let before = self.floor.projects.get(&name).and_then(|row| row.pause.as_ref());
            let (since, news) = before.map_or((self.now, true), |before| (before.since, false));
            self.set_pause(&name, Some(Pause { since, why: why.to_owned(), floor: project.is_none() }));
            if news {
                self.note(NoteKind::Held, &name, None, notes::paused(why));
            }
        }
    }

    pub(in crate::step) fn work_resumed(&mut self, project: Option<&ProjectName>) {
        for name in self.meant(project) {
            if self.set_pause(&name, None).is_none() {
                continue;
            }
            self.note(NoteKind::Held, &name, None, notes::resumed());
            let jobs: Vec<JobId> = self.floor.all_live_jobs(&name).map(|job| job.id).collect();
            for job in jobs {
                self.job_carries_on(job);
            }
        }
    }

    fn meant(&self, project: Option<&ProjectName>) -> Vec<ProjectName> {
        let all = self.floor.projects.iter().map(|p| &p.name);
        all.filter(|name| project.is_none_or(|meant| meant == *name)).cloned().collect()
    }

    /// What was put off is done now, unless something else still holds it.
    fn job_carries_on(&mut self, id: JobId) {
        let mine: Vec<Epoch> = self.floor.sessions.iter().filter(|s| s.job == id).map(|s| s.epoch).collect();
        for epoch in mine {
            self.carry_on(epoch);
        }
        self.start_what_was_put_off(id);
    }

    /// The time during which a person had it counts against nobody.
    fn carry_on(&mut self, epoch: Epoch) {
        if self.is_held(epoch) {
            return;
        }
        let now = self.now;
        let Some(session) = self.floor.session_mut(epoch) else { return };
        session.stops.strikes = 0;
        session.stops.resume_at = session.stops.resume_at.map(|_| now);
        let (id, ends) = (session.job, std::mem::take(&mut session.end_put_off));
        let owes = session.review.due.is_some();
        let status = session.status.clone().filter(|_| session.state == SessionState::Live);
        if ends {
            self.end_session(epoch);
            return;
        }
        let policy = self.policy_of(id);
        let (idle, delivery) = (self.now + self.idle_limit(id), self.now + policy.delivery_timeout);
        self.works_until(id, epoch, idle);
        self.put_off_messages(epoch, delivery);
        if owes {
            self.expect_review(epoch);
        }
        if let Some(status) = status {
            self.status_stands(epoch, &status);
        }
    }

    /// A person ends the job: nothing holds it any longer.
    pub(in crate::step) fn end_is_wanted(&mut self, id: JobId) {
        self.set_taken(id, None);
        let held = |s: &&Session| s.job == id && (s.hold.is_some() || s.end_put_off);
        let held: Vec<Epoch> = self.floor.sessions.iter().filter(held).map(|s| s.epoch).collect();
        for epoch in held {
            let Some(session) = self.floor.session_mut(epoch) else { continue };
            session.hold = None;
            if std::mem::take(&mut session.end_put_off) {
                self.end_session(epoch);
            }
        }
    }
}
