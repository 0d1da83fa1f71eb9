//! A folder for one run of the doctor's: nobody else's, and gone with it.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> io::Result<Scratch> {
        let folder = std::env::temp_dir().join(format!("sf-doctor-{}-{name}", std::process::id()));
        // Not one that is there already: somebody else's would be a trap.
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", folder.display())))?;
        Ok(Scratch(folder))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, part: &str) -> PathBuf {
        self.0.join(part)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
