//! Test programs beside each other, where there is no `cargo nextest` to do it.
//!
//! `cargo test` runs one program after another. Ours are of two kinds. Some wait for tmux, git or an agent
//! most of their time: as many of their tests run at once as keep the cores busy. The others compute, one
//! program after another, and step back ([`NICE`]) for those that wait: so they take what is left over, and
//! nobody's answer is late because of them. A program's output is kept until it ends: one line for one that
//! passed, what its failed tests printed for one that did not.

use crate::sh::{self, Res, cargo, say};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What computes runs with this niceness.
const NICE: &str = "10";

/// Those that wait, the longest first.
const WAITING: [&str; 6] = [
    "shopfloor::factory",
    "shopfloor::clients",
    "adapters::git",
    "adapters::host",
    "shopfloor",
    "shopfloor::cli",
];

/// A program with tests in it, as cargo built it.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    /// `shopfloor::factory`; the unit tests of a crate go by its name alone.
    name: String,
    executable: PathBuf,
    /// Where `cargo test` would run it.
    folder: PathBuf,
}

/// Programs that run one after another, beside those of other lanes.
struct Lane<'a> {
    left: &'a Mutex<VecDeque<Program>>,
    /// Tests of a program that run at once.
    threads: usize,
    nice: bool,
}

/// Builds every test program of the workspace and runs them. `prepare` sets the environment of each.
pub fn run(prepare: &(impl Fn(&mut Command) + Sync)) -> Res<()> {
    let build = ["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"];
    let programs = programs(&sh::output(cargo().args(build).stderr(Stdio::inherit()))?)?;
    let count = programs.len();
    let (waiting, computing) = by_kind(programs);
    let [waiting, computing] = [waiting, computing].map(|programs| Mutex::new(VecDeque::from(programs)));
    let failed = Mutex::new(Vec::new());
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
    let nice = sh::on_path("nice");
    let mut lanes = vec![Lane { left: &computing, threads: cores, nice }];
    // The two longest begin, in a lane each; the others follow in that of the shorter.
    lanes.extend((0..2).map(|_| Lane { left: &waiting, threads: cores + 1, nice: false }));
    std::thread::scope(|scope| {
        for lane in &lanes {
            scope.spawn(|| {
                let next = || lane.left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                while let Some(program) = next() {
                    if !program.passes(lane, prepare) {
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

/// Those that wait, the longest first, and those that compute.
fn by_kind(programs: Vec<Program>) -> (Vec<Program>, Vec<Program>) {
    let place = |program: &Program| WAITING.iter().position(|name| *name == program.name);
    let (mut waiting, computing): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| place(program).is_some());
    waiting.sort_by_key(place);
    (waiting, computing)
}

impl Program {
    /// Runs it and says how it ended.
    fn passes(&self, lane: &Lane<'_>, prepare: &impl Fn(&mut Command)) -> bool {
        let mut command = Command::new(if lane.nice { "nice".as_ref() } else { self.executable.as_os_str() });
        if lane.nice {
            command.args(["-n", NICE]).arg(&self.executable);
        }
        prepare(&mut command);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder).stdin(Stdio::null());
        command.arg(format!("--test-threads={}", lane.threads));
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
        let shown = if passed { summary(&text) } else { failures(&text) };
        // In one call, so that two programs do not mix.
        say(format!("{} {word} in {took}\n{shown}", self.name));
        passed
    }
}

/// The line with which a test program ends.
fn summary(text: &str) -> &str {
    text.lines().rev().find(|line| line.starts_with("test result:")).unwrap_or("it printed no result")
}

/// What a failed test program printed, without the list of tests that passed, which hides the rest where a log is cut.
fn failures(text: &str) -> &str {
    text.find("\nfailures:\n").map_or(text, |at| &text[at..]).trim()
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
        let name = match message["target"]["kind"][0] == "test" {
            true => format!("{package}::{}", text(&message["target"]["name"])),
            false => package,
        };
        found.push(Program { name, executable: executable.into(), folder });
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
        let names: Vec<_> = found.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["core", "app::factory"]);
        assert_eq!(found[1].folder, PathBuf::from("/w/crates/app"));
    }

    #[test]
    fn those_that_wait_the_longest_begin() {
        let program = |name: &str| Program { name: name.into(), executable: "x".into(), folder: "y".into() };
        let names = |programs: &[Program]| programs.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
        let all = ["adapters::git", "core", "shopfloor::clients", "sim::seeds", "shopfloor::factory"];
        let (waiting, computing) = by_kind(all.map(program).into());
        assert_eq!(names(&waiting), ["shopfloor::factory", "shopfloor::clients", "adapters::git"]);
        assert_eq!(names(&computing), ["core", "sim::seeds"]);
    }

    #[test]
    fn a_program_that_passes_is_one_line() {
        let text = "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed\n\n";
        assert_eq!(summary(text), "test result: ok. 2 passed; 0 failed");
        assert_eq!(summary(""), "it printed no result");
    }

    #[test]
    fn of_a_program_that_fails_there_is_what_its_failures_printed() {
        let text = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nwhy\n\nfailures:\n    b\n";
        assert_eq!(failures(text), "failures:\n\n---- b stdout ----\nwhy\n\nfailures:\n    b");
        assert_eq!(failures("killed\n"), "killed");
    }
}
