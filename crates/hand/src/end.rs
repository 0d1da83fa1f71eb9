//! Ends a session; what its worktree holds is kept before and after.

use crate::Means;
use crate::record::Ended;
use crate::sessions::Hand;
use crate::watch::FinalState;
use serde::Serialize;
use shopfloor_adapters::git::GitWorkspace;
use shopfloor_adapters::layout::Layout;
use shopfloor_desk::{Error, Result, now};
use shopfloor_engine::ports::{Snapshot, Tree, Workspace};
use std::path::Path;

#[derive(Serialize)]
pub struct Killed {
    pub name: String,
    /// `killed`, `gone` if it was already over, or `failed`.
    pub state: &'static str,
    /// The ref that keeps what the worktree held.
    pub rescue: Option<String>,
    pub why: Option<String>,
}

/// Ends a session because a person wants it.
pub fn kill(means: &dyn Means, hand: &Hand) -> Result<Killed> {
    let name = hand.name.to_string();
    if let Some(ended) = hand.ended() {
        return Ok(Killed { name, state: "gone", rescue: None, why: Some(ended.why.clone()) });
    }
    let rescue = end(means, hand, "it was killed by hand", None)?;
    Ok(Killed { name, state: "killed", rescue: rescue.map(|snapshot| snapshot.reference), why: None })
}

pub(crate) fn end(
    means: &dyn Means,
    hand: &Hand,
    why: &str,
    result: Option<FinalState>,
) -> Result<Option<Snapshot>> {
    let rescue = Rescue::of(means, hand)?;
    // The program may still be writing, so this snapshot need not be the last word; the one after is.
    rescue.as_ref().map(Rescue::snapshot).transpose()?;
    means.sessions().end(&hand.name, Ended { at: now(), why: why.to_owned(), result })?;
    Ok(rescue.as_ref().map(Rescue::snapshot).transpose()?.flatten())
}

/// The floor's worktree that a session runs in, if it runs in one.
pub(crate) fn own_worktree(layout: &Layout, hand: &Hand) -> Option<Tree> {
    let cwd = Path::new(&hand.record.as_ref()?.cwd);
    let root = std::fs::canonicalize(layout.root()).ok();
    let layouts = [Some(layout.clone()), root.map(Layout::new)];
    layouts.iter().flatten().find_map(|layout| layout.worktree_of(cwd))
}

/// The floor's worktree that a session runs in.
struct Rescue {
    workspace: GitWorkspace,
    tree: Tree,
}

impl Rescue {
    fn of(means: &dyn Means, hand: &Hand) -> Result<Option<Rescue>> {
        let Some(tree) = own_worktree(&means.desk().layout, hand) else { return Ok(None) };
        Ok(Some(Rescue { workspace: means.workspace()?, tree }))
    }

    fn snapshot(&self) -> Result<Option<Snapshot>> {
        self.workspace.snapshot(&self.tree).map_err(|e| {
            Error::failed(format!("what its worktree holds cannot be kept: {e}"))
                .hint("nothing more is ended; commit or move the work, then try again")
        })
    }
}
