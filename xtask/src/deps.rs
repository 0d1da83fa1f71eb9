//! What we depend on: licences, where it comes from, crates that are there twice, known vulnerabilities (cargo-deny, by
//! `deny.toml`), and dependencies that nobody uses.

use crate::sh::{self, Res, cargo, say};
use crate::tool::Tool;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const CARGO_DENY: Tool = Tool { program: "cargo-deny", version: "0.20.2", features: &[] };

/// Every complaint, or nothing.
pub fn check() -> Res<()> {
    let deny = CARGO_DENY.ensure()?;
    let host = sh::output(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let ask = |words: &[&str]| {
        let mut command = Command::new(&deny);
        command.current_dir(sh::root()).args(["--locked", "--target", &host]).args(words);
        command
    };
    sh::output(&mut ask(&["check", "bans", "licenses", "sources"]))?;
    // Their list is on the network, and not every network has it.
    match sh::works(&mut ask(&["fetch", "db"])) {
        true => drop(sh::output(&mut ask(&["check", "--disable-fetch", "advisories"]))?),
        false => say("the list of known vulnerabilities cannot be reached: they are not looked for"),
    }
    let metadata = sh::output(cargo().args(["metadata", "--format-version=1", "--locked", "--no-deps"]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|e| format!("cargo metadata is not JSON: {e}"))?;
    let found: Vec<String> = metadata["packages"].as_array().into_iter().flatten().flat_map(unused).collect();
    if found.is_empty() { Ok(()) } else { Err(found.join("\n")) }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Dependencies whose name is nowhere in the sources that could use it.
fn unused(package: &Value) -> Vec<String> {
    let folder = Path::new(text(package, "manifest_path")).parent().unwrap_or(Path::new(""));
    let source = |parts: &[&str]| parts.iter().map(|part| sources(&folder.join(part))).collect::<String>();
    let (code, build) = (source(&["src"]), source(&["build.rs"]));
    let tests = source(&["src", "tests", "benches", "examples"]);
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let of = |dependency: &Value| match dependency["kind"].as_str() {
        Some("dev") => &tests,
        Some("build") => &build,
        _ => &code,
    };
    let name = |dependency: &Value| {
        let known_as = dependency["rename"].as_str().unwrap_or(text(dependency, "name"));
        known_as.replace('-', "_")
    };
    let idle = dependencies.filter(|dependency| !names(of(dependency), &name(dependency)));
    idle.map(|dependency| format!("{} does not use {}", text(package, "name"), name(dependency))).collect()
}

/// Whether a text has that word.
fn names(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// All Rust in a file or below a folder.
fn sources(path: &Path) -> String {
    if path.extension().is_some_and(|extension| extension == "rs") {
        return std::fs::read_to_string(path).unwrap_or_default();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| sources(&entry.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_is_used_by_its_whole_name() {
        assert!(names("use serde_json::Value;", "serde_json"));
        assert!(!names("use serde_json::Value;", "serde"));
        assert!(!names("my_serde()", "serde"));
    }
}
