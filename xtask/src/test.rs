//! `cargo xtask test` and `cargo xtask lint`.

use crate::sh::{self, Res, Steps, cargo, say};
use crate::{beside, clients, deps, docs, install, leak, memory};
use std::path::Path;
use std::process::Command;

/// Format, clippy, and what we depend on.
pub fn lint() -> Res<()> {
    let mut steps = Steps::default();
    steps.step("checking for rustfmt and clippy", install::ensure_components)?;
    lint_steps(&mut steps)?;
    steps.print();
    Ok(())
}

fn lint_steps(steps: &mut Steps) -> Res<()> {
    steps.step("the documents: links, pages, the book", docs::book)?;
    steps.step("cargo fmt --all --check", || sh::run(cargo().args(["fmt", "--all", "--check"])))?;
    steps.step("cargo clippy --workspace --all-targets -- -D warnings", || {
        sh::run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    })?;
    steps.step("licences and dependencies", deps::check)
}

/// Everything. Without `with_clients`, the tests that run real agent clients are skipped, and named. `yes`: what is
/// missing is installed, also by `sudo`.
pub fn run(with_clients: bool, yes: bool) -> Res<()> {
    let mut steps = Steps::default();
    steps.step("checking for git, tmux, bubblewrap, ssh-keygen, rustfmt and clippy", || {
        install::ensure_tools(yes)?;
        install::ensure("ssh-keygen", yes)?;
        install::ensure_components()
    })?;
    let clients = match with_clients {
        true => Some(steps.step("checking for the agent clients", clients::ensure)?),
        false => None,
    };
    lint_steps(&mut steps)?;

    let nextest = sh::works(cargo().args(["nextest", "--version"]));
    let line =
        if nextest { "cargo nextest run --workspace" } else { "cargo test --workspace, beside each other" };
    // Built before the run gets its own temporary folder, so that only tests ever see that.
    steps.step("building the tests", || {
        let runner: &[&str] = if nextest { &["nextest", "run"] } else { &["test"] };
        sh::run(cargo().args(runner).args(["--workspace", "--no-run"]))
    })?;
    let tmp = memory::scratch("sf-test")?;
    say(format!("the tests' files go to {}", tmp.display()));
    let prepare = |command: &mut Command| {
        in_folder(command, &tmp);
        match &clients {
            Some(folder) => command.env(clients::FOLDER, folder),
            None => command.env_remove(clients::FOLDER),
        };
    };
    let tests = steps.step(line, || {
        if !nextest {
            return beside::run(&prepare);
        }
        let mut command = cargo();
        prepare(&mut command);
        // In units of which a test that computes takes several: see .config/nextest.toml.
        let units = 3 * std::thread::available_parallelism().map_or(2, |n| n.get());
        command.args(["nextest", "run", "--workspace", "--no-fail-fast", "--test-threads"]);
        sh::run(command.arg(units.to_string()))
    });
    let doctests = match has_doctests(&sh::root().join("crates")) {
        true => steps.step("cargo test --workspace --doc", || {
            sh::run(in_folder(cargo().args(["test", "--workspace", "--doc"]), &tmp))
        }),
        false => Ok(()),
    };
    let leaks = steps.step("the tests left no process behind", || no_leaks(&tmp));
    if std::fs::remove_dir_all(&tmp).is_err() {
        say(format!("{} could not be removed", tmp.display()));
    }
    println!();
    steps.print();
    if clients.is_none() {
        say_skipped()?;
    }
    tests.and(doctests).and(leaks)
}

/// The tests that did nothing, for they had no client to run.
fn say_skipped() -> Res<()> {
    let list = ["test", "--quiet", "--package", "shopfloor", "--test", "clients", "--", "--list"];
    let list = sh::output(cargo().args(list))?;
    let names: Vec<&str> = list.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    println!();
    say(format!("--no-clients: {} tests with real agent clients were skipped", names.len()));
    names.iter().for_each(|name| println!("    {name}"));
    Ok(())
}

/// The tests see nothing of a floor, a session or a tmux of whoever runs them.
fn in_folder<'a>(command: &'a mut Command, tmp: &Path) -> &'a mut Command {
    for name in ["SHOPFLOOR_HOME", "SHOPFLOOR_SESSION", "PHASE_FILE", "PROJECT_NAME", "TMUX", "TMUX_PANE"] {
        command.env_remove(name);
    }
    command.env("TMPDIR", tmp)
}

fn no_leaks(tmp: &Path) -> Res<()> {
    let leaks = leak::settle(tmp);
    if leaks.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = leaks.iter().map(|leak| format!("  {} {}", leak.pid, leak.command)).collect();
    leak::end(tmp, &leaks);
    Err(format!("{} processes were left behind (and are ended now):\n{}", leaks.len(), list.join("\n")))
}

/// Whether a documentation comment has a code block that rustdoc would run.
fn has_doctests(dir: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else { return false };
    entries.flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return has_doctests(&path);
        }
        path.extension().is_some_and(|e| e == "rs")
            && std::fs::read_to_string(&path).is_ok_and(|text| holds_doctest(&text))
    })
}

fn holds_doctest(source: &str) -> bool {
    let mut open = false;
    for line in source.lines() {
        let line = line.trim_start();
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let Some(info) = text.and_then(|t| t.trim_start().strip_prefix("```")) else { continue };
        open = !open;
        let runs = |word: &str| matches!(word.trim(), "" | "rust" | "no_run" | "should_panic");
        if open && info.split(',').any(runs) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::holds_doctest;

    #[test]
    fn doctests_are_told_from_other_blocks() {
        for yes in ["/// ```\n/// ```", "    //! ```rust", "/// ```text\n/// ```\n/// ```no_run"] {
            assert!(holds_doctest(yes), "{yes}");
        }
        for no in ["/// ```text\n/// ```", "let x = \"```\";", "// ```", "/// text", "/// ```sh"] {
            assert!(!holds_doctest(no), "{no}");
        }
    }
}
