//! Branches that carry a landed change: back, to undo it, or on to another branch. Two commits say what the
//! change is: what it landed on, and what it landed as. Whatever came after it stays. Where the same lines
//! were changed in another way, people decide.
//!
//! The branch is on origin when the call returns. An existing branch of that name is taken as it is: either a
//! call that was cut short made it, or somebody has resolved a conflict in it.

use super::attributes::Attributes;
use super::chain::{merge_trees, stand_in};
use super::commit::{Commit, factory};
use super::origin::Origin;
use super::run::{GitError, Repo, branch_ref};
use shopfloor_core::ids::Sha;
use shopfloor_core::text;
use shopfloor_engine::ports::PortError;

/// A change that has landed.
pub struct Landed<'a> {
    pub on: &'a Sha,
    pub commit: &'a Sha,
}

/// Where the change is carried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Back: it is undone.
    Back,
    /// On: to a branch that does not have it.
    On,
}

#[derive(Debug, thiserror::Error)]
pub enum CarryProblem {
    #[error("the hub has no branch {0}")]
    NoBranch(String),
    #[error("{0} is not in {1} any more")]
    NotThere(Sha, String),
    #[error("there is nothing to undo: {0} has nothing left of it")]
    NothingLeft(String),
    #[error("{0} has all of it already")]
    ThereAlready(String),
    #[error("later changes touch the same places: {}", .0.join(", "))]
    Touched(Vec<String>),
    #[error("it differs in the same places: {}", .0.join(", "))]
    Differs(Vec<String>),
    #[error("{0}")]
    BadName(String),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Origin(#[from] PortError),
}

/// What is to be made.
pub struct Carried<'a> {
    pub landed: Landed<'a>,
    pub way: Way,
    /// What the new branch begins at, and will be merged into.
    pub onto: &'a str,
    /// The new branch.
    pub branch: &'a str,
    pub message: &'a str,
}

/// Makes the branch on origin: `onto` and, on top of it, a commit that carries the change. Returns whether it
/// was made rather than found.
pub fn branch(origin: &dyn Origin, wanted: &Carried<'_>) -> Result<bool, CarryProblem> {
    let Carried { landed, way, onto, branch, .. } = wanted;
    let full = |name: &str| branch_ref(name).map_err(|e| CarryProblem::BadName(e.to_string()));
    let (name, onto_name) = (full(branch)?, full(onto)?);
    origin.look()?;
    let near = origin.near();
    let head = near.refs(&[&onto_name])?.remove(0);
    let head = head.ok_or_else(|| CarryProblem::NoBranch((*onto).to_owned()))?;
    let known = near.has(landed.commit)? && near.has(landed.on)?;
    let there = known && (*way == Way::On || near.is_ancestor(landed.commit, &head)?);
    if !there {
        return Err(CarryProblem::NotThere(landed.commit.clone(), (*onto).to_owned()));
    }
    if near.refs(&[&name])?[0].is_some() {
        return Ok(false);
    }
    let commit = carry(near, &head, wanted)?;
    Ok(origin.create(near, &name, &commit)?.is_ok())
}

/// Merges the difference between the two commits, in one direction or the other.
fn carry(near: &Repo, head: &Sha, wanted: &Carried<'_>) -> Result<Sha, CarryProblem> {
    let Carried { landed, way, onto, message, .. } = wanted;
    let read = Commit::read_all(near, &[head, landed.commit, landed.on])?;
    let [now, after, before] = &read[..] else { unreachable!("three were asked for") };
    let (from, to) = match way {
        Way::Back => (after, before),
        Way::On => (before, after),
    };
    let base = stand_in(near, vec![], from, now)?;
    let ours = stand_in(near, vec![base.clone()], now, now)?;
    let theirs = stand_in(near, vec![base], to, now)?;
    let merged = |repo: &Repo| {
        let name = |file: &Vec<u8>| text::one_line(&String::from_utf8_lossy(file), 200);
        let merged = merge_trees(repo, &ours, &theirs)?;
        merged.map_err(|clash| {
            let files = clash.files.iter().map(name).collect();
            if *way == Way::Back { CarryProblem::Touched(files) } else { CarryProblem::Differs(files) }
        })
    };
    let tree = merged(&Attributes::default().of_tree(near, &now.tree)?)?;
    // `merge=union` keeps every line, which undoes nothing: so its result has to match that of a plain merge.
    if *way == Way::Back {
        let plain = merged(near)?;
        if tree != plain {
            let call =
                near.call("diff-tree").args(["-r", "--name-only", tree.as_str(), plain.as_str(), "--"]);
            let files = call.text()?;
            let files = files.lines().map(|file| text::one_line(file, 200));
            return Err(CarryProblem::Touched(files.collect()));
        }
    }
    if tree == now.tree {
        return Err(match way {
            Way::Back => CarryProblem::NothingLeft((*onto).to_owned()),
            Way::On => CarryProblem::ThereAlready((*onto).to_owned()),
        });
    }
    let commit = Commit {
        tree,
        parents: vec![head.clone()],
        author: match way {
            Way::Back => factory(&now.committed),
            Way::On => after.author.clone(),
        },
        encoding: None,
        message: message.as_bytes().to_vec(),
        ..now.clone()
    };
    Ok(commit.write(near)?)
}
