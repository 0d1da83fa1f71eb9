//! Questions that verifiers ask about a working tree: each answer says yes or no, and why.

use super::branches::changed_paths;
use super::run::{Git, GitResult, branch_ref};
use shopfloor_core::digest::Digest;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How many changed files [`progress`] looks at.
const FILES_MAX: usize = 500;

/// A yes or no, in words.
pub type Answer = (bool, String);

fn no(why: impl Into<String>) -> GitResult<Answer> {
    Ok((false, why.into()))
}

/// Whether no file differs from HEAD and none is untracked (ignored files aside).
pub fn is_clean(git: &Git, tree: &Path) -> GitResult<Answer> {
    let call = git.others_tree(tree).call("status").args([
        "--porcelain",
        "-z",
        "--no-renames",
        "--ignore-submodules=dirty",
    ]);
    let changed = call.arg("--untracked-files=all").run()?.iter().filter(|byte| **byte == 0).count();
    Ok(match changed {
        0 => (true, "nothing is uncommitted".to_owned()),
        count => (false, format!("{count} uncommitted files")),
    })
}

/// Whether HEAD has at least `min` commits that `of` does not have, and no more than `max`.
pub fn commits_ahead(git: &Git, tree: &Path, of: &str, min: u32, max: Option<u32>) -> GitResult<Answer> {
    let repo = git.others_tree(tree);
    let Some(base) = repo.commit(of)? else { return no(format!("there is no {of}")) };
    let Some(head) = repo.commit("HEAD")? else { return no("there is no commit") };
    let range = format!("{base}..{head}");
    let count = repo.call("rev-list").args(["--count", &range, "--"]).text()?;
    let ahead: u32 = count.trim().parse().unwrap_or(0);
    let wanted = match max {
        Some(max) if max == min => format!("{min} are wanted"),
        Some(max) => format!("from {min} to {max} are wanted"),
        None => format!("at least {min} are wanted"),
    };
    let fits = ahead >= min && max.is_none_or(|max| ahead <= max);
    Ok((fits, format!("{ahead} commits that {of} has not ({wanted})")))
}

/// Whether HEAD changes nothing but such files, against where it left `of`.
pub fn changes_only(git: &Git, tree: &Path, of: &str, is_one: impl Fn(&str) -> bool) -> GitResult<Answer> {
    let repo = git.others_tree(tree);
    let Some(base) = repo.commit(of)? else { return no(format!("there is no {of}")) };
    let Some(head) = repo.commit("HEAD")? else { return no("there is no commit") };
    let met = repo.call("merge-base").args([base.as_str(), head.as_str()]).ending(&[0, 1])?;
    let from = met.text().trim().parse().ok();
    let changed = changed_paths(&repo, from.as_ref(), &head)?;
    Ok(match changed.iter().find(|path| !is_one(path)) {
        Some(other) => (false, format!("{other} is changed as well")),
        None => (true, format!("{} files are changed, and no others", changed.len())),
    })
}

/// Whether the branch, by default the one checked out, is on the remote at the same commit as here.
pub fn is_pushed(git: &Git, tree: &Path, remote: &str, branch: Option<&str>) -> GitResult<Answer> {
    let repo = git.others_tree(tree);
    let branch = match branch {
        Some(branch) => branch.to_owned(),
        None => {
            let current = repo.call("symbolic-ref").args(["--quiet", "--short", "HEAD"]).ending(&[0, 1])?;
            if current.code != 0 {
                return no("no branch is checked out");
            }
            current.text()
        }
    };
    let Ok(full) = branch_ref(&branch) else { return no(format!("{branch:?} cannot be a branch")) };
    let Some(here) = repo.commit(&full)? else { return no(format!("there is no branch {branch}")) };
    Ok(match repo.remote_refs(OsStr::new(remote), &[&full])?.into_iter().next().flatten() {
        None => (false, format!("{remote} has no branch {branch}")),
        Some(there) if there == here => (true, format!("{remote} has {branch} at {}", here.short())),
        Some(there) => {
            (false, format!("{remote} has {branch} at {}, here it is at {}", there.short(), here.short()))
        }
    })
}

pub fn branch_exists(git: &Git, tree: &Path, branch: &str) -> GitResult<Answer> {
    let Ok(full) = branch_ref(branch) else { return no(format!("{branch:?} cannot be a branch")) };
    Ok(match git.others_tree(tree).commit(&full)? {
        Some(commit) => (true, format!("branch {branch} is at {}", commit.short())),
        None => (false, format!("there is no branch {branch}")),
    })
}

/// A value that changes whenever work is done in the tree: a commit, or a change to a file that git watches.
pub fn progress(git: &Git, tree: &Path) -> GitResult<String> {
    let repo = git.others_tree(tree);
    let head = repo.commit("HEAD")?.map(|head| head.to_string()).unwrap_or_default();
    let changed =
        repo.call("status").args(["--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty"]).run()?;
    let mut digest = Digest::new().field(head.as_bytes()).field(&changed);
    for entry in changed.split(|byte| *byte == 0).filter(|entry| entry.len() > 3).take(FILES_MAX) {
        if let Ok(meta) = std::fs::symlink_metadata(tree.join(OsStr::from_bytes(&entry[3..]))) {
            let stamp = format!("{} {} {}", meta.len(), meta.mtime(), meta.mtime_nsec());
            digest = digest.field(stamp.as_bytes());
        }
    }
    Ok(format!("{:016x}", digest.finish()))
}
