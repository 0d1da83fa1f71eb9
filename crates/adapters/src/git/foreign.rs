//! Repositories that others write: an agent's tree, and what is nested in one. Their configuration may name programs,
//! and git would run them for us: filters for the files that attributes give them, a remote's upload-pack, what lists
//! the refs of borrowed objects.
//!
//! Invariant: whatever such a configuration says, a git of ours runs only git. What every call pins is in
//! [`super::run`]; here are the settings that cannot be pinned without knowing their names. A repository with nothing
//! but what the factory wrote into it is not asked for them.
//!
//! (What is written between this look and the call is not seen. Trees are prepared before their agent starts; snapshots
//! do not depend on the tree's configuration at all.)

use super::call::Call;
use super::repos::MANAGED;
use super::run::Repo;
use crate::host::theirs;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A repository with none of these in its configuration names no program. (A section's name follows its bracket.)
const SIGNS: [&str; 9] = [
    "[filter",
    "[merge",
    "[include",
    "[remote",
    "[submodule",
    "alternaterefscommand",
    "sshcommand",
    "gitproxy",
    "worktreeconfig",
];

/// The sections that the factory itself writes.
fn own_sections() -> [String; 2] {
    [format!("[include]\n\tpath = {MANAGED}\n"), "[remote \"origin\"]\n".to_owned()]
}

/// A setting, and the value that counts instead.
pub(super) type Instead = (Cow<'static, str>, &'static str);

/// What a repository names could not be found out: every git there fails.
const UNKNOWN: Instead =
    (Cow::Borrowed("core.filemode"), "unknown, because its configuration could not be read");

/// How long a configuration may be that is looked through; a longer one is asked for.
const CONFIG_BYTES_MAX: u64 = 64 * 1024;

/// The settings of that git directory that name programs, each with a value that runs nothing.
pub(super) fn harmless(repo: &Repo) -> Vec<Instead> {
    let git_dir = repo.path();
    let config = match theirs::read(&git_dir.join("config"), CONFIG_BYTES_MAX) {
        Ok(config) => Some(config),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(_) => None,
    };
    let mut text = String::from_utf8_lossy(config.as_deref().unwrap_or_default()).to_ascii_lowercase();
    // Git joins a line that ends in a backslash with the next.
    let mut plain = config.is_some() && !text.contains("\\\n");
    for section in own_sections() {
        text = text.replacen(&section, "", 1);
    }
    plain &= !SIGNS.iter().any(|sign| text.contains(sign)) && !names_uploadpack(&text);
    if plain {
        return Vec::new();
    }
    // As if it were its own working tree: the one that it names need not exist.
    let call: Call = repo.call("config").env("GIT_WORK_TREE", git_dir);
    let listed = call.args(["--list", "--includes", "--show-scope", "--name-only", "-z"]).run();
    let listed = match listed {
        Ok(listed) => listed,
        // Git does not run anything from what it cannot read.
        Err(e) if e.says("bad config") => return Vec::new(),
        Err(_) => return vec![UNKNOWN],
    };
    let mut fields = listed.split(|byte| *byte == 0);
    let mut all = Vec::new();
    while let (Some(scope), Some(key)) = (fields.next(), fields.next()) {
        if matches!(scope, b"local" | b"worktree")
            && let Ok(key) = std::str::from_utf8(key)
            && let Some(value) = instead_of(key)
        {
            all.push((Cow::Owned(key.to_owned()), value));
        }
    }
    all.sort();
    all.dedup();
    all
}

/// What git opens first in a git directory, if it is no file: git would wait for somebody to write to a pipe.
pub(super) fn odd(git_dir: &Path) -> Option<PathBuf> {
    let names = ["HEAD", "config", "config.worktree", "index", "packed-refs", "commondir", "info/exclude"];
    names
        .into_iter()
        .map(|name| git_dir.join(name))
        .find(|path| std::fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file()))
}

fn names_uploadpack(config: &str) -> bool {
    ["uploadpack", "receivepack", "vcs", "promisor", "partialclone"].iter().any(|name| config.contains(name))
}

/// The value that runs nothing. Git lists sections and names in small letters.
fn instead_of(key: &str) -> Option<&'static str> {
    let (section, name) = (key.split_once('.')?.0, key.rsplit_once('.')?.1);
    Some(match (section, name) {
        // No filter: the file as it is.
        ("filter", "clean" | "smudge" | "process") => "",
        ("filter", "required") => "false",
        ("merge", "driver") => "false",
        ("diff", "command" | "textconv") => "false",
        ("core", "alternaterefscommand") => ":",
        ("core", "sshcommand") => "ssh",
        ("core", "gitproxy") => "",
        ("remote", "uploadpack") => "git-upload-pack",
        ("remote", "receivepack") => "git-receive-pack",
        ("remote", "vcs") => "",
        ("remote", "promisor") => "false",
        ("submodule", "update") => "none",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_program_is_known_whatever_it_is_called() {
        for key in [
            "filter.a.b.clean",
            "filter.x=y.smudge",
            "filter.x.process",
            "core.alternaterefscommand",
            "remote./srv/hub.git.uploadpack",
        ] {
            assert!(instead_of(key).is_some(), "{key}");
        }
        for key in ["user.name", "core.filemode", "remote.origin.url", "clean", "branch.a.merge"] {
            assert!(instead_of(key).is_none(), "{key}");
        }
    }
}
