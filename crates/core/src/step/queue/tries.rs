//! Would it land? A branch is put on top of its base and checked as a candidate of the merge queue would be, and
//! that is all: it is in no queue, needs nobody's approval, and the result counts for nothing that lands.

use super::Queues;
use super::trials::says_nothing;
use crate::effect::outcome;
use crate::effect::{Action, ChainEntry, ChainLink, CiAbout, CiPurpose, CiReport, CommitSource};
use crate::event::{NoteKind, TryAsk};
use crate::ids::{EntryId, ProjectName, QueueId, RunId, Sha, TryId};
use crate::planner::{Link, TreeId};
use crate::policy::CheckCommits;
use crate::state::{Floor, Try, TryState};
use crate::step::Turn;
use crate::texts::{checks, notes, queue as texts};
use crate::verdict::Green;

/// How many tries of a project may be under way at once.
const LIVE_MAX: usize = 20;
/// How many finished tries are kept for people to look at.
const ENDED_MAX: usize = 50;

/// Why a branch cannot be tried.
pub fn may_try(floor: &Floor, project: &ProjectName) -> Result<(), String> {
    let policy = floor.policy(project);
    if !policy.has_checks && !policy.allow_no_checks {
        return Err(texts::no_checks().into());
    }
    let live = floor.tries.iter().filter(|t| t.project == *project && t.state.is_live()).count();
    if live >= LIVE_MAX {
        return Err(texts::too_many_tries(live));
    }
    Ok(())
}

impl Turn<'_> {
    pub(in crate::step) fn try_asked(&mut self, project: &ProjectName, ask: &TryAsk) {
        if self.floor.projects.get(project).is_none() {
            return;
        }
        let same = |t: &Try| {
            t.state.is_live()
                && t.project == *project
                && (&t.branch, &t.head, &t.on, &t.base) == (&ask.branch, &ask.head, &ask.on, &ask.base)
        };
        if self.floor.tries.iter().any(same) {
            return;
        }
        if let Err(why) = may_try(self.floor, project) {
            let text = notes::cannot_try(&ask.branch, &why);
            self.note(NoteKind::StaleSignal, project, None, text);
            return;
        }
        let policy = self.policy(project);
        let method = if ask.of_agent { policy.merge_method } else { policy.merge_people };
        let id = TryId(self.number(|c| &mut c.tries));
        self.floor.tries.put(
            Queues(()),
            Try {
                id,
                project: project.clone(),
                branch: ask.branch.clone(),
                head: ask.head.clone(),
                title: ask.title.clone(),
                on: ask.on.clone(),
                base: ask.base.clone(),
                method,
                issue: ask.issue,
                pr: ask.pr,
                by: ask.by.clone(),
                asked_at: self.now,
                ended_at: None,
                state: TryState::Building,
            },
        );
        let onto = QueueId::new(project, ask.on.as_ref());
        let landed = self.heads_landed(&onto);
        let queue = self.floor.queues.get(&onto);
        let removed = queue.map(|queue| queue.removed.clone()).unwrap_or_default();
        let entry = ChainEntry {
            entry: EntryId(0),
            pr: ask.pr,
            branch: ask.branch.clone(),
            head: ask.head.clone(),
            title: ask.title.clone(),
            message: None,
            method: None,
        };
        self.act(Action::BuildTry {
            project: project.clone(),
            id,
            target: ask.on.clone(),
            base: ask.base.clone(),
            method,
            entry,
            removed,
            landed,
            each_commit: policy.check_commits == CheckCommits::Each,
        });
    }

    pub(in crate::step) fn try_built(&mut self, id: TryId, chain: &outcome::Chain) {
        let Some(row) = self.try_building(id).cloned() else { return };
        match chain.links.first() {
            Some(built) => self.try_is_built(&row, built),
            None => self.end_try(id, unknown(notes::tried_branch_gone())),
        }
    }

    pub(in crate::step) fn try_conflicts(&mut self, id: TryId, found: &outcome::ChainConflict) {
        if self.try_building(id).is_some() {
            let (files, hunks) = (found.conflict.files.clone(), found.conflict.hunks.clone());
            self.end_try(id, TryState::Conflicted { files, hunks });
        }
    }

    pub(in crate::step) fn try_unmergeable(&mut self, id: TryId, found: &outcome::Unmergeable) {
        if self.try_building(id).is_some() {
            let (reason, log, excerpt) = (found.why.clone(), String::new(), String::new());
            self.end_try(id, TryState::Red { run: None, commit: None, reason, log, excerpt });
        }
    }

    pub(in crate::step) fn try_without_base(&mut self, id: TryId) {
        if self.try_building(id).is_some() {
            self.end_try(id, unknown(notes::tried_base_gone()));
        }
    }

    fn try_building(&self, id: TryId) -> Option<&Try> {
        self.floor.tries.get(&id).filter(|t| t.state == TryState::Building)
    }

    fn try_is_built(&mut self, row: &Try, built: &ChainLink) {
        let ChainLink { link: Link { commit, tree }, head_tree, inner, .. } = built;
        if *commit == row.base {
            self.end_try(row.id, TryState::Green { run: None, commit: commit.clone(), log: String::new() });
            return;
        }
        // Commits that land one by one, and have to pass that way, are checked that way.
        let known = self.known_green(row, commit, tree, head_tree).filter(|_| inner.is_empty());
        if let Some(run) = known {
            let (run, log) = (Some(run), String::new());
            self.end_try(row.id, TryState::Green { run, commit: commit.clone(), log });
            return;
        }
        let run = RunId(self.number(|c| &mut c.run));
        let mut each: Vec<Sha> = inner.iter().map(|link| link.commit.clone()).collect();
        each.extend((!inner.is_empty()).then(|| commit.clone()));
        if let Some(row) = self.floor.tries.edit(Queues(()), &row.id) {
            row.state = TryState::Testing { run, commit: commit.clone() };
        }
        self.act(Action::RunCi {
            job: None,
            project: row.project.clone(),
            issue: row.issue,
            run,
            commit: commit.clone(),
            source: CommitSource::Queue,
            purpose: CiPurpose::Try(row.id),
            about: CiAbout {
                base: Some(row.base.clone()),
                branch: Some(row.branch.clone()),
                pr: row.pr,
                target: row.on.clone(),
                each,
            },
        });
    }

    /// The run in which that very tree has passed: as a candidate, or as the head by itself.
    fn known_green(&self, row: &Try, commit: &Sha, tree: &TreeId, head_tree: &TreeId) -> Option<RunId> {
        let policy = self.policy(&row.project);
        let queue = self.floor.queues.get(&QueueId::new(&row.project, row.on.as_ref()));
        let by_tree =
            queue.and_then(|queue| queue.green_tree(&policy, commit, tree)).map(|green| green.run());
        let by_job = self.floor.jobs.iter().filter_map(|j| j.known.green.as_ref());
        let persons = self.floor.entries.iter().filter_map(|e| e.person.as_ref()?.green.as_ref());
        let mut heads = by_job.chain(persons).filter(|_| tree == head_tree);
        by_tree.or_else(|| heads.find(|g| *g.commit() == row.head && g.holds(&policy)).map(Green::run))
    }

    pub(in crate::step) fn try_checked(&mut self, id: TryId, run: RunId, report: &CiReport) {
        let Some(row) = self.floor.tries.get(&id) else { return };
        let TryState::Testing { run: expected, commit } = &row.state else { return };
        if *expected != run {
            return;
        }
        let (commit, policy) = (commit.clone(), self.policy(&row.project));
        let (log, reason) = (report.log.clone(), checks::describe(report));
        let state = if Green::judge(&policy, &commit, run, report).is_some() {
            TryState::Green { run: Some(run), commit, log }
        } else if says_nothing(report, &policy.checks) {
            TryState::Unknown { reason, log }
        } else {
            let (run, commit, excerpt) = (Some(run), Some(commit), report.excerpt.clone());
            TryState::Red { run, commit, reason, log, excerpt }
        };
        self.end_try(id, state);
    }

    pub(in crate::step) fn try_impossible(&mut self, id: TryId, reason: &str) {
        if self.floor.tries.get(&id).is_some_and(|t| t.state.is_live()) {
            self.end_try(id, TryState::Unknown { reason: reason.to_owned(), log: String::new() });
        }
    }

    /// Nobody wants to know any more.
    pub(in crate::step) fn try_dropped(&mut self, project: &ProjectName, branch: &str) {
        let mine = |t: &&Try| t.project == *project && t.branch == branch && t.state.is_live();
        for row in self.floor.tries.iter().filter(mine).cloned().collect::<Vec<_>>() {
            if let TryState::Testing { run, .. } = row.state {
                self.act(Action::CancelCi { project: project.clone(), run });
            }
            let reason = notes::try_not_wanted().to_owned();
            self.end_try(row.id, TryState::Unknown { reason, log: String::new() });
        }
    }

    fn end_try(&mut self, id: TryId, state: TryState) {
        let now = self.now;
        let Some(row) = self.floor.tries.edit(Queues(()), &id) else { return };
        row.ended_at = Some(now);
        row.state = state;
        let text = notes::tried(row);
        let (project, issue) = (row.project.clone(), row.issue);
        self.note(NoteKind::CiResult, &project, issue, text);
        let over: Vec<TryId> = self.floor.tries.iter().filter(|t| !t.state.is_live()).map(|t| t.id).collect();
        for id in &over[..over.len().saturating_sub(ENDED_MAX)] {
            self.floor.tries.remove(Queues(()), id);
        }
    }
}

fn unknown(reason: &str) -> TryState {
    TryState::Unknown { reason: reason.to_owned(), log: String::new() }
}
