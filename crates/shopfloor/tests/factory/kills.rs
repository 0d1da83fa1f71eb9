//! kill -9 on real processes, at many points: what lands is what an undisturbed run would land.

use crate::floor::{DEMO, Floor};
use shopfloor_core::state::End;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// Runs the factory, killing the daemon after it printed `lines` lines, as often as asked.
pub fn up_killed_after(floor: &Floor, lines: usize) -> bool {
    let mut child = floor
        .command(&["up", "--until-idle", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let out = BufReader::new(child.stdout.take().expect("piped"));
    for (n, line) in out.lines().enumerate() {
        if line.is_err() || n + 1 >= lines {
            break;
        }
    }
    let ended = child.try_wait().expect("waited").is_some();
    if !ended {
        child.kill().expect("killed");
    }
    child.wait().expect("waited");
    ended
}

#[test]
fn the_daemon_may_be_killed_at_any_point() {
    let floor = Floor::new(DEMO);
    let one = floor.issue("One", "demo: fail-ci-once one.txt <<one");
    let two = floor.issue("Two", "demo: write two.txt <<two");
    // A few steps at a time: each run is cut off somewhere else.
    for lines in [1, 2, 3, 5, 7, 4, 6, 9, 8, 3, 5, 7] {
        if up_killed_after(&floor, lines) {
            break;
        }
    }
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("one.txt"), "one");
    assert_eq!(floor.landed("two.txt"), "two");
    floor.assert_history_green();
    for issue in [one, two] {
        assert_eq!(floor.job(issue).end(), Some(End::Merged));
        floor.assert_cleaned_up(issue);
        // Said once, opened once, landed once.
        let prs = floor.forge().prs(&floor.project, None).expect("pull requests");
        assert_eq!(prs.iter().filter(|p| p.branch == format!("fix/issue-{issue}")).count(), 1);
        assert_eq!(floor.job(issue).rounds.respawns, 0, "live sessions are adopted, not restarted");
    }
}

#[test]
fn a_second_daemon_is_refused() {
    let floor = Floor::new(DEMO);
    let first = floor.run(&["up", "--detach"]);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let second = floor.run(&["up"]);
    assert_eq!(second.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&second.stderr).contains("already runs on this floor"));
    assert_eq!(floor.run(&["up", "--detach"]).status.code(), Some(5));
    floor.ok(&["down"]);
    assert!(floor.ok(&["down"]).contains("no daemon runs"));
}

#[test]
fn everything_killed_at_once_is_recovered() {
    let floor = Floor::new(DEMO);
    let issue = floor.issue("Survive", "demo: write survive.txt <<survived");
    for lines in [4, 6, 8] {
        up_killed_after(&floor, lines);
        // The tmux server and every agent in it, as in a reboot.
        floor.tmux(&["kill-server"]);
    }
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("survive.txt"), "survived");
    floor.assert_history_green();
    assert_eq!(floor.job(issue).end(), Some(End::Merged));
}
