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
//! It may be cut short at any point: git renames a pack into place when it is complete and on disk, and what
//! an earlier run left half done is swept away first.

use super::locks;
use super::run::{GitError, GitResult, Repo};
use super::workspace::GitWorkspace;
use shopfloor_core::ids::ProjectName;
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
const BUSY: Allowed = Allowed { objects: 20_000, refs: 4_000 };
/// How many packs git may have to search, one after another, for each object.
const PACKS_MAX: usize = 20;
/// Files older than this cannot belong to a git that still runs.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);
const UNREFERRED: &str = "2.weeks.ago";

impl GitWorkspace {
    pub(super) fn keep_up(&self, project: &ProjectName, idle: bool) -> PortResult<()> {
        let site = self.site(project)?;
        let allowed = if idle { IDLE } else { BUSY };
        let near = site.near();
        let queue = self.git.scratch(&self.layout.queue_repo(project));
        sweep(near.path())?;
        if loose_refs(near.path()) > allowed.refs {
            locks::sweep_repository(near.path());
            near.call("pack-refs").args(["--all", "--prune"]).run()?;
        }
        let loose = loose_objects(near.path())?;
        if loose.len() > allowed.objects {
            pack(near, &loose)?;
        }
        if loose_objects(queue.path())?.len() > allowed.objects {
            queue.call("prune-packed").arg("--quiet").run()?;
            queue.call("prune").arg(format!("--expire={UNREFERRED}")).run()?;
        }
        if loose_objects(site.keeper.path())?.len() > allowed.objects {
            site.keeper.call("gc").args(["--quiet", &format!("--prune={UNREFERRED}")]).run()?;
        }
        Ok(())
    }
}

/// Puts all loose objects into a pack, even unreferenced ones: somebody may be about to refer to them.
fn pack(repo: &Repo, loose: &[String]) -> GitResult<()> {
    let into = repo.path().join("objects/pack/loose");
    let names: String = loose.iter().map(|name| format!("{name}\n")).collect();
    repo.call("pack-objects").arg("--quiet").arg(into).stdin(names).run()?;
    repo.call("prune-packed").arg("--quiet").run()?;
    if packs(repo.path()) > PACKS_MAX {
        // Makes one pack that has them all; then the others are not needed.
        for step in [&["write"][..], &["repack", "--batch-size=0"], &["expire"]] {
            repo.call("multi-pack-index").args(step).run()?;
        }
    }
    repo.call("commit-graph").args(["write", "--reachable", "--split", "--no-progress"]).run()?;
    Ok(())
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
    for folder in ["objects/pack", "objects/info/commit-graphs", "objects/info"] {
        for file in entries(&repo.join(folder))? {
            let half = name(&file).is_some_and(|n| n.starts_with("tmp_") || n.starts_with(".tmp-"));
            if half || file.extension().is_some_and(|ext| ext == "lock") {
                locks::remove_stale(&file, LEFT_BEHIND);
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
