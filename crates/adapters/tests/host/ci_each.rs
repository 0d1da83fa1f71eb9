//! Several commits in one run: each is checked as it is, in order, up to the first that does not pass.

use super::ci::{Floor, git};
use super::support::Fifo;
use shopfloor_core::effect::CiVerdict;
use shopfloor_core::ids::{RunId, Sha};
use shopfloor_engine::ports::{Ci, CiRequest};
use std::fs;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// A branch of three commits on top of the first, in the hub: the file holds each one's number.
fn floor() -> (Floor, Vec<Sha>) {
    let mut floor = Floor::new();
    let source = floor.folder.path().join("source");
    let mut commits: Vec<Sha> = Vec::new();
    for number in 1..=3 {
        fs::write(source.join("file"), format!("{number}\n")).expect("written");
        git(&source, &["commit", "--quiet", "-am", &format!("try \x1b[31m{number}")]);
        commits.push(git(&source, &["rev-parse", "HEAD"]).parse().expect("a commit"));
    }
    let hub = floor.layout.hub(&floor.project);
    git(&source, &["push", "--quiet", hub.to_str().expect("text"), "HEAD:refs/heads/fix"]);
    floor.commit = commits[2].clone();
    floor.about.each.clone_from(&commits);
    (floor, commits)
}

fn seen(floor: &Floor) -> String {
    fs::read_to_string(floor.folder.path().join("seen")).unwrap_or_default()
}

const SEE: &str = "test $(git rev-parse HEAD) = $SHOPFLOOR_HEAD; test -z \"$(git status --porcelain)\"; cat file >> $OUT/seen; touch left-over";

#[test]
fn each_commit_is_checked_on_a_clean_checkout_of_its_own() {
    let (floor, commits) = floor();
    let report = floor.check(&[("see", SEE, MINUTE)]);
    assert_eq!((report.verdict, report.at.as_deref()), (CiVerdict::Green, None), "{}", floor.log());
    assert_eq!(seen(&floor), "1\n2\n3\n");
    assert!(floor.log().contains(&format!("== commit {}, 2 of 3 ==", commits[1])), "{}", floor.log());
    // Asked for again, it is answered and not run again.
    floor.check(&[("see", SEE, MINUTE)]);
    assert_eq!(seen(&floor), "1\n2\n3\n");
}

#[test]
fn the_first_that_fails_decides_and_is_named() {
    let (floor, commits) = floor();
    let report = floor.check(&[("see", SEE, MINUTE), ("not two", "! grep -q 2 file", MINUTE)]);
    assert_eq!((report.verdict, report.step.as_deref()), (CiVerdict::Red, Some("not two")));
    let at = report.at.expect("the commit");
    assert!(at.starts_with(commits[1].short()) && at.contains("try") && !at.contains('\x1b'), "{at:?}");
    assert_eq!(seen(&floor), "1\n2\n", "nothing is run after it");
    // The last is what the run is about: it needs no other name.
    let (floor, _) = self::floor();
    let report = floor.check(&[("not three", "! grep -q 3 file", MINUTE)]);
    assert_eq!((report.verdict, report.at), (CiVerdict::Red, None));
}

#[test]
fn commits_that_need_no_checks_are_passed_over() {
    let mut floor = Floor::new();
    let source = floor.folder.path().join("source");
    let mut each: Vec<Sha> = Vec::new();
    for file in ["README.md", "code"] {
        fs::write(source.join(file), "x\n").expect("written");
        git(&source, &["add", "."]);
        git(&source, &["commit", "--quiet", "-m", file]);
        each.push(git(&source, &["rev-parse", "HEAD"]).parse().expect("a commit"));
    }
    let hub = floor.layout.hub(&floor.project);
    git(&source, &["push", "--quiet", hub.to_str().expect("text"), "HEAD:refs/heads/fix"]);
    floor.commit = each[1].clone();
    floor.about.each = each;
    let report = floor.check(&[("see", "ls >> $OUT/seen", MINUTE)]);
    assert_eq!(report.verdict, CiVerdict::Green);
    assert_eq!(seen(&floor), "README.md\ncode\nfile\n");
}

#[test]
fn a_run_that_is_cancelled_at_one_of_them_goes_on_to_no_other() {
    let (floor, _) = floor();
    let fifo = Fifo::make(floor.folder.path(), "begun");
    let ci = floor.ci(&[("waits", "cat file >> $OUT/seen; echo > $OUT/begun; sleep 1000", MINUTE)]);
    std::thread::scope(|scope| {
        let request = CiRequest { run: RunId(2), ..floor.request() };
        let ci = &ci;
        let running = scope.spawn(move || ci.run(&request).expect("a report"));
        fifo.read();
        ci.cancel(&floor.project, RunId(2)).expect("cancelled");
        assert_eq!(running.join().expect("it ends").verdict, CiVerdict::Cancelled);
    });
    assert_eq!(seen(&floor), "1\n");
}
