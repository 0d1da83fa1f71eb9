//! What is kept for a while and then goes: worktrees of jobs that did not merge, rescue refs that are
//! not the only copy of anything, folders of sessions and of runs of checks.

use super::Turn;
use crate::effect::{Action, Outcome, Tidy};
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, ProjectName, Role};
use crate::state::{End, Job, JobState, Session, SessionState, TryState};
use std::collections::BTreeSet;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Folders of sessions named in one order; the rest waits for the next.
const SESSIONS_MAX: usize = 500;

impl Turn<'_> {
    /// At the end of a job: its worktree stays for people to look at, unless it is gone already.
    pub(super) fn keep_worktree_for_now(&mut self, id: JobId, end: End) {
        let at = self.now + self.policy_of(id).keep_worktrees;
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if end != End::Merged && job.worktree.is_some() {
            job.release_at = Some(at);
        }
        let project = job.project.clone();
        self.tidy(&project);
    }

    /// The time of a kept worktree is over.
    pub(super) fn release_due(&mut self, id: JobId) {
        let Some(job) = self.job(id) else { return };
        let (project, issue, branch) = (job.project.clone(), job.issue, job.branch.clone());
        // A later job of the issue works in the same worktree; its own end decides.
        let mine = self.floor.job_of(&project, issue).is_some_and(|newest| newest.id == id);
        let owns = |s: &Session| s.project == project && s.issue == issue && s.state != SessionState::Ended;
        let owned = self.floor.sessions.iter().any(owns);
        let again = self.now + DAY;
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.release_at = (mine && owned).then_some(again);
        if !mine || owned {
            return;
        }
        job.releasing = 2;
        for role in [Role::Review, Role::Dev] {
            let (project, branch) = (project.clone(), branch.clone());
            self.act(Action::ReleaseWorktree { job: id, role, project, issue, branch, merged: None });
        }
    }

    /// A worktree is gone, or could not be removed.
    pub(super) fn worktree_released(&mut self, id: JobId, role: Role, outcome: &Outcome) {
        if let Outcome::Released { note: Some(note), .. } = outcome {
            self.note_worktree(id, std::slice::from_ref(note));
        }
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if job.releasing == 0 {
            return;
        }
        job.releasing -= 1;
        let Outcome::Released { rescue, .. } = outcome else { return };
        if role == Role::Dev {
            job.worktree = None;
        }
        let Some(rescue) = rescue else { return };
        if role == Role::Dev {
            job.rescue = Some(rescue.clone());
        }
        let text =
            format!("the {role} worktree was kept long enough and is removed; what it held is at {rescue}");
        self.note_job(NoteKind::Worktree, id, text);
    }

    /// Orders that what is old goes, and the next such order for a day later.
    pub(super) fn tidy(&mut self, project: &ProjectName) {
        let policy = self.policy(project);
        let again = self.now + DAY;
        let Some(row) = self.floor.projects.edit(project) else { return };
        row.tidy_at = Some(again);
        let floor = &*self.floor;
        let folders_before = self.now - policy.keep_logs;
        let unmerged = |j: &&Job| j.project == *project && j.end() != Some(End::Merged);
        let of_jobs = floor.jobs.iter().filter(unmerged).filter_map(|j| j.rescue.clone());
        let of_records = floor.records.iter().filter(|r| r.current_node == *project);
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
