//! Work records: updated with what agents signal, what git holds and what the checks say. A session that dies
//! leaves its record to its successor as it was.

use super::Jobs;
use crate::effect::outcome;
use crate::effect::{Action, CiReport, CiVerdict};
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, Sha, agent_name};
use crate::phase::Phase;
use crate::state::{JobState, Rework, WorkPhase, WorkRecord};
use crate::step::Turn;
use crate::text::one_line;
use crate::texts::{checks, records};
use crate::time::Time;
use std::time::Duration;

const SESSIONS_MAX: usize = 20;
const FILES_MAX: usize = 200;
const NEXT_CHARS_MAX: usize = 300;
/// Commits closer together than this share a snapshot.
const COMMITS_WITHIN: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(1);

impl Turn<'_> {
    /// For a session that is about to start: a new record, or its predecessor's.
    pub(super) fn record_session(&mut self, id: JobId, epoch: Epoch) {
        let Some(job) = self.job(id) else { return };
        let key = agent_name(job.role, &job.project, job.assignment);
        let now = self.now;
        let fresh = WorkRecord {
            agent: key.clone(),
            issue: job.issue(),
            run: job.assignment.run(),
            project: job.project.clone(),
            session: epoch,
            work_phase: WorkPhase::Investigation,
            work_summary: records::begun(job.assignment, &job.title),
            last_checkpoint_at: None,
            files_modified: Vec::new(),
            tests_status: records::tests_not_run().into(),
            resumption_instructions: String::new(),
            rework: None,
            rescue: None,
            head: job.head.clone(),
            sessions: Vec::new(),
            updated_at: now,
        };
        let continues = job.last_session.is_some_and(|last| last != epoch);
        let known = self.floor.records.get(&key).filter(|_| continues).cloned();
        let mut record = known.unwrap_or(fresh);
        record.session = epoch;
        record.sessions.push(epoch);
        let excess = record.sessions.len().saturating_sub(SESSIONS_MAX);
        record.sessions.drain(..excess);
        self.put_record(id, record);
    }

    /// What the agent's client reveals of its work.
    pub(in crate::step) fn work_seen(&mut self, epoch: Epoch, phase: WorkPhase) {
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let (id, role) = (session.job, session.role);
        let current = self.job(id).is_some_and(|j| j.session == Some(epoch) && j.state == JobState::Working);
        if role.develops() && current {
            self.change_record(id, |record| {
                // An agent that has written something still reads; that is the same work. Only writing takes it
                // back to the phase of writing.
                let reads_on =
                    phase < WorkPhase::Implementation && record.work_phase >= WorkPhase::Implementation;
                if !reads_on {
                    record.work_phase = phase;
                }
            });
        }
    }

    /// The branch has moved: usually its agent has committed, but a base that moved moves it too. Its place is
    /// recorded at once; what that says of the work follows soon, when the worktree is looked at.
    pub(in crate::step) fn committed(&mut self, epoch: Epoch, head: &Sha) {
        let Some(id) = self.floor.sessions.get(&epoch).map(|s| s.job) else { return };
        let every = self.policy_of(id).checkpoint_every;
        let Some(job) = self.job(id).filter(|j| j.session == Some(epoch) && j.state == JobState::Working)
        else {
            return;
        };
        let due = job.checkpoint_at;
        let mut news = false;
        self.change_record(id, |record| {
            news = record.head.as_ref() != Some(head);
            record.head = Some(head.clone());
        });
        if !news {
            return;
        }
        let soon = self.now + COMMITS_WITHIN;
        match due {
            Some(at) if at <= soon => {}
            // The last one was a moment ago.
            Some(at) if at + COMMITS_WITHIN > self.now + every => {
                self.checkpoint_at(id, soon);
            }
            _ => self.checkpoint(id),
        }
    }

    pub(in crate::step) fn record_phase(&mut self, id: JobId, phase: Phase, detail: Option<&str>) {
        let detail = detail.map(|d| one_line(d, 200));
        let its_turn = self.job(id).is_some_and(|j| j.state == JobState::Working);
        self.change_record(id, |record| {
            record.work_phase = match phase {
                Phase::AwaitingCi => WorkPhase::Testing,
                Phase::AwaitingReview => WorkPhase::Completion,
                // An agent whose turn it is has something left to do, whatever it says.
                Phase::Done if its_turn => record.work_phase,
                Phase::Done => WorkPhase::Completion,
                Phase::NeedsHuman | Phase::Failed => record.work_phase,
            };
            if matches!(phase, Phase::AwaitingCi | Phase::AwaitingReview) {
                record.rework = None;
            }
            if let Some(detail) = detail {
                record.work_summary = records::signalled(record.assignment(), phase, &detail);
            }
        });
    }

    pub(super) fn record_checks(&mut self, id: JobId, commit: &Sha, report: &CiReport) {
        let red = matches!(report.verdict, CiVerdict::Red | CiVerdict::TimedOut);
        self.change_record(id, |record| {
            record.tests_status = checks::on_record(report, commit);
            if red {
                record.work_phase = WorkPhase::Implementation;
            }
        });
    }

    /// It is the agent's turn again: `after` what, what to do `next`, and what that says of the tests.
    pub(in crate::step) fn record_rework(
        &mut self,
        id: JobId,
        after: &str,
        next: &str,
        tests: Option<String>,
    ) {
        let rework = Rework { after: after.to_owned(), next: one_line(next, NEXT_CHARS_MAX) };
        self.change_record(id, |record| {
            record.work_phase = WorkPhase::Implementation;
            record.rework = Some(rework);
            record.tests_status = tests.unwrap_or(std::mem::take(&mut record.tests_status));
        });
    }

    /// The signal could not be acted upon: there is something left to write.
    pub(super) fn record_unready(&mut self, id: JobId) {
        self.change_record(id, |record| {
            record.work_phase = record.work_phase.min(WorkPhase::Implementation);
        });
    }

    pub(super) fn record_merged(&mut self, id: JobId) {
        self.change_record(id, |record| {
            record.work_phase = WorkPhase::Merged;
            record.rework = None;
        });
    }

    /// Orders a snapshot of the worktree, with a look at what it holds.
    pub(in crate::step) fn checkpoint(&mut self, id: JobId) {
        let every = self.policy_of(id).checkpoint_every;
        let at = self.now + every;
        let Some(job) = self.floor.job_mut(id) else { return };
        job.checkpoint_at = Some(at);
        let (project, assignment, role) = (job.project.clone(), job.assignment, job.role);
        let (branch, target) = (job.branch.clone(), job.target.clone());
        self.act(Action::Checkpoint { job: id, project, assignment, role, branch, target });
    }

    pub(in crate::step) fn checkpoint_at(&mut self, id: JobId, at: Time) {
        if let Some(job) = self.floor.job_mut(id) {
            job.checkpoint_at = Some(at);
        }
    }

    /// Another snapshot is due, if there is somebody who may have changed something.
    pub(in crate::step) fn checkpoint_due(&mut self, id: JobId) {
        let Some(job) = self.job(id) else { return };
        let works = job.state == JobState::Working && job.session.is_some();
        // A client that says it is at rest changes nothing.
        let rests =
            self.floor.session_of(job).and_then(|s| s.status.as_ref()).is_some_and(|s| s.state.rests());
        if works && !rests {
            self.checkpoint(id);
            return;
        }
        let next = works.then(|| self.now + self.policy_of(id).checkpoint_every);
        if let Some(job) = self.floor.job_mut(id) {
            job.checkpoint_at = next;
        }
    }

    pub(in crate::step) fn checkpoint_made(&mut self, id: JobId, made: &outcome::Checkpoint) {
        let outcome::Checkpoint { rescue, head, ahead, files, note } = made;
        self.note_worktree(id, note.as_slice());
        // A worktree that does not exist says nothing of the work.
        let Some(rescue) = rescue else { return };
        let now = self.now;
        if let Some(job) = self.floor.job_mut(id) {
            job.rescue = Some(rescue.clone());
        }
        self.change_record(id, |record| {
            let moved = head.is_some() && record.head.is_some() && record.head != *head;
            let committed = ahead.map_or(moved, |ahead| ahead > 0);
            record.last_checkpoint_at = Some(now);
            record.files_modified = files.iter().take(FILES_MAX).map(|f| one_line(f, 300)).collect();
            record.rescue = Some(rescue.clone());
            record.head = head.clone().or(record.head.take());
            // Something was written: this is no longer investigation.
            if (committed || !record.files_modified.is_empty())
                && record.work_phase < WorkPhase::Implementation
            {
                record.work_phase = WorkPhase::Implementation;
            }
        });
    }

    fn change_record(&mut self, id: JobId, change: impl FnOnce(&mut WorkRecord)) {
        let Some(job) = self.job(id) else { return };
        let key = agent_name(job.role, &job.project, job.assignment);
        let Some(mut record) = self.floor.records.get(&key).cloned() else { return };
        let before = record.clone();
        change(&mut record);
        if record != before {
            self.put_record(id, record);
        }
    }

    fn put_record(&mut self, id: JobId, mut record: WorkRecord) {
        let before = self.floor.records.get(&record.agent);
        // Never the same twice: it tells one copy from the next.
        record.updated_at = before.map_or(self.now, |b| self.now.max(b.updated_at + TICK));
        record.resumption_instructions = records::instructions(&record);
        let news = before.map(|r| (r.work_phase, &r.tests_status))
            != Some((record.work_phase, &record.tests_status));
        let text = records::changed(&record);
        self.floor.records.put(Jobs(()), record);
        if news {
            self.note_job(NoteKind::RecordUpdated, id, text);
        }
    }
}
