//! Lock files that a killed git left behind. A live git holds one for milliseconds, so age tells them apart;
//! a fresh lock is left alone, and the call that meets it is tried again.

use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) const STALE_AFTER: Duration = Duration::from_secs(10);

/// Removes one lock file if it is at least that old. It is fine if it is already gone.
pub(crate) fn remove_stale(lock: &Path, age_min: Duration) {
    let age = std::fs::symlink_metadata(lock)
        .and_then(|meta| meta.modified())
        .map(|modified| modified.elapsed().unwrap_or_default());
    if age.is_ok_and(|age| age >= age_min) {
        let _ = std::fs::remove_file(lock);
    }
}

/// The lock files in a repository's folder and everywhere among its refs.
pub(crate) fn held(git_dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    collect(git_dir, false, &mut all);
    // A link would lead elsewhere.
    let refs = git_dir.join("refs");
    if refs.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        collect(&refs, true, &mut all);
    }
    all
}

/// Removes stale locks in a bare repository's folder and everywhere among its refs.
pub(crate) fn sweep_repository(git_dir: &Path) {
    for lock in held(git_dir) {
        remove_stale(&lock, STALE_AFTER);
    }
}

fn collect(dir: &Path, below: bool, all: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() && below {
            collect(&path, true, all);
        } else if kind.is_file() && is_lock(&path) {
            all.push(path);
        }
    }
}

/// Git fails on its draft of the packed refs as it does on a lock.
fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|ext| ext == "lock") || path.ends_with("packed-refs.new")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn old_locks_go_and_fresh_ones_stay() {
        let dir = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir_all(dir.path().join("refs/heads")).expect("refs");
        let lock = |name: &str, age: u64| {
            let path = dir.path().join(name);
            let file = std::fs::File::create(&path).expect("lock");
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).expect("age");
            path
        };
        let (old, deep, fresh) =
            (lock("HEAD.lock", 60), lock("refs/heads/a.lock", 60), lock("packed-refs.lock", 0));
        let draft = lock("packed-refs.new", 60);
        sweep_repository(dir.path());
        assert!(!old.exists() && !deep.exists() && !draft.exists() && fresh.exists());
    }
}
