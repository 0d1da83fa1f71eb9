//! The person is the boss: whoever types at a session's terminal has it, until they leave, are quiet for
//! long, or hand it back; whoever takes a job has it until they hand it back; a paused project's agents
//! are left alone. What an agent does meanwhile is taken in as ever, but nothing is typed to it, it is not
//! judged by its silence, and neither replaced nor ended.
//!
//! Invariants:
//! - A hold by typing has a deadline of its own: the floor lets go also if nobody tells it that the
//!   person left. One by command shows in `status` until it is taken back.
//! - An end that was ordered meanwhile is carried out afterwards. What a person ends by command or on the
//!   forge ends at once.

use super::Turn;
use super::scheduler::START_WITHIN;
use crate::event::NoteKind;
use crate::ids::{Epoch, IssueNumber, JobId, ProjectName};
use crate::state::{Held, Hold, JobState, Pause, Session, SessionState};
use crate::time::Time;
use std::time::Duration;

/// How often it is looked whether what is held by command still is.
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
    pub(super) fn job_held_until(&self, id: JobId) -> Option<Time> {
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
    pub(super) fn may_not_start(&self, id: JobId) -> bool {
        self.job(id).is_some_and(|job| self.floor.job_held(job).is_some())
    }

    /// Whether a person has a live session, so that its end has to wait.
    pub(super) fn is_held_from_its_end(&self, epoch: Epoch) -> bool {
        let Some(session) = self.floor.sessions.get(&epoch) else { return false };
        let held = self.floor.held(session);
        matches!(held, Some(Held::Person(_) | Held::Taken { .. }))
    }

    /// Whether some end of the job's sessions was put off.
    pub(super) fn waits_for_a_person_to_leave(&self, id: JobId) -> bool {
        self.floor.sessions.iter().any(|s| s.job == id && s.end_put_off)
    }

    pub(super) fn is_paused(&self, id: JobId) -> bool {
        let project = self.job(id).and_then(|job| self.floor.projects.get(&job.project));
        project.is_some_and(|project| project.pause.is_some())
    }

    /// It waits until a person hands the job back, or lets the project go on.
    pub(super) fn put_start_off(&mut self, id: JobId) {
        let until = self.job_held_until(id);
        if self.job(id).is_some_and(|j| j.state != JobState::Respawning) {
            self.enter(id, JobState::Respawning, START_WITHIN);
        }
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.successor_due = false;
            job.deadline = until.or(job.deadline);
        }
    }

    /// A person's terminal, which is attached, sent a key at that time.
    pub(super) fn person_typed(&mut self, epoch: Epoch, at: Time) {
        let now = self.now;
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let live = matches!(session.state, SessionState::Starting | SessionState::Live);
        let handback = self.policy(&session.project).handback;
        let until = at.min(now) + handback;
        // What they typed before they handed it back is not typed again.
        if !live || until <= now || session.handed_back.is_some_and(|back| at <= back) {
            return;
        }
        let (id, known) = (session.job, session.hold.clone());
        let since = known.as_ref().map_or(now, |hold| hold.since);
        let until = known.as_ref().map_or(until, |hold| hold.until.max(until));
        if let Some(session) = self.floor.sessions.edit(&epoch) {
            session.hold = Some(Hold { since, until });
        }
        if known.is_none() {
            let text = format!("a person types in session {epoch}: nothing is typed, judged or ended there");
            self.note_job(NoteKind::Held, id, text);
        }
    }

    /// No person's terminal is attached to it any more.
    pub(super) fn person_left(&mut self, epoch: Epoch) {
        self.let_go(epoch, "the person left");
    }

    pub(super) fn let_go(&mut self, epoch: Epoch, why: &str) {
        let now = self.now;
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        if session.hold.take().is_none() {
            return;
        }
        session.handed_back = Some(now);
        let id = session.job;
        self.note_job(NoteKind::Held, id, format!("session {epoch} goes on: {why}"));
        self.goes_on(epoch);
    }

    pub(super) fn taken(&mut self, project: &ProjectName, issue: IssueNumber) {
        let now = self.now;
        let job = self.floor.live_jobs(project).find(|job| job.issue == issue);
        let Some(id) = job.filter(|job| job.taken.is_none()).map(|job| job.id) else { return };
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.taken = Some(now);
        }
        self.note_job(
            NoteKind::Held,
            id,
            "a person took it: its agent is left alone until it is handed back",
        );
    }

    pub(super) fn handed_back(&mut self, project: &ProjectName, issue: IssueNumber) {
        let job = self.floor.live_jobs(project).find(|job| job.issue == issue);
        let Some(id) = job.map(|job| job.id) else { return };
        let taken = self.floor.jobs.edit(&id).and_then(|job| job.taken.take());
        if taken.is_some() {
            self.note_job(NoteKind::Held, id, "a person handed it back");
        }
        let typing = |s: &&Session| s.job == id && s.hold.is_some();
        let typing: Vec<Epoch> = self.floor.sessions.iter().filter(typing).map(|s| s.epoch).collect();
        for epoch in typing {
            self.let_go(epoch, "it was handed back");
        }
        if taken.is_some() {
            self.job_goes_on(id);
        }
    }

    /// What a project that is new finds.
    pub(super) fn floor_pause(&self) -> Option<Pause> {
        let mut pauses = self.floor.projects.iter().filter_map(|project| project.pause.as_ref());
        pauses.find(|pause| pause.floor).cloned()
    }

    /// `None`: every project.
    pub(super) fn work_paused(&mut self, project: Option<&ProjectName>, why: &str) {
        let since = self.now;
        for name in self.meant(project) {
            let Some(row) = self.floor.projects.edit(&name) else { continue };
            let before = row.pause.replace(Pause { since, why: why.to_owned(), floor: project.is_none() });
            if let Some(before) = &before {
                row.pause.as_mut().expect("just put").since = before.since;
            }
            if before.is_none() {
                self.note(NoteKind::Held, &name, None, format!("its agents are paused: {why}"));
            }
        }
    }

    pub(super) fn work_resumed(&mut self, project: Option<&ProjectName>) {
        for name in self.meant(project) {
            let Some(row) = self.floor.projects.edit(&name) else { continue };
            if row.pause.take().is_none() {
                continue;
            }
            self.note(NoteKind::Held, &name, None, "its agents go on");
            let jobs: Vec<JobId> = self.floor.all_live_jobs(&name).map(|job| job.id).collect();
            for job in jobs {
                self.job_goes_on(job);
            }
        }
    }

    fn meant(&self, project: Option<&ProjectName>) -> Vec<ProjectName> {
        let all = self.floor.projects.iter().map(|p| &p.name);
        all.filter(|name| project.is_none_or(|meant| meant == *name)).cloned().collect()
    }

    /// What was put off is done now, unless something else still holds it.
    fn job_goes_on(&mut self, id: JobId) {
        let mine: Vec<Epoch> = self.floor.sessions.iter().filter(|s| s.job == id).map(|s| s.epoch).collect();
        for epoch in mine {
            self.goes_on(epoch);
        }
        if self.may_not_start(id) {
            return;
        }
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        let reviewer = std::mem::take(&mut job.reviewer_put_off);
        match job.state {
            JobState::Respawning => self.start_successor(id),
            JobState::Reviewing { .. } if reviewer => self.start_reviewer(id),
            _ => {}
        }
    }

    /// The time that a person had it counts against nobody.
    fn goes_on(&mut self, epoch: Epoch) {
        if self.is_held(epoch) {
            return;
        }
        let now = self.now;
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        session.strikes = 0;
        session.resume_at = session.resume_at.map(|_| now);
        let (id, ends) = (session.job, std::mem::take(&mut session.end_put_off));
        let owes = session.review_due.is_some();
        let status = session.status.clone().filter(|_| session.state == SessionState::Live);
        if ends {
            self.end_session(epoch);
            return;
        }
        let policy = self.policy_of(id);
        let (idle, delivery) = (self.now + policy.idle_timeout, self.now + policy.delivery_timeout);
        if let Some(job) = self.floor.jobs.edit(&id)
            && job.session == Some(epoch)
            && job.state == JobState::Working
        {
            job.deadline = Some(idle);
        }
        self.put_off_messages(epoch, delivery);
        if owes {
            self.expect_review(epoch);
        }
        if let Some(status) = status {
            self.status_stands(epoch, &status);
        }
    }

    /// A person ends the job: whatever held it does so no more.
    pub(super) fn end_is_wanted(&mut self, id: JobId) {
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.taken = None;
        }
        let held = |s: &&Session| s.job == id && (s.hold.is_some() || s.end_put_off);
        let held: Vec<Epoch> = self.floor.sessions.iter().filter(held).map(|s| s.epoch).collect();
        for epoch in held {
            let Some(session) = self.floor.sessions.edit(&epoch) else { continue };
            session.hold = None;
            if std::mem::take(&mut session.end_put_off) {
                self.end_session(epoch);
            }
        }
    }
}
