//! People stop agents, take their jobs and hand them back.

use crate::floor::{DEMO, Floor};

/// An agent that stays.
const WAITS: &str = "[agents.dev]\nruntime = \"generic\"\ncommand = [\"sleep\", \"300\"]\n[agents.review]\nruntime = \"demo\"\n";

#[test]
fn what_is_paused_starts_nothing_until_it_goes_on() {
    let floor = Floor::new(DEMO);
    floor.ok(&["pause", "--reason", "a release"]);
    floor.issue("Say hello", "demo: write hello.txt <<hello");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.engine().floor().jobs.iter().count(), 0);
    let status = floor.ok(&["status"]);
    assert!(status.contains("paused for") && status.contains("a release"), "{status}");
    assert_eq!(floor.json(&["status"]).1["floor"]["projects"][0]["paused"], "a release");
    assert_eq!(floor.run(&["resume", "nosuch"]).status.code(), Some(4));
    floor.ok(&["resume", "sample"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("hello.txt"), "hello");
}

#[test]
fn a_job_that_a_person_took_is_theirs_until_they_hand_it_back() {
    let floor = Floor::new(WAITS);
    let issue = floor.issue("Wait", "");
    floor.ok(&["up", "--detach"]);
    floor.live(1);
    assert_eq!(floor.run(&["take", "9"]).status.code(), Some(4));
    let agent = floor.command(&["take", "1"]).env("SHOPFLOOR_SESSION", "1").output().expect("it runs");
    assert_eq!(agent.status.code(), Some(2), "no agent takes anything");
    floor.ok(&["take", "1"]);
    floor.kill_daemon();
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "a person has it: {text}");
    let status = floor.ok(&["status"]);
    assert!(status.contains("you have it since"), "{status}");
    floor.ok(&["resume", "1"]);
    assert_eq!(floor.run(&["resume", "1"]).status.code(), Some(1), "nobody has it");
    assert!(floor.job(issue).taken.is_none());
    // Explicit words are heeded at once.
    floor.ok(&["take", "1"]);
    floor.ok(&["cancel", "1"]);
    let (_, text) = floor.until_idle();
    assert_eq!(floor.job(issue).state.name(), "cancelled", "{text}");
}
