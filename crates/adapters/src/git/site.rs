//! A project with its clone at hand: what the agents' workplace asks of the clone and of origin.

use super::GitProject;
use super::run::{GitResult, Repo};
use shopfloor_core::ids::Sha;
use shopfloor_engine::ports::{PortError, PortResult};
use std::ffi::OsStr;

/// A project with its clone at hand.
pub(super) struct Site {
    pub(super) project: GitProject,
    pub(super) clone: Repo,
    /// The full name of the primary branch.
    pub(super) primary: String,
}

impl Site {
    pub(super) fn fetch(&self) -> GitResult<()> {
        self.clone.call("fetch").args(["--quiet", "--no-tags", "--prune", "origin"]).run()?;
        Ok(())
    }

    /// Whether the branch's own commits leave the tree as it was where it began.
    pub(super) fn changes_nothing(&self, primary: &Sha, head: &Sha) -> GitResult<bool> {
        let range = format!("{primary}...{head}");
        let call = self.clone.call("diff").args(["--quiet", "--no-ext-diff", &range, "--"]);
        // 128: the two share no history, so the branch brings all it has.
        Ok(call.ending(&[0, 1, 128])?.code == 0)
    }

    pub(super) fn tracking(&self, branch: &str) -> String {
        format!("refs/remotes/origin/{branch}")
    }

    /// Origin's refs of these full names, asked now.
    pub(super) fn on_origin(&self, names: &[&str]) -> GitResult<Vec<Option<Sha>>> {
        self.clone.remote_refs(OsStr::new("origin"), names)
    }

    /// Where a head left the primary branch; without a common past the primary branch itself.
    pub(super) fn base(&self, primary: &Sha, head: &Sha) -> GitResult<String> {
        let base = self.clone.call("merge-base").args([primary.as_str(), head.as_str()]).ending(&[0, 1])?;
        Ok(if base.code == 0 { base.text() } else { primary.to_string() })
    }

    /// Origin's primary branch as it is now, with its commits here.
    pub(super) fn primary_now(&self) -> PortResult<Sha> {
        let head = self.on_origin(&[&self.primary])?.remove(0);
        self.have_primary(head)
    }

    pub(super) fn have_primary(&self, head: Option<Sha>) -> PortResult<Sha> {
        let branch = &self.project.primary_branch;
        let head = head.ok_or_else(|| PortError::transient(format!("origin has no branch {branch}")))?;
        if self.clone.resolve(&self.tracking(branch))?.as_ref() != Some(&head) {
            self.fetch()?;
        }
        Ok(head)
    }

    /// Where origin has a branch if somebody else went on from our head there, else our head. What the
    /// branch was before, by its log, is the agent's own: what it pushed and then dropped stays dropped.
    pub(super) fn gone_on(&self, full: &str, ours: Sha, theirs: Option<&Sha>) -> PortResult<Sha> {
        let Some(theirs) = theirs.filter(|theirs| **theirs != ours) else { return Ok(ours) };
        let was = self.clone.call("log").args(["--walk-reflogs", "--format=%H", full, "--"]).text()?;
        if was.lines().any(|commit| commit == theirs.as_str()) {
            return Ok(ours);
        }
        if self.clone.commit(theirs.as_str())?.is_none() {
            self.fetch()?;
        }
        let goes_on =
            self.clone.commit(theirs.as_str())?.is_some() && self.clone.is_ancestor(&ours, theirs)?;
        Ok(if goes_on { theirs.clone() } else { ours })
    }

    /// Makes the branch if there is none, and brings one that merely lags to origin's.
    pub(super) fn start_branch(&self, branch: &str, full: &str) -> PortResult<()> {
        let theirs = self.clone.commit(&self.tracking(branch))?;
        let ours = self.clone.commit(full)?;
        let (start, old) = match (ours, theirs) {
            (Some(ours), Some(theirs)) if ours != theirs && self.clone.is_ancestor(&ours, &theirs)? => {
                (theirs, Some(ours))
            }
            (Some(_), _) => return Ok(()),
            (None, Some(theirs)) => (theirs, None),
            (None, None) => {
                let primary = self.clone.commit(&self.tracking(&self.project.primary_branch))?;
                let primary = primary.ok_or_else(|| {
                    PortError::transient(format!("origin has no branch {}", self.project.primary_branch))
                })?;
                (primary, None)
            }
        };
        let line = match old {
            Some(old) => format!("update {full}\0{start}\0{old}\0"),
            None => format!("create {full}\0{start}\0"),
        };
        self.clone.call("update-ref").args(["-z", "--stdin"]).stdin(line).run()?;
        Ok(())
    }
}
