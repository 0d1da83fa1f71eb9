//! What has to be on the machine, and getting it there through the system's package manager.
//!
//! Nobody becomes root by surprise: where that takes `sudo`, the command is only said, unless whoever runs this says yes.

use crate::sh::{self, Res, on_path, say};
use std::process::Command;

/// A package manager: its program, how it installs, and how it learns what there is.
struct Manager {
    program: &'static str,
    install: &'static [&'static str],
    refresh: Option<&'static [&'static str]>,
    /// Whether it wants to be run by root.
    root: bool,
}

const MANAGERS: [Manager; 5] = [
    Manager {
        program: "apt-get",
        install: &["install", "--yes", "--no-install-recommends"],
        refresh: Some(&["update"]),
        root: true,
    },
    Manager { program: "dnf", install: &["install", "--assumeyes"], refresh: None, root: true },
    Manager {
        program: "pacman",
        install: &["-S", "--noconfirm", "--needed"],
        refresh: Some(&["-Sy"]),
        root: true,
    },
    Manager { program: "apk", install: &["add"], refresh: Some(&["update"]), root: true },
    Manager { program: "brew", install: &["install"], refresh: None, root: false },
];

/// Packages that are not called as the program that is wanted of them, by manager; "" is any other.
const PACKAGES: [(&str, &str, &str); 4] = [
    ("bwrap", "", "bubblewrap"),
    ("ssh-keygen", "apt-get", "openssh-client"),
    ("ssh-keygen", "apk", "openssh-keygen"),
    ("ssh-keygen", "", "openssh"),
];

fn package<'p>(program: &'p str, manager: &str) -> &'p str {
    let known = |(of, by, _): &&(&str, &str, &str)| *of == program && [manager, ""].contains(by);
    PACKAGES.iter().find(known).map_or(program, |(.., package)| package)
}

/// Sees to it that git, tmux and bubblewrap are there. `yes`: also by `sudo`.
pub fn ensure_tools(yes: bool) -> Res<()> {
    ensure("git", yes)?;
    ensure("tmux", yes)?;
    // Without it everything works, with less isolation.
    ensure("bwrap", yes).or_else(|why| {
        say(why);
        Ok(())
    })
}

/// Sees to it that a program is there. `yes`: also by `sudo`.
pub fn ensure(program: &str, yes: bool) -> Res<()> {
    if on_path(program) {
        return Ok(());
    }
    let Some(manager) = MANAGERS.iter().find(|m| on_path(m.program)) else {
        return Err(format!(
            "{program} is missing and no package manager was found: install {program} yourself, then try again"
        ));
    };
    let package = package(program, manager.program);
    let prefix: &[&str] = match (manager.root, is_root()) {
        (true, false) if yes && on_path("sudo") => &["sudo"],
        (true, false) => return Err(by_hand(program, manager, package, on_path("sudo"))),
        _ => &[],
    };
    say(format!("{program} is missing: installing it with {}", manager.program));
    let call = |args: &[&str]| {
        let mut words = prefix.iter().chain([&manager.program]).chain(args);
        let mut command = Command::new(words.next().expect("the manager at least"));
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        sh::run(&mut command)
    };
    let install: Vec<&str> = manager.install.iter().copied().chain([package]).collect();
    let mut installed = call(&install);
    if installed.is_err()
        && let Some(refresh) = manager.refresh
    {
        say(format!("once more, with a fresh list of packages ({} {})", manager.program, refresh.join(" ")));
        installed = call(refresh).and_then(|()| call(&install));
    }
    installed.map_err(|why| {
        format!("{program} is missing and could not be installed: {why}\ninstall it yourself, then try again")
    })?;
    if on_path(program) {
        Ok(())
    } else {
        Err(format!("{} installed {program}, but it is not on the PATH", manager.program))
    }
}

/// What to type, where nobody has said yes to becoming root.
fn by_hand(program: &str, manager: &Manager, package: &str, sudo: bool) -> String {
    let command = format!("{} {} {package}", manager.program, manager.install.join(" "));
    match sudo {
        true => format!(
            "{program} is missing: run `sudo {command}` and try again, or try again with --yes, which runs it for you"
        ),
        false => format!(
            "{program} is missing. Installing it needs root, and there is no sudo: run `{command}` as root, then try again"
        ),
    }
}

fn is_root() -> bool {
    sh::output(Command::new("id").arg("-u")).is_ok_and(|uid| uid == "0")
}

/// Sees to it that `cargo fmt` and `cargo clippy` are there.
pub fn ensure_components() -> Res<()> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if sh::works(sh::cargo().args([subcommand, "--version"])) {
            continue;
        }
        if !on_path("rustup") {
            return Err(format!("`cargo {subcommand}` is missing: install {component} for your Rust"));
        }
        say(format!("`cargo {subcommand}` is missing: installing {component} with rustup"));
        sh::run(Command::new("rustup").args(["component", "add", component]).current_dir(sh::root()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_not_said_yes_is_told_what_to_type() {
        let apt = &MANAGERS[0];
        let told = by_hand("bwrap", apt, package("bwrap", "apt-get"), true);
        assert!(told.contains("`sudo apt-get install --yes --no-install-recommends bubblewrap`"), "{told}");
        assert!(told.contains("--yes, which runs it for you"), "{told}");
        let told = by_hand("ssh-keygen", apt, package("ssh-keygen", "apt-get"), false);
        assert!(told.contains("openssh-client` as root"), "{told}");
    }
}
