//! Tools of ours that are programs from crates.io.
//!
//! Invariant: each is pinned. It is built once, by its own lockfile, into a cache folder outside of the project, which is
//! complete: it is filled under another name, and renamed.

use crate::clients;
use crate::sh::{self, Res, cargo, say};
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Tool {
    pub program: &'static str,
    pub version: &'static str,
    /// For `cargo install`.
    pub features: &'static [&'static str],
}

impl Tool {
    /// The program, which is built where there is none of that version.
    pub fn ensure(&self) -> Res<PathBuf> {
        self.find().map_or_else(|| self.install(), Ok)
    }

    /// On the PATH, else in the cache.
    fn find(&self) -> Option<PathBuf> {
        let is_it = |program: &Path| {
            sh::output(Command::new(program).arg("--version")).is_ok_and(|said| {
                said.split_whitespace().any(|word| word.trim_start_matches('v') == self.version)
            })
        };
        let cached = self.folder()?.join("bin").join(self.program);
        [PathBuf::from(self.program), cached].into_iter().find(|program| is_it(program))
    }

    fn folder(&self) -> Option<PathBuf> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
        Some(caches.join("shopfloor").join(format!("{}-{}", self.program, self.version)))
    }

    fn install(&self) -> Res<PathBuf> {
        let Tool { program, version, features } = self;
        let folder = self.folder().ok_or_else(|| {
            format!("there is no HOME to keep {program} under: install it yourself, on the PATH")
        })?;
        folder.parent().into_iter().for_each(clients::remove_leftovers);
        let part = folder.with_file_name(format!(".part-{}", std::process::id()));
        say(format!("building {program} {version}, once (about two minutes)"));
        let mut install = cargo();
        install.args(["install", program, "--version", version, "--locked"]).args(*features);
        let done =
            sh::run(install.arg("--root").arg(&part)).and_then(|()| match std::fs::rename(&part, &folder) {
                // Another run was faster, and what it built is the same.
                Err(_) if folder.exists() => Ok(()),
                done => done.map_err(|e| format!("{} cannot be made: {e}", folder.display())),
            });
        if part.exists() && std::fs::remove_dir_all(&part).is_err() {
            say(format!("{} could not be removed", part.display()));
        }
        done.map(|()| folder.join("bin").join(program))
    }
}
