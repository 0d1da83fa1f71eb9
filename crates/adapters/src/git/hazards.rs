//! What can be out of order in a worktree: an operation that was cut short, a HEAD on no branch or on another
//! one, a submodule with changes, a lock that a dead git left. Each is put in words that an agent can act
//! upon; nothing here changes anything but the lock.

use super::capture::is_changed;
use super::run::{Git, GitResult, parse_sha};
use super::worktree::Worktree;
use crate::host::theirs;
use shopfloor_core::ids::Sha;
use shopfloor_core::text::one_line;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const STEP_BYTES_MAX: u64 = 16;

/// A git operation that was begun and not finished.
pub(crate) struct Operation {
    pub what: String,
    pub go_on: &'static str,
    pub give_up: &'static str,
}

impl Operation {
    pub(crate) fn note(&self) -> String {
        format!("{} is in progress: `{}` goes on, `{}` gives it up", self.what, self.go_on, self.give_up)
    }
}

pub(crate) fn operation(worktree: &Worktree) -> Option<Operation> {
    let dir = &worktree.git_dir;
    let there = |name: &str| dir.join(name).exists();
    let read = |name: &str| {
        let text = theirs::read_to_string(&dir.join(name), STEP_BYTES_MAX).ok()?;
        text.trim().parse::<u32>().ok()
    };
    let step = |at: &str, of: &str| match (read(at), read(of)) {
        (Some(at), Some(of)) => format!(" (step {at} of {of})"),
        _ => String::new(),
    };
    let (what, go_on, give_up) = if there("rebase-merge") {
        let what = format!("a rebase{}", step("rebase-merge/msgnum", "rebase-merge/end"));
        (what, "git rebase --continue", "git rebase --abort")
    } else if there("rebase-apply/applying") {
        ("an application of patches".to_owned(), "git am --continue", "git am --abort")
    } else if there("rebase-apply") {
        let what = format!("a rebase{}", step("rebase-apply/next", "rebase-apply/last"));
        (what, "git rebase --continue", "git rebase --abort")
    } else if there("MERGE_HEAD") {
        ("a merge".to_owned(), "git merge --continue", "git merge --abort")
    } else if there("CHERRY_PICK_HEAD") {
        ("a cherry-pick".to_owned(), "git cherry-pick --continue", "git cherry-pick --abort")
    } else if there("REVERT_HEAD") {
        ("a revert".to_owned(), "git revert --continue", "git revert --abort")
    } else if there("BISECT_LOG") {
        ("a bisection".to_owned(), "git bisect good|bad", "git bisect reset")
    } else {
        return None;
    };
    Some(Operation { what, go_on, give_up })
}

/// Commits at HEAD that the branch lacks, if HEAD is not on the branch.
pub(crate) fn astray(worktree: &Worktree, full: &str) -> GitResult<Option<String>> {
    let on = worktree.branch();
    let (Some(head), Some(branch)) = (worktree.head()?, worktree.at_ref(full)) else { return Ok(None) };
    if on.as_deref() == Some(full) || head == branch {
        return Ok(None);
    }
    let range = format!("{branch}..{head}");
    let count = worktree.repo.call("rev-list").args(["--count", &range, "--"]).text()?;
    if count == "0" {
        return Ok(None);
    }
    let name = full.trim_start_matches("refs/heads/");
    let place = match &on {
        Some(on) => {
            format!("branch {} is checked out", one_line(on.trim_start_matches("refs/heads/"), 100))
        }
        None => "HEAD is detached".to_owned(),
    };
    Ok(Some(format!(
        "{place}, at {}, with {count} commits that {name} lacks: `git switch {name}` and `git merge {head}` take them there",
        head.short()
    )))
}

/// Submodules with changes: only whoever made the changes can publish them.
pub(crate) fn submodules(git: &Git, worktree: &Worktree) -> GitResult<Vec<String>> {
    if !worktree.path.join(".gitmodules").exists() {
        return Ok(Vec::new());
    }
    let listing = worktree.repo.call("ls-tree").args(["-r", "-z", "--full-tree", "HEAD"]).run()?;
    let mut notes = Vec::new();
    for entry in listing.split(|byte| *byte == 0) {
        let Some(rest) = entry.strip_prefix(b"160000 commit ") else { continue };
        let Some(tab) = rest.iter().position(|byte| *byte == b'\t') else { continue };
        let commit: Sha = parse_sha("git ls-tree", &String::from_utf8_lossy(&rest[..tab]))?;
        let path = Path::new(OsStr::from_bytes(&rest[tab + 1..]));
        if is_changed(git, worktree, &worktree.path.join(path), &commit)? {
            notes.push(format!(
                "submodule {} has changes: commit and push them there yourself, nobody else does",
                one_line(&path.to_string_lossy(), 100)
            ));
        }
    }
    Ok(notes)
}

/// The pid of a git process that works in the folder, if there is one. Processes we cannot inspect are not
/// ours.
pub(crate) fn git_at_work(folder: &Path) -> Option<u32> {
    let real = folder.canonicalize().ok()?;
    let entries = std::fs::read_dir("/proc").ok()?;
    entries.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        let cwd = std::fs::read_link(entry.path().join("cwd")).ok()?;
        (name.trim_end().starts_with("git") && cwd.starts_with(&real)).then_some(pid)
    })
}
