//! A branch that nobody wants any more: deleted where a snapshot keeps all of it.

use super::run::{Git, branch_ref};
use shopfloor_engine::ports::PortResult;
use std::path::Path;

/// Deletes a branch in each of `repos`, if it is at a commit that the ref `rescue` of `keeper` holds; whatever else it
/// is at stays. Whether nothing of it is left.
pub fn branch(git: &Git, keeper: &Path, repos: &[&Path], name: &str, rescue: &str) -> PortResult<bool> {
    let full = branch_ref(name)?;
    let keeper = git.bare(keeper);
    let Some(kept) = keeper.commit(rescue)? else { return Ok(false) };
    let mut gone = true;
    for repo in repos {
        let repo = git.bare(repo);
        let Some(head) = repo.refs(&[&full])?.remove(0) else { continue };
        if keeper.commit(head.as_str())?.is_some() && keeper.is_ancestor(&head, &kept)? {
            let line = format!("delete {full}\0{head}\0");
            repo.call("update-ref").args(["-z", "--stdin"]).stdin(line).run()?;
        } else {
            gone = false;
        }
    }
    Ok(gone)
}
