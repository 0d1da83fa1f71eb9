//! Which servers (MCP) a session's client may use, settled before it starts: a client that finds one it has
//! not been told about asks, and nobody is there to answer.
//!
//! The project's own servers are programs. Those that a person accepted are in force: what an agent writes into its
//! worktree, or has merged, starts nothing.

use super::codex::Configuration;
use super::{json_file, settings};
use crate::host::atomic::write_atomic;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mcp {
    /// No server.
    #[default]
    None,
    /// The project's servers, as they were accepted.
    Project,
    /// The servers that the person has set up in the client itself.
    User,
}

pub const CLAUDE_FILE: &str = ".mcp.json";
pub const CODEX_FILE: &str = ".codex/config.toml";

/// For Claude Code: arguments (`accepted`: the folder that has the accepted files), and the worktree's servers that must not be used.
pub fn claude(mcp: Mcp, accepted: &Path, worktree: &Path) -> (Vec<String>, Vec<String>) {
    match mcp {
        Mcp::None => (vec!["--strict-mcp-config".into()], vec![]),
        Mcp::Project => {
            let file = accepted.join(CLAUDE_FILE);
            let mut words = vec!["--strict-mcp-config".into()];
            if !claude_servers(&file).is_empty() {
                words.extend(["--mcp-config".into(), file.display().to_string()]);
            }
            (words, vec![])
        }
        Mcp::User => (vec![], claude_servers(&worktree.join(CLAUDE_FILE))),
    }
}

/// The same for a reviewer: whatever the worktree has, now or at the next head, is not even looked at. The
/// person's own servers (`users`: the file that has them) are copied to `copy`.
pub fn claude_reviewer(
    mcp: Mcp,
    accepted: &Path,
    users: Option<&Path>,
    copy: &Path,
) -> io::Result<Vec<String>> {
    if mcp != Mcp::User {
        return Ok(claude(mcp, accepted, accepted).0);
    }
    let mut words = vec!["--strict-mcp-config".to_owned()];
    let file = users.and_then(|users| json_file::read(users).ok()).unwrap_or_default();
    if let Some(servers) = file.get("mcpServers").filter(|servers| servers.is_object()) {
        write_atomic(copy, json!({ "mcpServers": servers }).to_string().as_bytes(), 0o600)?;
        words.extend(["--mcp-config".to_owned(), copy.display().to_string()]);
    }
    Ok(words)
}

/// An unreadable file has no servers that could be used.
fn claude_servers(file: &Path) -> Vec<String> {
    let file = json_file::read(file).unwrap_or_default();
    let servers = file.get("mcpServers").and_then(|servers| servers.as_object());
    servers.into_iter().flat_map(|servers| servers.keys().cloned()).collect()
}

/// For Codex: overrides. Codex reads the person's configuration and, in a trusted folder, the worktree's.
pub fn codex(mcp: Mcp, own: &Configuration, accepted: &Path, worktree: &Path) -> Vec<String> {
    let read = |file: PathBuf| Configuration::read(&file).unwrap_or_default();
    let (accepted, theirs) = (read(accepted.join(CODEX_FILE)), read(worktree.join(CODEX_FILE)));
    let mut off = own.servers();
    off.extend(theirs.servers());
    off.retain(|name| match mcp {
        Mcp::None => true,
        Mcp::Project => !theirs.same_server(&accepted, name),
        Mcp::User => theirs.servers().contains(name) || !own.servers().contains(name),
    });
    off.iter().flat_map(|name| settings::codex_without_mcp(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn claude_is_told_which_servers_it_may_use() {
        let folder = tempfile::tempdir().expect("a folder");
        let (checkout, worktree) = (folder.path().join("checkout"), folder.path().join("tree"));
        for (place, name) in [(&checkout, "ours"), (&worktree, "theirs")] {
            fs::create_dir(place).expect("a folder");
            let text = format!("{{\"mcpServers\": {{\"{name}\": {{\"command\": \"x\"}}}}}}");
            fs::write(place.join(CLAUDE_FILE), text).expect("written");
        }
        let strict = || vec!["--strict-mcp-config".to_owned()];
        assert_eq!(claude(Mcp::None, &checkout, &worktree), (strict(), vec![]));
        let file = checkout.join(CLAUDE_FILE).display().to_string();
        let project = [strict(), vec!["--mcp-config".into(), file]].concat();
        assert_eq!(claude(Mcp::Project, &checkout, &worktree), (project, vec![]));
        assert_eq!(claude(Mcp::Project, &worktree.join("none"), &worktree), (strict(), vec![]));
        assert_eq!(claude(Mcp::User, &checkout, &worktree), (vec![], vec!["theirs".to_owned()]));
        // A reviewer is told the person's own by name, and finds none by itself.
        let (users, copy) = (checkout.join(CLAUDE_FILE), folder.path().join("mcp.json"));
        let reviewer = |mcp, users| claude_reviewer(mcp, &checkout, users, &copy).expect("written");
        assert_eq!(reviewer(Mcp::None, Some(&*users)), strict());
        assert_eq!((reviewer(Mcp::User, None), copy.exists()), (strict(), false));
        let named = [strict(), vec!["--mcp-config".into(), copy.display().to_string()]].concat();
        assert_eq!(reviewer(Mcp::User, Some(&*users)), named);
        assert_eq!(claude_servers(&copy), ["ours"]);
    }

    #[test]
    fn codex_is_told_which_servers_it_may_not_use() {
        let folder = tempfile::tempdir().expect("a folder");
        let (checkout, worktree) = (folder.path().join("checkout"), folder.path().join("tree"));
        let own = folder.path().join("config.toml");
        let server = |name: &str, command: &str| format!("[mcp_servers.{name}]\ncommand = \"{command}\"\n");
        fs::write(&own, server("mine", "m")).expect("written");
        for (place, changed) in [(&checkout, "x"), (&worktree, "y")] {
            fs::create_dir_all(place.join(".codex")).expect("a folder");
            let text = server("same", "s") + &server("changed", changed);
            fs::write(place.join(CODEX_FILE), text).expect("written");
        }
        let own = Configuration::read(&own).expect("TOML");
        let off = |mcp| -> Vec<String> {
            let words = codex(mcp, &own, &checkout, &worktree);
            let name = |word: &String| {
                Some(word.strip_prefix("mcp_servers.")?.strip_suffix(".enabled=false")?.to_owned())
            };
            words.iter().filter_map(name).collect()
        };
        assert_eq!(off(Mcp::None), ["changed", "mine", "same"]);
        assert_eq!(off(Mcp::Project), ["changed", "mine"]);
        assert_eq!(off(Mcp::User), ["changed", "same"]);
    }
}
