//! Proofs: values that can only be made by doing the check they stand for. A destructive port call
//! takes one, so that it cannot be written without the check.

use crate::ports::{Final, Merger, PortError, PortResult, Snapshot, Tree, Workspace};
use shopfloor_core::effect::Merged;
use shopfloor_core::ids::{ProjectName, in_words};
use std::any::Any;

/// Proves that everything in a worktree is reachable from a rescue ref (or that there is no worktree).
#[derive(Debug)]
pub struct RescueProof {
    tree: Tree,
    snapshot: Option<Snapshot>,
}

impl RescueProof {
    /// Snapshots the worktree and verifies the snapshot.
    pub fn obtain(workspace: &dyn Workspace, tree: &Tree) -> PortResult<RescueProof> {
        let snapshot = workspace.snapshot(tree)?;
        if let Some(snapshot) = &snapshot
            && !workspace.snapshot_holds(tree, snapshot)?
        {
            return Err(PortError::transient("the worktree changed while its rescue snapshot was taken"));
        }
        Ok(RescueProof { tree: tree.clone(), snapshot })
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }
}

/// Proves that a branch's change is in origin's primary branch and that its head is pinned on origin.
#[derive(Debug)]
pub struct MergedProof {
    project: ProjectName,
    merged: Merged,
}

impl MergedProof {
    pub fn obtain(
        workspace: &dyn Workspace,
        project: &ProjectName,
        merged: &Merged,
    ) -> PortResult<MergedProof> {
        if !workspace.is_merged(project, merged.target.as_ref(), &merged.commit)? {
            return Err(PortError::permanent(
                Final::Refused,
                format!(
                    "commit {} is not in {}, so the branch is kept",
                    merged.commit.short(),
                    in_words(merged.target.as_ref())
                ),
            ));
        }
        match merged.pr {
            Some(pr) => workspace.pin_pr(project, pr, &merged.head)?,
            None => workspace.pin_merged(project, &merged.head)?,
        }
        Ok(MergedProof { project: project.clone(), merged: merged.clone() })
    }

    pub fn project(&self) -> &ProjectName {
        &self.project
    }

    pub fn merged(&self) -> &Merged {
        &self.merged
    }
}

/// Proves that this process owns a project's merge queue for as long as the value lives.
pub struct QueueLock {
    project: ProjectName,
    _guard: Box<dyn Any>,
}

impl QueueLock {
    pub fn acquire(merger: &dyn Merger, project: &ProjectName) -> PortResult<QueueLock> {
        Ok(QueueLock { project: project.clone(), _guard: merger.take_lock(project)? })
    }

    pub fn project(&self) -> &ProjectName {
        &self.project
    }
}
