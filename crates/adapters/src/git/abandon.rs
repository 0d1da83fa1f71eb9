//! Deletes a branch that nobody wants any more, if a snapshot keeps all of it.

use super::origin::Origin;
use super::run::{Git, Repo, branch_ref};
use shopfloor_core::ids::Sha;
use shopfloor_engine::ports::PortResult;
use std::path::Path;

/// Deletes a branch in the keeper, and on `origin` if one is given, where it is at a commit that the ref
/// `rescue` of `keeper` holds; if it is anywhere else, it stays. Returns whether nothing of it is left.
pub fn branch(
    git: &Git,
    keeper: &Path,
    origin: Option<&dyn Origin>,
    name: &str,
    rescue: &str,
) -> PortResult<bool> {
    let full = branch_ref(name)?;
    let keeper = git.bare(keeper);
    let Some(kept) = keeper.commit(rescue)? else { return Ok(false) };
    let mut gone = true;
    if let Some(origin) = origin {
        let head = origin.refs(&[&full])?.remove(0);
        gone &= match head {
            Some(head) => holds(&keeper, &kept, &head)? && origin.delete(&full, &head)?.is_ok(),
            None => true,
        };
    }
    if let Some(head) = keeper.refs(&[&full])?.remove(0) {
        if holds(&keeper, &kept, &head)? {
            keeper.update_refs("", format!("delete {full}\0{head}\0"))?;
        } else {
            gone = false;
        }
    }
    Ok(gone)
}

fn holds(keeper: &Repo, kept: &Sha, head: &Sha) -> PortResult<bool> {
    Ok(keeper.has(head)? && keeper.is_ancestor(head, kept)?)
}
