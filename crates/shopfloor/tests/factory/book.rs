//! The examples of the README and of "Getting started" are run as a newcomer types them: in order, in one shell, with
//! a fresh home and the built-in agent.
//!
//! A block of the kind `console` has commands after `$ ` (continued after `> `), each followed by what it prints. `…`
//! stands for anything, on a line of its own for any lines. A command that is followed by nothing may print anything.
//! `console norun` blocks need what a test has not, such as a real agent; `tests/cli/book.rs` reads them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

struct Example {
    command: String,
    prints: Vec<String>,
}

fn examples(page: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if !inside {
        } else if let Some(command) = line.strip_prefix("$ ") {
            found.push(Example { command: command.to_owned(), prints: Vec::new() });
        } else {
            let example = found.last_mut().expect("a block begins with a command");
            match line.strip_prefix("> ") {
                Some(more) => example.command = format!("{}\n{more}", example.command),
                None => example.prints.push(line.to_owned()),
            }
        }
    }
    found
}

/// Whether the text is what the pattern shows, where `…` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('…') else { return pattern == text };
    let Some(text) = text.strip_prefix(begin) else { return false };
    (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| fits(rest, &text[at..]))
}

fn all_fit(patterns: &[String], lines: &[&str]) -> bool {
    match patterns.split_first() {
        None => lines.is_empty(),
        Some((any, rest)) if any == "…" => (0..=lines.len()).any(|at| all_fit(rest, &lines[at..])),
        Some((pattern, rest)) => {
            lines.split_first().is_some_and(|(line, lines)| fits(pattern, line) && all_fit(rest, lines))
        }
    }
}

/// A machine of somebody who has git and nothing else of ours.
struct Newcomer {
    folder: TempDir,
}

impl Newcomer {
    fn new() -> Newcomer {
        let newcomer =
            Newcomer { folder: tempfile::Builder::new().prefix("book").tempdir().expect("a folder") };
        let write = |path: PathBuf, text: String| {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        let user = "[user]\nname = Ada\nemail = ada@localhost\n[init]\ndefaultBranch = main\n";
        write(newcomer.path(".gitconfig"), user.into());
        // Beside other tests, nothing of this one is in `/tmp` itself.
        let phases = format!("[sessions]\nphase_dir = \"{}\"\n", newcomer.folder.path().display());
        write(newcomer.floor().join("floor.toml"), phases);
        newcomer
    }

    fn path(&self, part: &str) -> PathBuf {
        self.folder.path().join(part)
    }

    fn floor(&self) -> PathBuf {
        self.path(".local/state/shopfloor")
    }

    fn sh(&self, script: &str) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_shopfloor"));
        let mut path = program.parent().expect("a folder").as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("exec 2>&1\n{script}")).current_dir(self.folder.path()).env_clear();
        let command = command.env("PATH", path).env("HOME", self.folder.path()).stdin(Stdio::null());
        String::from_utf8_lossy(&command.output().expect("a shell").stdout).into_owned()
    }

    /// Runs the examples of a page, in one shell.
    fn follow(&self, page: &str) {
        const END: &str = "@@ended with ";
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        let examples = examples(&std::fs::read_to_string(file).expect("the page"));
        assert!(!examples.is_empty(), "{page} has no examples");
        let script = examples.iter().map(|e| format!("{}\nprintf '\\n{END}%s\\n' $?\n", e.command));
        let output = self.sh(&script.collect::<String>());
        let mut rest = output.as_str();
        for Example { command, prints } in examples {
            let (printed, after) =
                rest.split_once(END).unwrap_or_else(|| panic!("{page}: {command}\n{rest}"));
            let (code, after) = after.split_once('\n').unwrap_or((after, ""));
            rest = after;
            // A line break of ours comes before the mark.
            let printed = printed.strip_suffix('\n').unwrap_or(printed).trim_end_matches('\n');
            assert_eq!(code, "0", "{page}: {command}\n{printed}");
            let lines: Vec<&str> = printed.lines().collect();
            let shown = prints.join("\n");
            assert!(
                prints.is_empty() || all_fit(&prints, &lines),
                "{page} shows of `{command}`:\n{shown}\nIt printed:\n{printed}"
            );
        }
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        let socket = self.floor().join("tmux.sock");
        self.sh(&format!("shopfloor down; tmux -S '{}' kill-server", socket.display()));
    }
}

#[test]
fn the_readme_does_what_it_shows() {
    let newcomer = Newcomer::new();
    newcomer.sh("git init --quiet my-project; cd my-project; git commit --quiet --allow-empty -m begin");
    newcomer.follow("README.md");
}

#[test]
fn getting_started_does_what_it_shows() {
    Newcomer::new().follow("docs/getting-started.md");
}

#[test]
fn what_an_example_shows_is_compared() {
    let page = "```console\n$ a\n> b\none …\n…\n\nlast\n$ c\n```\n```console norun\n$ d\n```\n";
    let found = examples(page);
    let commands: Vec<&str> = found.iter().map(|e| e.command.as_str()).collect();
    assert_eq!(commands, ["a\nb", "c"]);
    let prints = &found[0].prints;
    assert!(all_fit(prints, &["one thing", "", "last"]) && all_fit(prints, &["one ", "x", "y", "", "last"]));
    for wrong in [&["one thing", "last"][..], &["one", "", "last"], &["one x", "", "last", "more"]] {
        assert!(!all_fit(prints, wrong), "{wrong:?}");
    }
}
