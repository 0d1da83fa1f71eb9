//! What becomes of a session's own worktree and branch.
//!
//! Invariants:
//! - What is to be done is recorded before any of it is, and each part asks for a state, not for a change: if
//!   it is killed at any point and run again, the result is the same.
//! - Nothing is removed before a rescue ref keeps all of it ([`RescueProof`]).
//! - Work that cannot be merged is refused while the session still runs.

use crate::record::{Finish, Finishing, Record};
use crate::sessions::{Hand, HandSessions};
use crate::{Means, end, find};
use serde::Serialize;
use shopfloor_adapters::git::{GitWorkspace, abandon, branches::OriginBranch};
use shopfloor_core::ids::Sha;
use shopfloor_core::planner;
use shopfloor_core::state::{Entry, Floor, Project, Shelf};
use shopfloor_desk::{Error, Result, now};
use shopfloor_engine::ports::{BranchState, Setup, Tree, Workspace};
use shopfloor_engine::proof::RescueProof;

/// The merge queue, as far as a finished branch needs it.
pub trait Queue {
    /// Refuses a branch that the queue would not take.
    fn may_take(&self, project: &Project, branch: &str, found: OriginBranch) -> Result<()>;
    /// Puts the branch into the queue as it is on origin.
    fn take(&self, project: &Project, branch: &str) -> Result<()>;
}

#[derive(Serialize)]
pub struct Finished {
    pub name: String,
    /// `merge`, `keep` or `drop`.
    pub how: Finishing,
    pub branch: String,
    /// As long as it exists.
    pub worktree: Option<String>,
    /// The ref that keeps what the worktree held.
    pub rescue: Option<String>,
    /// Where it is in the merge queue.
    pub queue: Option<String>,
    /// The hub had the branch already, so it stays there.
    #[serde(skip)]
    pub taken_over: bool,
}

/// What it is about.
struct Work<'a> {
    means: &'a dyn Means,
    queue: &'a dyn Queue,
    hands: HandSessions,
    hand: Hand,
    record: Record,
    branch: String,
    project: Project,
    workspace: GitWorkspace,
    tree: Tree,
}

/// Ends a session and decides what becomes of its work.
pub fn finish(means: &dyn Means, queue: &dyn Queue, who: &str, how: Finishing) -> Result<Finished> {
    let hands = means.sessions();
    let found = find(means.desk(), &hands, who)?;
    let _lock = match &found.record {
        Some(record) if record.branch.is_some() => hands.finishing(&found.name)?,
        _ => {
            return Err(Error::usage(format!("{} has no worktree of its own", found.name))
                .hint(format!("`shopfloor session kill {}` ends it; its folder stays", found.name)));
        }
    };
    let again = hands.look(&found.name);
    let work = Work::new(means, queue, hands, again)?;
    if let Some(finish) = work.record.finish.as_ref().filter(|finish| finish.done && !work.record.has_tree())
    {
        if finish.how != how {
            let rescue = finish.rescue.as_deref().unwrap_or("no ref");
            return Err(Error::failed(format!("{} was finished already: {}", found.name, finish.how))
                .hint(format!("what its worktree held is in {rescue}")));
        }
        return Ok(work.finished(how, finish.rescue.clone()));
    }
    work.nobody_else()?;
    if how == Finishing::Merge {
        work.may_merge()?;
    }
    let rescue = work.carry_out(how)?;
    Ok(work.finished(how, rescue))
}

impl<'a> Work<'a> {
    fn new(means: &'a dyn Means, queue: &'a dyn Queue, hands: HandSessions, hand: Hand) -> Result<Work<'a>> {
        let gone = || Error::failed(format!("there is no record of {}", hand.name));
        let record = hand.record.clone().ok_or_else(gone)?;
        let branch = record.branch.clone().ok_or_else(gone)?;
        let project = means.project(&record.project)?;
        let workspace = means.workspace()?;
        let tree = Tree::of_hand(&record.project, hand.name.clone());
        Ok(Work { means, queue, hands, hand, record, branch, project, workspace, tree })
    }

    /// Anybody else who works in the same folder, such as a fork, would lose it.
    fn nobody_else(&self) -> Result<()> {
        let here = |other: &&Hand| {
            let same = |record: &Record| record.cwd == self.record.cwd && record.name != self.record.name;
            other.ended().is_none() && other.record.as_ref().is_some_and(same)
        };
        match self.hands.all(false)?.iter().find(here) {
            None => Ok(()),
            Some(other) => Err(Error::failed(format!("{} works in the same folder", other.name))
                .hint(format!("end it first: `shopfloor session kill {}`", other.name))),
        }
    }

    /// Refuses what the merge queue would not take.
    fn may_merge(&self) -> Result<()> {
        // An entry that was queued before a crash is not checked again.
        let Some(state) = self.state()? else {
            if self.is_queued(None)? {
                return Ok(());
            }
            let branch = &self.branch;
            return Err(Error::failed(format!("its worktree {} is gone", self.record.cwd)).hint(format!(
                "use --drop; the hub may have {branch}: `shopfloor merge-queue add {branch}`"
            )));
        };
        self.is_whole(&state)?;
        if self.is_queued(Some(&state.head))? {
            return Ok(());
        }
        // The tree matters once the branch is on the hub, not for whether it may be queued.
        let tree = planner::TreeId(state.head.clone());
        let paths = self.paths(&state.head)?;
        let found = OriginBranch {
            head: state.head,
            tree,
            subject: String::new(),
            author: String::new(),
            unfinished: None,
            after: Vec::new(),
            paths,
        };
        self.queue.may_take(&self.project, &self.branch, found)
    }

    /// What its branch changes.
    fn paths(&self, head: &Sha) -> Result<Vec<String>> {
        let base = self.workspace.stands_on(&self.tree, head);
        let paths = base.and_then(|base| self.workspace.changed_paths(&self.tree, base.as_ref(), head));
        paths.map_err(|e| Error::failed(format!("its branch cannot be looked at: {e}")))
    }

    /// The branch and the worktree; `None` if the worktree is already gone.
    fn state(&self) -> Result<Option<BranchState>> {
        if !self.means.desk().layout.tree(&self.tree).exists() {
            return Ok(None);
        }
        let state = self.workspace.branch_state(&self.tree, &self.branch);
        state.map(Some).map_err(|e| Error::failed(format!("its branch cannot be looked at: {e}")))
    }

    fn is_whole(&self, state: &BranchState) -> Result<()> {
        let (branch, cwd) = (&self.branch, &self.record.cwd);
        if let Some(why) = &state.unfinished {
            return Err(Error::failed(format!("{branch} cannot be merged as it is: {why}"))
                .hint(format!("finish that in {cwd}, or use --keep or --drop")));
        }
        if state.dirty > 0 {
            let files = state.dirty;
            return Err(Error::failed(format!("{cwd} has uncommitted changes: {files} files")).hint(
                "commit what belongs to the change and remove the rest, or use --keep or --drop, which keep them on a rescue ref",
            ));
        }
        if state.ahead == 0 {
            let primary = &self.project.policy.primary_branch;
            return Err(Error::failed(format!("{branch} has nothing that {primary} lacks"))
                .hint("there is nothing to merge: use --keep or --drop"));
        }
        Ok(())
    }

    /// Whether this very head was put into the queue, whatever became of it there.
    fn is_queued(&self, head: Option<&Sha>) -> Result<bool> {
        let Some(since) = self.record.finish.as_ref().map(|finish| finish.at) else { return Ok(false) };
        let mine = |e: &Entry| e.job.is_none() && e.project == self.project.name && e.branch == self.branch;
        let now = |e: &Entry| e.requested_at >= since && head.is_none_or(|head| e.head == *head);
        Ok(self.floor()?.entries.iter().any(|entry| mine(entry) && now(entry)))
    }

    fn carry_out(&self, how: Finishing) -> Result<Option<String>> {
        // The time of the first attempt: by it, a later one knows what has been done.
        let before = self.record.finish.as_ref().filter(|finish| finish.how == how && !finish.done);
        let at = before.map_or_else(now, |finish| finish.at);
        let mut finish = Finish { how, at, done: false, rescue: before.and_then(|b| b.rescue.clone()) };
        self.put(&finish)?;
        if self.hand.ended().is_none() {
            let kept = end::end(self.means, &self.hand, &format!("it was finished: {how}"), None)?;
            finish.rescue = kept.map(|snapshot| snapshot.reference).or(finish.rescue);
        }
        if how == Finishing::Merge
            && let Some(state) = self.state()?
        {
            // What it did in its last moments counts too.
            self.is_whole(&state)?;
            if !self.is_queued(Some(&state.head))? {
                self.workspace.push(&self.tree, &self.branch).map_err(|e| {
                    Error::failed(format!("{} cannot be published: {e}", self.branch)).hint(
                        "the session is ended and its worktree is kept; fix it there and run this again",
                    )
                })?;
                self.queue.take(&self.project, &self.branch)?;
            }
        }
        if how == Finishing::Keep {
            let kept = self.workspace.snapshot(&self.tree).map_err(cannot_keep)?;
            finish.rescue = kept.map(|snapshot| snapshot.reference).or(finish.rescue);
        } else {
            self.remove(&mut finish)?;
        }
        finish.done = true;
        self.put(&finish)?;
        Ok(finish.rescue)
    }

    /// Removes the worktree, and a dropped branch with it; a merged branch belongs to the queue.
    fn remove(&self, finish: &mut Finish) -> Result<()> {
        self.tear_down()?;
        let proof = RescueProof::obtain(&self.workspace, &self.tree).map_err(cannot_keep)?;
        let snapshot = proof.snapshot().cloned();
        if let Some(snapshot) = &snapshot {
            finish.rescue = Some(snapshot.reference.clone());
            self.put(finish)?;
        }
        self.workspace
            .remove(proof)
            .map_err(|e| Error::failed(format!("its worktree cannot be removed: {e}")).hint("try again"))?;
        if finish.how != Finishing::Drop {
            return Ok(());
        }
        // Gone before a crash: then the recorded ref says what was kept.
        let Some(kept) = finish.rescue.as_deref() else { return Ok(()) };
        let (git, layout) = (self.means.git()?, &self.means.desk().layout);
        let (clone, origin) = (layout.clone_repo(&self.project.name), self.means.origin(&self.project.name)?);
        let own = (!self.record.taken_over).then_some(&*origin);
        let gone = abandon::branch(&git, &clone, own, &self.branch, kept)
            .map_err(|e| Error::failed(format!("its branch cannot be removed: {e}")).hint("try again"))?;
        if !gone {
            self.means.remark(&format!("warning: {} has commits of others and stays", self.branch));
        }
        Ok(())
    }

    /// The project's last word on the worktree. Whatever goes wrong is reported and holds nothing up.
    fn tear_down(&self) -> Result<()> {
        let keep = || self.workspace.snapshot(&self.tree).map(drop);
        match self.means.setup()?.tear_down(&self.tree, &keep) {
            Ok(None) => {}
            Ok(Some(note)) => self.means.remark(&format!("warning: {note}")),
            Err(e) => self.means.remark(&format!("warning: the teardown could not be run: {e}")),
        }
        Ok(())
    }

    fn put(&self, finish: &Finish) -> Result<()> {
        Ok(self.hands.put_finish(&self.hand.name, finish.clone())?)
    }

    fn finished(&self, how: Finishing, rescue: Option<String>) -> Finished {
        let path = self.means.desk().layout.tree(&self.tree);
        Finished {
            name: self.hand.name.to_string(),
            how,
            branch: self.branch.clone(),
            worktree: path.exists().then(|| path.display().to_string()),
            queue: (how == Finishing::Merge).then(|| self.place()).flatten(),
            rescue,
            taken_over: self.record.taken_over,
        }
    }

    fn floor(&self) -> Result<Floor> {
        self.means.desk().committed_about(&[Shelf::Branch(self.project.name.clone(), self.branch.clone())])
    }

    /// The state of its newest entry.
    fn place(&self) -> Option<String> {
        let floor = self.floor().ok()?;
        let mine = |e: &&Entry| e.project == self.project.name && e.branch == self.branch && e.job.is_none();
        floor.entries.iter().rev().find(mine).map(|entry| floor.entry_status(entry).to_string())
    }
}

fn cannot_keep(e: impl std::fmt::Display) -> Error {
    Error::failed(format!("what its worktree holds cannot be kept: {e}"))
        .hint("nothing is removed; run this again when it is at rest")
}
