//! Points at which the demo agent waits, so that a test may do something to it there: `demo: hold POINT`.
//!
//! It writes `demo-hold-POINT` to its worktree's git folder and goes on when `demo-go-POINT` is there. A
//! session that finds the first does not stop: whoever came so far before has been stopped already.

use super::script::Script;
use crate::cli::{CliError, CliResult};
use shopfloor_adapters::host::file_watch::FileWatcher;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

/// Before it looks at anything; with its prompt read; with its edits made; with them committed and not
/// pushed; with a review's objections dealt with and not committed; as a reviewer, before it looks.
pub const POINTS: [&str; 7] = ["start", "read", "edited", "committed", "fixed", "step", "review"];

pub fn at(script: &Script, point: &str) -> CliResult<()> {
    debug_assert!(POINTS.contains(&point), "{point}");
    if !script.holds.iter().any(|held| held == point) {
        return Ok(());
    }
    let folder = git_folder()?;
    let mark = folder.join(format!("demo-hold-{point}"));
    if mark.exists() {
        return Ok(());
    }
    let go = folder.join(format!("demo-go-{point}"));
    let (seen, news) = channel();
    let watcher = FileWatcher::spawn(move |_| {
        // Nobody listens any more once it goes on.
        let _ = seen.send(());
    })?;
    watcher.watch(0, go.clone())?;
    std::fs::write(&mark, b"")?;
    while !go.exists() {
        news.recv().map_err(|_| CliError::failed("nobody can let the agent go on"))?;
    }
    Ok(())
}

/// Not as a command of the agent's: it may be no turn of its yet.
fn git_folder() -> CliResult<PathBuf> {
    let output =
        Command::new("git").args(["rev-parse", "--absolute-git-dir"]).stdin(Stdio::null()).output()?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if path.is_empty() {
        return Err(CliError::failed("the demo agent is in no worktree"));
    }
    Ok(PathBuf::from(path))
}
