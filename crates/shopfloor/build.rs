//! Embeds the recordings of real clients, so that `shopfloor doctor agents` can check the runtimes
//! of an installed program against them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    // Asked now, not when this was built: clones may share a target folder.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is");
    let root = Path::new(&here).join("../core/tests/fixtures/clients");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let mut out = String::from("pub const RECORDINGS: &[(&str, &str)] = &[\n");
    for file in files {
        let name = file.strip_prefix(&root).expect("found below it").display().to_string();
        println!("cargo::rerun-if-changed={}", file.display());
        writeln!(out, "    ({name:?}, include_str!({:?})),", file.display().to_string()).expect("a string");
    }
    out.push_str("];\n");
    let target = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&target).join("recordings.rs"), out).expect("the build folder is writable");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in std::fs::read_dir(folder).expect("the recordings are part of the source") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
