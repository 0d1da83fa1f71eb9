//! Deletes rescue refs that are old and not the only copy of anything.
//!
//! Git itself is asked whether something else has the content: which objects are reachable from the ref, but
//! from no other ref of the same agent, not from origin's primary branch, and not from what is pinned near origin for
//! good (the heads of pull requests)? If these are only the snapshot's own commit and its folders, every file and every
//! commit in it is kept elsewhere. Branches do not count: an agent may reset or delete its own. Git may name an object
//! that is reachable after all; then the ref stays, and nothing is lost.
//!
//! All that go in one pass go in one transaction, and none of them counts as a keeper of another's content.
//!
//! An agent's newest ref goes only by its age, and only where origin has no copy of it. Its number is not given again.

use super::kept::{self, Rescued};
use super::origin::PINS;
use super::refs;
use super::rescue::{self, RESCUES};
use super::run::{GitError, GitResult};
use super::site::Site;
use super::workspace::GitWorkspace;
use shopfloor_core::effect::Tidy;
use shopfloor_core::ids::Sha;
use shopfloor_core::time::Time;
use shopfloor_engine::ports::{Final, PortError, PortResult, Snapshot, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// How many refs are looked at in one pass.
const PASS_MAX: usize = 1_000;

const DAY_MILLIS: u64 = 24 * 3600 * 1000;

impl GitWorkspace {
    pub(super) fn prune(&self, tidy: &Tidy) -> PortResult<u32> {
        let site = self.site(&tidy.project)?;
        let all = kept::listed(&site.keeper)?;
        let pins: BTreeSet<Sha> =
            PINS.iter().flat_map(|pins| refs::list(site.near().path(), pins).into_values()).collect();
        let mut going = BTreeMap::new();
        let mut looked = Ok(());
        for rescued in this_pass(candidates(&all, tidy), tidy.rescues_before) {
            looked = may_go(&site, rescued, &pins, &going, tidy.dry_run).map(|goes| {
                if goes {
                    going.insert(rescued.reference.as_str(), &rescued.commit);
                }
            });
            if looked.is_err() {
                break;
            }
        }
        if !tidy.dry_run && !going.is_empty() {
            let lines = going.iter().map(|(reference, commit)| format!("delete {reference}\0{commit}\0"));
            site.keeper.update_refs("", lines.collect())?;
        }
        looked?;
        Ok(u32::try_from(going.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn send(&self, tree: &Tree, snapshot: &Snapshot) -> PortResult<()> {
        let site = self.site(&tree.project)?;
        if !site.project.push_rescues || site.on_origin(&snapshot.reference).is_some() {
            return Ok(());
        }
        match site.origin.create(&site.keeper, &snapshot.reference, &snapshot.commit)? {
            Err(elsewhere) if elsewhere.moves != [Some(snapshot.commit.clone())] => {
                let why = format!("origin has another {}", snapshot.reference);
                Err(PortError::permanent(Final::InTheWay, why))
            }
            _ => Ok(()),
        }
    }
}

/// The refs whose time is up, oldest first; `all` is in the order of their numbers.
fn candidates<'a>(all: &'a [Rescued], tidy: &Tidy) -> Vec<&'a Rescued> {
    let named: BTreeSet<&str> = tidy.rescues_named.iter().map(String::as_str).collect();
    let mut by_agent: BTreeMap<&str, Vec<&Rescued>> = BTreeMap::new();
    for rescued in all {
        by_agent.entry(&rescued.agent).or_default().push(rescued);
    }
    let mut over = Vec::new();
    for refs in by_agent.values() {
        let surplus = refs.len().saturating_sub(tidy.rescues_kept.max(1) as usize);
        for (at, rescued) in refs.iter().enumerate() {
            let old = at < surplus || rescued.at < tidy.rescues_before;
            if old && !named.contains(rescued.reference.as_str()) {
                over.push(*rescued);
            }
        }
    }
    over.sort_by_key(|rescued| rescued.at);
    over
}

/// As many as one pass looks at. A ref that is the only copy of something is a candidate every day: each day therefore
/// begins after those of the day before, or the first would keep the rest from ever being looked at.
fn this_pass(candidates: Vec<&Rescued>, today: Time) -> Vec<&Rescued> {
    let days = usize::try_from(today.0 / DAY_MILLIS).unwrap_or_default();
    let first = days.wrapping_mul(PASS_MAX).checked_rem(candidates.len()).unwrap_or_default();
    let round = candidates.iter().cycle().skip(first);
    round.take(candidates.len().min(PASS_MAX)).copied().collect()
}

/// Refs that are about to be deleted together: none of them keeps anything.
type Going<'a> = BTreeMap<&'a str, &'a Sha>;

/// Whether the ref is not the only one to keep anything, now that those go.
fn may_go(
    site: &Site,
    rescued: &Rescued,
    pins: &BTreeSet<Sha>,
    going: &Going<'_>,
    dry_run: bool,
) -> PortResult<bool> {
    let pin = rescued.head.as_ref().filter(|head| pins.contains(head));
    let others = others_of(site, rescued, going);
    // One that was sent there is looked for under its name.
    let is_last = others.is_empty();
    if is_last && (site.project.push_rescues || site.on_origin(&rescued.reference).is_some()) {
        return Ok(false);
    }
    let goes = is_kept_elsewhere(site, rescued, &others.iter().chain(pin).collect::<Vec<_>>())?;
    if goes && is_last && !dry_run {
        rescue::never_again(&site.keeper, rescued.number)?;
    }
    Ok(goes)
}

/// What the agent's other refs keep.
fn others_of(site: &Site, rescued: &Rescued, going: &Going<'_>) -> Vec<Sha> {
    let all = refs::list(site.keeper.path(), &format!("{RESCUES}{}/", rescued.agent)).into_iter();
    let others = all.filter(|(name, _)| *name != rescued.reference && !going.contains_key(name.as_str()));
    others.map(|(_, commit)| commit).collect()
}

fn is_kept_elsewhere(site: &Site, rescued: &Rescued, others: &[&Sha]) -> GitResult<bool> {
    let primary = site.on_origin(&site.primary);
    let mut roots = format!("{}\n", rescued.commit);
    roots.extend(others.iter().copied().chain(&primary).map(|root| format!("^{root}\n")));
    // Aggressive: also excludes what is only in the files of an excluded commit that is not an ancestor.
    let call =
        site.keeper.call("rev-list").args(["--objects-edge-aggressive", "--no-object-names", "--stdin"]);
    let listed = call.stdin(roots).text()?;
    // The excluded commits themselves are listed with a dash.
    let only_here: String =
        listed.lines().filter(|line| !line.starts_with('-')).map(|line| format!("{line}\n")).collect();
    let call = site.keeper.call("cat-file").arg("--batch-check=%(objectname) %(objecttype)");
    let command = call.shown();
    let kinds = call.stdin(only_here).text()?;
    for line in kinds.lines() {
        match line.split_once(' ') {
            Some((_, "tree")) => {}
            // The snapshot's own commit says when it was made and nothing more; any other commit is work.
            Some((id, "commit"))
                if id == rescued.commit.as_str() && rescued.head.as_ref() != Some(&rescued.commit) => {}
            Some((_, "commit" | "blob" | "tag")) => return Ok(false),
            _ => return Err(GitError::Answer { command, answer: line.to_owned() }),
        }
    }
    Ok(true)
}
