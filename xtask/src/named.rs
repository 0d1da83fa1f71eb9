//! The files and functions that a document names: each of them is there.

use crate::sh::{self, Res};
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
