//! Copies objects from one repository to another: everything reachable from some commits. They are on disk
//! when the call returns; no ref is touched.

use super::call::Call;
use super::run::{GitResult, Repo};
use shopfloor_core::ids::Sha;

/// More objects than this come as one pack; fewer as a file each, so that many small transfers do not leave
/// as many packs behind.
const LOOSE_MAX: u32 = 1_000;

/// What a pack begins with: a mark, a version and how many objects are in it, in four bytes each.
const HEADER: usize = 12;

/// Copies what is reachable from `tips` and not from `have`. `from` must see all of these; `into` must have
/// everything reachable from `have`.
pub(crate) fn transfer(from: &Repo, into: &Repo, tips: &[&Sha], have: &[&Sha]) -> GitResult<()> {
    let pack = from.call("pack-objects").args(["--revs", "--stdout", "-q", "--threads=1", "--window=0"]);
    pack.stdin(range(tips, have)).into(HEADER, |header| {
        let count = header[8..].iter().fold(0u32, |count, byte| count << 8 | u32::from(*byte));
        // Waits for the disk once, for all of them.
        let call = |name: &str| -> Call { into.call(name).set("core.fsyncMethod=batch") };
        match count {
            0 => None,
            1..=LOOSE_MAX => Some(call("unpack-objects").arg("-q")),
            _ => Some(call("index-pack").arg("--stdin")),
        }
    })
}

/// Fails unless the repository has everything that is reachable from `tips` and not from `have`.
pub(crate) fn check(repo: &Repo, tips: &[&Sha], have: &[&Sha]) -> GitResult<()> {
    let call = repo.call("rev-list").args(["--objects", "--quiet", "--stdin"]);
    call.stdin(range(tips, have)).run().map(drop)
}

fn range(tips: &[&Sha], have: &[&Sha]) -> String {
    let tips = tips.iter().map(|tip| format!("{tip}\n"));
    tips.chain(have.iter().map(|known| format!("^{known}\n"))).collect()
}
