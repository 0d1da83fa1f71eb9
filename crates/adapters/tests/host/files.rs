use super::support::{BOUND, Fifo};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_adapters::host::lock::{FileLock, holder};
use shopfloor_adapters::phase_file;
use shopfloor_core::ids::{IssueNumber, Role};
use shopfloor_core::phase::PHASE_FILE_BYTES_MAX;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};

struct Watched {
    watcher: FileWatcher,
    reports: Receiver<u64>,
    folder: tempfile::TempDir,
}

impl Watched {
    fn new() -> Watched {
        let (tx, reports) = mpsc::channel();
        let watcher = FileWatcher::spawn(move |key| tx.send(key).unwrap_or_default()).expect("a watcher");
        Watched { watcher, reports, folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn next(&self) -> u64 {
        self.reports.recv_timeout(BOUND).expect("a report")
    }

    /// Reads the file at every report, as a consumer does, until it holds that.
    fn until(&self, key: u64, path: &Path, content: Option<&str>) {
        loop {
            if self.next() == key && fs::read_to_string(path).ok().as_deref() == content {
                return;
            }
        }
    }
}

#[test]
fn a_file_is_followed_through_writes_renames_and_absence() {
    let w = Watched::new();
    let path = w.path("file");
    fs::write(&path, "first").expect("written");
    w.watcher.watch(7, &path).expect("watched");
    w.until(7, &path, Some("first"));
    // A late report of one change could stand in for the report of the next, but a watch that was
    // lost stays lost: several rounds find it.
    for round in 0..4 {
        for change in ["written", "replaced", "removed", "recreated", "truncated"] {
            let content = format!("{change} {round}");
            let expect = match change {
                "written" | "recreated" => fs::write(&path, &content).map(|()| Some(content.as_str())),
                "replaced" => write_atomic(&path, content.as_bytes(), 0o600).map(|()| Some(content.as_str())),
                "removed" => fs::remove_file(&path).map(|()| None),
                _ => fs::write(&path, "").map(|()| Some("")),
            };
            w.until(7, &path, expect.expect("changed"));
        }
    }
}

#[test]
fn a_file_is_awaited_also_where_its_folder_is_missing() {
    let w = Watched::new();
    let path = w.path("a/b/file");
    w.watcher.watch(1, &path).expect("watched");
    w.until(1, &path, None);
    fs::create_dir_all(w.path("a/b")).expect("made");
    fs::write(&path, "here").expect("written");
    w.until(1, &path, Some("here"));
    fs::remove_dir_all(w.path("a")).expect("removed");
    w.until(1, &path, None);
    fs::create_dir_all(w.path("a/b")).expect("made");
    fs::write(&path, "again").expect("written");
    w.until(1, &path, Some("again"));
}

#[test]
fn watches_share_a_file_and_end_one_by_one() {
    let w = Watched::new();
    let path = w.path("file");
    fs::write(&path, "").expect("written");
    w.watcher.watch(1, &path).expect("watched");
    w.watcher.watch(2, &path).expect("watched");
    w.until(1, &path, Some(""));
    w.watcher.unwatch(1);
    fs::write(&path, "two").expect("written");
    w.until(2, &path, Some("two"));
    while w.reports.try_recv().is_ok() {}
    write_atomic(&path, b"three", 0o600).expect("replaced");
    assert_eq!(w.next(), 2);
    assert!(w.watcher.watch(3, "relative").is_err());
    drop(w.watcher);
    assert!(w.reports.iter().all(|key| key == 2), "nothing of the unwatched key");
}

#[test]
fn a_lock_has_one_holder_and_ends_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lock");
    assert_eq!(holder(&path), None);
    let lock = FileLock::try_exclusive(&path).expect("opened").expect("free");
    assert!(FileLock::try_exclusive(&path).expect("opened").is_none());
    assert_eq!(holder(&path), Some(std::process::id()));
    drop(lock);
    assert!(FileLock::try_exclusive(&path).expect("opened").is_some());
    // One that died without a word is no holder.
    fs::write(&path, format!("{} 1\n", std::process::id())).expect("written");
    assert_eq!(holder(&path), None);
}

#[test]
fn a_phase_file_is_reset_written_and_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = "harb".parse().expect("a name");
    let path = phase_file::path(folder.path(), Role::Dev, &project, IssueNumber(42));
    assert_eq!(path.file_name().expect("named"), "dev-session-harb-42.phase");
    let review = phase_file::path(folder.path(), Role::Review, &project, IssueNumber(42));
    assert_eq!(review.file_name().expect("named"), "review-session-harb-42.phase");

    assert_eq!(phase_file::read(&path).expect("read"), None);
    phase_file::reset(&path).expect("reset");
    let (empty, content) = phase_file::read(&path).expect("read").expect("there");
    assert_eq!(content, "");
    phase_file::write(&path, "PHASE:done\n").expect("written");
    let (done, content) = phase_file::read(&path).expect("read").expect("there");
    assert_eq!(content, "PHASE:done\n");
    assert_ne!(empty, done);
    assert_eq!(phase_file::read(&path).expect("read").expect("there").0, done, "reading changes nothing");
    assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o600);

    fs::write(&path, vec![b'x'; PHASE_FILE_BYTES_MAX * 3]).expect("written");
    assert_eq!(phase_file::read(&path).expect("read").expect("there").1.len(), PHASE_FILE_BYTES_MAX);
    phase_file::reset(&path).expect("reset");
    assert_eq!(phase_file::read(&path).expect("read").expect("there").1, "");
    assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1, "no temporary file is left");
}

#[test]
fn a_phase_file_is_one_floors() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dev-session-p-1.phase");
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
    fs::create_dir(&one).expect("made");
    fs::create_dir(&two).expect("made");
    assert!(phase_file::claim(&path, &one) && phase_file::claim(&path, &one));
    assert!(!phase_file::claim(&path, &two), "the other has it");
    // A floor that is gone needs nothing any more.
    fs::remove_dir(&one).expect("removed");
    assert!(phase_file::claim(&path, &two) && !phase_file::claim(&path, folder.path()));
    // Of many at once one gets it.
    let path = folder.path().join("dev-session-p-2.phase");
    let floors: Vec<_> = (0..8).map(|n| folder.path().join(format!("floor{n}"))).collect();
    floors.iter().for_each(|floor| fs::create_dir(floor).expect("made"));
    let won = std::thread::scope(|scope| {
        let tries: Vec<_> = floors.iter().map(|f| scope.spawn(|| phase_file::claim(&path, f))).collect();
        tries.into_iter().map(|t| t.join().expect("no panic")).filter(|won| *won).count()
    });
    assert_eq!(won, 1);
}

#[test]
fn what_is_planted_at_a_phase_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let victim = folder.path().join("victim");
    let path = folder.path().join("x.phase");
    let refused = |what: &str| {
        for error in [phase_file::reset(&path).err(), phase_file::read(&path).err()] {
            let error = error.unwrap_or_else(|| panic!("{what} is accepted")).to_string();
            assert!(error.contains("remove it"), "{what}: {error}");
        }
    };
    let plant = |what: &str| {
        fs::write(&victim, "precious").expect("written");
        match what {
            "a link" => symlink(&victim, &path),
            "a dangling link" => symlink(folder.path().join("nowhere"), &path),
            "a second name" => fs::hard_link(&victim, &path),
            "a folder" => fs::create_dir(&path),
            _ => {
                Fifo::make(folder.path(), "x.phase");
                Ok(())
            }
        }
        .expect("planted");
        refused(what);
        assert_eq!(fs::read_to_string(&victim).expect("there"), "precious", "{what}");
        fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)).expect("removed");
    };
    for what in ["a link", "a dangling link", "a second name", "a folder", "a pipe"] {
        plant(what);
    }
    assert!(!folder.path().join("nowhere").exists());
}
