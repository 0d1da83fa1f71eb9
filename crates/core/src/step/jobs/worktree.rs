//! A job's worktree: made and set up before its first agent starts.

use super::START_WITHIN;
use crate::effect::outcome;
use crate::event::NoteKind;
use crate::ids::JobId;
use crate::state::JobState;
use crate::step::Turn;
use crate::text::one_line;
use crate::texts::{notes, reasons};

const WORKTREE_NOTES_MAX: usize = 10;

/// How often a job's worktree is set up before a person is asked.
const SETUPS_MAX: u32 = 2;

impl Turn<'_> {
    pub(in crate::step) fn worktree_ready(&mut self, id: JobId, ready: &outcome::WorktreeReady) {
        let outcome::WorktreeReady { path, head, notes } = ready;
        self.note_worktree(id, notes);
        let Some(job) = self.floor.job_mut(id) else { return };
        if job.state != JobState::Preparing {
            return;
        }
        job.worktree = Some(path.clone());
        job.head = Some(head.clone());
        match self.floor.run_of(id) {
            Some(run) => self.advance(run.number),
            None => self.start_or_put_off(id),
        }
    }

    /// The job's first agent starts, unless a person holds it.
    pub(in crate::step) fn start_or_put_off(&mut self, id: JobId) {
        match self.may_not_start(id) {
            true => self.put_start_off(id),
            false => self.start_dev(id),
        }
    }

    /// The project's own commands failed: they are run once more, in case it was an accident; then a person looks.
    pub(in crate::step) fn setup_failed(&mut self, id: JobId, failed: &outcome::SetupFailed) {
        let outcome::SetupFailed { path, why, excerpt } = failed;
        let Some(job) = self.floor.job_mut(id) else { return };
        if job.state != JobState::Preparing {
            return;
        }
        job.worktree = Some(path.clone());
        job.last_output = excerpt.clone();
        job.rounds.setups_failed += 1;
        let failed = job.rounds.setups_failed;
        self.note_worktree(id, &[notes::setup_failed(why)]);
        if failed < SETUPS_MAX {
            self.enter(id, JobState::Preparing, START_WITHIN);
            self.prepare(id);
        } else {
            self.block(id, &reasons::setup_failed(failed, why));
        }
    }

    /// People are told what an agent found out of order, or would have found.
    pub(in crate::step) fn note_worktree(&mut self, id: JobId, notes: &[String]) {
        for note in notes.iter().take(WORKTREE_NOTES_MAX) {
            self.note_job(NoteKind::Worktree, id, one_line(note, 300));
        }
    }
}
