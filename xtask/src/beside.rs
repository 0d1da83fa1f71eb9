//! Test programs beside each other, where there is no `cargo nextest` to do it.
//!
//! `cargo test` runs one program after another. Most of ours wait for tmux, git or an agent most of their
//! time, so that takes three times as long as it has to. Here a few run at once, each with its output
//! kept until it ends: one line for one that passed, everything for one that did not.

use crate::sh::{self, Res, cargo, say};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A program with tests in it, as cargo built it.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    /// `shopfloor::factory`; the unit tests of a crate go by its name alone.
    name: String,
    executable: PathBuf,
    /// Where `cargo test` would run it.
    folder: PathBuf,
    integration: bool,
}

/// Builds every test program of the workspace and runs them. `prepare` sets the environment of each.
pub fn run(prepare: &(impl Fn(&mut Command) + Sync)) -> Res<()> {
    let build = ["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"];
    let mut programs = programs(&sh::output(cargo().args(build).stderr(Stdio::inherit()))?)?;
    // Those that wait for other programs are the longest: they begin.
    programs.sort_by_key(|program| !program.integration);
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
    let count = programs.len();
    let left = Mutex::new(VecDeque::from(programs));
    let failed = Mutex::new(Vec::new());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..cores + 2 {
            scope.spawn(|| {
                while let Some(program) = next() {
                    if !program.passes(cores, prepare) {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(program.name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    match failed.as_slice() {
        [] => Ok(()),
        names => Err(format!("{} of {count} test programs failed: {}", names.len(), names.join(", "))),
    }
}

impl Program {
    /// Runs it and says how it ended.
    fn passes(&self, threads: usize, prepare: &impl Fn(&mut Command)) -> bool {
        let mut command = Command::new(&self.executable);
        prepare(&mut command);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder).stdin(Stdio::null());
        command.arg(format!("--test-threads={threads}"));
        let begin = Instant::now();
        let (passed, text) = match command.output() {
            Ok(out) => {
                let text = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                (out.status.success(), text.concat())
            }
            Err(e) => (false, format!("it cannot be run: {e}")),
        };
        let took = sh::seconds(begin.elapsed());
        let word = if passed { "passed" } else { "FAILED" };
        let shown = if passed { summary(&text) } else { text.trim_end() };
        // In one call, so that two programs do not mix.
        say(format!("{} {word} in {took}\n{shown}", self.name));
        passed
    }
}

/// The line with which a test program ends.
fn summary(text: &str) -> &str {
    text.lines().rev().find(|line| line.starts_with("test result:")).unwrap_or("it printed no result")
}

/// What cargo says it built, a JSON object a line.
fn programs(messages: &str) -> Res<Vec<Program>> {
    let mut found = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: serde_json::Value =
            serde_json::from_str(line).map_err(|e| format!("cargo's message is not JSON: {e}"))?;
        let Some(executable) = message["executable"].as_str() else { continue };
        if message["profile"]["test"] != true {
            continue;
        }
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let manifest = PathBuf::from(text(&message["manifest_path"]));
        let folder = manifest.parent().ok_or("cargo names no manifest")?.to_owned();
        let package = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let integration = message["target"]["kind"][0] == "test";
        let name = match integration {
            true => format!("{package}::{}", text(&message["target"]["name"])),
            false => package,
        };
        found.push(Program { name, executable: executable.into(), folder, integration });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_what_cargo_built_for_tests() {
        let messages = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/core/Cargo.toml","target":{"kind":["lib"],"name":"shopfloor_core"},"profile":{"test":true},"executable":"/t/core-1"}
{"reason":"compiler-artifact","manifest_path":"/w/crates/core/Cargo.toml","target":{"kind":["lib"],"name":"shopfloor_core"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","manifest_path":"/w/crates/app/Cargo.toml","target":{"kind":["bin"],"name":"app"},"profile":{"test":false},"executable":"/t/app"}
{"reason":"compiler-artifact","manifest_path":"/w/crates/app/Cargo.toml","target":{"kind":["test"],"name":"factory"},"profile":{"test":true},"executable":"/t/factory-2"}
{"reason":"build-finished","success":true}"#;
        let found = programs(messages).unwrap();
        let names: Vec<_> = found.iter().map(|p| (p.name.as_str(), p.integration)).collect();
        assert_eq!(names, [("core", false), ("app::factory", true)]);
        assert_eq!(found[1].folder, PathBuf::from("/w/crates/app"));
    }

    #[test]
    fn a_program_that_passes_is_one_line() {
        let text = "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed\n\n";
        assert_eq!(summary(text), "test result: ok. 2 passed; 0 failed");
        assert_eq!(summary(""), "it printed no result");
    }
}
