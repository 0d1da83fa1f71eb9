//! The commands and the daemon do not import each other: what both need is in neither.

use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("read").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.into_iter().chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// The files that name that module, besides those of the modules in `may`.
fn naming(module: &str, may: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let others = sources(&root).into_iter().filter_map(|path| {
        let name = path.strip_prefix(&root).expect("in there").display().to_string();
        let may = may.iter().any(|may| name == *may || name.starts_with(&format!("{may}/")));
        let says = || std::fs::read_to_string(&path).expect("text").contains(module);
        (!may && says()).then_some(name)
    });
    others.collect()
}

#[test]
fn only_commands_and_the_agent_that_is_one_need_commands() {
    let none: [String; 0] = [];
    assert_eq!(naming("crate::cli", &["cli", "demo_agent"]), none);
    assert_eq!(naming("shopfloor::cli", &["lib.rs", "main.rs"]), none);
}

#[test]
fn only_what_starts_a_daemon_needs_the_daemon() {
    let none: [String; 0] = [];
    assert_eq!(naming("crate::daemon", &["daemon", "cli/up", "cli/foreground.rs"]), none);
}
