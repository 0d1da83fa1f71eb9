//! Upkeep of the floor's repositories: many small files become a few.
//!
//! Every landing leaves a dozen objects and two refs behind. Each is a file of its own, and git gets slower
//! with every one. The remedy drops nothing that anybody could need:
//!
//! * The repository near origin, whose objects all others borrow, keeps every object, referred to or not.
//!   Objects are only put into packs, and their files go once a pack has them; small packs become one. Git
//!   looks again for whatever it does not find where it was, also in what it borrows, so this is safe beside
//!   whatever runs.
//! * The queue's repository drops what that one has in packs, and what did not land within two weeks: it
//!   would be built again, as the same commit.
//! * The keeper, from which nobody borrows, is left to `git gc`. What no rescue ref holds goes after two
//!   weeks.
//!
//! Refs are packed in the first and the last, where each issue leaves some: a push or a fetch then reads one file,
//! however many pull requests there were.
//!
//! It may be cut short at any point: git renames a pack into place when it is complete and on disk, and what
//! an earlier run left half done is swept away first. A lock that may be somebody's only puts off the step that needs
//! it: nothing depends on that step being done today.

use super::locks;
use super::run::{GitError, GitResult, Repo};
use super::workspace::GitWorkspace;
use shopfloor_core::effect::Tidy;
use shopfloor_core::effect::outcome::Packed;
use shopfloor_engine::ports::PortResult;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much may accumulate before something is done.
struct Allowed {
    objects: usize,
    refs: usize,
}

/// When nobody works.
const IDLE: Allowed = Allowed { objects: 1_000, refs: 200 };
/// When upkeep would be in somebody's way and yet has to be done.
const BUSY: Allowed = Allowed { objects: 2_000, refs: 400 };
/// How many packs git may have to search, one after another, for each object.
const PACKS_MAX: usize = 20;
/// Files older than this cannot belong to a git that still runs.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);
/// Nor can locks older than this: they are held while an index is written, not while objects are packed.
const LOCK_LEFT_BEHIND: Duration = Duration::from_secs(3600);
const UNREFERRED: &str = "2.weeks.ago";

const PACKS: &str = "objects/pack";
const COMMIT_GRAPHS: &str = "objects/info/commit-graphs";

impl GitWorkspace {
    pub(super) fn keep_up(&self, tidy: &Tidy) -> PortResult<Packed> {
        let site = self.site(&tidy.project)?;
        let allowed = if tidy.idle { IDLE } else { BUSY };
        let (near, keeper) = (site.near(), &site.keeper);
        let queue = &self.git.scratch(&self.layout.queue_repo(&tidy.project));
        let refs = |repo: &Repo| Some(loose_refs(repo.path())).filter(|loose| *loose > allowed.refs);
        let objects = |repo: &Repo| -> GitResult<_> {
            Ok(Some(loose_objects(repo.path())?).filter(|loose| loose.len() > allowed.objects))
        };
        let mut packed = Packed::default();
        for repo in [near, keeper] {
            let Some(loose) = refs(repo) else { continue };
            packed.refs += loose as u64;
            if !tidy.dry_run {
                locks::sweep_repository(repo.path());
                repo.call("pack-refs").args(["--all", "--prune"]).run()?;
            }
        }
        let (of_near, of_queue, of_keeper) = (objects(near)?, objects(queue)?, objects(keeper)?);
        let loose = [&of_near, &of_queue, &of_keeper].into_iter().flatten();
        packed.objects = loose.map(|loose| loose.len() as u64).sum();
        if tidy.dry_run {
            return Ok(packed);
        }
        sweep(near.path())?;
        sweep(keeper.path())?;
        let grown = packs(near.path()) > PACKS_MAX || packed.refs > 0;
        if let Some(loose) = &of_near {
            pack(near, loose)?;
        }
        if grown || of_near.is_some() {
            index(near)?;
        }
        if of_queue.is_some() {
            queue.call("prune-packed").arg("--quiet").run()?;
            queue.call("prune").arg(format!("--expire={UNREFERRED}")).run()?;
        }
        if of_keeper.is_some() && is_free(keeper, PACKS) && is_free(keeper, COMMIT_GRAPHS) {
            keeper.call("gc").args(["--quiet", &format!("--prune={UNREFERRED}")]).run()?;
        }
        Ok(packed)
    }
}

/// Puts all loose objects into a pack, even unreferenced ones: somebody may be about to refer to them.
fn pack(repo: &Repo, loose: &[String]) -> GitResult<()> {
    let into = repo.path().join(PACKS).join("loose");
    let names: String = loose.iter().map(|name| format!("{name}\n")).collect();
    repo.call("pack-objects").arg("--quiet").arg(into).stdin(names).run()?;
    repo.call("prune-packed").arg("--quiet").run()?;
    Ok(())
}

/// Makes one pack of many, and writes down which commit follows which.
fn index(repo: &Repo) -> GitResult<()> {
    if packs(repo.path()) > PACKS_MAX && is_free(repo, PACKS) {
        // Makes one pack that has them all; then the others are not needed.
        for step in [&["write"][..], &["repack", "--batch-size=0"], &["expire"]] {
            repo.call("multi-pack-index").args(step).run()?;
        }
    }
    if is_free(repo, COMMIT_GRAPHS) {
        repo.call("commit-graph").args(["write", "--reachable", "--split", "--no-progress"]).run()?;
    }
    Ok(())
}

/// Whether nobody holds a lock in that folder, alive or dead.
fn is_free(repo: &Repo, folder: &str) -> bool {
    !entries(&repo.path().join(folder)).unwrap_or_default().iter().any(|file| is_lock(file))
}

fn is_lock(file: &Path) -> bool {
    file.extension().is_some_and(|ext| ext == "lock")
}

/// The names of the loose objects.
fn loose_objects(repo: &Path) -> GitResult<Vec<String>> {
    let objects = repo.join("objects");
    let mut all = Vec::new();
    for folder in entries(&objects)? {
        let Some(start) = name(&folder).filter(|name| is_hex(name) && name.len() == 2) else { continue };
        let files = entries(&folder)?;
        all.extend(
            files.iter().filter_map(|file| name(file)).filter(|n| is_hex(n)).map(|n| start.clone() + &n),
        );
    }
    Ok(all)
}

fn loose_refs(repo: &Path) -> usize {
    fn count(folder: &Path) -> usize {
        let all = entries(folder).unwrap_or_default();
        all.iter().map(|entry| if entry.is_dir() { count(entry) } else { 1 }).sum()
    }
    count(&repo.join("refs"))
}

fn packs(repo: &Path) -> usize {
    let all = entries(&repo.join("objects/pack")).unwrap_or_default();
    all.iter().filter(|file| file.extension().is_some_and(|ext| ext == "pack")).count()
}

/// Removes what a git that was killed long ago left among the packs: half a pack, or a lock.
fn sweep(repo: &Path) -> GitResult<()> {
    for folder in [PACKS, COMMIT_GRAPHS, "objects/info"] {
        for file in entries(&repo.join(folder))? {
            if name(&file).is_some_and(|n| n.starts_with("tmp_") || n.starts_with(".tmp-")) {
                locks::remove_stale(&file, LEFT_BEHIND);
            } else if is_lock(&file) {
                locks::remove_stale(&file, LOCK_LEFT_BEHIND);
            }
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> GitResult<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(entries.flatten().map(|entry| entry.path()).collect()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(GitError::io(format!("reading {}", folder.display()), e)),
    }
}

fn name(path: &Path) -> Option<String> {
    path.file_name()?.to_str().map(str::to_owned)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}
