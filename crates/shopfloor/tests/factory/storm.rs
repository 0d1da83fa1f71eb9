//! The daemon is killed (kill -9) again and again while many branches are on their way through the merge queue: some fail
//! by themselves, some conflict, some flake, some are red only together, and a person pushes in between. Whatever the
//! method: nothing is lost, nothing lands twice, and every first-parent commit of the primary branch passes the checks.

use crate::floor::{Floor, run_git};
use crate::queue::{Kind, enqueue, file, floor, kind};
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::End;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Set: the storm at full size, which takes minutes. To be run after the queue was changed.
const FULL: &str = "SHOPFLOOR_TEST_STORM";

/// Runs the factory until it is idle, or kills it after it printed so many lines. Whether it was killed.
fn up_killed_after(floor: &Floor, lines: usize) -> bool {
    let mut child = floor
        .command(&["up", "--until-idle", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let out = BufReader::new(child.stdout.take().expect("piped"));
    let read = out.lines().take(lines).count();
    if read < lines {
        child.wait().expect("waited");
        return false;
    }
    child.kill().expect("killed, or gone by itself");
    child.wait().expect("waited");
    true
}

fn storm(method: &str) {
    let full = std::env::var_os(FULL).is_some();
    // `lines`: the daemon lives for at most so many.
    let (changes, kills, lines) = if full { (50, 200, 2) } else { (10, 8, 4) };
    let floor = floor(method);
    let mut issues: Vec<IssueNumber> = (0..changes).map(|n| enqueue(&floor, n)).collect();
    let mut roll = 7_u64;
    let mut killed = 0;
    while killed < kills {
        roll = roll.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if !up_killed_after(&floor, 1 + (roll >> 33) as usize % lines) {
            // All is done and not enough were killed: more comes, with pairs and rivals in it.
            let next = issues.len() as u64;
            issues.extend((next..next + 10).map(|n| enqueue(&floor, n)));
            continue;
        }
        killed += 1;
        if killed % 7 == 0 {
            // A human pushes in between.
            floor.git_insists(&["pull", "--quiet", "--ff-only", "shopfloor", "main"]);
            std::fs::write(floor.path("repo/human.txt"), format!("{killed}\n")).expect("written");
            floor.git_insists(&["add", "human.txt"]);
            floor.git_insists(&["commit", "--quiet", "-m", &format!("human {killed}")]);
            floor.git_insists(&["push", "--quiet", "shopfloor", "main"]);
        }
    }
    let (_, text) = floor.until_idle();
    floor.assert_history_green();
    let commits = check_every_commit(&floor);
    let ends = landed_once(&floor, method, &issues, &text);
    println!("{method}: {killed} kills, {} branches: {ends:?}; {commits} first-parent commits", issues.len());
}

/// Each by itself, by the very checks that it brings.
fn check_every_commit(floor: &Floor) -> usize {
    let line = floor.hub(&["rev-list", "--first-parent", "main"]);
    let (place, tar) = (floor.path("recheck"), floor.path("recheck.tar"));
    // What it began with has no such checks yet.
    let with_checks = |commit: &&str| {
        let checks = ["cat-file", "-e", &format!("{commit}:check.sh")];
        run_git(&floor.home().join("projects/sample/hub.git"), &floor.path("home"), &checks).status.success()
    };
    for commit in line.lines().filter(with_checks) {
        std::fs::remove_dir_all(&place).ok();
        std::fs::create_dir_all(&place).expect("a folder");
        floor.hub(&["archive", "--format=tar", "-o", &tar.display().to_string(), commit]);
        let unpacked = Command::new("tar").arg("-xf").arg(&tar).arg("-C").arg(&place).status();
        assert!(unpacked.expect("tar runs").success());
        let checked = Command::new("sh").arg("check.sh").current_dir(&place).output().expect("sh runs");
        let subject = floor.hub(&["log", "-1", "--format=%s", commit]);
        assert!(checked.status.success(), "{commit} ({subject}) does not pass");
    }
    line.lines().count()
}

/// What is good landed, what is not did not, and of two that exclude each other one did.
fn landed_once(
    floor: &Floor,
    method: &str,
    issues: &[IssueNumber],
    text: &str,
) -> BTreeMap<&'static str, usize> {
    let subjects = floor.hub(&["log", "--format=%s", "main"]);
    let is_it = |subject: &str, n: u64| match method {
        "squash" => subject.starts_with(&format!("Change {n} (")),
        _ => subject == format!("change {n}"),
    };
    let (mut rivals, mut pairs, mut ends) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (n, issue) in (0..).zip(issues) {
        let times = subjects.lines().filter(|s| is_it(s, n)).count();
        let end = floor.job(*issue).end();
        assert_eq!(end == Some(End::Merged), times == 1, "{n}: {end:?}, landed {times} times\n{text}");
        assert!(end.is_some(), "{n} is through\n{text}");
        *ends.entry(if times == 1 { "landed" } else { "sent back" }).or_insert(0) += 1;
        match kind(n) {
            Kind::Good | Kind::Flaky => {
                assert_eq!(times, 1, "{n} landed once\n{text}");
                assert_eq!(floor.landed(&file(n)), format!("change {n}"));
            }
            Kind::Broken => assert_eq!(times, 0, "{n} did not land"),
            Kind::Rival => *rivals.entry(n / 10).or_insert(0) += times,
            Kind::Pair => *pairs.entry(n / 10).or_insert(0) += times,
        }
    }
    assert!(rivals.values().all(|landed| *landed == 1), "of two rivals one lands: {rivals:?}");
    assert!(pairs.values().all(|landed| *landed == 1), "of two that are red together one lands: {pairs:?}");
    ends
}

#[test]
fn squashed_branches_land_once_however_often_the_daemon_is_killed() {
    storm("squash");
}

#[test]
fn merged_branches_land_once_however_often_the_daemon_is_killed() {
    storm("merge");
}

#[test]
fn rebased_branches_land_once_however_often_the_daemon_is_killed() {
    storm("rebase");
}
