//! `init --commit`: the configuration is committed by the user's own git, with their identity and hooks.

use crate::cli::{CliError, CliResult, Context};
use crate::config;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The user's git in their checkout.
struct UserGit<'a> {
    program: String,
    checkout: &'a Path,
}

impl UserGit<'_> {
    fn run(&self, args: &[&str]) -> CliResult<Output> {
        let mut git = Command::new(&self.program);
        git.arg("-C").arg(self.checkout).args(args).stdin(Stdio::null());
        git.output().map_err(|e| CliError::failed(format!("git could not be started: {e}")))
    }

    fn holds(&self, args: &[&str]) -> CliResult<bool> {
        Ok(self.run(args)?.status.success())
    }
}

/// Whether the file can be committed alone, and on the branch it belongs to. Before it is written.
pub fn may(context: &Context, checkout: &Path, primary: &str) -> CliResult<()> {
    let git = UserGit { program: context.floor_config()?.git.program, checkout };
    let on = git.run(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    let on = String::from_utf8_lossy(&on.stdout).trim().to_owned();
    if on != primary {
        let on = if on.is_empty() { "no branch".to_owned() } else { on };
        return Err(CliError::usage(format!("the checkout is on {on}, not {primary}"))
            .hint(format!("`git switch {primary}` first, or leave out --commit")));
    }
    if !git.holds(&["diff", "--cached", "--quiet"])? {
        return Err(CliError::usage("something is staged already, and would not be part of this commit")
            .hint("commit or unstage it first, or leave out --commit"));
    }
    Ok(())
}

/// Commits the files and nothing else. Whether there was anything to commit.
pub fn commit(context: &Context, checkout: &Path, files: &[&str]) -> CliResult<bool> {
    let git = UserGit { program: context.floor_config()?.git.program, checkout };
    let file = config::FILE_NAME;
    let with = |words: &[&'static str]| -> Vec<String> {
        words.iter().chain(&["--"]).chain(files).map(|word| (*word).to_owned()).collect()
    };
    let run = |words: &[&'static str]| {
        let words = with(words);
        git.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    run(&["add"])?;
    if run(&["diff", "--cached", "--quiet"])?.status.success() {
        return Ok(false);
    }
    let made = run(&["commit", "--quiet", "-m", "Add shopfloor.toml"])?;
    if made.status.success() {
        return Ok(true);
    }
    run(&["reset", "--quiet"])?;
    let said = String::from_utf8_lossy(&made.stderr).trim().to_owned();
    Err(CliError::failed(format!("{file} is written, but git did not commit it: {said}"))
        .hint(format!("fix that and run `git add {file} && git commit`, then `shopfloor init` again")))
}
