//! Several processes at one merge queue at once, and a daemon that comes back after it was replaced.

use crate::branches::{Gate, PEOPLE, push, push_primary};
use crate::floor::{Floor, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Output, Stdio};

/// A floor with gated checks.
fn gated() -> (Floor, Gate) {
    let floor = Floor::new(PEOPLE);
    let gate = Gate::new(&floor);
    assert_eq!(floor.until_idle().0, 0);
    (floor, gate)
}

fn process(floor: &Floor) -> Child {
    let mut command = floor.command(&["merge-queue", "process"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
}

fn merged(output: Output) {
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains(": merged: landed as"), "{said}");
}

/// It is in the primary branch, once.
pub fn landed_once(floor: &Floor, branch: &str) {
    let subjects = floor.hub(&["log", "--first-parent", "--format=%s", "main"]);
    let times = subjects.lines().filter(|s| s.starts_with(&format!("{branch}: "))).count();
    assert_eq!(times, 1, "{branch}\n{subjects}");
}

pub fn daemon(floor: &Floor) -> Pid {
    let holder = std::fs::read_to_string(floor.home().join("daemon.lock")).expect("the lock file");
    let pid = holder.split_whitespace().next().expect("a pid");
    Pid::from_raw(pid.parse().expect("a pid")).expect("a pid")
}

pub fn is_gone(pid: Pid) -> bool {
    // Its parent is gone, so whoever adopted it has to reap it: that may take a while.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.map_or(true, |stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

#[test]
fn two_that_process_at_once_land_it_once() {
    let (floor, mut gate) = gated();
    push(&floor, "alice/fix", "a.txt", "one");
    floor.ok(&["merge-queue", "add", "alice/fix", "--approve"]);
    // One does it, the other watches; neither starts a second run.
    let (one, other) = (process(&floor), process(&floor));
    wait_for("it is being checked", || gate.began() == 1);
    gate.let_through(1);
    merged(one.wait_with_output().expect("it ends"));
    merged(other.wait_with_output().expect("it ends"));
    assert_eq!(gate.began(), 1);
    landed_once(&floor, "alice/fix");

    // The same beside a daemon, which does it.
    push(&floor, "alice/more", "b.txt", "two");
    floor.ok(&["up", "--detach"]);
    floor.ok(&["merge-queue", "add", "alice/more", "--approve"]);
    wait_for("it is being checked", || gate.began() == 2);
    let (one, other) = (process(&floor), process(&floor));
    gate.let_through(2);
    merged(one.wait_with_output().expect("it ends"));
    merged(other.wait_with_output().expect("it ends"));
    floor.ok(&["down"]);
    landed_once(&floor, "alice/more");
    floor.assert_history_green();
}

#[test]
fn who_watches_takes_over_when_the_other_is_killed() {
    let (floor, mut gate) = gated();
    push(&floor, "alice/fix", "a.txt", "one");
    floor.ok(&["merge-queue", "add", "alice/fix", "--approve"]);
    let mut one = process(&floor);
    wait_for("it is being checked", || gate.began() == 1);
    let other = process(&floor);
    one.kill().expect("killed");
    one.wait().expect("waited");
    wait_for("it is being checked again", || gate.began() == 2);
    gate.let_through(2);
    merged(other.wait_with_output().expect("it ends"));
    landed_once(&floor, "alice/fix");
}

#[test]
fn a_daemon_that_was_replaced_publishes_nothing() {
    let (floor, mut gate) = gated();
    push(&floor, "alice/fix", "a.txt", "one");
    floor.ok(&["up", "--detach"]);
    floor.ok(&["merge-queue", "add", "alice/fix", "--approve"]);
    wait_for("it is being checked", || gate.began() == 1);
    let old = daemon(&floor);
    kill_process(old, Signal::STOP).expect("stopped");
    // The kernel holds the lock for a stopped process as for any other.
    assert_eq!(floor.run(&["up", "--until-idle"]).status.code(), Some(5));
    // Somebody takes the lock away all the same: the next one holds the lease.
    std::fs::remove_file(floor.home().join("daemon.lock")).expect("removed");
    std::fs::remove_file(floor.home().join("daemon.sock")).expect("removed");
    let new = process(&floor);
    wait_for("it is being checked by the new one", || gate.began() == 2);
    gate.let_through(2);
    merged(new.wait_with_output().expect("it ends"));
    let primary = floor.hub(&["rev-parse", "main"]);
    let newer = push(&floor, "alice/more", "b.txt", "two");
    // The old one wakes up beside it. Whatever it was about to commit is refused, and it ends.
    kill_process(old, Signal::CONT).expect("continued");
    wait_for("the old daemon is gone", || is_gone(old));
    assert_eq!(floor.hub(&["rev-parse", "main"]), primary);
    assert!(
        std::fs::read_to_string(floor.home().join("daemon.log")).expect("a log").contains("has taken over")
    );
    landed_once(&floor, "alice/fix");
    // And the floor goes on.
    floor.ok(&["merge-queue", "add", "alice/more", "--approve"]);
    gate.let_through(2);
    merged(process(&floor).wait_with_output().expect("it ends"));
    assert_eq!(floor.hub(&["rev-parse", &format!("refs/shopfloor/merged/{newer}")]), newer.to_string());
    floor.assert_history_green();
}

/// A hub is one floor's. Another that is made to use it stands still for whatever it has no record of.
#[test]
fn a_second_floor_at_one_hub_lands_nothing_on_what_it_cannot_explain() {
    let (first, mut gate) = gated();
    let second = Floor::new(PEOPLE);
    let hub = |floor: &Floor| floor.home().join("projects/sample/hub.git");
    std::fs::remove_dir_all(hub(&second)).expect("removed");
    std::os::unix::fs::symlink(hub(&first), hub(&second)).expect("linked");
    // Its checkout is one of that hub's.
    second.git(&["fetch", "--quiet", "shopfloor", "main"]);
    second.git(&["reset", "--quiet", "--hard", "FETCH_HEAD"]);
    assert_eq!(second.until_idle().0, 0);
    push(&first, "alice/one", "a.txt", "one");
    push(&first, "bob/two", "b.txt", "two");
    push_primary(&first, "between.txt");
    first.ok(&["merge-queue", "add", "alice/one", "--approve"]);
    second.ok(&["merge-queue", "add", "bob/two", "--approve"]);
    // What was pushed is on record with the first floor alone.
    let mut two = process(&second);
    wait_for("the second stands still", || {
        second.notes("ESCALATION").iter().any(|note| note.contains("stands still"))
    });
    let one = process(&first);
    // Both heads, and the candidate of the first.
    gate.let_through(3);
    merged(one.wait_with_output().expect("it ends"));
    landed_once(&first, "alice/one");
    assert_eq!(first.hub(&["rev-list", "--count", "--grep=^bob/two: ", "main"]), "0");
    two.kill().expect("ended");
    two.wait().expect("reaped");
    first.assert_history_green();
}
