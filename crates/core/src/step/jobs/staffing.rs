//! A job's agents: its developer is started, lost and replaced; a reviewer works beside it.

use super::START_WITHIN;
use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, Role, Sha};
use crate::liveness::State;
use crate::state::{Job, JobState, Reviewer, Session, SessionState};
use crate::step::Turn;
use crate::texts::{comments, escalations, markers, notes, reasons};
use std::time::Duration;

/// For a job that waits out an outage: the outage has its own deadlines; this one only prompts a look.
const OUT_FOR: Duration = Duration::from_secs(24 * 3600);

/// A successor follows after a pause.
const RESPAWNING: JobState = JobState::Respawning { unstaffed: false, successor_due: false };

impl Turn<'_> {
    /// Starts the job's dev session, as a successor if there was one before.
    pub(super) fn start_dev(&mut self, id: JobId) {
        let Some(role) = self.job(id).map(|job| job.role) else { return };
        if self.needs_no_agent(id) {
            return;
        }
        if self.lacks_staff(id, role) {
            self.wait_for_staff(id);
            return;
        }
        let resume = self.resume_of(id);
        let epoch = self.start(id, role, resume);
        self.record_session(id, epoch);
        let Some(job) = self.floor.job_mut(id) else { return };
        job.session = Some(epoch);
        job.last_session = Some(epoch);
        self.readdress(id, epoch);
        self.enter(id, JobState::Starting, START_WITHIN);
    }

    /// A job has lost its agent.
    pub(in crate::step) fn dev_stopped(&mut self, id: JobId, how: &str) {
        let Some(job) = self.floor.job_mut(id) else { return };
        job.session = None;
        match job.state {
            // It is the agent's turn: it is needed.
            JobState::Working | JobState::Starting => {
                if self.needs_no_agent(id) {
                    return;
                }
                self.respawn(id, &reasons::ended_without_phase(how));
            }
            // Its question stays open, and is not asked twice: the answer starts a successor.
            JobState::NeedsHuman { .. } => {}
            // It is the factory's turn: its unread messages asked nothing of it. A successor is started when there
            // is something to tell it.
            _ => self.forget_unread(id),
        }
    }

    /// Starts a successor once nothing of its predecessor is left in the worktree.
    pub(in crate::step) fn start_successor(&mut self, id: JobId) {
        if self.may_not_start(id) {
            return self.put_start_off(id);
        }
        if self.waits_for_command(id) {
            return;
        }
        let left = |s: &Session| s.job == id && s.role.develops() && s.state != SessionState::Ended;
        if self.floor.sessions.iter().any(left) {
            self.enter(id, JobState::Respawning { unstaffed: false, successor_due: true }, START_WITHIN);
        } else {
            self.start_dev(id);
        }
    }

    /// A session that should be working gave no sign of life for too long: it is replaced. One that waits for a
    /// person is not: its successor would end up waiting as well.
    pub(super) fn silent(&mut self, id: JobId, why: &str) {
        let session = self.job(id).and_then(|j| self.floor.session_of(j));
        let waits = |s: &Session| {
            let state = s.status.as_ref().map(|status| &status.state);
            matches!(
                state,
                Some(State::Dialog { .. } | State::LimitedUntil { .. } | State::Background { .. })
            )
        };
        let Some((role, epoch)) = session.filter(|s| !waits(s)).map(|s| (s.role, s.epoch)) else {
            self.block(id, why);
            return;
        };
        self.note_job(NoteKind::AgentCrashed, id, notes::session_stopped(role, epoch, why));
        self.escalate_job(id, why);
        self.replace(id, epoch);
        self.respawn(id, why);
    }

    /// Starts a successor after a pause, or gives up when too many died.
    pub(in crate::step) fn respawn(&mut self, id: JobId, why: &str) {
        let policy = self.policy_of(id);
        let Some(job) = self.floor.job_mut(id) else { return };
        job.rounds.respawns += 1;
        if job.rounds.respawns > policy.respawns_max {
            let reason = reasons::after_successors(why, policy.respawns_max);
            self.block(id, &reason);
            return;
        }
        let pause =
            policy.respawn_backoff * 2u32.saturating_pow(job.rounds.respawns.saturating_sub(1).min(10));
        self.enter(id, RESPAWNING, pause);
    }

    /// The start waits until a person hands the job back, or lets the project continue.
    pub(super) fn put_start_off(&mut self, id: JobId) {
        let until = self.job_held_until(id);
        if self.job(id).is_some_and(|j| !matches!(j.state, JobState::Respawning { .. })) {
            self.enter(id, RESPAWNING, START_WITHIN);
        }
        let Some(job) = self.floor.job_mut(id) else { return };
        if let JobState::Respawning { successor_due, .. } = &mut job.state {
            *successor_due = false;
        }
        job.deadline = until.or(job.deadline);
    }

    /// The job waits until its project's agents can work.
    pub(in crate::step) fn wait_for_staff(&mut self, id: JobId) {
        self.unread_can_wait(id);
        self.enter(id, JobState::Respawning { unstaffed: true, successor_due: false }, OUT_FOR);
    }

    pub(in crate::step) fn start_reviewer(&mut self, id: JobId) {
        if self.is_paused(id) {
            if let Some(job) = self.floor.job_mut(id) {
                job.reviewer.put_off = true;
            }
            return;
        }
        if self.lacks_staff(id, Role::REVIEW) {
            return;
        }
        let epoch = self.start(id, Role::REVIEW, None);
        if let Some(job) = self.floor.job_mut(id) {
            job.reviewer.session = Some(epoch);
            job.reviewer.attempts += 1;
            // An earlier reviewer may have been put off, for another head.
            job.reviewer.put_off = false;
        }
    }

    /// The reviewer that was in the way has ended.
    pub(in crate::step) fn reviewer_ended(&mut self, id: JobId) {
        let Some(job) = self.floor.job_mut(id) else { return };
        if job.reviewer.wanted && job.reviewer.session.is_none() {
            job.reviewer.wanted = false;
            if matches!(job.state, JobState::Reviewing { .. }) {
                self.start_reviewer(id);
            }
        }
    }

    /// A person is asked once for each head.
    pub(in crate::step) fn ask_a_person_to_review(&mut self, id: JobId, epoch: Epoch, why: &str) {
        if self.job(id).is_some_and(Job::is_review) {
            return self.review_given_up(id, why);
        }
        let Some(job) = self.floor.job_mut(id) else { return };
        let head = job.head.clone();
        if head.is_some() && job.memo.review_asked == head {
            return;
        }
        job.memo.review_asked = head.clone();
        let (project, issue, pr) = (job.project.clone(), job.issue(), job.pr.unwrap_or_default());
        let about = head.as_ref().map_or("", Sha::short);
        self.escalate_on_record(id, "no_review", about, &escalations::person_has_to_review(why));
        let Some(issue) = issue else { return };
        let marker = markers::review_failed(id, epoch);
        let body = comments::no_usable_review(pr, why);
        self.act(Action::Comment { project, issue, marker, body });
    }

    /// Starts what waited for a person to let go of it, unless something else still holds it.
    pub(in crate::step) fn start_what_was_put_off(&mut self, id: JobId) {
        if self.may_not_start(id) {
            return;
        }
        let Some(job) = self.floor.job_mut(id) else { return };
        let reviewer = std::mem::take(&mut job.reviewer.put_off);
        match job.state {
            JobState::Respawning { .. } => self.start_successor(id),
            JobState::Reviewing { .. } if reviewer => self.start_reviewer(id),
            _ => {}
        }
    }

    /// The project's agents can work, or one of them is to find out.
    pub(in crate::step) fn staffed(&mut self, id: JobId) {
        let job = self.floor.job_mut(id);
        if let Some(JobState::Respawning { unstaffed, .. }) = job.map(|job| &mut job.state) {
            *unstaffed = false;
        }
        self.start_successor(id);
    }

    /// The job's developer could not be started: the newest is the one `before` it.
    pub(in crate::step) fn dev_not_begun(&mut self, id: JobId, before: Option<Epoch>) {
        if let Some(job) = self.floor.job_mut(id) {
            job.session = None;
            job.last_session = before;
        }
        self.wait_for_staff(id);
    }

    /// The developer has ended, and this is all that is left of it.
    pub(in crate::step) fn dev_ended(&mut self, id: JobId, last_output: &str, rescue: Option<&str>) {
        if let Some(job) = self.floor.job_mut(id) {
            last_output.clone_into(&mut job.last_output);
            job.rescue = rescue.map(str::to_owned).or(job.rescue.take());
        }
        self.report_end(id);
    }

    /// A session is no longer the job's agent.
    pub(in crate::step) fn agent_gone(&mut self, id: JobId, epoch: Epoch) {
        if let Some(job) = self.floor.job_mut(id) {
            job.session = job.session.filter(|s| *s != epoch);
            job.reviewer.session = job.reviewer.session.filter(|s| *s != epoch);
        }
    }

    /// A conversation could not be resumed; that is not tried twice.
    pub(in crate::step) fn resume_failed(&mut self, id: JobId) {
        if let Some(job) = self.floor.job_mut(id) {
            job.resume_failed = true;
        }
    }

    /// The client was at fault that so many sessions never began to work.
    pub(in crate::step) fn forgive_stillborn(&mut self, id: JobId, times: u32) {
        if let Some(job) = self.floor.job_mut(id) {
            job.rounds.respawns = job.rounds.respawns.saturating_sub(times);
            job.rounds.stillborn = 0;
            job.reviewer.attempts = 0;
        }
    }

    /// The job's reviewer, for whoever starts, moves and ends reviewers.
    pub(in crate::step) fn reviewer_mut(&mut self, id: JobId) -> Option<&mut Reviewer> {
        Some(&mut self.floor.job_mut(id)?.reviewer)
    }

    /// What was wrong with the newest reviewer's result.
    pub(in crate::step) fn set_review_trouble(&mut self, id: JobId, trouble: Option<String>) {
        if let Some(job) = self.floor.job_mut(id) {
            job.memo.review_trouble = trouble;
        }
    }

    /// A reviewer of another change got going: if this one's does not, that is its own trouble.
    pub(in crate::step) fn review_dies(&mut self, id: JobId) {
        if let Some(job) = self.floor.job_mut(id) {
            job.memo.review_dies.clone_from(&job.head);
        }
    }
}
