//! What an issue costs, in processes, waits for the disk and commits: counted, not timed.

use crate::floor::{DEMO, Floor};
use shopfloor_store::{EVENT, Store};

/// Each a few more than there are, since an agent may signal between two looks.
const GIT_MAX: usize = 58;
/// With those that git itself starts: for a fetch, a push, a clone.
const GIT_AND_ITS_OWN_MAX: usize = 66;
const GIT_SYNCS_MAX: u64 = 30;
const TMUX_MAX: usize = 10;
/// Each is one durable commit.
const EVENTS_MAX: usize = 60;

#[test]
fn an_issue_costs_no_more_processes_syncs_and_commits_than_it_needs() {
    let mut floor = Floor::new(DEMO);
    // The first one finds everything new.
    floor.issue("First", "demo: write a.txt <<a");
    assert_eq!(floor.until_idle().0, 0);
    let before = floor.engine().position();
    let trace = floor.path("trace");
    std::fs::create_dir(&trace).expect("a folder");
    let (_, tmux) = floor.counting("tmux");
    let (path, git) = floor.counting_with("git", &format!("export GIT_TRACE2_EVENT={}", trace.display()));
    floor.env.push(("PATH".into(), path.into()));
    floor.issue("Second", "demo: write b.txt <<b");
    assert_eq!(floor.until_idle().0, 0);
    assert_eq!(floor.landed("b.txt"), "b");

    let (git, tmux) = (git(), tmux());
    assert!(git.len() <= GIT_MAX, "git was started {} times:\n{}", git.len(), git.join("\n"));
    assert!(tmux.len() <= TMUX_MAX, "tmux was started {} times:\n{}", tmux.len(), tmux.join("\n"));
    // Each git process, whoever started it, tells in a file of its own what it did.
    let told: Vec<String> = std::fs::read_dir(&trace)
        .expect("a folder")
        .map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("text"))
        .collect();
    assert!(told.len() >= git.len(), "git tells what it does");
    assert!(told.len() <= GIT_AND_ITS_OWN_MAX, "there were {} git processes", told.len());
    let syncs: u64 = told.iter().flat_map(|events| events.lines()).map(syncs).sum();
    assert!(syncs <= GIT_SYNCS_MAX, "git waited {syncs} times for the disk");
    let entries = floor.engine().store().journal(before, 10_000).expect("the journal");
    let events: Vec<&str> = entries.iter().filter(|e| e.kind == EVENT).map(|e| e.body.as_str()).collect();
    assert!(events.len() <= EVENTS_MAX, "there were {} events:\n{}", events.len(), events.join("\n"));
}

/// How often git waited for the disk, if that is what an event of its trace tells.
fn syncs(event: &str) -> u64 {
    let event: serde_json::Value = serde_json::from_str(event).unwrap_or_default();
    if event["category"] != "fsync" || event["key"] != "fsync/hardware-flush" {
        return 0;
    }
    event["value"].as_str().and_then(|count| count.parse().ok()).unwrap_or(0)
}
