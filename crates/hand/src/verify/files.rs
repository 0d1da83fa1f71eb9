//! Finds the files below a folder that match a pattern.

use shopfloor_core::paths::{PathGlob, Segment};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How many entries are looked at; a pattern that needs more is too broad.
const ENTRIES_MAX: u32 = 200_000;

/// The files that match. A symbolic link to a folder is followed only where the pattern names it.
pub(super) fn found(root: &Path, glob: &PathGlob) -> Result<BTreeSet<PathBuf>, String> {
    let mut walk = Walk { found: BTreeSet::new(), looked_at: 0 };
    walk.folder(root, glob.segments())?;
    Ok(walk.found)
}

/// One of them that is longer, or whose length cannot be known.
pub(super) fn longer(files: &BTreeSet<PathBuf>, max: u64) -> Option<&PathBuf> {
    files.iter().find(|file| fs::metadata(file).map_or(u64::MAX, |meta| meta.len()) > max)
}

struct Walk {
    found: BTreeSet<PathBuf>,
    looked_at: u32,
}

impl Walk {
    fn folder(&mut self, folder: &Path, segments: &[Segment]) -> Result<(), String> {
        let Some((segment, rest)) = segments.split_first() else { return Ok(()) };
        if *segment == Segment::Deep {
            self.folder(folder, rest)?;
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(());
            }
            Err(e) => return Err(format!("{} cannot be read: {e}", folder.display())),
        };
        for entry in entries.flatten() {
            self.looked_at += 1;
            if self.looked_at > ENTRIES_MAX {
                return Err(format!("more than {ENTRIES_MAX} files to look at; write a narrower pattern"));
            }
            let (name, path) = (entry.file_name(), entry.path());
            let Some(name) = name.to_str() else { continue };
            if *segment == Segment::Deep {
                let below = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if below && !name.starts_with('.') {
                    self.folder(&path, segments)?;
                }
            } else if segment.matches(name) {
                let Ok(meta) = fs::metadata(&path) else { continue };
                if rest.is_empty() && meta.is_file() {
                    self.found.insert(path);
                } else if !rest.is_empty() && meta.is_dir() {
                    self.folder(&path, rest)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_once_and_folders_are_not_files() {
        let root = tempfile::tempdir().expect("a folder");
        for file in ["a.md", "docs/5-3-x.md", "docs/deep/er/5-3-y.md", "docs/.hid/5-3-z.md", ".git/5-3.md"] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, "x").expect("written");
        }
        fs::create_dir(root.path().join("dir.md")).expect("made");
        std::os::unix::fs::symlink("..", root.path().join("docs/loop")).expect("a link");
        let files = |pattern: &str| found(root.path(), &PathGlob::new(pattern).expect("good"));
        let check = |pattern: &str, expect: usize| {
            assert_eq!(files(pattern).map(|files| files.len()), Ok(expect), "{pattern}");
        };
        let all = files("**/*.md").expect("found");
        assert_eq!((longer(&all, 1), longer(&all, 0).is_some()), (None, true));
        check("*.md", 1);
        check("docs/5-3-*.md", 1);
        check("docs/**/5-3-*.md", 2);
        check("**/*.md", 3);
        check("**/**/5-3*", 2);
        check("docs/.hid/*", 1);
        check("docs/loop/a.md", 1);
        check("nothing/*", 0);
        check("a.md/*", 0);
    }
}
