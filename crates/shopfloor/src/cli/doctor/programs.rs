//! The programs the factory runs.

use super::super::Context;
use super::Check;
use shopfloor_adapters::git::{GIT_MINIMUM, Git, GitError};
use shopfloor_adapters::host::command;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const TMUX_MINIMUM: (u32, u32) = (3, 2);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

pub fn git(context: &Context) -> Check {
    let config = match context.floor_config() {
        Ok(config) => config,
        Err(e) => return Check::fail("git", format!("not looked at: {}", e.message)),
    };
    let program = config.git.program;
    let (major, minor) = GIT_MINIMUM;
    match Git::new(&program, std::env::vars_os()).version() {
        Ok(found) if found >= GIT_MINIMUM => Check::ok("git", format!("{program} {}.{}", found.0, found.1)),
        Ok(found) => Check::fail("git", format!("{program} {}.{} is too old", found.0, found.1))
            .hint(format!("{}; at least {major}.{minor} is needed", install("git"))),
        Err(GitError::Start { .. }) => {
            Check::fail("git", format!("{program} cannot be started")).hint(install("git"))
        }
        Err(e) => Check::fail("git", e.to_string()),
    }
}

pub fn tmux() -> Check {
    let answer = match command::run(Command::new("tmux").arg("-V"), ANSWER_TIMEOUT) {
        Ok(answer) => answer,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Check::fail("tmux", "is not installed, or not on the PATH").hint(install("tmux"));
        }
        Err(e) => return Check::fail("tmux", format!("cannot be started: {e}")).hint(install("tmux")),
    };
    let shown = answer.stdout.trim().to_owned();
    match version(&shown) {
        Some(found) if found >= TMUX_MINIMUM => Check::ok("tmux", shown),
        Some(_) => Check::fail("tmux", format!("{shown} is too old")).hint(format!(
            "{}; at least {}.{} is needed",
            install("tmux"),
            TMUX_MINIMUM.0,
            TMUX_MINIMUM.1
        )),
        // Built from a checkout: `tmux master`.
        None => Check::warn("tmux", format!("{shown:?} names no version")),
    }
}

/// `tmux 3.3a`, `tmux next-3.4`, `tmux openbsd-7.1`.
fn version(answer: &str) -> Option<(u32, u32)> {
    let number = answer.strip_prefix("tmux ")?;
    let number = number.strip_prefix("next-").unwrap_or(number);
    let (major, rest) = number.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// How to install a package with the package manager that is there.
fn install(package: &str) -> String {
    const MANAGERS: [(&str, &str); 7] = [
        ("apt-get", "sudo apt-get install"),
        ("dnf", "sudo dnf install"),
        ("pacman", "sudo pacman -S"),
        ("apk", "sudo apk add"),
        ("zypper", "sudo zypper install"),
        ("nix-env", "nix-env -iA nixpkgs."),
        ("brew", "brew install"),
    ];
    let found = MANAGERS.iter().find(|(program, _)| on_path(program).is_some());
    match found {
        Some((_, command)) if command.ends_with('.') => format!("{command}{package}"),
        Some((_, command)) => format!("{command} {package}"),
        None => format!("install {package} with your package manager"),
    }
}

/// Where a program is found on the PATH.
pub fn on_path(program: &str) -> Option<PathBuf> {
    command::on_path(program, &std::env::var_os("PATH")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tmux_versions_are_read() {
        for (text, expect) in [
            ("tmux 3.3a", Some((3, 3))),
            ("tmux 3.2", Some((3, 2))),
            ("tmux next-3.10", Some((3, 10))),
            ("tmux master", None),
            ("tmux openbsd-7.1", None),
            ("", None),
        ] {
            assert_eq!(version(text), expect, "{text:?}");
        }
    }
}
