//! What a client finds of its person's own in a jail: the settings, to read; the login, which it may renew; nothing
//! else. Its conversations and whatever it notes are in a folder of the tree's own, at the same place inside and
//! outside, so that the daemon reads its log and a successor continues its conversation.

use super::launch::Environment;
use super::{client, json_file, trust};
use crate::host::atomic::write_atomic;
use crate::host::remove;
use crate::jail::{Jail, make_room};
use serde_json::Value;
use shopfloor_core::runtime::Setup;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A client's own folder.
struct Own {
    /// Says where it is.
    variable: &'static str,
    folder: &'static str,
    settings: &'static [&'static str],
    /// Renewed in its place, so the person's own is shown: a copy that is renewed would make the person's worthless.
    login: &'static str,
}

const CLAUDE: Own = Own {
    variable: "CLAUDE_CONFIG_DIR",
    folder: ".claude",
    settings: &[
        "settings.json",
        "settings.local.json",
        "CLAUDE.md",
        "agents",
        "commands",
        "hooks",
        "keybindings.json",
        "output-styles",
        "plugins",
        "rules",
        "skills",
        "statusline.sh",
    ],
    login: ".credentials.json",
};

const CODEX: Own = Own {
    variable: "CODEX_HOME",
    folder: ".codex",
    settings: &["config.toml", "AGENTS.md", "hooks.json", "prompts", "rules", "skills"],
    login: "auth.json",
};

/// What of Claude Code's notes is about other work of the person's.
const OTHERS: [&str; 2] = ["projects", "history"];

/// Sends the client to the jail's folders.
pub(super) fn move_in<'j>(
    jail: Jail<'j>,
    setup: Setup,
    cwd: &Path,
    env: &mut Environment,
) -> io::Result<Jail<'j>> {
    let own = match setup {
        _ if !jail.is_on() => return Ok(jail),
        Setup::Nothing => return Ok(jail),
        Setup::Claude => CLAUDE,
        Setup::Codex => CODEX,
    };
    let Some(home) = client::variable(env, "HOME").map(PathBuf::from) else { return Ok(jail) };
    let named = client::variable(env, own.variable).map(PathBuf::from);
    let theirs = named.clone().unwrap_or_else(|| home.join(own.folder));
    let Some(private) = jail.home() else { return Ok(jail) };
    DirBuilder::new().recursive(true).mode(0o700).create(&private)?;
    let folder = private.join(own.folder);
    make_room(&folder, true)?;
    for name in own.settings.iter().chain([&own.login]) {
        if let Ok(meta) = std::fs::metadata(theirs.join(name)) {
            make_room(&folder.join(name), meta.is_dir())?;
        }
    }
    env.retain(|(name, _)| name != own.variable);
    env.push((own.variable.into(), folder.clone().into()));
    if matches!(setup, Setup::Claude) {
        introduce(&trust::claude_file(&home, named.as_deref()), &folder, cwd, env)?;
    }
    let shown =
        own.settings.iter().fold(jail, |jail, name| jail.show(theirs.join(name), folder.join(name), false));
    Ok(shown.show(theirs.join(own.login), folder.join(own.login), true))
}

/// Tells Claude Code who its person is, and that nobody is there to be asked about the worktree.
fn introduce(theirs: &Path, folder: &Path, cwd: &Path, env: &mut Environment) -> io::Result<()> {
    let mut known = json_file::read(theirs)?;
    known.retain(|name, _| !OTHERS.contains(&name.as_str()));
    let file = folder.join(".claude.json");
    write_atomic(&file, Value::Object(known).to_string().as_bytes(), 0o600)?;
    // Nobody else is there any more to hold it.
    remove::tree(&folder.join(".claude.json.lock"))?;
    // It refuses some permission modes to root, except in a sandbox; this is one.
    env.push(("IS_SANDBOX".into(), "1".into()));
    trust::settle(env, cwd, true).map_err(io::Error::other)
}
