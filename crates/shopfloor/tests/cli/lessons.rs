//! `docs/lessons.md` names tests; each of them has to exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The names of all functions under `#[test]` in a folder.
fn tests_in(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_in(&path, names);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let after = text.split("#[test]").skip(1);
            let name = |rest: &str| Some(rest.split_once("fn ")?.1.split_once('(')?.0.to_owned());
            names.extend(after.filter_map(name));
        }
    }
}

/// What is in backticks in the last column, row by row.
fn named(doc: &str) -> Vec<(String, Vec<String>)> {
    let rows =
        doc.lines().filter_map(|line| line.strip_prefix("| ")).filter(|l| l.starts_with(char::is_numeric));
    rows.map(|row| {
        let cells: Vec<&str> = row.split(" | ").collect();
        let tests = cells.last().map_or("", |cell| *cell).split('`').skip(1).step_by(2);
        (cells[0].to_owned(), tests.map(str::to_owned).collect())
    })
    .collect()
}

#[test]
fn every_lesson_has_tests_that_exist() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut tests = BTreeSet::new();
    tests_in(&root.join("crates"), &mut tests);
    let rows = named(&std::fs::read_to_string(root.join("docs/lessons.md")).unwrap());
    let numbers: Vec<String> = rows.iter().map(|(number, _)| number.clone()).collect();
    assert_eq!(numbers, (1..=rows.len()).map(|n| n.to_string()).collect::<Vec<_>>());
    for (number, named) in rows {
        assert!(!named.is_empty(), "lesson {number} names no test");
        let missing: Vec<_> = named.iter().filter(|name| !tests.contains(*name)).collect();
        assert!(missing.is_empty(), "lesson {number} names {missing:?}, which do not exist");
    }
}
