use super::support::{BOUND, Fifo};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_adapters::host::file_watch::{FileWatcher, When};
use shopfloor_adapters::host::lock::{FileLock, holder};
use shopfloor_adapters::phase_file::{self, Look, Reader};
use shopfloor_core::ids::{Assignment, IssueNumber, PrNumber, Role};
use shopfloor_core::phase::{PHASE_FILE_BYTES_MAX, PhaseReport};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

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
    let path = phase_file::path(folder.path(), Role::DEV, &project, Assignment::Issue(IssueNumber(42)));
    assert_eq!(path.file_name().expect("named"), "dev-session-harb-42.phase");
    let review = phase_file::path(folder.path(), Role::REVIEW, &project, Assignment::Pull(PrNumber(42)));
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
fn a_floor_that_gives_a_phase_file_up_leaves_nothing_and_another_can_have_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let phases = folder.path().join("phases");
    let path = phases.join("dev-session-p-1.phase");
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
    for made in [&phases, &one, &two] {
        fs::create_dir(made).expect("made");
    }
    assert!(phase_file::claim(&path, &one));
    phase_file::reset(&path).expect("reset");
    // Not another's.
    phase_file::release(&path, &two).expect("released");
    assert!(path.exists() && !phase_file::claim(&path, &two));
    for _ in 0..2 {
        phase_file::release(&path, &one).expect("released");
        assert_eq!(fs::read_dir(&phases).expect("listed").count(), 0);
    }
    assert!(phase_file::claim(&path, &two));
    phase_file::release(&path, &two).expect("released");
    // What somebody planted there is left to them, and the path is not used.
    symlink(folder.path().join("nowhere"), &path).expect("planted");
    assert!(!phase_file::claim(&path, &one));
    assert_eq!(fs::read_dir(&phases).expect("listed").count(), 1, "no mark is left");
}

/// How an agent may write a phase with a second line; `$1` is the file.
const WRITERS: [&str; 6] = [
    r#"printf 'PHASE:failed\nReason: %s\n' 'blocked_by #12' > "$1""#,
    r#"echo PHASE:failed > "$1"; echo 'Reason: blocked_by #12' >> "$1""#,
    r#"exec 3> "$1"; echo PHASE:failed >&3; echo 'Reason: blocked_by #12' >&3; exec 3>&-"#,
    r#"{ echo PHASE:failed; echo 'Reason: blocked_by #12'; } > "$1.new"; mv "$1.new" "$1""#,
    r#"rm -f "$1"; printf 'PHASE:failed\nReason: blocked_by #12' > "$1""#,
    r#": > "$1"; printf PHASE: >> "$1"; echo failed >> "$1"; printf 'Reason: blocked_by ' >> "$1"; echo '#12' >> "$1""#,
];

#[test]
fn a_phase_of_two_lines_is_never_read_half_however_it_is_written() {
    const FILES: u64 = 200;
    let folder = tempfile::tempdir().expect("a folder");
    let path = |key: u64| folder.path().join(format!("dev-session-p-{key}.phase"));
    let (tx, reports) = mpsc::channel();
    let paths: Vec<PathBuf> = (0..FILES).map(path).collect();
    let mut readers = vec![Reader::default(); paths.len()];
    let watched = paths.clone();
    let watcher = FileWatcher::spawn_patient(move |key| {
        let look = readers[key as usize].look(&watched[key as usize], false, Instant::now());
        match look.expect("it is ours") {
            Look::Nothing => None,
            Look::Half(wait) => Some(wait),
            Look::Whole { content, .. } => {
                if !content.is_empty() {
                    tx.send((key, content)).unwrap_or_default();
                }
                None
            }
        }
    })
    .expect("a watcher");
    for (key, path) in (0..).zip(&paths) {
        phase_file::reset(path).expect("reset");
        watcher.watch_when(key, path, When::Written).expect("watched");
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Everybody has to wait for a core.
        for _ in 0..8 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        for part in paths.chunks(50) {
            scope.spawn(move || {
                for (n, path) in part.iter().enumerate() {
                    let writer = WRITERS[n % WRITERS.len()];
                    let status = Command::new("sh").args(["-c", writer, "sh"]).arg(path).status();
                    assert!(status.expect("sh runs").success());
                }
            });
        }
        for _ in 0..FILES {
            let (key, content) = reports.recv_timeout(BOUND).expect("a report");
            let report = PhaseReport::parse(&content).expect("a phase").expect("a phase");
            assert_eq!(report.detail.as_deref(), Some("blocked_by #12"), "{key}: {content:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    drop(watcher);
    assert_eq!(reports.iter().count(), 0, "each was told once");
}

#[test]
fn what_a_writer_leaves_that_is_killed_or_never_ends_is_read_in_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.phase");
    let (mut reader, start) = (Reader::default(), Instant::now());
    let mut look = |content: &str, after_ms: u64, is_final: bool| {
        fs::write(&path, content).expect("written");
        reader.look(&path, is_final, start + Duration::from_millis(after_ms)).expect("read")
    };
    let whole = |look: Look| matches!(look, Look::Whole { .. });
    assert_eq!(look("PHASE:failed\n", 0, false), Look::Half(Duration::from_secs(2)));
    // Written again and again: not for ever.
    for n in 1..10 {
        assert!(!whole(look(&format!("PHASE:failed\nReason: {n}"), n * 1_000, false)));
    }
    assert!(whole(look("PHASE:failed\nReason: 10", 10_000, false)));
    // Nobody is left to write more.
    assert!(whole(look("PHASE:fai", 10_001, true)));
    // What `shopfloor phase` writes, and what says all in a line, is whole at once.
    assert!(whole(look("PHASE:failed\nId: 1\n", 10_002, false)));
    assert!(whole(look("PHASE:awaiting_ci\n", 10_003, false)));
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
