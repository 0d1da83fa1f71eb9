use super::support::{BOUND, Script, wait_gone};
use shopfloor_adapters::host::exit_watch::ExitWatcher;
use shopfloor_adapters::host::process::{
    EndReport, Liveness, descendants, end_marked_tree, end_tree, identify, is_same, start_time,
};
use shopfloor_core::effect::ProcessId;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const GRACE: Duration = Duration::from_millis(200);

/// Prints the pid of a grandchild that ignores SIGTERM and whose parent is gone, then its own.
const TREE: &str = r#"
(sh -c 'trap "" TERM; echo $$; sleep 300; sleep 300' &)
echo $$
sleep 300
"#;

#[test]
fn a_tree_is_ended_with_orphans_that_ignore_sigterm() {
    let mut script = Script::start(TREE, &[]);
    let (one, two) = (script.process(), script.process());
    let orphan = if one == script.id { two } else { one };
    assert!(
        descendants(script.id.pid).expect("a list").contains(&orphan),
        "the orphan is found by its group"
    );

    let report = end_tree(script.id, GRACE).expect("ended");
    assert!(report.asked >= 3 && report.killed >= 1, "{report:?}");
    for process in [script.id, orphan] {
        assert_eq!(is_same(process), Liveness::Gone);
    }
    assert_eq!(end_tree(script.id, GRACE).expect("again"), EndReport::default());
}

#[test]
fn those_who_obey_are_not_killed_and_not_waited_for() {
    let script = Script::start("exec sleep 300", &[]);
    let began = Instant::now();
    let report = end_tree(script.id, BOUND).expect("ended");
    assert_eq!(report, EndReport { asked: 1, killed: 0 });
    assert!(began.elapsed() < BOUND);
}

#[test]
fn another_process_with_the_pid_is_left_alone() {
    let mut script = Script::start("echo $$; exec sleep 300", &[]);
    script.process();
    let other = ProcessId { pid: script.id.pid, start: script.id.start + 1 };
    assert_eq!(is_same(other), Liveness::Gone);
    assert_eq!(end_tree(other, GRACE).expect("nothing to do"), EndReport::default());
    assert_eq!(is_same(script.id), Liveness::Alive);
}

#[test]
fn a_daemon_that_left_the_tree_is_found_by_its_marker_only() {
    let marker = format!("SHOPFLOOR_TEST_MARK=daemon-{}", std::process::id());
    let (name, value) = marker.split_once('=').expect("an entry");
    let daemon = "(setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 300' &)";
    let mut script = Script::start(daemon, &[(name, value)]);
    let daemon = script.process();
    wait_gone(script.id);

    assert_eq!(end_tree(script.id, GRACE).expect("nothing to do"), EndReport::default());
    assert_eq!(is_same(daemon), Liveness::Alive);
    let report = end_marked_tree(None, marker.as_bytes(), GRACE).expect("ended");
    assert_eq!(report, EndReport { asked: 1, killed: 1 });
    assert_eq!(is_same(daemon), Liveness::Gone);
}

#[test]
fn a_zombie_is_gone_but_has_a_start_time() {
    let script = Script::start("exit 0", &[]);
    wait_gone(script.id);
    assert_eq!(start_time(script.id.pid).expect("read"), Some(script.id.start));
    assert_eq!(identify(script.id.pid), None);
    assert_eq!(start_time(u32::MAX).expect("read"), None);
}

#[test]
fn exits_are_reported_once_and_the_gone_at_once() {
    let (tx, rx) = mpsc::channel();
    let watcher = ExitWatcher::spawn(move |key| tx.send(key).unwrap_or_default()).expect("a watcher");
    let long = Script::start("exec sleep 300", &[]);
    let other = Script::start("exec sleep 300", &[]);
    watcher.watch(1, long.id).expect("watched");
    watcher.watch(2, other.id).expect("watched");
    watcher.watch(3, ProcessId { pid: long.id.pid, start: long.id.start + 1 }).expect("watched");
    assert_eq!(rx.recv_timeout(BOUND), Ok(3), "the pid is another's");

    watcher.unwatch(2);
    end_tree(other.id, BOUND).expect("ended");
    end_tree(long.id, BOUND).expect("ended");
    assert_eq!(rx.recv_timeout(BOUND), Ok(1), "and nothing of the unwatched one");

    watcher.watch(4, long.id).expect("watched");
    assert_eq!(rx.recv_timeout(BOUND), Ok(4));
    drop(watcher);
    assert!(rx.recv().is_err(), "the thread ended and nothing was reported twice");
}
