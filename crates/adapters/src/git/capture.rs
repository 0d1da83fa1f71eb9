//! Everything that a tree's folder holds, as a git tree.
//!
//! It is built through an index of its own, so the worktree's index, HEAD and stash are not touched and locks
//! on them do not matter; and in the keeper, so what the agent configured does not matter either. It holds
//! tracked files (also those marked as assumed unchanged), untracked files that are not ignored, and the
//! files of repositories nested in the worktree and of submodules that differ from what HEAD says. What is too large
//! ([`super::bounds`]) is left out: of a tracked file, the version of the index stays.

use super::bounds::{self, Fits, Left};
use super::call::Call;
use super::commit::Commit;
use super::index::{INDEX_BYTES_MAX, Index};
use super::jailed::is_within;
use super::run::{Git, GitError, GitResult, Repo, WITH_SUBMODULES, parse_sha};
use super::site::Site;
use super::still::{self, Seen, Sizes};
use super::worktree::{Worktree, git_dir_of};
use crate::host::theirs;
use shopfloor_core::ids::Sha;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const NESTING_MAX: u32 = 8;

/// A temporary index that a killed process left is removed after this long.
const INDEX_STALE_AFTER: Duration = Duration::from_secs(600);

enum Seed {
    Index,
    Head,
}

/// Everything in a tree's folder.
#[derive(Clone, Debug)]
pub(super) struct Captured {
    pub tree: Sha,
    /// The folders in it that are repositories themselves.
    pub nested: Vec<PathBuf>,
    /// What is not in it.
    pub left: Vec<Left>,
    /// A mark of the index that was written as the tree; `None`: it was not written just now.
    pub entries: Option<u64>,
    pub changed: Option<Changed>,
}

/// How many files differ from what the index held, or are in one of the two alone.
#[derive(Clone, Debug)]
pub(super) struct Changed {
    pub files: u32,
    /// The tree that the index stood for.
    pub since: Sha,
}

impl Captured {
    /// `anew`: whatever the times of its files say, git looks at them, unless it did so a moment ago.
    pub(super) fn of(
        git: &Git,
        site: &Site,
        worktree: &Worktree,
        head: Option<&Sha>,
        anew: bool,
    ) -> GitResult<Captured> {
        sweep(site.keeper.path());
        let seen = look(worktree);
        let known = seen.look.and_then(|look| match anew {
            true => git.stills.take_asked(&worktree.git_dir, look, head),
            false => git.stills.get(&worktree.git_dir, look, head),
        });
        if let Some(known) = known {
            return Ok(known);
        }
        let captured = Captured::by_asking(git, site, worktree, head, seen.sizes)?;
        if let Some(look) = seen.look.filter(|_| captured.nested.is_empty()) {
            git.stills.put(&worktree.git_dir, look, head, &captured);
        }
        Ok(captured)
    }

    /// The last capture, if nothing was written since.
    pub(super) fn known(git: &Git, worktree: &Worktree, head: Option<&Sha>) -> Option<Captured> {
        git.stills.get(&worktree.git_dir, look(worktree).look?, head)
    }

    /// The last capture, if that snapshot was proved to hold it and nothing was written since. A proof counts once.
    pub(super) fn proved(
        git: &Git,
        worktree: &Worktree,
        head: Option<&Sha>,
        snapshot: &Sha,
    ) -> Option<Captured> {
        git.stills.take_proved(&worktree.git_dir, look(worktree).look?, head, snapshot)
    }

    fn by_asking(
        git: &Git,
        site: &Site,
        worktree: &Worktree,
        head: Option<&Sha>,
        sizes: Option<Sizes>,
    ) -> GitResult<Captured> {
        let caps = site.project.caps;
        let small = sizes.is_some_and(|sizes| sizes.total <= caps.total && sizes.largest <= caps.file);
        let seeded = |seed| {
            Capture {
                git,
                site,
                worktree,
                nested: Vec::new(),
                left: Vec::new(),
                room: caps.total,
                small,
                entries: None,
                changed: None,
            }
            .seeded(head, seed)
        };
        match seeded(Seed::Index) {
            // The worktree's index is unreadable: HEAD's tree is the next best start.
            Err(GitError::Failed { stderr, .. })
                if stderr.contains("index file") || stderr.contains("broken index") =>
            {
                seeded(Seed::Head)
            }
            captured => captured,
        }
    }
}

/// Besides the files: what the index says of them. (What is ignored also depends on the user's own list, which is not
/// looked at: a change of it counts when something else changes.)
fn look(worktree: &Worktree) -> Seen {
    let besides = ["index", "info/sparse-checkout"].map(|name| worktree.git_dir.join(name));
    still::look(&worktree.path, &besides.each_ref().map(PathBuf::as_path))
}

/// One attempt at capturing.
struct Capture<'a> {
    git: &'a Git,
    site: &'a Site,
    worktree: &'a Worktree,
    nested: Vec<PathBuf>,
    left: Vec<Left>,
    /// How much more is taken in.
    room: u64,
    /// All that is in the folder is known to fit.
    small: bool,
    entries: Option<u64>,
    changed: Option<Changed>,
}

impl Capture<'_> {
    fn seeded(mut self, head: Option<&Sha>, seed: Seed) -> GitResult<Captured> {
        let folder = self.site.folder(self.git, self.worktree, &self.worktree.path);
        let index = TemporaryIndex::new(&self.site.keeper);
        let is_there = match seed {
            Seed::Index => index.copy_of(&self.worktree.git_dir.join("index"))?,
            Seed::Head => false,
        };
        match head {
            _ if is_there => {}
            Some(head) => {
                index.call(&folder, "read-tree").arg(head.as_str()).run()?;
            }
            None => {}
        }
        let tree = self.capture(&folder, &index, head, 0)?;
        let Capture { nested, left, entries, changed, .. } = self;
        Ok(Captured { tree, nested, left: bounds::named(left), entries, changed })
    }

    /// Adds what is in `folder` and fits to the index. Returns repositories in it that were found on the way, and are
    /// not in the index.
    /// `theirs`: repositories that are in the index. They are looked at by themselves: git would run a git in each, by
    /// the rules that it has there.
    fn add(
        &mut self,
        folder: &Repo,
        index: &TemporaryIndex,
        theirs: &[OsString],
    ) -> GitResult<Vec<OsString>> {
        if !self.small {
            let caps = self.site.project.caps;
            match bounds::fits(folder, &self.worktree.path, index, caps, &mut self.room)? {
                Fits::All => self.small = true,
                Fits::AllBut(ignored) => self.left.extend(ignored),
                Fits::Some { add, nested, left } => {
                    self.left.extend(left);
                    return add_some(folder, index, add).map(|()| nested);
                }
            }
        }
        match add_all(folder, index, theirs) {
            // A nested repository without a commit. Only then are such repositories searched for, since that
            // costs a walk.
            Err(e) if e.says("does not have a commit checked out") => {
                let nested = nested_repositories(folder, index)?;
                add_all(folder, index, &[theirs, &nested].concat())?;
                Ok(nested)
            }
            added => added.map(|()| Vec::new()),
        }
    }

    /// The tree of everything in `folder`, computed through `index`.
    fn capture(
        &mut self,
        folder: &Repo,
        index: &TemporaryIndex,
        head: Option<&Sha>,
        depth: u32,
    ) -> GitResult<Sha> {
        let before = match index.read(head) {
            Some(read) => read,
            None => ask_index(folder, index)?,
        };
        trust_no_flag(folder, index, &before)?;
        let there = before.links.iter().map(|(path, _)| path);
        let theirs: Vec<OsString> = there.filter(|path| is_repository(folder, path)).cloned().collect();
        let mut nested = self.add(folder, index, &theirs)?;

        // A nested repository with a commit is in the index as that commit, which no repository here has.
        let now = index.read(head);
        let mut staged = match &now {
            Some(now) if now.links.is_empty() => Vec::new(),
            _ => new_gitlinks(folder, index, head)?,
        };
        // A submodule's changes are in no repository that outlives the worktree.
        for (path, commit) in &before.links {
            self.nested.push(folder.path().join(path));
            if !staged.contains(path)
                && is_changed(self.git, self.worktree, &folder.path().join(path), commit)?
            {
                staged.push(path.clone());
            }
        }
        for path in &staged {
            index.call(folder, "update-index").args(["--force-remove", "--"]).arg(path).run()?;
        }
        nested.extend(staged);
        if nested.is_empty()
            && let (Some(head), Some(now)) = (head, now)
        {
            let all = depth == 0 && now.links.is_empty() && self.left.iter().all(|left| left.ignored);
            if let Some(since) = before.own_tree().filter(|_| all) {
                self.changed = Some(Changed { files: now.differing(&before, head), since: since.clone() });
            }
            if let Some(tree) = now.tree(&before)
                && Commit::read(&self.site.looking_into(Some(self.worktree)), head)?.tree == tree
            {
                // Everything is as in HEAD, whose tree is there.
                return Ok(tree);
            }
            if depth == 0 {
                let entries = self.git.mark(&now.entries());
                self.entries = Some(entries);
                if let Some(tree) = self.git.stills.written(&self.worktree.git_dir, entries) {
                    return Ok(tree);
                }
            }
        }
        for path in nested {
            if depth == NESTING_MAX {
                let top = self.worktree.path.display();
                let what = format!("repositories nested deeper than {NESTING_MAX} in {top}");
                return Err(GitError::io(what, std::io::ErrorKind::Unsupported.into()));
            }
            let inside = folder.path().join(&path);
            // An index that was written by hand may name what is elsewhere, and so may a link.
            if !is_within(&inside, &[&self.worktree.path]) {
                continue;
            }
            let inner = self.site.folder(self.git, self.worktree, &inside);
            self.nested.push(inside);
            let inner_index = TemporaryIndex::new(&self.site.keeper);
            let tree = self.capture(&inner, &inner_index, None, depth + 1)?;
            let mut prefix = OsString::from("--prefix=");
            prefix.push(&path);
            prefix.push("/");
            index.call(folder, "read-tree").arg(prefix).arg(tree.as_str()).run()?;
        }
        index.call(folder, "write-tree").sha()
    }
}

/// Adds these files to the index as they are now, or takes them out if they are gone.
fn add_some(folder: &Repo, index: &TemporaryIndex, paths: Vec<u8>) -> GitResult<()> {
    let add = ADDING.iter().fold(index.call(folder, "update-index"), |add, setting| add.set(setting));
    add.args(["--add", "--remove", "--replace", "-z", "--stdin"]).stdin(paths).run()?;
    Ok(())
}

/// Unsafe line ends are no reason to leave a file out; one sync for all objects.
const ADDING: [&str; 3] = ["core.safecrlf=false", "core.fsyncMethod=batch", "advice.addEmbeddedRepo=false"];

/// Adds everything in `folder` to the index, except what is below these paths.
fn add_all(folder: &Repo, index: &TemporaryIndex, but: &[OsString]) -> GitResult<()> {
    let add = ADDING.iter().fold(index.call(folder, "add"), |add, setting| add.set(setting));
    let mut paths = b":/\0".to_vec();
    for path in but {
        paths.extend_from_slice(b":(top,exclude,literal)");
        paths.extend_from_slice(path.as_bytes());
        paths.push(0);
    }
    // Nor are sparse checkouts.
    let add = add.args(["-A", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"]);
    add.stdin(paths).run()?;
    Ok(())
}

/// Clears the flags that tell git not to look at a file, where there is a file.
fn trust_no_flag(folder: &Repo, index: &TemporaryIndex, read: &Index) -> GitResult<()> {
    for (paths, flag) in [(&read.assumed, "--no-assume-unchanged"), (&read.skipped, "--no-skip-worktree")] {
        let there = |path: &&OsString| std::fs::symlink_metadata(folder.path().join(path)).is_ok();
        let paths: Vec<u8> =
            paths.iter().filter(there).flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
        if !paths.is_empty() {
            index.call(folder, "update-index").args([flag, "-z", "--stdin"]).stdin(paths).run()?;
        }
    }
    Ok(())
}

/// What git says of an index that only it can read.
fn ask_index(folder: &Repo, index: &TemporaryIndex) -> GitResult<Index> {
    let listing = index.call(folder, "ls-files").args(["-v", "--stage", "-z"]).run()?;
    let mut read = Index::default();
    for entry in listing.split(|byte| *byte == 0).filter(|entry| entry.len() > 2) {
        // `tag mode object stage`, a tab, the path.
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
        let (tag, path) = (entry[0], OsStr::from_bytes(&entry[tab + 1..]).to_owned());
        if let Some(rest) = entry[2..tab].strip_prefix(b"160000 ") {
            let id = String::from_utf8_lossy(rest.split(|byte| *byte == b' ').next().unwrap_or_default());
            read.links.push((path.clone(), parse_sha("git ls-files --stage", &id)?));
        }
        if tag.is_ascii_lowercase() {
            read.assumed.push(path.clone());
        }
        if tag.eq_ignore_ascii_case(&b'S') {
            read.skipped.push(path);
        }
    }
    Ok(read)
}

fn is_repository(folder: &Repo, path: &OsStr) -> bool {
    folder.path().join(path).join(".git").exists()
}

/// Whether the submodule in that folder of the tree holds anything but its recorded commit.
pub(crate) fn is_changed(git: &Git, worktree: &Worktree, folder: &Path, commit: &Sha) -> GitResult<bool> {
    is_changed_at(git, worktree, folder, commit, 0)
}

/// Those in it are asked one by one, each by nobody's rules.
fn is_changed_at(git: &Git, worktree: &Worktree, folder: &Path, commit: &Sha, depth: u32) -> GitResult<bool> {
    if !folder.join(".git").exists() || !is_within(folder, &[&worktree.path]) {
        return Ok(false);
    }
    // Of one that is elsewhere, only the files are this tree's: better looked at too often.
    let Some(repo) = worktree.nested(git, folder) else { return Ok(true) };
    if depth == NESTING_MAX || repo.commit("HEAD")?.as_ref() != Some(commit) {
        return Ok(true);
    }
    let call = repo.call("status").args(["--porcelain", "-z", "--untracked-files=all"]);
    if !call.arg("--ignore-submodules=dirty").run()?.is_empty() {
        return Ok(true);
    }
    let index = git_dir_of(folder).and_then(|git_dir| Index::read(&git_dir.join("index"), commit));
    // One that is not read here may name others: better looked at too often.
    let Some(index) = index else { return Ok(true) };
    for (path, commit) in &index.links {
        if is_changed_at(git, worktree, &folder.join(path), commit, depth + 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Untracked repositories: git lists each as a folder and does not look inside.
fn nested_repositories(folder: &Repo, index: &TemporaryIndex) -> GitResult<Vec<OsString>> {
    let listing = index.call(folder, "ls-files").args(["-z", "--others", "--exclude-standard"]).run()?;
    let entries = listing.split(|byte| *byte == 0);
    Ok(entries
        .filter_map(|entry| entry.strip_suffix(b"/"))
        .map(|path| OsStr::from_bytes(path).into())
        .collect())
}

/// Repositories staged since HEAD, and submodules that are at another commit than HEAD says.
fn new_gitlinks(folder: &Repo, index: &TemporaryIndex, head: Option<&Sha>) -> GitResult<Vec<OsString>> {
    let against = match head {
        Some(head) => head.clone(),
        None => folder.call("mktree").stdin("").sha()?,
    };
    let call =
        index.call(folder, "diff-index").args(["--cached", "--raw", "-z", "--no-renames", WITH_SUBMODULES]);
    let listing = call.args(["--ignore-submodules=none", against.as_str(), "--"]).run()?;
    let mut fields = listing.split(|byte| *byte == 0);
    let mut paths = Vec::new();
    while let (Some(modes), Some(path)) = (fields.next(), fields.next()) {
        let path = OsStr::from_bytes(path);
        let moved = modes.starts_with(b":160000");
        // A submodule that is not checked out has nothing but its commit to keep.
        if modes.get(8..14) == Some(b"160000") && (!moved || is_repository(folder, path)) {
            paths.push(path.into());
        }
    }
    Ok(paths)
}

/// An index file that exists for one computation.
pub(crate) struct TemporaryIndex {
    path: PathBuf,
}

const INDEX_PREFIX: &str = "shopfloor-index-";

impl TemporaryIndex {
    /// In a repository that only the factory writes.
    pub(crate) fn new(keeper: &Repo) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        TemporaryIndex { path: keeper.path().join(format!("{INDEX_PREFIX}{}-{number}", std::process::id())) }
    }

    /// Starts from another index, which saves hashing files that did not change. Its modification time is
    /// copied, too: git considers a file changed if it is not older than the index.
    /// False if what is there is no file. One that does not exist is empty.
    fn copy_of(&self, index: &Path) -> GitResult<bool> {
        let from = match theirs::open(index) {
            Ok(from) => from,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(true),
            Err(_) => return Ok(false),
        };
        let copy = || {
            let mut from = from.take(INDEX_BYTES_MAX);
            let modified = from.get_ref().metadata()?.modified()?;
            let mut to = File::options().write(true).create_new(true).open(&self.path)?;
            std::io::copy(&mut from, &mut to)?;
            to.set_modified(modified)
        };
        copy().map(|()| true).map_err(|e| GitError::io(format!("copying {}", index.display()), e))
    }

    /// What is in it; `head` shows how objects are named. `None`: only git can say.
    fn read(&self, head: Option<&Sha>) -> Option<Index> {
        Index::read(&self.path, head?)
    }

    pub(crate) fn call(&self, repo: &Repo, subcommand: &str) -> Call {
        repo.call(subcommand).through_index(&self.path)
    }
}

impl Drop for TemporaryIndex {
    fn drop(&mut self) {
        // Leftovers are swept later.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn sweep(git_dir: &Path) {
    let Ok(entries) = std::fs::read_dir(git_dir) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_bytes().starts_with(INDEX_PREFIX.as_bytes()) {
            super::locks::remove_stale(&entry.path(), INDEX_STALE_AFTER);
        }
    }
}
