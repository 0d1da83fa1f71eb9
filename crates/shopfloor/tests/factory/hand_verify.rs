//! `verify` and `build-cmd`: the project's own words, filled in safely and looked at for real.

use crate::floor::{DEMO, Floor};
use serde_json::Value;

const CHECKS: &str = r#"
[verify.story]
checks = [
    { files = "stories/{key}-*.md", max = 1 },
    { json = "status.json", pointer = "/stories/{key}", equals = "done" },
    { run = ["test", "-e", "stories/{key}-a.md"] },
    { git = "clean" },
    { git = "commits_ahead" },
    { git = "branch_exists", branch = "story/{key}" },
    { git = "pushed" },
]
[verify.slow]
checks = [{ run = ["sh", "-c", "echo working on it; setsid sleep 1000 & sleep 1000"], timeout = "100ms" }]
[verify.background]
checks = [{ run = ["sh", "-c", "setsid sleep 1000 & exit 0"] }]
[steps.create]
runtime = "claude"
command = ["printf", "%s\n", "--model=big", "{prompt}"]
prompt = "Create {story} ({step}). {extra}"
"#;

fn verify(floor: &Floor, step: &str, key: &str) -> (i32, Value) {
    floor.json(&["verify", step, key])
}

fn ok(answer: &Value) -> Vec<bool> {
    answer["reasons"].as_array().expect("a list").iter().map(|r| r["ok"].as_bool().expect("a bool")).collect()
}

#[test]
fn every_kind_of_check_looks_at_what_is_there() {
    let floor = Floor::new(&format!("{DEMO}{CHECKS}"));
    floor.git(&["add", "-A"]);
    floor.git(&["commit", "--quiet", "-m", "configure"]);
    let (code, answer) = verify(&floor, "story", "5.3");
    assert_eq!((code, &answer["verified"]), (1, &false.into()));
    assert_eq!(ok(&answer), [false, false, false, true, false, false, false], "{answer}");

    floor.git(&["checkout", "--quiet", "-b", "story/5.3"]);
    std::fs::create_dir(floor.path("repo/stories")).expect("a folder");
    std::fs::write(floor.path("repo/stories/5.3-a.md"), "").expect("written");
    std::fs::write(floor.path("repo/status.json"), r#"{"stories": {"5.3": "done"}}"#).expect("written");
    let (_, answer) = verify(&floor, "story", "5.3");
    assert_eq!(ok(&answer), [true, true, true, false, false, true, false], "{answer}");
    floor.git(&["add", "-A"]);
    floor.git(&["commit", "--quiet", "-m", "the story"]);
    let origin = floor.path("origin.git").display().to_string();
    floor.git(&["init", "--quiet", "--bare", &origin]);
    floor.git(&["remote", "add", "origin", &origin]);
    floor.git(&["push", "--quiet", "origin", "story/5.3"]);
    let (code, answer) = verify(&floor, "story", "5.3");
    assert_eq!((code, &answer["verified"], &answer["key"]), (0, &true.into(), &"5.3".into()), "{answer}");
    // One too many.
    std::fs::write(floor.path("repo/stories/5.3-b.md"), "").expect("written");
    let shown = floor.run(&["verify", "story", "5.3"]);
    assert_eq!(shown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&shown.stdout).ends_with("not verified\n"));
}

#[test]
fn keys_stay_keys_and_what_is_not_configured_is_not_verified() {
    let floor = Floor::new(&format!("{DEMO}{CHECKS}"));
    for key in ["../5.3", "a/b", "-rf", "", "."] {
        assert_eq!(floor.run(&["verify", "story", "--", key]).status.code(), Some(2), "{key:?}");
    }
    let (code, answer) = verify(&floor, "story", "*");
    assert_eq!((code, ok(&answer)[0]), (1, false), "a key is no pattern: {answer}");
    let unknown = floor.run(&["verify", "other", "5.3"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("configured: background, slow, story"));
}

#[test]
fn a_verifiers_program_is_bounded_and_leaves_nothing_behind() {
    let floor = Floor::new(&format!("{DEMO}{CHECKS}"));
    let (code, answer) = verify(&floor, "slow", "1");
    assert_eq!(code, 1);
    let why = answer["reasons"][0]["why"].as_str().expect("text");
    assert!(why.contains("did not end within") && why.contains("working on it"), "{why}");
    let (code, answer) = verify(&floor, "background", "1");
    assert_eq!(code, 0, "what it left behind is not waited for: {answer}");
}

#[test]
fn a_steps_command_line_means_the_same_to_a_shell() {
    let floor = Floor::new(&format!("{DEMO}{CHECKS}"));
    let extra = "it's \"$(touch pwned)\"; `x` {story}\n--flag";
    let (code, built) = floor.json(&["session", "build-cmd", "create", "5.3", extra]);
    assert_eq!((code, &built["runtime"]), (0, &"claude".into()));
    let line = built["command"].as_str().expect("text");
    let shell = std::process::Command::new("sh")
        .args(["-c", line])
        .current_dir(floor.path("repo"))
        .output()
        .expect("a shell runs");
    let prompt = format!("Create 5.3 (create). {extra}");
    assert_eq!(String::from_utf8_lossy(&shell.stdout), format!("--model=big\n{prompt}\n"));
    assert!(!floor.path("repo/pwned").exists());
    // Without words of its own, `spawn` runs the same.
    let name = floor.ok(&["session", "spawn", "create", "5", "5.3"]);
    let (_, result) = floor.json(&["session", "monitor", name.trim()]);
    assert_eq!(result["final_state"], "completed", "{result}");
    let output =
        std::fs::read_to_string(result["output_file"].as_str().expect("a file")).expect("it is there");
    assert_eq!(output, "--model=big\nCreate 5.3 (create).\n");
    let missing = floor.run(&["session", "build-cmd", "dance", "5.3"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("configured: create"));
}
