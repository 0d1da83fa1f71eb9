//! The files and functions that a document names: each of them is there, and the code map leaves out none.

use crate::sh::{self, Res};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// What `page` names in backticks, as `path/file.rs` or `path/file.rs: name, name`, and the tree has not. Paths may
/// leave out their beginning, and `src/`.
pub fn missing(root: &Path, page: &str) -> Res<Vec<String>> {
    let text = std::fs::read_to_string(root.join(page)).map_err(|e| format!("{page}: {e}"))?;
    let listed = sh::output(Command::new("git").args(["ls-files", "--", "*.rs"]).current_dir(root))?;
    let files: Vec<(&str, String)> =
        listed.lines().map(|file| (file, format!("/{file}").replace("/src/", "/"))).collect();
    let mut wrong = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for word in line.split('`').skip(1).step_by(2) {
            let (path, names) = word.split_once(": ").unwrap_or((word, ""));
            if !path.ends_with(".rs") || path.contains(char::is_whitespace) {
                continue;
            }
            let end = format!("/{path}").replace("/src/", "/");
            let sources = files.iter().filter(|(_, short)| short.ends_with(&end));
            let sources: Vec<String> =
                sources.filter_map(|(file, _)| std::fs::read_to_string(root.join(file)).ok()).collect();
            if sources.is_empty() {
                wrong.push(format!("{page}:{}: there is no {path}", number + 1));
            }
            for name in names.split(", ").filter(|name| !name.is_empty()) {
                let named = ["fn ", "struct ", "enum "].map(|kind| format!("{kind}{name}"));
                if !sources.iter().any(|text| named.iter().any(|named| text.contains(named))) {
                    wrong.push(format!("{page}:{}: {path} has no {name}", number + 1));
                }
            }
        }
    }
    Ok(wrong)
}

/// Which files of `folder` the page's code map does not name: each has to be there by its own name, or in a folder that
/// has a row of its own (`` | `planner/` | ``). Tests, `mod.rs` and `lib.rs` need no line.
pub fn unmapped(root: &Path, page: &str, folder: &str) -> Res<Vec<String>> {
    let text = std::fs::read_to_string(root.join(page)).map_err(|e| format!("{page}: {e}"))?;
    let listed = sh::output(Command::new("git").args(["ls-files", "--", folder]).current_dir(root))?;
    Ok(not_in(&text, page, listed.lines().filter_map(|file| file.strip_prefix(folder)?.strip_prefix('/'))))
}

fn not_in<'f>(text: &str, page: &str, files: impl Iterator<Item = &'f str>) -> Vec<String> {
    let words: BTreeSet<&str> = text.split(['`', '/', ' ', ':', ',']).collect();
    let is_mapped = |file: &str| {
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        words.contains(name) || text.contains(&format!("\n| `{folder}/` |"))
    };
    let counts = |file: &&str| {
        let is_test = file.split('/').any(|part| part == "tests" || part == "tests.rs");
        file.ends_with(".rs") && !is_test && !file.ends_with("mod.rs") && *file != "lib.rs"
    };
    let missing = files.filter(counts).filter(|file| !is_mapped(file));
    missing.map(|file| format!("{page}: the code map does not name {file}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_in_the_code_map_by_its_name_or_by_its_folders_row() {
        let text = "\n| `a.rs`, `b/` | those |\n| `c/` | all of it |\n| `b/d.rs`, `e.rs` | two |\n";
        let files = [
            "a.rs",
            "b/d.rs",
            "b/e.rs",
            "b/f.rs",
            "b/mod.rs",
            "b/tests/x.rs",
            "c/g.rs",
            "h.rs",
            "lib.rs",
            "x.snap",
        ];
        let wrong = not_in(text, "MAP", files.into_iter());
        assert_eq!(wrong, ["b/f.rs", "h.rs"].map(|file| format!("MAP: the code map does not name {file}")));
    }
}
