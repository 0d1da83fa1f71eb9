//! The journal's notes, read and followed.

use crate::floor::TestFloor;
use serde_json::Value;
use shopfloor_core::event::Event;
use shopfloor_core::ids::Epoch;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

#[test]
fn notes_are_shown_oldest_first_and_can_be_limited() {
    let floor = TestFloor::new();
    floor.at_work();
    let all = floor.json(&["events"]);
    let all = all.as_array().unwrap();
    let seqs: Vec<u64> = all.iter().map(|e| e["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted() && seqs.len() > 3, "{seqs:?}");
    assert!(all.iter().all(|e| e["kind"] != "event" && e["at"].is_string() && e["text"].is_string()));
    assert!(all.iter().any(|e| e["kind"] == "AGENT_REGISTERED"));
    let two = floor.json(&["events", "--limit", "2"]);
    assert_eq!(two.as_array().unwrap().as_slice(), &all[all.len() - 2..]);
    let later = floor.json(&["events", "--since", &seqs[1].to_string()]);
    assert_eq!(later.as_array().unwrap().len(), all.len() - 2);
    assert_eq!(floor.json(&["events", "--since", "1h"]).as_array().unwrap().len(), all.len());
    assert_eq!(floor.json(&["events", "--issue", "2"]).as_array().unwrap().len(), 0);
    assert_eq!(
        floor.json(&["events", "--project", "demo", "--issue", "1"]).as_array().unwrap().len(),
        all.len()
    );
    floor.run(&["events"]).fine().shows("demo#1").shows("AGENT_REGISTERED");
}

/// Ends the follower also when the test fails.
struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Follower {
    fn start(floor: &TestFloor, args: &[&str]) -> Self {
        let mut child = floor.command(args).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Follower { child, lines }
    }

    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(Duration::from_secs(20)).expect("a line in time");
        serde_json::from_str(&line).unwrap()
    }
}

#[test]
fn agents_are_watched() {
    let floor = TestFloor::new();
    floor.at_work();
    let follower = Follower::start(&floor, &["agents", "--watch", "--json"]);
    let seen = |looks: Value| (looks[0]["status"].clone(), looks[0]["liveness"].clone());
    assert_eq!(seen(follower.next()), ("active".into(), "green".into()));
    floor.submit(&Event::SessionExited { epoch: Epoch(1), status: Some(137) });
    // Also what was shown a moment before may still come.
    while seen(follower.next()) != ("crashed".into(), "red".into()) {}
}

#[test]
fn following_shows_what_happens_when_it_happens() {
    let floor = TestFloor::new();
    floor.at_work();
    let follower = Follower::start(&floor, &["events", "--follow", "--json", "--limit", "1"]);
    let first = follower.next();
    floor.submit(&Event::SessionExited { epoch: Epoch(1), status: Some(1) });
    let second = follower.next();
    assert!(second["seq"].as_u64() > first["seq"].as_u64());
    let mut kinds = vec![second["kind"].clone()];
    while !kinds.contains(&"AGENT_CRASHED".into()) {
        kinds.push(follower.next()["kind"].clone());
    }
    // Once more, after the follower slept.
    floor.run(&["cancel", "1"]).fine();
    while !kinds.contains(&"JOB_STATE".into()) || kinds.last() == Some(&"AGENT_CRASHED".into()) {
        kinds.push(follower.next()["kind"].clone());
    }
}
