//! The registry in files and in the journal, as other tools read them.

use crate::client::wait_for;
use crate::floor::{DEMO, Floor};
use serde_json::{Value, json};

fn identity(floor: &Floor, name: &str) -> Value {
    let file = floor.home().join(format!("identities/{name}.json"));
    serde_json::from_slice(&std::fs::read(&file).expect("it is there")).expect("whole")
}

#[test]
fn identities_are_registered_before_they_run_and_their_ends_are_told_apart() {
    let floor = Floor::new(DEMO);
    floor.issue("Crashes once", "demo: hold start\ndemo: crash-once\ndemo: write a.txt <<a");
    floor.up();
    let git = floor.home().join("projects/sample/repos/issue-1.git");
    wait_for("it runs", || git.join("demo-hold-start").exists().then_some(()));
    let file = &floor.home().join("identities/dev-sample-1.json");
    let process = floor.live(1).process.expect("a process");
    let seen = wait_for("its file says so", || {
        let seen: Value = serde_json::from_slice(&std::fs::read(file).ok()?).expect("whole");
        (seen["pid"] == process.pid).then_some(seen)
    });
    let listed = floor.json(&["agents"]).1[0].clone();
    let stable = [
        "role",
        "name",
        "session_id",
        "pid",
        "pid_start",
        "tmux_session",
        "node_id",
        "bead_id",
        "worktree_path",
        "hook_path",
        "created_at",
        "status",
        "predecessor_id",
        "liveness",
        "work_phase",
    ];
    for field in stable {
        assert_eq!(seen[field], listed[field], "{field}");
        assert!(field == "predecessor_id" || !seen[field].is_null(), "{field}: {seen}");
    }
    assert_eq!((&seen["status"], &seen["liveness"]), (&json!("active"), &json!("green")));
    let record = std::fs::read(seen["hook_path"].as_str().expect("a path")).expect("its record");
    let record: Value = serde_json::from_slice(&record).expect("whole");
    for field in [
        "identity_name",
        "current_bead",
        "current_node",
        "work_phase",
        "work_summary",
        "last_checkpoint_at",
        "files_modified",
        "tests_status",
        "resumption_instructions",
    ] {
        assert!(record.get(field).is_some(), "{field}: {record}");
    }
    // What is lost or spoilt is written again: the files are a copy.
    floor.kill_daemon();
    std::fs::remove_file(file).expect("removed");
    std::fs::write(floor.home().join("records/dev-sample-1.json"), "{").expect("spoilt");
    floor.up();
    std::fs::write(git.join("demo-go-start"), "").expect("written");
    floor.wait_until_merged(shopfloor_core::ids::IssueNumber(1));
    floor.ok(&["down"]);

    let dev = identity(&floor, "dev-sample-1");
    assert_eq!((&dev["status"], &dev["session_id"]), (&json!("terminated"), &json!("e2")));
    assert_eq!((&dev["predecessor_id"], &dev["chain"]), (&json!("e1"), &json!(["e1"])));
    assert_eq!(identity(&floor, "review-sample-1")["status"], "terminated");
    let journal = floor.json(&["events", "--since", "1h"]).1;
    let kinds: Vec<&str> =
        journal.as_array().expect("a list").iter().filter_map(|e| e["kind"].as_str()).collect();
    let at =
        |kind: &str| kinds.iter().position(|k| *k == kind).unwrap_or_else(|| panic!("{kind}: {kinds:?}"));
    assert!(at("HOOK_UPDATED") < at("AGENT_CRASHED") && at("AGENT_REGISTERED") < at("AGENT_CRASHED"));
    assert!(at("AGENT_CRASHED") < at("AGENT_TERMINATED"));
    at("MERGE_READY");
    at("MERGE_COMPLETE");
    assert!(floor.run(&["agents"]).stdout.len() < floor.run(&["agents", "--all"]).stdout.len());
}
