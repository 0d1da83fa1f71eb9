//! The demo agent's git: the plain program in its worktree, as any agent would use it.

use super::client::Client;
use crate::cli::{CliError, CliResult};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub fn git(client: &dyn Client, args: &[&str]) -> CliResult<String> {
    let command = format!("git {}", args.join(" "));
    client.before(&command);
    let output = Command::new("git").args(args).stdin(Stdio::null()).output()?;
    client.after(&command, output.status.success());
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        client.say(&stderr);
        return Err(CliError::failed(format!("{command} failed: {stderr}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Commits everything, if there is anything.
pub fn commit_all(client: &dyn Client, message: &str) -> CliResult<bool> {
    git(client, &["add", "-A"])?;
    if git(client, &["status", "--porcelain"])?.is_empty() {
        return Ok(false);
    }
    git(client, &["commit", "--quiet", "-m", message])?;
    Ok(true)
}

pub fn commits_ahead(client: &dyn Client, primary: &str) -> CliResult<u32> {
    let count = git(client, &["rev-list", "--count", &format!("origin/{primary}..HEAD")])?;
    count.parse().map_err(|_| CliError::failed(format!("git counted {count:?} commits")))
}

/// Something the agent did once, remembered beyond its own death.
pub fn once(client: &dyn Client, what: &str) -> CliResult<bool> {
    let folder = PathBuf::from(git(client, &["rev-parse", "--absolute-git-dir"])?);
    let marker = folder.join(format!("demo-{what}"));
    if marker.exists() {
        return Ok(false);
    }
    std::fs::write(&marker, b"")?;
    Ok(true)
}

pub fn write(path: &str, content: &str) -> CliResult<()> {
    if let Some(parent) = Path::new(path).parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, content)?;
    Ok(())
}
