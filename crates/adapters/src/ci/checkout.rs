//! A clean checkout of exactly one commit, for a CI run.

use crate::git::refs::{self, Head};
use crate::git::run::WITH_SUBMODULES;
use crate::host::command::{self, Finished};
use shopfloor_core::ids::Sha;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const GIT_TIMEOUT: Duration = Duration::from_secs(600);

/// Where a checkout comes from. Its refs are always those near origin: branches, tags, `origin/main`,
/// whatever the commit is.
pub(super) struct Source<'a> {
    pub(super) near: &'a Path,
    /// A repository that has the commit, if the near one does not.
    pub(super) lent: Option<&'a Path>,
}

impl Source<'_> {
    /// The repository that has the commit.
    pub(super) fn holder(&self) -> &Path {
        self.lent.unwrap_or(self.near)
    }

    /// Makes a repository at `git_dir`, with HEAD at the commit, and no file checked out. It borrows all objects, so
    /// a commit that no ref names (a merge candidate) is found too. What `git clone` would write is written as
    /// files: there are only a few, and every run needs them. It has no remote: checks have nothing to push and
    /// nowhere to push to.
    pub(super) fn borrow_into(&self, git_dir: &Path, commit: &Sha) -> io::Result<()> {
        for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"] {
            fs::create_dir_all(git_dir.join(folder))?;
        }
        let mut alternates = Vec::new();
        for repository in [Some(self.near), self.lent].into_iter().flatten() {
            alternates.extend_from_slice(repository.join("objects").as_os_str().as_bytes());
            alternates.push(b'\n');
        }
        fs::write(git_dir.join("objects/info/alternates"), alternates)?;
        let (version, format) = match commit.as_str().len() {
            64 => (1, "[extensions]\n\tobjectformat = sha256\n"),
            _ => (0, ""),
        };
        let config = format!(
            "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n{format}"
        );
        fs::write(git_dir.join("config"), config)?;
        fs::write(git_dir.join("packed-refs"), self.refs())?;
        if let Some(Head::On(name)) = refs::head(self.near) {
            let head = git_dir.join("refs/remotes/origin/HEAD");
            fs::create_dir_all(head.parent().expect("a folder is above it"))?;
            fs::write(head, format!("ref: {}\n", on_origin(&name)))?;
        }
        fs::write(git_dir.join("HEAD"), format!("{commit}\n"))
    }

    /// Origin's branches and tags as a clone has them, and the branch that it would have checked out.
    fn refs(&self) -> String {
        let branches = refs::list(self.near, "refs/heads/");
        let mut all = refs::list(self.near, "refs/tags/");
        if let Some(Head::On(name)) = refs::head(self.near)
            && let Some(commit) = branches.get(&name)
        {
            all.insert(name, commit.clone());
        }
        all.extend(branches.into_iter().map(|(name, commit)| (on_origin(&name), commit)));
        all.iter().map(|(name, commit)| format!("{commit} {name}\n")).collect()
    }
}

/// What a clone calls origin's branch of that full name.
fn on_origin(branch: &str) -> String {
    branch.replacen("refs/heads/", "refs/remotes/origin/", 1)
}

/// Checks `commit` out into `tree`, which must not exist. `Ok(Err(why))`: git could not.
pub(super) fn checkout(
    source: &Source<'_>,
    commit: &Sha,
    tree: &Path,
    path: &OsStr,
) -> io::Result<Result<(), String>> {
    source.borrow_into(&tree.join(".git"), commit)?;
    let mut reset = git(path);
    finish(
        "checkout",
        command::run(reset.arg("-C").arg(tree).args(["reset", "--quiet", "--hard"]), GIT_TIMEOUT),
    )
}

/// Whether the repository has the commit, as far as git can tell.
pub(super) fn has(repository: &Path, commit: &Sha, path: &OsStr) -> bool {
    let mut look = git(path);
    look.arg("--git-dir").arg(repository).args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
    let found = command::run(look.arg(format!("{commit}^{{commit}}")), GIT_TIMEOUT);
    !matches!(found, Ok(finished) if finished.status.code() == Some(1))
}

/// The files that `commit` changes against the primary branch near origin, with both names of a renamed file.
/// `None`: unknown.
pub(super) fn changed(
    near: &Path,
    tree: &Path,
    primary: &str,
    commit: &Sha,
    path: &OsStr,
) -> io::Result<Option<Vec<String>>> {
    let output = |folder: &Path, arguments: &[&str]| -> io::Result<Option<String>> {
        let mut command = git(path);
        let finished = command::run(command.arg("-C").arg(folder).args(arguments), GIT_TIMEOUT)?;
        Ok(finished.status.success().then_some(finished.stdout))
    };
    let Some(head) = output(near, &["rev-parse", "--verify", &format!("refs/heads/{primary}^{{commit}}")])?
    else {
        return Ok(None);
    };
    let Some(base) = output(tree, &["merge-base", head.trim(), commit.as_str()])? else { return Ok(None) };
    let base = base.trim();
    let range = ["diff", "--name-only", "-z", "--no-renames", WITH_SUBMODULES, base, commit.as_str(), "--"];
    let listed = output(tree, &range)?;
    // A list without git's terminator was cut.
    let whole = listed.filter(|list| list.is_empty() || list.ends_with('\0'));
    Ok(whole.map(|list| list.split_terminator('\0').map(str::to_owned).collect()))
}

/// The commit's subject, if git can tell. Asked of a repository that checks have not had: what they wrote into the
/// configuration of theirs would be obeyed.
pub(super) fn subject(repository: &Path, commit: &Sha, path: &OsStr) -> Option<String> {
    let mut log = git(path);
    log.arg("--git-dir").arg(repository).args(["log", "-1", "--format=%s", commit.as_str(), "--"]);
    let finished = command::run(&mut log, GIT_TIMEOUT).ok()?;
    finished.status.success().then_some(finished.stdout)
}

/// A file as a branch of the repository has it; `None`: it cannot be read.
pub(super) fn file(repository: &Path, branch: &str, name: &str, path: &OsStr) -> io::Result<Option<String>> {
    let mut show = git(path);
    show.arg("--git-dir").arg(repository).args(["cat-file", "blob", &format!("refs/heads/{branch}:{name}")]);
    let finished = command::run(&mut show, GIT_TIMEOUT)?;
    Ok(finished.status.success().then_some(finished.stdout))
}

/// Git without the user's or the machine's configuration, hooks or questions.
pub(super) fn git(path: &OsStr) -> Command {
    let mut git = command::named("git", path);
    git.env_clear()
        .env("PATH", path)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_ALLOW_PROTOCOL", "file")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.attributesFile=/dev/null",
            "-c",
            "advice.detachedHead=false",
        ]);
    git
}

pub(super) fn finish(what: &str, run: io::Result<Finished>) -> io::Result<Result<(), String>> {
    match run {
        Ok(finished) if finished.status.success() => Ok(Ok(())),
        Ok(finished) => {
            Ok(Err(format!("git {what} failed ({}): {}", finished.status, finished.stderr.trim())))
        }
        Err(e) if e.kind() == io::ErrorKind::TimedOut => {
            Ok(Err(format!("git {what} did not end in {} s", GIT_TIMEOUT.as_secs())))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Ok(Err("git is not installed (or not on the PATH of the checks)".to_owned()))
        }
        Err(e) => Err(e),
    }
}
