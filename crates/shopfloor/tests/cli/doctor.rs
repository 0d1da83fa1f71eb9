//! `doctor` on floors that are well and floors that are not.

use crate::floor::{TestFloor, ran};
use serde_json::Value;

fn find<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|c| c["name"] == name).unwrap_or_else(|| panic!("no {name} in {report:#}"))
}

fn report(floor: &TestFloor, code: i32) -> Value {
    let got = floor.run(&["doctor", "--json"]);
    assert_eq!(got.code, code, "{}{}", got.stdout, got.stderr);
    serde_json::from_str(&got.stdout).unwrap()
}

const PROJECT: &str = "[project]\nname = \"demo\"\n[ci]\nno_checks = true\n[review]\nrequired = false\n";

fn configure(floor: &TestFloor, more: &str) {
    std::fs::write(floor.root().join("code/demo/shopfloor.toml"), format!("{PROJECT}{more}")).unwrap();
}

#[test]
fn before_there_is_a_floor_nothing_is_wrong() {
    let floor = TestFloor::none();
    let report = report(&floor, 0);
    assert_eq!(report["ok"], true);
    for (name, status) in [
        ("git", "ok"),
        ("tmux", "ok"),
        ("home", "ok"),
        ("store", "ok"),
        ("sockets", "ok"),
        ("daemon", "warn"),
    ] {
        assert_eq!(find(&report, name)["status"], status, "{report:#}");
    }
    assert!(!floor.home().exists());
}

#[test]
fn projects_and_their_agents_are_checked() {
    let floor = TestFloor::new();
    std::fs::remove_file(floor.root().join("code/demo/shopfloor.toml")).unwrap();
    let missing = report(&floor, 1);
    assert_eq!(find(&missing, "project demo")["status"], "fail");

    configure(&floor, "[agents.dev]\nruntime = \"demo\"\n");
    let good = report(&floor, 0);
    assert_eq!(find(&good, "project demo")["status"], "ok");
    assert_eq!(find(&good, "project demo, dev agent")["status"], "ok");
    assert_eq!(find(&good, "store")["status"], "ok");

    configure(&floor, "[agents.dev]\nruntime = \"generic\"\ncommand = [\"no-such-agent-anywhere\"]\n");
    let bad = report(&floor, 1);
    let agent = find(&bad, "project demo, dev agent");
    assert_eq!(agent["status"], "fail");
    assert!(agent["hint"].as_str().unwrap().contains("command"), "{agent}");
    configure(&floor, "[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", \"true\"]\n");
    assert_eq!(find(&report(&floor, 0), "project demo, dev agent")["status"], "ok");

    configure(&floor, "[agents.dev\n");
    floor.run(&["doctor"]).shows("fail  project demo: ").shows("shopfloor.toml:");
    std::fs::remove_dir_all(floor.root().join("code/demo")).unwrap();
    floor.run(&["doctor"]).shows("is gone");
}

#[test]
fn missing_programs_come_with_a_way_to_get_them() {
    let floor = TestFloor::new();
    let empty = floor.root().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let got = ran(floor.command(&["doctor"]).env("PATH", &empty));
    assert_eq!(got.code, 1);
    got.shows("fail  git: git cannot be started").shows("fail  tmux: is not installed");
    got.shows("hint: install tmux with your package manager");
}

#[test]
fn a_home_too_deep_for_sockets_is_found() {
    let floor = TestFloor::none();
    let deep = floor.root().join("x".repeat(120));
    let got = ran(floor.command(&["doctor"]).env("SHOPFLOOR_HOME", &deep));
    assert_eq!(got.code, 1);
    got.shows("fail  sockets:").shows("shorter path");
}
