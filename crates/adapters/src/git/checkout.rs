//! The user's own checkout. It is theirs: uncommitted work is never touched, and no branch but the primary
//! one is ever moved, whatever they do at the same time.
//!
//! Both directions are here. What was merged goes to the checkout: first the files, which git refuses if
//! anything of the user's is in the way; then the primary branch, by name and by compare-and-swap; if the
//! checkout is on another branch by then, the files go back. The move is noted beforehand, so that one that
//! was cut short is finished. And the user's own commits on the primary branch go to origin: directly, if
//! that only adds to it, else as a branch for the merge queue.

use super::GitProject;
use super::commit::Commit;
use super::origin::{Move, Origin, Push};
use super::refs::{self, Head};
use super::repos::{is_nowhere, tracked_changes};
use super::run::{Git, GitError, GitResult, Repo, WITH_SUBMODULES, branch_ref};
use crate::host::atomic::write_atomic;
use shopfloor_core::effect::Taken;
use shopfloor_core::ids::{Sha, checkout_branch};
use shopfloor_core::planner::TreeId;
use shopfloor_core::text;
use shopfloor_engine::ports::{PortError, PortResult};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A project's checkout, and what belongs to it.
pub(crate) struct Checkout<'a> {
    pub(crate) git: &'a Git,
    pub(crate) origin: &'a dyn Origin,
    pub(crate) project: &'a GitProject,
    /// Where the move in progress is noted.
    pub(crate) intent: PathBuf,
}

/// What HEAD names in a repository whose refs are not in files of their own.
const REFS_ELSEWHERE: &str = "refs/heads/.invalid";

/// Whether the checkout could be brought to another commit, or why not.
type Moved = Result<(), String>;

impl Checkout<'_> {
    fn repo(&self) -> Repo {
        self.git.tree(&self.project.checkout)
    }

    fn primary(&self) -> String {
        format!("refs/heads/{}", self.project.primary_branch)
    }

    /// Origin's primary branch, as the checkout has last seen it.
    fn tracking(&self) -> String {
        format!("refs/remotes/shopfloor/{}", self.project.primary_branch)
    }

    /// The checkout's git directory, if its files can be read without asking git: not if it is a worktree of
    /// another repository, or keeps its refs elsewhere than in files.
    fn own_dir(&self) -> Option<PathBuf> {
        let dir = self.project.checkout.join(".git");
        let kept_elsewhere = || matches!(refs::head(&dir), Some(Head::On(name)) if name == REFS_ELSEWHERE);
        let whole = ["objects", "refs"].iter().all(|name| dir.join(name).is_dir());
        (whole && !kept_elsewhere()).then_some(dir)
    }

    /// The commit that is checked out.
    fn head(&self, repo: &Repo) -> GitResult<Option<Sha>> {
        match self.own_dir().and_then(|dir| refs::read(&dir, "HEAD")) {
            Some(head) => Ok(Some(head)),
            None => repo.commit("HEAD"),
        }
    }

    /// The branch that is checked out; empty if there is none.
    fn on(&self, repo: &Repo) -> GitResult<String> {
        // A branch that stands for another is left to git.
        let leads_on = |dir: &Path, name: &str| {
            std::fs::read_to_string(dir.join(name)).is_ok_and(|text| text.starts_with("ref:"))
        };
        if let Some(dir) = self.own_dir() {
            match refs::head(&dir) {
                Some(Head::On(name)) if !leads_on(&dir, &name) => return Ok(name),
                Some(Head::Detached(_)) => return Ok(String::new()),
                _ => {}
            }
        }
        Ok(repo.call("symbolic-ref").args(["--quiet", "HEAD"]).ending(&[0, 1])?.text())
    }

    fn is_there(&self, repo: &Repo) -> GitResult<bool> {
        if self.own_dir().is_some_and(|dir| refs::head(&dir).is_some()) {
            return Ok(true);
        }
        match repo.call("rev-parse").arg("--is-inside-work-tree").text() {
            Ok(answer) => Ok(answer == "true"),
            Err(e) if is_nowhere(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Origin's primary branch, with its commits in the checkout.
    fn fetch(&self, repo: &Repo) -> PortResult<Option<Sha>> {
        let (primary, tracking) = (self.primary(), self.tracking());
        self.origin.look()?;
        if self.origin.seen(&primary).is_none() {
            return Ok(None);
        }
        let call = repo.call("fetch").args(["--quiet", "--no-tags", "--no-write-fetch-head", "--"]);
        call.arg(self.origin.near().path()).arg(format!("+{primary}:{tracking}")).run()?;
        match self.own_dir().and_then(|dir| refs::read(&dir, &tracking)) {
            Some(commit) => Ok(Some(commit)),
            None => Ok(repo.commit(&tracking)?),
        }
    }

    /// What a person types to bring both together. It works with every git, and the result is taken in.
    fn pull(&self) -> String {
        format!("run `git pull --rebase shopfloor {}` there when it suits you", self.project.primary_branch)
    }

    /// Whether the checkout is now at origin's primary branch, and what to tell the user.
    pub(crate) fn sync(&self) -> PortResult<(bool, String)> {
        let (branch, primary) = (&self.project.primary_branch, self.primary());
        let at = self.project.checkout.display();
        let left = |why: String| Ok((false, format!("{at} {why}; {}", self.pull())));
        let repo = self.repo();
        if !self.is_there(&repo)? {
            return Ok((false, format!("there is no checkout of {} at {at} any more", self.project.name)));
        }
        self.finish(&repo)?;
        let on = self.on(&repo)?;
        if on != primary {
            let on =
                on.strip_prefix("refs/heads/").map_or("no branch".into(), |name| text::one_line(name, 80));
            let fetch = format!("`git fetch shopfloor {branch}:{branch}` brings {branch} up to date");
            return Ok((false, format!("{at} is on {on}, not {branch}, and was left as it is; {fetch}")));
        }
        let changed = tracked_changes(&repo)?;
        if !changed.is_empty() {
            return left(format!("has {} uncommitted change(s) and was left as it is", changed.len()));
        }
        let (Some(ours), Some(theirs)) = (self.head(&repo)?, self.fetch(&repo)?) else {
            return left("has no commit".into());
        };
        // What was just published continues from where the checkout was brought to the last time.
        let continues = ours == theirs || self.origin.near().is_known_ancestor(&ours, &theirs);
        let base = if continues { Some(ours.clone()) } else { repo.merge_base(&ours, &theirs)? };
        if base.as_ref() == Some(&theirs) {
            return Ok((ours == theirs, format!("{at} has everything that was merged")));
        }
        if base.as_ref() != Some(&ours) && !self.has_landed(&ours) {
            return left(format!("has commits of its own on {branch} and was left as it is"));
        }
        match self.move_to(&repo, &ours, &theirs)? {
            Ok(()) => Ok((true, format!("{at} was brought to {}", theirs.short()))),
            Err(why) => left(format!("could not be brought up to date ({why})")),
        }
    }

    /// Whether everything in this head of the checkout went through the merge queue, perhaps as other
    /// commits.
    fn has_landed(&self, ours: &Sha) -> bool {
        self.origin.seen(&format!("refs/shopfloor/merged/{ours}")).is_some()
    }

    /// Brings files and branch from one commit to another, both or neither.
    fn move_to(&self, repo: &Repo, ours: &Sha, theirs: &Sha) -> GitResult<Moved> {
        let io = |e| GitError::io(format!("writing {}", self.intent.display()), e);
        write_atomic(&self.intent, format!("{ours} {theirs}\n").as_bytes(), 0o600).map_err(io)?;
        let moved = self.move_noted(repo, ours, theirs);
        if moved.is_ok() {
            std::fs::remove_file(&self.intent).map_err(io)?;
        }
        moved
    }

    fn move_noted(&self, repo: &Repo, ours: &Sha, theirs: &Sha) -> GitResult<Moved> {
        if let Some(file) = in_the_way(repo, ours, theirs)? {
            return Ok(Err(format!("{} is in the way", text::one_line(&file.to_string_lossy(), 200))));
        }
        if let Err(e) = carry(repo, ours, theirs) {
            // Files in the way belong to the user; any other error means that somebody holds the index just
            // now.
            let kept = ["would be overwritten", "not uptodate", "would be removed", "would lose untracked"];
            return if kept.iter().any(|sign| e.says(sign)) {
                Ok(Err(text::one_line(&e.to_string(), 300)))
            } else {
                Err(e)
            };
        }
        let primary = self.primary();
        // The user may have switched branches or committed while the files were written.
        let stays = self.on(repo)? == primary && self.head(repo)?.as_ref() == Some(ours);
        let swapped = if stays {
            let call = repo.call("update-ref").args(["-m", "shopfloor: what was merged", &primary]);
            call.args([theirs.as_str(), ours.as_str()]).run().map(|_| true)
        } else {
            Ok(false)
        };
        // Moved by name: whichever branch the checkout is on now, no other was moved.
        if matches!(swapped, Ok(true)) && self.on(repo)? == primary {
            return Ok(Ok(()));
        }
        // Unless the user has committed what was carried there, or has pulled.
        let differs = repo.call("diff-index").args(["--cached", "--quiet", WITH_SUBMODULES, "HEAD", "--"]);
        if differs.ending(&[0, 1])?.code == 1 {
            carry(repo, theirs, ours)?;
        }
        swapped.map(|_| Err("another branch was checked out meanwhile".to_owned()))
    }

    /// Finishes, or takes back, a move that an earlier daemon was cut short in.
    fn finish(&self, repo: &Repo) -> GitResult<()> {
        let Ok(noted) = std::fs::read_to_string(&self.intent) else { return Ok(()) };
        let mut shas = noted.split_whitespace().filter_map(|word| word.parse::<Sha>().ok());
        if let (Some(ours), Some(theirs)) = (shas.next(), shas.next())
            && self.head(repo)?.as_ref() == Some(&ours)
            && self.holds(repo, &theirs)?
        {
            let primary = self.primary();
            if self.on(repo)? == primary {
                let call = repo.call("update-ref").args(["-m", "shopfloor: what was merged", &primary]);
                call.args([theirs.as_str(), ours.as_str()]).run()?;
            } else {
                carry(repo, &theirs, &ours)?;
            }
        }
        std::fs::remove_file(&self.intent)
            .map_err(|e| GitError::io(format!("removing {}", self.intent.display()), e))
    }

    /// Whether index and files are exactly those of the commit.
    fn holds(&self, repo: &Repo, commit: &Sha) -> GitResult<bool> {
        refresh(repo)?;
        let index =
            repo.call("diff-index").args(["--cached", "--quiet", WITH_SUBMODULES, commit.as_str(), "--"]);
        let files = repo.call("diff-files").arg("--quiet");
        Ok(index.ending(&[0, 1])?.code == 0 && files.ending(&[0, 1])?.code == 0)
    }

    /// Whether origin's primary branch has ever been at one of the commits that only the checkout has. Then
    /// they are not new: somebody took them away there, and the checkout must not put them back.
    fn was_there(&self, repo: &Repo, theirs: &Sha, ours: &Sha) -> GitResult<bool> {
        let more = repo.call("rev-list").args([ours.as_str(), &format!("^{theirs}"), "--"]).text()?;
        let log = |repo: &Repo, name: &str| -> GitResult<String> {
            repo.call("log").args(["--walk-reflogs", "--format=%H", name, "--"]).text()
        };
        // A branch's log is deleted with it; what the checkout has seen of the branch stays.
        let was = log(self.origin.near(), &self.primary())? + "\n" + &log(repo, &self.tracking())?;
        let was: BTreeSet<&str> = was.lines().collect();
        Ok(more.lines().any(|commit| was.contains(commit)))
    }

    /// Takes the user's own commits on the primary branch to origin.
    pub(crate) fn take(&self) -> PortResult<Taken> {
        let repo = self.repo();
        if !self.is_there(&repo)? {
            return Ok(Taken::Nothing);
        }
        self.finish(&repo)?;
        let primary = self.primary();
        let Some(ours) = repo.commit(&primary)? else { return Ok(Taken::Nothing) };
        let Some(theirs) = self.fetch(&repo)? else { return Ok(Taken::Nothing) };
        if ours == theirs || repo.is_ancestor(&ours, &theirs)? {
            return Ok(Taken::Nothing);
        }
        if self.was_there(&repo, &theirs, &ours)? {
            return Ok(Taken::Nothing);
        }
        if repo.is_ancestor(&theirs, &ours)? {
            // Only forward, and only from where it was just seen.
            let moves = [Move { name: primary.clone(), old: Some(theirs), new: Some(ours.clone()) }];
            let why = "shopfloor: committed in the checkout";
            let push = Push { from: &repo, moves: &moves, standing: &[], forward: true, why };
            // Something may have landed in between: the next attempt will see it.
            return match self.origin.push(&push).map_err(PortError::transient)? {
                Ok(()) => {
                    self.fetch(&repo)?;
                    Ok(Taken::Forwarded { head: ours })
                }
                Err(_) => Err(PortError::transient(format!("{primary} moved meanwhile"))),
            };
        }
        if self.has_landed(&ours) {
            return Ok(Taken::Landed { head: ours });
        }
        let branch = checkout_branch(&self.project.primary_branch);
        let full = branch_ref(&branch)?;
        if self.origin.put(&repo, &full, &ours, false)?.is_err() {
            return Err(PortError::transient(format!("{branch} moved meanwhile")));
        }
        let commit = Commit::read_all(self.origin.near(), &[&ours])?.remove(0);
        let by = repo.call("log").args(["-1", "--format=%an", ours.as_str(), "--"]).text()?;
        Ok(Taken::Parted {
            branch,
            head: ours,
            tree: TreeId(commit.tree.clone()),
            title: commit.subject(),
            by: text::one_line(&by, 80),
        })
    }
}

/// An uncommitted file where another is to be written. Git itself considers ignored files dispensable.
fn in_the_way(repo: &Repo, from: &Sha, to: &Sha) -> GitResult<Option<PathBuf>> {
    let call = repo.call("diff-tree").args(["-r", "-z", "--name-status", "--no-renames", WITH_SUBMODULES]);
    let listed = call.args([from.as_str(), to.as_str(), "--"]).run()?;
    let (mut added, mut gone) = (BTreeSet::new(), BTreeSet::new());
    let mut fields = listed.split(|byte| *byte == 0);
    while let (Some(status), Some(name)) = (fields.next(), fields.next()) {
        let path = PathBuf::from(OsStr::from_bytes(name));
        match status {
            b"A" => drop(added.insert(path)),
            b"D" => drop(gone.insert(path)),
            _ => {}
        }
    }
    let root = repo.path();
    for path in &added {
        let above = path.ancestors().skip(1).filter(|p| !p.as_os_str().is_empty());
        let file_above = above
            .filter(|p| !gone.contains(*p))
            .find(|p| root.join(p).symlink_metadata().is_ok_and(|meta| !meta.is_dir()));
        if let Some(file) = file_above.map(Path::to_owned).or_else(|| untracked(root, path, &gone)) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// What is at a path, or in the folder there, and is not going to be removed anyway.
fn untracked(root: &Path, path: &Path, gone: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let meta = root.join(path).symlink_metadata().ok()?;
    if !meta.is_dir() {
        return (!gone.contains(path)).then(|| path.to_owned());
    }
    let entries = std::fs::read_dir(root.join(path)).ok()?.flatten();
    entries.map(|entry| path.join(entry.file_name())).find_map(|inner| untracked(root, &inner, gone))
}

/// Changes index and files from one commit to another. Refuses to touch changed or untracked files.
fn carry(repo: &Repo, from: &Sha, to: &Sha) -> GitResult<()> {
    let read = || {
        let call = repo.call("read-tree").set("submodule.recurse=false");
        call.args(["-m", "-u", from.as_str(), to.as_str()]).run().map(drop)
    };
    match read() {
        // Nothing was written. A file may only have been touched, which git finds out if it is asked to look.
        Err(e) if e.says("not uptodate") || e.says("would be overwritten") => {
            refresh(repo).and_then(|()| read())
        }
        done => done,
    }
}

/// Has git look again at files that were touched but not changed: it would consider them changed.
fn refresh(repo: &Repo) -> GitResult<()> {
    repo.call("update-index").args(["-q", "--refresh"]).ending(&[0, 1]).map(drop)
}

/// Where a branch of a checkout is, read from the git directory that holds its branches, without starting a
/// process.
pub fn branch(refs: &Path, branch: &str) -> Option<Sha> {
    super::refs::read(refs, &format!("refs/heads/{branch}"))
}

/// The files that are written when the branch moves.
pub fn files_of(refs: &Path, branch: &str) -> [PathBuf; 2] {
    super::refs::files_of(refs, branch)
}

/// The git directory that holds a checkout's branches, even if the checkout is a worktree of another.
pub fn branches_of(git: &Git, checkout: &Path) -> Option<PathBuf> {
    let call = git.tree(checkout).call("rev-parse").args(["--path-format=absolute", "--git-common-dir"]);
    call.text().ok().map(PathBuf::from).filter(|dir| dir.is_absolute())
}
