//! The states of a job, and what other owners may have changed in it.

use crate::event::NoteKind;
use crate::ids::{Epoch, JobId};
use crate::state::{JobState, Rounds, Stage};
use crate::step::Turn;
use crate::time::Time;
use std::time::Duration;

/// How many entries of a job's history are kept.
const HISTORY_MAX: usize = 64;

impl Turn<'_> {
    /// Changes a job's state. `within` is how long it may stay there before somebody is told.
    pub(in crate::step) fn enter(&mut self, id: JobId, state: JobState, within: Duration) {
        let now = self.now;
        let was_parked = self.job(id).is_some_and(|j| matches!(j.state, JobState::Parked { .. }));
        if was_parked && !matches!(state, JobState::Parked { .. }) {
            self.unpark_job(id);
        }
        let Some(job) = self.floor.job_mut(id) else { return };
        let name = state.name();
        if job.state.name() != name {
            job.history.push(Stage { state: name.into(), at: now });
            if job.history.len() > HISTORY_MAX {
                // The first entry says when it began, the newest what happened last.
                job.history.remove(1);
            }
        }
        job.state = state;
        job.deadline = job.is_live().then(|| now + within);
        self.note_job(NoteKind::JobState, id, name);
    }

    /// Somebody is told at that time that nothing happened.
    pub(in crate::step) fn wait_until(&mut self, id: JobId, at: Time) {
        if let Some(job) = self.floor.job_mut(id) {
            job.deadline = Some(at);
        }
    }

    /// The same for a job that this session works on.
    pub(in crate::step) fn works_until(&mut self, id: JobId, epoch: Epoch, at: Time) {
        if self.job(id).is_some_and(|job| job.session == Some(epoch) && job.state == JobState::Working) {
            self.wait_until(id, at);
        }
    }

    /// The agent is given more time, for the nth time in a row.
    pub(in crate::step) fn extend(&mut self, id: JobId, extensions: u32, at: Time) {
        if let Some(job) = self.floor.job_mut(id) {
            job.rounds.extensions = extensions;
            job.deadline = Some(at);
        }
    }

    /// Time that passed while nobody was there counts against no agent.
    pub(in crate::step) fn agents_resumed(&mut self) {
        let jobs: Vec<JobId> =
            self.floor.jobs.iter().filter(|j| j.state == JobState::Working).map(|j| j.id).collect();
        for id in jobs {
            let at = self.now + self.idle_limit(id);
            if let Some(job) = self.floor.job_mut(id) {
                job.deadline = job.deadline.max(Some(at));
            }
        }
    }

    /// Counts one more of what may not be done without end. Returns how often it has been done.
    pub(in crate::step) fn count(&mut self, id: JobId, pick: fn(&mut Rounds) -> &mut u32) -> Option<u32> {
        let times = pick(&mut self.floor.job_mut(id)?.rounds);
        *times += 1;
        Some(*times)
    }

    pub(in crate::step) fn count_anew(&mut self, id: JobId, pick: fn(&mut Rounds) -> &mut u32) {
        if let Some(job) = self.floor.job_mut(id) {
            *pick(&mut job.rounds) = 0;
        }
    }

    /// Sets since when a person has had the job, by command. Returns the previous value.
    pub(in crate::step) fn set_taken(&mut self, id: JobId, taken: Option<Time>) -> Option<Time> {
        std::mem::replace(&mut self.floor.job_mut(id)?.taken, taken)
    }
}
