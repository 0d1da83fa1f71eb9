//! What a person took off a branch stays off it, unless a person knowingly brings it back; and nothing is
//! published there before somebody has put that right or accepted it.

use super::Checker;
use crate::git::{Git, commit_of};
use crate::world::{Rewind, World};
use shopfloor_core::ids::EntryId;
use shopfloor_core::state::Floor;
use std::collections::BTreeSet;

const REMOVED: &str = "1 what people took off stays off";

/// Whether a branch took in where the branch it is for was put. Then what it still has of what was taken off was seen by
/// whoever resolved it, checked it and approved it, on top of that.
fn took_it_in(git: &Git, old: u32, head: u32) -> bool {
    head != old && git.reachable([head]).contains(&old)
}

/// Which of the versions that were taken off a branch may bring: all, if it has nothing else to bring, or took in where
/// the branch was put; else those in its own commits.
fn may_bring(git: &Git, old: u32, head: u32, rewind: &Rewind) -> BTreeSet<u64> {
    let there = git.reachable([old]);
    let new: Vec<u32> = git.reachable([head]).difference(&there).copied().collect();
    let own: Vec<u32> = new.iter().copied().filter(|c| !rewind.removed.contains(c)).collect();
    let bringing = if own.is_empty() || took_it_in(git, old, head) { new } else { own };
    bringing.into_iter().flat_map(|c| git.introduced(c)).collect()
}

impl Checker {
    pub(super) fn what_was_removed_stays_off(
        &self,
        world: &mut World,
        floor: &Floor,
        (at, branch): (usize, &str),
        (old, new): (u32, u32),
        entries: &[EntryId],
    ) {
        let (mut wrong, mut knowingly) = (Vec::new(), false);
        let heads = || entries.iter().filter_map(|id| floor.entries.get(id)).map(|e| commit_of(&e.head));
        for rewind in world.rewinds.iter().filter(|r| r.branch == branch && r.at <= at) {
            // A person may have merged something that contains it all.
            let put_back = world.git.reachable([old]).is_superset(&rewind.removed);
            if rewind.open && !put_back {
                wrong.push(format!("c{new} was published on {branch}, of which nobody accepted where it is"));
            }
            let git = &world.git;
            let gone: BTreeSet<u64> = rewind.removed.iter().flat_map(|c| git.introduced(*c)).collect();
            let before: BTreeSet<u64> = git.content(old).values().copied().collect();
            let allowed: BTreeSet<u64> = heads().flat_map(|head| may_bring(git, old, head, rewind)).collect();
            let back = |v: &&u64| gone.contains(v) && !before.contains(v) && !allowed.contains(v);
            if let Some(version) = git.content(new).values().find(back) {
                wrong.push(format!("c{new} brings version {version} back to {branch}"));
            }
            // What was there before came another way.
            let brought: BTreeSet<u32> =
                git.reachable([new]).difference(&git.reachable([old])).copied().collect();
            let returned = brought.intersection(&rewind.removed).next().copied();
            let knows = |head: u32| {
                let there = git.reachable([old]);
                took_it_in(git, old, head)
                    || git.reachable([head]).difference(&there).all(|c| rewind.removed.contains(c))
            };
            match returned {
                Some(_) if heads().any(knows) => knowingly = true,
                Some(commit) => wrong.push(format!("c{new} has c{commit}, which was taken off {branch}")),
                None => {}
            }
        }
        if knowingly {
            world.saw("brought back knowingly");
        }
        for text in wrong {
            world.broken(REMOVED, text);
        }
    }
}
