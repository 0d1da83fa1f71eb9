//! What is kept for a while and then removed: worktrees of jobs that did not merge, rescue refs that are not the
//! only copy of anything, folders of sessions and of runs, old entries of the journal.
//!
//! A project is tidied once a day, after many ends, or when a person asks, and never twice at a time.

use crate::effect::outcome;
use crate::effect::{Action, Tidy};
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, ProjectName, Role, agent_name};
use crate::state::{End, Floor, Job, JobState, Session, SessionState, TryState};
use crate::step::Turn;
use crate::texts::notes;
use crate::time::Time;
use std::collections::BTreeSet;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// So many ends leave enough behind that git becomes slower with it.
const ENDED_MAX: u32 = 200;

/// An order of which nothing was heard for so long was lost with an event that was set aside.
const FORGOTTEN: Duration = Duration::from_secs(7 * 24 * 3600);

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
        self.leaves_something_behind(&project);
    }

    /// A kept worktree has been kept long enough.
    pub(in crate::step) fn release_due(&mut self, id: JobId) {
        let Some(job) = self.job(id).filter(|job| !job.is_review()) else { return };
        let own = job.role;
        let (project, assignment, branch) = (job.project.clone(), job.assignment, job.branch.clone());
        // A later job of the issue works in the same worktree; its own end decides.
        let mine = self.floor.newest(&project, assignment).is_some_and(|newest| newest.id == id);
        let owns = |s: &Session| {
            s.project == project && s.assignment.tag() == assignment.tag() && s.state != SessionState::Ended
        };
        let owned = self.floor.sessions.iter().any(owns);
        let again = self.now + DAY;
        let Some(kept) = self.floor.job_mut(id).and_then(Job::kept_mut) else { return };
        kept.release_at = (mine && owned).then_some(again);
        if !mine || owned {
            return;
        }
        kept.releasing = 2;
        for role in [Role::REVIEW, own] {
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

    /// Something ended that leaves files and refs behind: makes sure that the project is tidied within a day, or now if
    /// a lot has accumulated.
    pub(in crate::step) fn leaves_something_behind(&mut self, project: &ProjectName) {
        let within = self.now + DAY;
        let Some((at, upkeep)) = self.upkeep(project) else { return };
        at.get_or_insert(within);
        upkeep.ended += 1;
        if upkeep.ended >= ENDED_MAX {
            self.tidy(project, false);
        }
    }

    pub(in crate::step) fn tidy_asked(&mut self, project: Option<&ProjectName>) {
        let all = self.floor.projects.iter().map(|p| p.name.clone());
        let meant: Vec<ProjectName> = all.filter(|name| project.is_none_or(|only| only == name)).collect();
        for project in meant {
            self.tidy(&project, true);
        }
    }

    /// Orders tidying, unless it is under way, and schedules the next for a day later.
    pub(in crate::step) fn tidy(&mut self, project: &ProjectName, asked: bool) {
        let now = self.now;
        let Some((at, upkeep)) = self.upkeep(project) else { return };
        *at = Some(now + DAY);
        upkeep.ended = 0;
        if upkeep.ordered_at.is_some_and(|ordered| now.since(ordered) < FORGOTTEN) {
            return;
        }
        upkeep.ordered_at = Some(now);
        let tidy = tidy_order(self.floor, project, now);
        self.act(Action::Tidy(Tidy { idle: tidy.idle || asked, ..tidy }));
    }

    /// Tidying is over; `None`: it cannot be done.
    pub(in crate::step) fn tidied(&mut self, project: &ProjectName, what: Option<&outcome::Tidied>) {
        let now = self.now;
        let Some((_, upkeep)) = self.upkeep(project) else { return };
        upkeep.ordered_at = None;
        if let Some(what) = what {
            upkeep.last = Some((now, what.clone()));
        }
    }
}

/// What may go from a project and, of what its projects share, from the floor.
pub fn tidy_order(floor: &Floor, project: &ProjectName, now: Time) -> Tidy {
    let policy = floor.policy(project);
    let live = || floor.jobs.iter().filter(|j| j.is_live());
    let of_project = || live().filter(|j| j.project == *project);
    let records = of_project()
        .filter_map(|j| floor.records.get(&agent_name(j.role, project, j.assignment)))
        .filter_map(|r| r.rescue.clone());
    let named: BTreeSet<String> = of_project().filter_map(|j| j.rescue.clone()).chain(records).collect();
    // Their folders are beside one another, so the project that keeps them longest decides for all.
    let longest = floor.projects.iter().map(|p| p.policy.keep_logs).max().unwrap_or(policy.keep_logs);
    let sessions_before = now - longest;
    let in_use = |s: &&Session| {
        let carried = floor.jobs.get(&s.job).is_some_and(Job::is_live);
        // A folder that nothing was put into since then, of a session that was still seen after that.
        let long = s.created_at < sessions_before && s.last_seen >= sessions_before;
        s.state != SessionState::Ended || carried || long
    };
    let checking = live().filter_map(|j| match j.state {
        JobState::Checking { run, .. } => Some(run),
        _ => None,
    });
    let trials = floor
        .queues
        .iter()
        .flat_map(|q| q.runs.values().map(|trial| trial.run).chain(q.base_checks().map(|check| check.run)));
    let tries = floor.tries.iter().filter_map(|t| match t.state {
        TryState::Testing { run, .. } => Some(run),
        _ => None,
    });
    Tidy {
        project: project.clone(),
        rescues_kept: policy.rescue_keep,
        rescues_before: now - policy.rescue_keep_for,
        rescues_named: named.into_iter().collect(),
        sessions_upto: Epoch(floor.counters.get(&()).map_or(0, |c| c.epoch)),
        sessions_kept: floor.sessions.iter().filter(in_use).map(|s| s.epoch).collect(),
        sessions_before,
        runs_kept: checking.chain(trials).chain(tries).collect(),
        folders_before: now - policy.keep_logs,
        journal_before: policy.keep_journal.map_or(Time(0), |keep| now - keep),
        notes_kept: live().filter_map(|j| Some((j.project.clone(), j.issue()?))).collect(),
        tombstones_before: now - DAY,
        idle: live().next().is_none(),
        dry_run: false,
    }
}
