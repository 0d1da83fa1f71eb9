//! `marker` and `escalate`: what an orchestrating program leaves for people and for itself.

use crate::floor::{TestFloor, ada};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_marker_is_set_shown_and_taken_away() {
    let floor = TestFloor::new();
    let none = floor.run(&["marker", "check", "--json"]);
    assert_eq!(none.code, 4);
    assert_eq!(serde_json::from_str::<Value>(&none.stdout).unwrap()["exists"], false);
    let create = ["marker", "create", "--epic", "5\u{1b}[2J", "--story", "5.3", "--remaining", "4"];
    floor.run(&create).fine();
    let marker = floor.json(&["marker", "check"]);
    assert_eq!(
        (&marker["exists"], &marker["epic"], &marker["story"]),
        (&true.into(), &"5".into(), &"5.3".into())
    );
    assert_eq!((&marker["remaining"], &marker["who"]), (&4.into(), &ada().into()));
    assert!(marker["age_s"].is_u64() && marker["heartbeat_s"].is_u64());
    floor.run(&["marker", "check"]).fine().shows("epic 5, story 5.3, 4 remaining");
    // Another project has its own.
    floor.add_project("other");
    assert_eq!(floor.run(&["marker", "check", "--project", "other"]).code, 4);
    let here = ["--project", "demo"];
    floor.run(&[&["marker", "remove"], &here[..]].concat()).fine().shows("removed");
    floor.run(&[&["marker", "remove"], &here[..]].concat()).fine().shows("there was no marker");
    let file = floor.layout().marker(&"demo".parse().unwrap());
    std::fs::write(&file, "{").unwrap();
    let broken = floor.run(&[&["marker", "check"], &here[..]].concat());
    assert_eq!(broken.code, 1);
    assert!(broken.stderr.contains("`shopfloor marker remove`"), "{}", broken.stderr);
    floor.run(&[&create[..], &here[..]].concat()).fine();
}

#[test]
fn escalations_are_lines_that_are_added_safely() {
    let floor = TestFloor::new();
    let token = format!("glpat-{}", "a1".repeat(12));
    let about = format!("story 5.3\n\u{1b}[31mfailed with {token}\u{202e}");
    let answer = floor.json(&["escalate", "retry_limit", &about]);
    assert_eq!((&answer["escalate"], &answer["trigger"]), (&true.into(), &"retry_limit".into()));
    let file = floor.layout().escalations(&"demo".parse().unwrap());
    assert_eq!(answer["file"], file.to_str().unwrap());
    // A line that a crash cut short does not spoil the next.
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str("{\"at\":");
    std::fs::write(&file, &text).unwrap();
    floor.run(&["escalate", "stuck", &"x".repeat(100_000)]).fine().shows("escalated stuck");
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    let first: Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(first["context"], "story 5.3\nfailed with [redacted]");
    let last: Value = serde_json::from_str(lines[2]).unwrap();
    assert!(last["context"].as_str().unwrap().len() < 5_000);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0);
    assert_eq!(floor.run(&["escalate", " ", "x"]).code, 2);
}

#[test]
fn many_escalate_at_once_and_no_line_is_lost() {
    let floor = TestFloor::new();
    let all: Vec<_> = (0..8)
        .map(|n| {
            floor
                .command(&["escalate", "many", &n.to_string()])
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in all {
        assert!(child.wait().unwrap().success());
    }
    let text = std::fs::read_to_string(floor.layout().escalations(&"demo".parse().unwrap())).unwrap();
    let mut seen: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["context"].as_str().unwrap().to_owned())
        .collect();
    seen.sort();
    assert_eq!(seen, (0..8).map(|n| n.to_string()).collect::<Vec<_>>());
}
