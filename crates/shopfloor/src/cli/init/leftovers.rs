//! What an earlier floor left in the home folder when its store was deleted. A new store counts from one
//! again: old sessions, worktrees, branches and results would be taken for new ones. So they are put aside,
//! if a person says so, or nothing is begun.

use crate::cli::{CliError, CliResult, Context, Exit};
use shopfloor_adapters::host::lock::FileLock;
use shopfloor_adapters::terminal::tmux::Tmux;
use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

/// How the folders begin that earlier floors are put aside in.
const ASIDE: &str = "earlier-";

/// Of whoever has the home, not of one floor in it.
const KEPT: [&str; 4] = ["floor.toml", "runtimes", "prompts", "daemon.lock"];

/// Makes room for a new floor, if there is none and something is in its place.
pub fn make_room(context: &Context, agreed: bool) -> CliResult<()> {
    let (root, layout) = (context.layout.root(), &context.layout);
    let left = [layout.sessions(), layout.projects(), layout.hand()];
    if layout.database().exists() || !left.iter().any(|folder| has_entries(folder)) {
        return Ok(());
    }
    let lock = FileLock::exclusive(&layout.daemon_lock())?;
    if lock.is_none() {
        return Err(CliError::new(Exit::Busy, "a daemon runs on this floor, but its store is gone")
            .hint("`shopfloor down` ends it; then put floor.db back, or run this again"));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let running = Tmux::new(layout.tmux_socket(), path).list().unwrap_or_default();
    if !running.is_empty() {
        return Err(CliError::failed(format!(
            "{} session(s) of an earlier floor still run in {}, whose store is gone",
            running.len(),
            root.display()
        ))
        .hint(format!("end them first: `tmux -S {} kill-server`", layout.tmux_socket().display())));
    }
    let what = format!(
        "{} has sessions and repositories of an earlier floor, but its store floor.db is gone",
        root.display()
    );
    if !agreed && !ask(&what)? {
        return Err(CliError::usage(what)
            .hint(format!("put floor.db back; or pass --set-aside to move all that into a folder `{ASIDE}…` there, and begin anew")));
    }
    let aside = root.join(format!("{ASIDE}{}", jiff::Zoned::now().strftime("%Y%m%d-%H%M%S")));
    std::fs::create_dir(&aside)?;
    for name in of_the_floor(root)? {
        std::fs::rename(root.join(&name), aside.join(&name))?;
    }
    eprintln!("what was there is in {}; its merged work is in projects/NAME/hub.git there", aside.display());
    Ok(())
}

fn has_entries(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

fn of_the_floor(root: &Path) -> CliResult<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let name = entry?.file_name();
        let kept = name.to_str().is_some_and(|name| KEPT.contains(&name) || name.starts_with(ASIDE));
        if !kept {
            names.push(name);
        }
    }
    Ok(names)
}

/// A person's word; nobody's is no.
fn ask(what: &str) -> CliResult<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    eprint!("{what}.\nMove it aside and begin anew? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
