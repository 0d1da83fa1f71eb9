//! The spool under everything that happens to it: many writers, writers that are killed, emptying
//! while it is written to, an agent that puts something else in its place.

use shopfloor_adapters::agent::spool::{
    Batch, HookReport, Line, PROMPT_BYTES_MAX, append, hooks_file, read_line, read_new, statusline_file,
    trim, write_line,
};
use shopfloor_core::liveness::{HookEvent, StatuslineFact};
use shopfloor_core::time::Time;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const CHILD_DIR: &str = "SHOPFLOOR_TEST_SPOOL_DIR";
const CHILD_NAME: &str = "SHOPFLOOR_TEST_SPOOL_NAME";
const CHILD_COUNT: &str = "SHOPFLOOR_TEST_SPOOL_COUNT";
const THREADS: u64 = 8;

/// An event of `writer`, its `count`th. Some span several pages: only those are ever torn.
fn told(writer: &str, count: u64) -> HookReport {
    let prompt = "x".repeat(if count.is_multiple_of(3) { 20_000 } else { 10 });
    HookReport {
        at: Time(count),
        conversation: writer.to_owned(),
        transcript: None,
        subagent: false,
        event: HookEvent::UserPromptSubmit { prompt, turn: None },
    }
}

/// Each writer's events in the order they were read.
fn by_writer(told: &[HookReport], known: &mut BTreeMap<String, Vec<u64>>) {
    for told in told {
        known.entry(told.conversation.clone()).or_default().push(told.at.0);
    }
}

fn read_all(dir: &Path) -> Batch {
    let mut all = Batch::default();
    loop {
        let batch = read_new(dir, all.offset).unwrap();
        all.told.extend(batch.told);
        all.skipped += batch.skipped;
        all.offset = batch.offset;
        if !batch.more {
            return all;
        }
    }
}

/// Appends with several threads, saying so after each event.
#[test]
#[ignore = "the child of the tests below"]
fn child() {
    let Ok(dir) = std::env::var(CHILD_DIR) else { return };
    let name = std::env::var(CHILD_NAME).unwrap();
    let count: u64 = std::env::var(CHILD_COUNT).unwrap().parse().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (dir, name) = (&dir, &name);
            scope.spawn(move || {
                for n in 0..count {
                    append(Path::new(dir), &told(&format!("{name}-{thread}"), n)).unwrap();
                    let mut out = std::io::stdout();
                    writeln!(out, "appended").and_then(|()| out.flush()).unwrap();
                }
            });
        }
    });
}

fn start_child(dir: &Path, name: &str, count: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "spool::child", "--ignored", "--nocapture", "--quiet"])
        .env(CHILD_DIR, dir)
        .env(CHILD_NAME, name)
        .env(CHILD_COUNT, count.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn many_writers_lose_nothing_and_keep_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut children: Vec<Child> =
        (0..6).map(|n| start_child(dir.path(), &format!("child{n}"), 100)).collect();
    for child in &mut children {
        BufReader::new(child.stdout.take().unwrap()).lines().for_each(drop);
        assert!(child.wait().unwrap().success());
    }
    let all = read_all(dir.path());
    let mut known = BTreeMap::new();
    by_writer(&all.told, &mut known);
    assert_eq!((known.len(), all.skipped), (6 * THREADS as usize, 0));
    for (writer, counts) in known {
        assert_eq!(counts, (0..100).collect::<Vec<_>>(), "{writer}");
    }
    assert_eq!(fs::metadata(hooks_file(dir.path())).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_killed_writer_spoils_nothing_but_its_last_line() {
    const FOLDERS: u64 = 25;
    const ROUNDS: u64 = 10;
    for folder in 0..FOLDERS {
        let dir = tempfile::tempdir().unwrap();
        let reported: usize =
            (0..ROUNDS).map(|round| append_until_killed(dir.path(), folder * ROUNDS + round)).sum();
        let all = read_all(dir.path());
        assert!(all.skipped <= ROUNDS * THREADS, "{} lines are torn", all.skipped);
        assert!(all.told.len() >= reported && reported > 0, "{} of {reported}", all.told.len());
        let mut known = BTreeMap::new();
        by_writer(&all.told, &mut known);
        for (writer, counts) in known {
            assert!(counts.iter().copied().eq(0..counts.len() as u64), "{writer}: {counts:?}");
        }
        // And the next one is understood.
        append(dir.path(), &told("next", 1)).unwrap();
        assert_eq!(read_new(dir.path(), all.offset).unwrap().told.last(), Some(&told("next", 1)));
    }
}

/// Eight writers, killed in the middle of it. How many events they had reported.
fn append_until_killed(dir: &Path, round: u64) -> usize {
    // They would go on for long, but end by themselves should this process die.
    let mut child = start_child(dir, &format!("round{round}"), 10_000);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let scramble = (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
    let reported = lines.map_while(Result::ok).filter(|l| l == "appended").take(scramble as usize).count();
    child.kill().unwrap();
    child.wait().unwrap();
    reported
}

#[test]
fn emptying_under_appends_loses_nothing() {
    const EACH: u64 = 600;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let mut known = BTreeMap::new();
    let mut trims = 0;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                scope.spawn(move || {
                    for n in 0..EACH {
                        append(path, &told(&writer.to_string(), n)).unwrap();
                    }
                })
            })
            .collect();
        let mut offset = 0;
        loop {
            let last = writers.iter().all(|w| w.is_finished());
            let batch = read_new(path, offset).unwrap();
            assert_eq!(batch.skipped, 0);
            by_writer(&batch.told, &mut known);
            offset = trim(path, batch.offset).unwrap();
            trims += u64::from(offset == 0 && batch.offset > 0);
            if last && !batch.more {
                break;
            }
        }
        // Read to its end, and large: now it can be emptied for certain.
        while offset < 2 * 1024 * 1024 {
            append(path, &told("big", 0)).unwrap();
            offset = read_all(path).offset;
        }
        assert_eq!(trim(path, offset).unwrap(), 0);
    });
    assert!(known.values().all(|counts| counts.iter().copied().eq(0..EACH)), "after {trims} trims");
    assert_eq!(known.len(), 4);
    assert_eq!(fs::metadata(hooks_file(path)).unwrap().len(), 0);
    // The old offset is beyond the end: from the beginning.
    append(path, &told("after", 1)).unwrap();
    assert_eq!(read_new(path, 5_000_000).unwrap().told, [told("after", 1)]);
}

#[test]
fn what_is_small_or_unread_is_not_emptied() {
    let dir = tempfile::tempdir().unwrap();
    append(dir.path(), &told("a", 1)).unwrap();
    let end = read_all(dir.path()).offset;
    assert_eq!(trim(dir.path(), end).unwrap(), end);
    for n in 0..100 {
        append(dir.path(), &told("a", n * 3)).unwrap();
    }
    let before = read_all(dir.path()).offset;
    append(dir.path(), &told("late", 1)).unwrap();
    assert_eq!(trim(dir.path(), before).unwrap(), before);
    assert_eq!(read_new(dir.path(), before).unwrap().told, [told("late", 1)]);
}

#[test]
fn torn_and_foreign_lines_are_skipped_and_a_line_that_is_being_written_waits() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = fs::File::create(hooks_file(dir.path())).unwrap();
    file.write_all(b"{\"at\":1,\"conv").unwrap();
    append(dir.path(), &told("a", 1)).unwrap();
    file = fs::OpenOptions::new().append(true).open(hooks_file(dir.path())).unwrap();
    file.write_all(b"[]\n\xff\xfe\n{}\n").unwrap();
    append(dir.path(), &told("a", 2)).unwrap();
    file.write_all(b"{\"at\":1").unwrap();
    let batch = read_new(dir.path(), 0).unwrap();
    assert_eq!(batch.told, [told("a", 1), told("a", 2)]);
    assert_eq!((batch.skipped, batch.more), (4, true));
    // Nothing new in whole lines: not a reason to ask again.
    let again = read_new(dir.path(), batch.offset).unwrap();
    assert_eq!((again.told.len(), again.offset, again.more), (0, batch.offset, false));
}

#[test]
fn a_line_without_an_end_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(hooks_file(dir.path()), vec![b'x'; 9 * 1024 * 1024]).unwrap();
    append(dir.path(), &told("a", 1)).unwrap();
    let all = read_all(dir.path());
    assert_eq!(all.told, [told("a", 1)]);
    assert_eq!(all.skipped, 3);
}

#[test]
fn texts_are_bounded_and_names_are_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let long = HookReport {
        event: HookEvent::UserPromptSubmit { prompt: "ä\u{1}".repeat(PROMPT_BYTES_MAX), turn: None },
        transcript: Some("/".repeat(10_000)),
        ..told("a\x1b[31m\nb", 1)
    };
    append(dir.path(), &long).unwrap();
    let read = read_new(dir.path(), 0).unwrap().told.remove(0);
    assert_eq!((read.conversation.as_str(), read.transcript), ("a b", None));
    let HookEvent::UserPromptSubmit { prompt, .. } = read.event else { panic!("a prompt") };
    assert!(prompt.len() <= PROMPT_BYTES_MAX && prompt.len() > PROMPT_BYTES_MAX - 4);
}

#[test]
fn what_is_no_file_of_ours_is_refused_and_blocks_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let path = hooks_file(dir.path());
    super::support::Fifo::make(dir.path(), "hooks.jsonl");
    assert!(append(dir.path(), &told("a", 1)).is_err());
    assert!(read_new(dir.path(), 0).is_err());
    fs::remove_file(&path).unwrap();
    let elsewhere = dir.path().join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(append(dir.path(), &told("a", 1)).is_err());
    assert!(!elsewhere.exists());
    // No folder, no file: an error for the writer, nothing for the reader.
    let none = dir.path().join("none");
    assert!(append(&none, &told("a", 1)).is_err());
    assert_eq!(read_new(&none, 7).unwrap(), Batch::default());
}

#[test]
fn the_newest_status_line_wins() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(read_line(dir.path()).unwrap(), None);
    let line = |at, percent| Line {
        at: Time(at),
        conversation: "c".into(),
        fact: StatuslineFact { context_percent: Some(percent), ..StatuslineFact::default() },
    };
    write_line(dir.path(), &line(1, 10)).unwrap();
    write_line(dir.path(), &line(2, 20)).unwrap();
    assert_eq!(read_line(dir.path()).unwrap(), Some(line(2, 20)));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    fs::write(statusline_file(dir.path()), "{").unwrap();
    assert_eq!(read_line(dir.path()).unwrap(), None);
}
