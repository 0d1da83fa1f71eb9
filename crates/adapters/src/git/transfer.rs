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
    let mut wanted: String = tips.iter().map(|tip| format!("{tip}\n")).collect();
    wanted.extend(have.iter().map(|known| format!("^{known}\n")));
    let pack = from.call("pack-objects").args(["--revs", "--stdout", "-q", "--threads=1", "--window=0"]);
    pack.stdin(wanted).into(HEADER, |header| {
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
