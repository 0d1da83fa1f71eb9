//! The commits that checked work lands as, where the commits that were built will not do.
//!
//! Every step ends in a commit that has the tree of its link, and continues the primary branch by first
//! parents:
//!
//! * Links that were built on another commit with the same tree are made again on top of the right one, so
//!   that the history has each of them once.
//! * Where commits are to be signed, the factory's own are made again, with a signature.
//! * Several links of which only the last was checked get a merge commit. They are behind it, as a merged
//!   branch's commits are: reachable, and not part of the first-parent line.
//!
//! Dates come from the commits, so that the same steps give the same commits.

use super::commit::{Commit, factory};
use super::message::title;
use super::run::{GitResult, Repo, parse_sha};
use super::sign::Signing;
use shopfloor_core::effect::{BuiltLanding, ChainEntry, LandingStep};
use shopfloor_core::ids::Sha;
use shopfloor_core::planner::{Link, TreeId};
use std::collections::BTreeMap;

/// How many entries a message names; only a very long queue has more.
const TITLES_MAX: usize = 100;

pub(super) fn build(
    repo: &Repo,
    old: &Sha,
    steps: &[LandingStep],
    signing: Option<&Signing>,
) -> GitResult<BuiltLanding> {
    let mut tip = (old.clone(), Commit::read(repo, old)?);
    let mut landed = BuiltLanding::default();
    for step in steps {
        if step.link != step.below {
            let (sha, commit) = put_on(repo, &tip, step, signing, &mut landed.again)?;
            tip =
                if step.linear { (sha, commit) } else { wrap(repo, &tip, sha, commit, &step.list, signing)? };
        }
        landed.commits.push(Link { commit: tip.0.clone(), tree: TreeId(tip.1.tree.clone()) });
    }
    Ok(landed)
}

/// The last of the step's links, put on top of that commit. `again` collects the links that had to be made
/// again.
fn put_on(
    repo: &Repo,
    (onto, onto_commit): &(Sha, Commit),
    step: &LandingStep,
    signing: Option<&Signing>,
    again: &mut BTreeMap<Sha, Sha>,
) -> GitResult<(Sha, Commit)> {
    if step.below == *onto && signing.is_none() {
        return Ok((step.link.clone(), Commit::read(repo, &step.link)?));
    }
    let range = format!("{}..{}", step.below, step.link);
    let call = repo.call("rev-list").args(["--reverse", "--first-parent", &range, "--"]);
    let command = call.shown();
    let names =
        call.text()?.lines().map(|line| parse_sha(&command, line)).collect::<GitResult<Vec<Sha>>>()?;
    let links = Commit::read_all(repo, &names.iter().collect::<Vec<_>>())?;
    let (mut sha, mut below) = (onto.clone(), onto_commit.clone());
    let mut as_it_is = step.below == *onto;
    for (name, link) in names.into_iter().zip(links) {
        // What others committed lands unchanged, as long as it can.
        as_it_is &= !link.ours;
        if as_it_is {
            (sha, below) = (name, link);
            continue;
        }
        let parents = std::iter::once(sha).chain(link.parents.iter().skip(1).cloned()).collect();
        below = Commit { parents, committed: link.committed.clone().later(&below.committed), ..link };
        sha = below.write_signed(repo, signing)?;
        again.insert(name, sha.clone());
    }
    Ok((sha, below))
}

fn wrap(
    repo: &Repo,
    (onto, onto_commit): &(Sha, Commit),
    last: Sha,
    link: Commit,
    list: &[ChainEntry],
    signing: Option<&Signing>,
) -> GitResult<(Sha, Commit)> {
    let committed = link.committed.later(&onto_commit.committed);
    let commit = Commit {
        tree: link.tree,
        parents: vec![onto.clone(), last],
        author: factory(&committed),
        committed,
        encoding: None,
        message: message(list).into_bytes(),
        ours: true,
    };
    Ok((commit.write_signed(repo, signing)?, commit))
}

fn message(list: &[ChainEntry]) -> String {
    let mut message = format!("Merge {} changes that were checked together\n\n", list.len());
    for entry in list.iter().take(TITLES_MAX) {
        message.push_str(&format!("* {}\n", title(entry)));
    }
    if list.len() > TITLES_MAX {
        message.push_str(&format!("* … and {} more\n", list.len() - TITLES_MAX));
    }
    message
}
