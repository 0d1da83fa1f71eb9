//! What is kept for a while and then removed: worktrees of jobs that did not merge, rescue refs that are not the
//! only copy of anything, folders of sessions and of runs.

use crate::effect::outcome;
use crate::effect::{Action, Tidy};
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, ProjectName, Role};
use crate::state::{End, Job, JobState, Session, SessionState, TryState};
use crate::step::Turn;
use crate::texts::notes;
use std::collections::BTreeSet;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// How many session folders one order names; the rest wait for the next.
const SESSIONS_MAX: usize = 500;

impl Turn<'_> {
    /// At the end of a job: its worktree stays for people to look at, unless it is already gone.
    pub(super) fn keep_worktree_for_now(&mut self, id: JobId, end: End) {
        let at = self.now + self.policy_of(id).keep_worktrees;
        let Some(job) = self.floor.job_mut(id) else { return };
        let project = job.project.clone();
        let there = job.worktree.is_some();
        if let Some(kept) = job.kept_mut().filter(|_| end != End::Merged && there) {
            kept.release_at = Some(at);
        }
        self.tidy(&project);
    }

    /// A kept worktree has been kept long enough.
    pub(in crate::step) fn release_due(&mut self, id: JobId) {
        let Some((job, issue)) = self.carrier(id) else { return };
        let (project, assignment, branch) = (job.project.clone(), job.assignment, job.branch.clone());
        // A later job of the issue works in the same worktree; its own end decides.
        let mine = self.floor.job_of(&project, issue).is_some_and(|newest| newest.id == id);
        let owns = |s: &Session| {
            s.project == project && s.assignment.number() == issue && s.state != SessionState::Ended
        };
        let owned = self.floor.sessions.iter().any(owns);
        let again = self.now + DAY;
        let Some(kept) = self.floor.job_mut(id).and_then(Job::kept_mut) else { return };
        kept.release_at = (mine && owned).then_some(again);
        if !mine || owned {
            return;
        }
        kept.releasing = 2;
        for role in [Role::REVIEW, Role::DEV] {
            let (project, branch) = (project.clone(), branch.clone());
            self.act(Action::ReleaseWorktree { job: id, role, project, assignment, branch, merged: None });
        }
    }

    pub(in crate::step) fn worktree_released(&mut self, id: JobId, role: Role, gone: &outcome::Released) {
        let outcome::Released { rescue, note } = gone;
        self.note_worktree(id, note.as_slice());
        if !self.one_released(id) {
            return;
        }
        let Some(job) = self.floor.job_mut(id) else { return };
        if role.develops() {
            job.worktree = None;
        }
        let Some(rescue) = rescue else { return };
        if role.develops() {
            job.rescue = Some(rescue.clone());
        }
        let text = notes::worktree_removed(role, rescue);
        self.note_job(NoteKind::Worktree, id, text);
    }

    pub(in crate::step) fn worktree_not_released(&mut self, id: JobId) {
        self.one_released(id);
    }

    /// One removal is over. Returns whether it was that of a kept worktree.
    fn one_released(&mut self, id: JobId) -> bool {
        let Some(kept) = self.floor.job_mut(id).and_then(Job::kept_mut) else { return false };
        let was = kept.releasing > 0;
        kept.releasing = kept.releasing.saturating_sub(1);
        was
    }

    /// Orders tidying, and schedules the next for a day later.
    pub(in crate::step) fn tidy(&mut self, project: &ProjectName) {
        let policy = self.policy(project);
        let again = self.now + DAY;
        if self.floor.projects.get(project).is_none() {
            return;
        }
        self.tidy_next(project, again);
        let floor = &*self.floor;
        let folders_before = self.now - policy.keep_logs;
        let unmerged = |j: &&Job| j.project == *project && j.end() != Some(End::Merged);
        let of_jobs = floor.jobs.iter().filter(unmerged).filter_map(|j| j.rescue.clone());
        let of_records = floor.records.iter().filter(|r| r.project == *project);
        let named: BTreeSet<String> = of_jobs.chain(of_records.filter_map(|r| r.rescue.clone())).collect();
        let over = |s: &&Session| {
            let ended = floor.jobs.get(&s.job).is_none_or(|j| !j.is_live());
            s.project == *project && s.state == SessionState::Ended && ended && s.last_seen < folders_before
        };
        let checking = floor.jobs.iter().filter_map(|j| match j.state {
            JobState::Checking { run, .. } => Some(run),
            _ => None,
        });
        let trials = floor.queues.iter().flat_map(|q| {
            q.runs.values().map(|trial| trial.run).chain(q.base_checks().map(|check| check.run))
        });
        let tries = floor.tries.iter().filter_map(|t| match t.state {
            TryState::Testing { run, .. } => Some(run),
            _ => None,
        });
        let tidy = Tidy {
            project: project.clone(),
            rescues_kept: policy.rescue_keep,
            rescues_before: self.now - policy.rescue_keep_for,
            rescues_named: named.into_iter().collect(),
            sessions: floor.sessions.iter().filter(over).map(|s| s.epoch).take(SESSIONS_MAX).collect(),
            sessions_below: floor.sessions.iter().map(|s| s.epoch).min().unwrap_or(Epoch(0)),
            runs_kept: checking.chain(trials).chain(tries).collect(),
            folders_before,
            idle: !floor.jobs.iter().any(Job::is_live),
        };
        self.act(Action::Tidy(tidy));
    }
}
