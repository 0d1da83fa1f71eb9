//! Whether a head makes the same change as another one that was reviewed. It does if git can put the other
//! one cleanly on top of where this one left the primary branch, and gets exactly this one's tree: the change
//! is the same, and in the same place. So a rebase or a merge of the primary branch keeps an approval, and
//! nothing else does.
//!
//! Where a branch's own commits land, they are compared as well: there have to be as many, each with the same
//! author, message and tree; or they are the reviewed ones themselves, with one merge of the primary branch
//! on top.

use super::attributes::Attributes;
use super::chain::{Links, merge_trees};
use super::commit::Commit;
use super::run::{GitResult, Repo};
use shopfloor_core::ids::Sha;
use shopfloor_core::policy::MergeMethod;

/// Which of `reviewed` make the same change as `head`.
pub(super) fn changes(
    repo: &Repo,
    primary: &Sha,
    head: &Sha,
    reviewed: &[Sha],
    each_commit: bool,
) -> GitResult<Vec<Sha>> {
    let others: Vec<&Sha> = reviewed.iter().filter(|of| *of != head).collect();
    let mut same = Vec::new();
    if others.is_empty() {
        return Ok(same);
    }
    let Some(base) = repo.merge_base(primary, head)? else { return Ok(same) };
    let both = Commit::read_all(repo, &[head, &base])?;
    // A head from before there was anything on the branch is the base itself, with nothing to put on top of it.
    let [tree, base_tree] = [0, 1].map(|at| both[at].tree.clone());
    let repo = match others.iter().all(|of| **of == base) {
        true => repo.clone(),
        false => Attributes::default().of_tree(repo, &base_tree)?,
    };
    let repo = &repo;
    for of in others {
        let as_whole = if *of == base {
            base_tree == tree
        } else if !repo.has(of)? || repo.merge_base(&base, of)?.is_none() {
            continue;
        } else {
            merge_trees(repo, &base, of)?.is_ok_and(|merged| merged == tree)
        };
        if as_whole && (!each_commit || is_same_by_commits(repo, primary, &base, head, of)?) {
            same.push(of.clone());
        }
    }
    Ok(same)
}

fn is_same_by_commits(repo: &Repo, primary: &Sha, base: &Sha, head: &Sha, of: &Sha) -> GitResult<bool> {
    if repo.is_ancestor(of, head)? {
        let (old, landed) = (format!("^{of}"), format!("^{primary}"));
        let added = repo.call("rev-list").args(["--parents", head.as_str(), &old, &landed, "--"]).text()?;
        let mut added = added.lines();
        let merges = |line: &str| line.split(' ').count() == 3 && line.contains(of.as_str());
        return Ok(added.next().is_some_and(merges) && added.next().is_none());
    }
    let onto = (base.clone(), Commit::read(repo, base)?);
    let Some(replayed) = Links::new(repo, MergeMethod::Rebase, onto).replayed(of)? else { return Ok(false) };
    Ok(commits(repo, base, &replayed)? == commits(repo, base, head)?)
}

/// What is compared of each commit on top of `base`; `None` if the branch is not linear.
fn commits(repo: &Repo, base: &Sha, head: &Sha) -> GitResult<Option<Vec<Seen>>> {
    let range = format!("{base}..{head}");
    let list = repo.call("rev-list").args(["--reverse", "--topo-order", &range, "--"]).text()?;
    let names: Vec<Sha> = list.lines().filter_map(|line| line.parse().ok()).collect();
    let all = Commit::read_all(repo, &names.iter().collect::<Vec<_>>())?;
    Ok(all.iter().all(|commit| commit.parents.len() == 1).then(|| all.into_iter().map(Seen::of).collect()))
}

#[derive(PartialEq, Eq)]
struct Seen {
    tree: Sha,
    author: Vec<u8>,
    encoding: Option<Vec<u8>>,
    message: Vec<u8>,
}

impl Seen {
    fn of(Commit { tree, author, encoding, message, .. }: Commit) -> Seen {
        Seen { tree, author, encoding, message }
    }
}
