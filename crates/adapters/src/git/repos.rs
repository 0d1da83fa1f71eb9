//! A project's repositories on the floor, and the user's checkout that the project comes from.
//!
//! * `hub.git` is origin ([`super::origin`]) when the floor keeps the branches itself. Its `update` hook
//!   keeps a session to its own branch. If origin is a remote, `origin.git` is the repository near it.
//! * `clone.git` is the keeper: rescue refs, and branches of removed trees. It borrows origin's objects. (Its
//!   name is from when agents worked in worktrees of it; some floors may still have these.)
//! * `repos/` has a repository for each tree that an agent works in ([`super::repository`]).
//! * `queue.git` belongs to the merge queue alone; its HEAD points at a branch that never exists. It sees
//!   origin's objects without having them.
//!
//! All of them borrow the objects near origin, so nothing there is ever deleted. Git is told so
//! (`extensions.preciousObjects`), so that not even a manual `git gc` does it.
//!
//! A repository is made beside its place and renamed into it, so it is there completely or not at all. The
//! factory's settings are in a file of their own that the repository's `config` includes: it is rewritten
//! when it differs, and settings made by others stay.

use super::bounds::Caps;
use super::origin::{self, Move, Origin, Push};
use super::ours::{Wanted, keep_copy};
use super::refs;
use super::run::{Git, GitError, GitResult, IDENTITY_EMAIL, IDENTITY_NAME, Repo, UPLOAD, branch_ref, quoted};
use super::sign::Signing;
use crate::host::atomic::write_atomic;
use crate::host::theirs;
use crate::layout::Layout;
use shopfloor_core::ids::{ProjectName, Sha, Target};
use shopfloor_core::redact::Redactor;
use shopfloor_core::text;
use shopfloor_engine::ports::PortError;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct GitProject {
    pub name: ProjectName,
    pub primary_branch: String,
    /// Other branches that work lands on.
    pub targets: Vec<Target>,
    /// The user's own checkout.
    pub checkout: PathBuf,
    /// Whether snapshots are sent to origin as well.
    pub push_rescues: bool,
    /// How much a snapshot takes in.
    pub caps: Caps,
    /// What no commit may hold that is published.
    pub secrets: Redactor,
    /// How the commits that land are signed.
    pub signing: Option<Signing>,
    /// The URL of the remote where a new project's branches are to live.
    pub origin: Option<String>,
}

/// How the adapters look a project up.
pub type Projects = Arc<dyn Fn(&ProjectName) -> Option<GitProject> + Send + Sync>;

/// Why a folder cannot become a project, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckoutProblem {
    #[error("{} is not in a git repository: run `git init` there and commit something", .0.display())]
    NotARepository(PathBuf),
    #[error("{} is a bare repository: run this in a checkout of it (`git clone`)", .0.display())]
    Bare(PathBuf),
    #[error("the repository has no commit yet: commit something first")]
    NoCommits,
    #[error("the repository is a shallow clone: run `git fetch --unshallow` first")]
    Shallow,
    #[error("there is no branch {wanted:?}; set `primary_branch` to one of: {}", available.join(", "))]
    NoPrimaryBranch { wanted: String, available: Vec<String> },
    #[error("{} tracked file(s) have uncommitted changes ({}): commit or stash them first", files.len(), list(files))]
    Dirty { files: Vec<String> },
}

fn list(files: &[String]) -> String {
    let shown = files.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    if files.len() > 5 { format!("{shown}, …") } else { shown }
}

#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    #[error(transparent)]
    Checkout(#[from] CheckoutProblem),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("origin: {0}")]
    Origin(#[from] PortError),
}

/// Where origin's primary branch is, compared with the checkout's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginState {
    /// Origin had none, or an older one; it now has the checkout's.
    Pushed,
    Same,
    /// The checkout can be fast-forwarded.
    Ahead,
    /// Neither contains the other; origin is left as it is.
    Diverged {
        origin: Sha,
        checkout: Sha,
    },
}

/// Says to the hub's hook that the factory itself pushes, and nothing that lands. (An agent that says so is not on
/// record either, and the merge queue stands still for what it moved.)
pub(super) const FACTORY: &str = "SHOPFLOOR_FACTORY";

pub(super) const MANAGED: &str = "shopfloor.config";

const UPDATE_HOOK: &str = r#"#!/bin/sh
# Written by shopfloor, which writes it again when it differs.
# Keeps an agent's session to its own branch, and that to going forward. Checks push nothing. Whoever else pushes is
# asked for by the kernel's word, and put on record: what moves a branch that work lands on and is not on record holds
# the merge queue.
refuse() {
    echo "shopfloor: refused to update $1: $2" >&2
    exit 1
}
[ -z "${SHOPFLOOR_CI_RUN+set}" ] || refuse "$1" "a project's checks may not push"
[ -z "${SHOPFLOOR_SETUP+set}" ] || refuse "$1" "a worktree's setup may not push"
[ -z "${SHOPFLOOR_STEP+set}" ] || refuse "$1" "a run's commands may not push"
if [ -z "${SHOPFLOOR_SESSION+set}" ]; then
    [ -z "${SHOPFLOOR_FACTORY+set}" ] || exit 0
    here=$(pwd -P) && project=${here%/*} && floor=${project%/*/*}
    [ -x "$floor/bin/shopfloor" ] || exit 0
    case $1 in
    refs/heads/*) ;;
    *) exit 0 ;;
    esac
    (
        unset GIT_DIR GIT_QUARANTINE_PATH
        exec "$floor/bin/shopfloor" --home "$floor" --project "${project##*/}" hook pushed "$1" "$2" "$3"
    ) < /dev/null >&2
    case $? in
    0) exit 0 ;;
    6) refuse "$1" "only a person may push here, or an agent to its own branch" ;;
    *) echo "shopfloor: who pushed $1 is not on record; if work lands on it, the merge queue will wait for you" >&2 ;;
    esac
    exit 0
fi
own="refs/heads/${SHOPFLOOR_BRANCH:-}"
[ "$1" = "$own" ] ||
    refuse "$1" "a session may push only its own branch ($own); the merge queue moves the primary branch"
case $3 in
*[!0]*) ;;
*) refuse "$1" "a session may not delete its branch; shopfloor does that once it is merged" ;;
esac
case $2 in
*[!0]*)
    git merge-base --is-ancestor "$2" "$3" ||
        refuse "$1" "this would drop commits that are pushed already; merge or rebase onto origin's branch and push without force"
    ;;
esac
"#;

/// Makes the project's repositories, or brings their settings up to date.
pub fn ensure(git: &Git, layout: &Layout, project: &GitProject) -> GitResult<()> {
    ensure_with(git, layout, project, &*origin::of(git, layout, &project.name))
}

fn ensure_with(git: &Git, layout: &Layout, project: &GitProject, origin: &dyn Origin) -> GitResult<()> {
    let (clone, queue) = (layout.clone_repo(&project.name), layout.queue_repo(&project.name));
    let near = origin.near().path();
    let common = common_config();
    // Checks and reviews fetch the exact commit they are about, which may no longer be on any branch.
    let serves = "[uploadpack]\n\tallowAnySHA1InWant = true\n";
    // A hooksPath in somebody's global configuration must not switch the hub's hook off. Branches have a log
    // of where they have been; a pinned ref has never been anywhere else, and its log would be one more file
    // for ever.
    // Whoever pushes need not be told of every pull request there has been.
    let near_config = format!(
        "{common}{serves}[core]\n\thooksPath = hooks\n\tlogAllRefUpdates = true\n\
         [receive]\n\tautogc = false\n\thideRefs = refs/pull/\n"
    );
    let mut clone_config = common.clone().into_bytes();
    clone_config.extend_from_slice(b"[push]\n\tdefault = current\n[remote \"origin\"]\n\turl = ");
    clone_config.extend_from_slice(&quoted(origin.url()));
    clone_config.extend_from_slice(b"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n");

    let wanted = [near, &clone, &queue].iter().any(|dir| !dir.join("HEAD").exists());
    let format = if wanted { object_format(git, &project.checkout)? } else { String::new() };
    let queue_config = format!("{common}{serves}").into_bytes();
    // Only the floor itself pushes to the repository near a remote.
    let hook = Wanted { name: "hooks/update", content: Some(UPDATE_HOOK.into()), mode: 0o755 };
    let head = &project.primary_branch;
    keep(git, (&format, near, head), (near_config.into_bytes(), true), vec![hook, stores(None)])?;
    let borrowed = || vec![stores(Some(borrowed_from(near)))];
    keep(git, (&format, &clone, head), (clone_config, false), borrowed())?;
    keep(git, (&format, &queue, "shopfloor-queue-has-no-branch"), (queue_config, false), borrowed())
}

/// Makes the repository, brings what git obeys there up to date, and looks after it from now on. `precious`: git
/// refuses to delete objects there.
fn keep(
    git: &Git,
    (format, dir, head): (&str, &Path, &str),
    (managed, precious): (Vec<u8>, bool),
    more: Vec<Wanted>,
) -> GitResult<()> {
    let is_new = !dir.join("HEAD").exists();
    make(git, format, dir, head)?;
    let file = |name, content| Wanted { name, content: Some(content), mode: 0o644 };
    let mut wanted = vec![file("config", own_config(dir, precious)?), file(MANAGED, managed)];
    wanted.extend(more);
    for Wanted { name, content, mode } in &wanted {
        if let Some(content) = content {
            let path = dir.join(name);
            // Somebody may have added to it, before it was looked after.
            if *name == "config" && !is_new && std::fs::read(&path).is_ok_and(|there| there != *content) {
                keep_copy(dir, &path).map_err(|e| GitError::io(format!("copying {}", path.display()), e))?;
            }
            write_if_different(&path, content, *mode)?;
        }
    }
    git.keep(dir, wanted);
    Ok(())
}

/// The file that says which other stores are looked into.
fn stores(borrowed: Option<Vec<u8>>) -> Wanted {
    Wanted { name: "objects/info/alternates", content: borrowed, mode: 0o644 }
}

/// The repository's `config`. How its objects are named is what it was made with.
fn own_config(dir: &Path, precious: bool) -> GitResult<Vec<u8>> {
    let path = dir.join("config");
    let sha256 = match std::fs::read(&path) {
        Ok(now) => String::from_utf8_lossy(&now).to_ascii_lowercase().contains("objectformat = sha256"),
        // Somebody removed it.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            refs::list(dir, "refs/").values().any(|commit| commit.as_str().len() == 64)
        }
        Err(e) => return Err(GitError::io(format!("reading {}", path.display()), e)),
    };
    let mut extensions = String::new();
    if sha256 {
        extensions.push_str("\tobjectformat = sha256\n");
    }
    // Git does not look for this setting in included files.
    if precious {
        extensions.push_str("\tpreciousObjects = true\n");
    }
    if !extensions.is_empty() {
        extensions.insert_str(0, "[extensions]\n");
    }
    let version = u8::from(sha256);
    let core = format!("[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = true\n");
    Ok(format!("{core}{extensions}[include]\n\tpath = {MANAGED}\n").into_bytes())
}

/// The configuration that every repository of the floor has.
pub(super) fn common_config() -> String {
    format!(
        "[user]\n\tname = {IDENTITY_NAME}\n\temail = {IDENTITY_EMAIL}\n\
         [core]\n\tfsync = committed,reference\n\tlogAllRefUpdates = always\n\
         [gc]\n\tauto = 0\n\tpruneExpire = never\n\treflogExpire = never\n\tworktreePruneExpire = never\n\
         [maintenance]\n\tauto = false\n"
    )
}

/// Lets a repository see the objects of the one near origin.
pub(super) fn borrow(repo: &Path, near: &Path) -> GitResult<()> {
    // Who works there may have made it lead elsewhere.
    if let Some(link) =
        ["objects", "objects/info"].map(|part| repo.join(part)).iter().find(|part| part.is_symlink())
    {
        let why = std::io::Error::other("it is a link that leads elsewhere");
        return Err(GitError::io(format!("writing to {}", link.display()), why));
    }
    write_if_different(&repo.join("objects/info/alternates"), &borrowed_from(near), 0o644)
}

/// Whether it does.
pub(super) fn borrows(repo: &Path, near: &Path) -> bool {
    let wanted = borrowed_from(near);
    theirs::read(&repo.join("objects/info/alternates"), wanted.len() as u64)
        .is_ok_and(|there| there == wanted)
}

fn borrowed_from(near: &Path) -> Vec<u8> {
    // Absolute: git ignores a relative path that it meets through another repository's alternates.
    let mut borrowed = near.join("objects").into_os_string().into_vec();
    borrowed.push(b'\n');
    borrowed
}

/// How a checkout's objects are named.
fn object_format(git: &Git, checkout: &Path) -> GitResult<String> {
    match git.tree(checkout).call("rev-parse").arg("--show-object-format").text() {
        // There is no checkout (any more) to go by.
        Err(e) if is_nowhere(&e) => Ok("sha1".to_owned()),
        format => format,
    }
}

/// Makes a bare repository at `dir` with that HEAD, unless there is one.
fn make(git: &Git, format: &str, dir: &Path, head: &str) -> GitResult<()> {
    if dir.join("HEAD").exists() {
        return Ok(());
    }
    let parent = dir.parent().expect("the layout puts repositories in the project's folder");
    std::fs::create_dir_all(parent).map_err(|e| GitError::io(format!("making {}", parent.display()), e))?;
    let mut new = dir.as_os_str().to_owned();
    new.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(new);
    git.call("init")
        .args(["--quiet", "--bare", "--template="])
        .arg(format!("--object-format={format}"))
        .arg(format!("--initial-branch={head}"))
        .arg("--")
        .arg(&new)
        .run()?;
    let io = |e| GitError::io(format!("setting up {}", new.display()), e);
    std::fs::rename(&new, dir).map_err(io)
}

pub(super) fn write_if_different(path: &Path, bytes: &[u8], mode: u32) -> GitResult<()> {
    let io = |e| GitError::io(format!("writing {}", path.display()), e);
    if theirs::read(path, bytes.len() as u64).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let parent = path.parent().expect("a file in a repository");
    std::fs::create_dir_all(parent).map_err(io)?;
    if parent.is_symlink() {
        return Err(io(std::io::Error::other("its folder is a link that leads elsewhere")));
    }
    write_atomic(path, bytes, mode).map_err(io)
}

/// The top of the checkout that `path` is in.
pub fn find_checkout(git: &Git, path: &Path) -> Result<PathBuf, RegisterError> {
    let found = git.call("rev-parse").at(path).arg("--show-toplevel").run();
    match found {
        Ok(bytes) => {
            let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            Ok(PathBuf::from(OsString::from_vec(line.to_vec())))
        }
        Err(e) if is_nowhere(&e) => Err(CheckoutProblem::NotARepository(path.to_owned()).into()),
        Err(e) if e.says("must be run in a work tree") => Err(CheckoutProblem::Bare(path.to_owned()).into()),
        Err(e) => Err(e.into()),
    }
}

/// Whether git was asked in a folder that does not exist, or that is in no repository.
pub(super) fn is_nowhere(error: &GitError) -> bool {
    error.says("not a git repository") || error.says("cannot change to")
}

/// The branch the user most likely means: the one checked out, else `main`, else `master`.
pub fn guess_primary(git: &Git, checkout: &Path) -> Result<String, RegisterError> {
    let repo = git.tree(checkout);
    let current = repo.call("symbolic-ref").args(["--quiet", "--short", "HEAD"]).ending(&[0, 1])?;
    let branches = branches(&repo)?;
    let current = current.text();
    let guess = [current.as_str(), "main", "master"]
        .into_iter()
        .find(|name| branches.iter().any(|branch| branch == name))
        .map(str::to_owned);
    match guess {
        Some(name) => Ok(name),
        None if branches.is_empty() => Err(CheckoutProblem::NoCommits.into()),
        None => Err(CheckoutProblem::NoPrimaryBranch { wanted: "main".into(), available: branches }.into()),
    }
}

fn branches(repo: &Repo) -> GitResult<Vec<String>> {
    let text = repo.call("for-each-ref").args(["--format=%(refname)", "refs/heads/"]).text()?;
    Ok(text.lines().filter_map(|name| name.strip_prefix("refs/heads/")).map(str::to_owned).collect())
}

/// Whether the checkout can become a project.
pub fn validate(git: &Git, project: &GitProject) -> Result<(), RegisterError> {
    let top = find_checkout(git, &project.checkout)?;
    let repo = git.tree(&top);
    let branches = branches(&repo)?;
    if repo.commit("HEAD")?.is_none() && branches.is_empty() {
        return Err(CheckoutProblem::NoCommits.into());
    }
    if !branches.contains(&project.primary_branch) || branch_ref(&project.primary_branch).is_err() {
        let wanted = text::one_line(&project.primary_branch, 80);
        return Err(CheckoutProblem::NoPrimaryBranch { wanted, available: branches }.into());
    }
    if repo.call("rev-parse").arg("--is-shallow-repository").text()? == "true" {
        return Err(CheckoutProblem::Shallow.into());
    }
    let files = tracked_changes(&repo)?;
    if !files.is_empty() {
        return Err(CheckoutProblem::Dirty { files }.into());
    }
    Ok(())
}

/// Tracked files that differ from HEAD, staged or not.
pub(crate) fn tracked_changes(repo: &Repo) -> GitResult<Vec<String>> {
    let call = repo.call("status").args(["--porcelain", "-z", "--no-renames", "--untracked-files=no"]);
    let bytes = call.run()?;
    let entries = bytes.split(|byte| *byte == 0).filter(|entry| entry.len() > 3);
    Ok(entries.map(|entry| text::one_line(&String::from_utf8_lossy(&entry[3..]), 200)).collect())
}

/// Makes the project's repositories, gives the checkout a remote `shopfloor` and brings origin's primary
/// branch to the checkout's if that only adds commits. May be repeated at will. `allow_dirty`: uncommitted
/// changes stay behind, and the user knows.
pub fn register(
    git: &Git,
    layout: &Layout,
    project: &GitProject,
    allow_dirty: bool,
) -> Result<OriginState, RegisterError> {
    match validate(git, project) {
        Err(RegisterError::Checkout(CheckoutProblem::Dirty { .. })) if allow_dirty => {}
        other => other?,
    }
    let url = project.origin.as_deref();
    let origin = origin::wanted(git, layout, &project.name, url)?;
    ensure_with(git, layout, project, &*origin)?;
    origin.look()?;
    origin::settle(layout, &project.name, url)?;
    let repo = git.tree(&project.checkout);
    let primary = format!("refs/heads/{}", project.primary_branch);
    repo.call("config").args(["--replace-all", "remote.shopfloor.url"]).arg(origin.url()).run()?;
    let fetch = "+refs/heads/*:refs/remotes/shopfloor/*";
    repo.call("config").args(["--replace-all", "remote.shopfloor.fetch", fetch]).run()?;

    let ours = repo.commit(&primary)?.ok_or(CheckoutProblem::NoCommits)?;
    let theirs = origin.near().refs(&[&primary])?.remove(0);
    if let Some(theirs) = theirs.clone() {
        if theirs == ours {
            return Ok(OriginState::Same);
        }
        let tracking = format!("+{primary}:refs/remotes/shopfloor/{}", project.primary_branch);
        let call = repo.call("fetch").args(["--quiet", "--no-tags", UPLOAD, "--"]);
        call.arg(origin.near().path()).arg(tracking).run()?;
        if repo.is_ancestor(&ours, &theirs)? {
            return Ok(OriginState::Ahead);
        }
        if !repo.is_ancestor(&theirs, &ours)? {
            return Ok(OriginState::Diverged { origin: theirs, checkout: ours });
        }
    }
    let moves = [Move { name: primary, old: theirs, new: Some(ours.clone()) }];
    let push =
        Push { from: &repo, moves: &moves, standing: &[], forward: true, why: "shopfloor: registered" };
    match origin.push(&push)? {
        Ok(()) => Ok(OriginState::Pushed),
        Err(_) => Err(PortError::transient("the primary branch moved meanwhile: try again").into()),
    }
}
