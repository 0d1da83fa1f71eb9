//! What we depend on: licences, where it comes from, crates that are there twice, dependencies that nobody uses.
//!
//! From `cargo metadata` alone, so it works on a machine that has Rust and nothing else. Known
//! vulnerabilities are not looked for: their list is on the network.

use crate::sh::{self, Res, cargo};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a binary may be made of without asking anybody.
const LICENCES: [&str; 9] =
    ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unicode-3.0", "Unlicense", "Zlib"];

/// Crates that are there in two versions, and why that is so.
const TWICE: [(&str, &str); 2] = [
    ("bitflags", "jiff may use defmt, which has version 1; neither is built"),
    ("syn", "what derives landlock's flags still has version 2"),
];

/// Every complaint, or nothing.
pub fn check() -> Res<()> {
    let host = sh::output(std::process::Command::new("rustc").args(["--print", "host-tuple"]))?;
    let ask = ["metadata", "--format-version=1", "--locked", "--filter-platform", &host];
    let metadata = sh::output(cargo().args(ask))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|e| format!("cargo metadata is not JSON: {e}"))?;
    let (ours, theirs) = packages(&metadata);
    let mut found: Vec<String> = theirs.iter().filter_map(|package| licence(package)).collect();
    found.extend(theirs.iter().filter_map(|package| source(package)));
    found.extend(twice(&theirs));
    for package in ours {
        found.extend(unused(package));
    }
    if found.is_empty() { Ok(()) } else { Err(found.join("\n")) }
}

/// The workspace's packages, and those that they need on this machine.
fn packages(metadata: &Value) -> (Vec<&Value>, Vec<&Value>) {
    let ids = |value: &Value, id: fn(&Value) -> &Value| -> BTreeSet<String> {
        value.as_array().into_iter().flatten().filter_map(|v| id(v).as_str()).map(str::to_owned).collect()
    };
    let members = ids(&metadata["workspace_members"], |id| id);
    let needed = ids(&metadata["resolve"]["nodes"], |node| &node["id"]);
    let id = |package: &Value| package["id"].as_str().unwrap_or_default().to_owned();
    let all = metadata["packages"].as_array().into_iter().flatten();
    all.filter(|package| needed.contains(&id(package))).partition(|package| members.contains(&id(package)))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn licence(package: &Value) -> Option<String> {
    let licence = text(package, "license");
    let name = format!("{} {}", text(package, "name"), text(package, "version"));
    (!is_allowed(licence)).then(|| format!("{name} has a licence that is not on our list: {licence:?}"))
}

/// Everything comes from the one registry, where a version never changes and `Cargo.lock` has its digest: not from a
/// repository, another registry, or a folder beside ours.
fn source(package: &Value) -> Option<String> {
    let from = text(package, "source");
    let name = format!("{} {}", text(package, "name"), text(package, "version"));
    let known = from.starts_with("registry+") && from.ends_with("/crates.io-index");
    let shown = if from.is_empty() { "a folder that is not in the workspace" } else { from };
    (!known).then(|| format!("{name} comes from {shown}, not from crates.io"))
}

/// Whether an SPDX expression can be met. `AND` binds stronger than `OR`; the old `/` is an `OR`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any_of(&mut rest) == Some(true) && rest.is_empty()
}

/// `None`: that is no expression.
fn any_of(words: &mut &[&str]) -> Option<bool> {
    let mut met = all_of(words)?;
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        met |= all_of(words)?;
    }
    Some(met)
}

fn all_of(words: &mut &[&str]) -> Option<bool> {
    let mut met = one(words)?;
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        met &= one(words)?;
    }
    Some(met)
}

fn one(words: &mut &[&str]) -> Option<bool> {
    let [word, rest @ ..] = *words else { return None };
    *words = rest;
    if *word == "(" {
        let met = any_of(words);
        let [")", rest @ ..] = *words else { return None };
        *words = rest;
        return met;
    }
    // An exception only adds to what is allowed.
    if let ["WITH", _, rest @ ..] = *words {
        *words = rest;
    }
    Some(LICENCES.contains(word))
}

fn twice(packages: &[&Value]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(text(package, "name")).or_default().insert(text(package, "version"));
    }
    let known = |name: &str| TWICE.iter().any(|(twice, _)| *twice == name);
    let new = versions.iter().filter(|(name, all)| all.len() > 1 && !known(name));
    let gone = TWICE.iter().filter(|(name, _)| versions.get(name).is_none_or(|all| all.len() < 2));
    let new = new.map(|(name, all)| format!("{name} is there in the versions {all:?}"));
    new.chain(gone.map(|(name, _)| format!("{name} is there once: take it out of xtask/src/deps.rs")))
        .collect()
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
    use serde_json::json;

    #[test]
    fn a_licence_is_one_that_can_be_met() {
        for yes in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        ] {
            assert!(is_allowed(yes), "{yes}");
        }
        for no in
            ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT OR", "(MIT OR GPL-2.0) AND GPL-3.0", "MIT MIT"]
        {
            assert!(!is_allowed(no), "{no}");
        }
    }

    #[test]
    fn what_is_not_from_the_registry_is_named() {
        let from = |from: Value| source(&json!({ "name": "a", "version": "1.0", "source": from }));
        assert_eq!(from(json!("registry+https://github.com/rust-lang/crates.io-index")), None);
        for other in [
            json!(null),
            json!("git+https://example.org/a?rev=1#1"),
            json!("registry+https://example.org/index"),
        ] {
            assert!(from(other.clone()).is_some_and(|said| said.contains("not from crates.io")), "{other}");
        }
    }

    #[test]
    fn a_crate_that_is_there_twice_is_named() {
        let package = |name: &str, version: &str| json!({ "name": name, "version": version });
        let all = [
            package("bitflags", "1.0"),
            package("bitflags", "2.0"),
            package("syn", "2.0"),
            package("syn", "3.0"),
            package("a", "1.0"),
            package("b", "1.0"),
        ];
        assert_eq!(twice(&all.iter().collect::<Vec<_>>()), Vec::<String>::new());
        let syn = ["2.0", "3.0"].map(|version| package("syn", version));
        let all = [package("a", "1.0"), package("a", "2.0"), package("bitflags", "2.0")];
        let all: Vec<_> = all.into_iter().chain(syn).collect();
        let found = twice(&all.iter().collect::<Vec<_>>());
        assert!(
            found[0].starts_with("a is there") && found[1].starts_with("bitflags is there once"),
            "{found:?}"
        );
    }

    #[test]
    fn a_dependency_is_used_by_its_whole_name() {
        assert!(names("use serde_json::Value;", "serde_json"));
        assert!(!names("use serde_json::Value;", "serde"));
        assert!(!names("my_serde()", "serde"));
    }
}
