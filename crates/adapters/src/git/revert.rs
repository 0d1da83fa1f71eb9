//! A branch that undoes what has landed, and whatever came after it stays. What is undone is told by two commits:
//! what the change landed on, and what it landed as. Where later changes touched the same lines people decide.
//!
//! The branch is in the hub when the call returns. One of that name that is there already is taken as it is: a call
//! that was cut short made it, or somebody has mended a conflict in it.

use super::attributes::Attributes;
use super::chain::{merge_trees, stand_in};
use super::commit::{Commit, factory};
use super::run::{Git, GitError, Repo, branch_ref};
use shopfloor_core::ids::Sha;
use shopfloor_core::text;
use std::path::Path;

/// A change that has landed.
pub struct Landed<'a> {
    pub on: &'a Sha,
    pub commit: &'a Sha,
}

#[derive(Debug, thiserror::Error)]
pub enum RevertProblem {
    #[error("the hub has no primary branch {0}")]
    NoPrimary(String),
    #[error("{0} is not in {1} any more")]
    NotThere(Sha, String),
    #[error("there is nothing to undo: {0} has nothing left of it")]
    Nothing(String),
    #[error("later changes touch the same places: {}", .0.join(", "))]
    Conflict(Vec<String>),
    #[error("{0}")]
    BadName(String),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Makes `branch` in the hub: the primary branch and, on top of it, a commit with that message which undoes the
/// change. Whether it was made, rather than found.
pub fn branch(
    git: &Git,
    hub: &Path,
    primary: &str,
    landed: &Landed<'_>,
    branch: &str,
    message: &str,
) -> Result<bool, RevertProblem> {
    let full = |name: &str| branch_ref(name).map_err(|e| RevertProblem::BadName(e.to_string()));
    let (name, primary_name) = (full(branch)?, full(primary)?);
    let hub = git.bare(hub);
    let head = hub.refs(&[&primary_name])?.remove(0);
    let head = head.ok_or_else(|| RevertProblem::NoPrimary(primary.to_owned()))?;
    let there = hub.commit(landed.commit.as_str())?.is_some() && hub.commit(landed.on.as_str())?.is_some();
    if !there || !hub.is_ancestor(landed.commit, &head)? {
        return Err(RevertProblem::NotThere(landed.commit.clone(), primary.to_owned()));
    }
    if hub.refs(&[&name])?[0].is_some() {
        return Ok(false);
    }
    let commit = undo(&hub, &head, landed, primary, message)?;
    let line = format!("create {name}\0{commit}\0");
    hub.call("update-ref").args(["-z", "--stdin"]).stdin(line).run()?;
    Ok(true)
}

/// Merges the way back from what it landed as to what it landed on.
fn undo(
    hub: &Repo,
    head: &Sha,
    landed: &Landed<'_>,
    primary: &str,
    message: &str,
) -> Result<Sha, RevertProblem> {
    let read = Commit::read_all(hub, &[head, landed.commit, landed.on])?;
    let [now, after, before] = &read[..] else { unreachable!("three were asked for") };
    let base = stand_in(hub, vec![], after, now)?;
    let ours = stand_in(hub, vec![base.clone()], now, now)?;
    let theirs = stand_in(hub, vec![base], before, now)?;
    let merged = |repo: &Repo| {
        let name = |file: &Vec<u8>| text::one_line(&String::from_utf8_lossy(file), 200);
        let merged = merge_trees(repo, &ours, &theirs)?;
        merged.map_err(|clash| RevertProblem::Conflict(clash.files.iter().map(name).collect()))
    };
    // As attributes say, and as plain text: `merge=union` keeps every line, which undoes nothing.
    let (tree, plain) = (merged(&Attributes::default().of_tree(hub, &now.tree)?)?, merged(hub)?);
    if tree != plain {
        let call = hub.call("diff-tree").args(["-r", "--name-only", tree.as_str(), plain.as_str(), "--"]);
        let files = call.text()?;
        return Err(RevertProblem::Conflict(files.lines().map(|file| text::one_line(file, 200)).collect()));
    }
    if tree == now.tree {
        return Err(RevertProblem::Nothing(primary.to_owned()));
    }
    let commit = Commit {
        tree,
        parents: vec![head.clone()],
        author: factory(&now.committed),
        encoding: None,
        message: message.as_bytes().to_vec(),
        ..now.clone()
    };
    Ok(commit.write(hub)?)
}
