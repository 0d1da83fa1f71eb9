//! What a program that orchestrated stories with the seed's own helper finds again: an environment, a state file,
//! a status check, a registry that has everybody; and scripts that stop at an exit code.

use crate::floor::{DEMO, Floor, wait_for};
use serde_json::Value;
use std::io::Write;
use std::process::{Output, Stdio};

fn says(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn an_empty_command_is_an_error() {
    let floor = Floor::new(DEMO);
    for args in [&["--command", ""][..], &["--command", "  "], &["--", ""]] {
        let refused = floor.run(&[&["session", "spawn", "dev", "1", "1"], args].concat());
        assert_eq!(refused.status.code(), Some(2), "{args:?}");
        assert!(says(&refused).contains("the command is empty"), "{}", says(&refused));
    }
    assert_eq!(floor.json(&["session", "list"]).1, Value::Array(Vec::new()));
}

const KEYS: &str = r#"
[agents.dev]
runtime = "demo"
pass_env = ["AGENT_KEY"]
[agents.review]
runtime = "demo"
[steps.own]
command = ["sh", "-c", "env > \"$0\"; echo done >> \"$0\"; sleep 1000", "{state_file}.env"]
pass_env = ["STEP_KEY"]
[verify.own]
checks = [{ run = ["grep", "-q", "{key}", "{state_file}"] }]
"#;

#[test]
fn a_session_gets_the_keys_that_are_configured_and_the_names_that_agents_scripts_use() {
    let floor = Floor::new(KEYS);
    let state = floor.path("run.md");
    std::fs::write(&state, "stories: 5.3\n").expect("written");
    let state = state.display().to_string();
    let spawn = |more: &[&str]| {
        let mut command = floor.command(&[&["session", "spawn"], more].concat());
        for key in ["AGENT_KEY", "STEP_KEY", "EXTRA_KEY", "OTHER_KEY"] {
            command.env(key, format!("value of {key}"));
        }
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{}", says(&output));
    };
    let env = |file: &str| {
        let mut text = String::new();
        wait_for("it has written", || {
            text = std::fs::read_to_string(file).unwrap_or_default();
            text.ends_with("done\n")
        });
        text
    };
    spawn(&["own", "5", "5.3", "--state-file", &state, "--pass-env", "EXTRA_KEY"]);
    let text = env(&format!("{state}.env"));
    let repo = std::fs::canonicalize(floor.path("repo")).expect("it is there");
    for expected in [
        "STEP_KEY=value of STEP_KEY".to_owned(),
        "EXTRA_KEY=value of EXTRA_KEY".to_owned(),
        "PROJECT_NAME=sample".to_owned(),
        "PRIMARY_BRANCH=main".to_owned(),
        format!("PROJECT_REPO_ROOT={}", repo.display()),
        format!("SHOPFLOOR_STATE_FILE={state}"),
    ] {
        assert!(
            text.contains(&format!("\n{expected}\n")) || text.starts_with(&expected),
            "{expected}\n{text}"
        );
    }
    assert!(!text.contains("AGENT_KEY") && !text.contains("OTHER_KEY"), "{text}");
    // Without words of its own, a session gets what the developing agent gets.
    spawn(&["other", "5", "1", "--command", "env > other.env; echo done >> other.env; sleep 1000"]);
    let text = env(&floor.path("repo/other.env").display().to_string());
    assert!(text.contains("AGENT_KEY=value of AGENT_KEY") && !text.contains("STEP_KEY"), "{text}");
    // Who names a variable that is not set is told.
    let unset = floor.run(&["session", "spawn", "other", "5", "2", "--command", "true"]);
    assert!(says(&unset).contains("AGENT_KEY should be passed on, but is not set"), "{}", says(&unset));
    floor.ok(&["session", "kill-all"]);
    // The state file is for commands and checks; one that is not there is an error before anything is run.
    let built = floor.ok(&["session", "build-cmd", "own", "5.3", "--state-file", &state]);
    assert!(built.contains(&format!("{state}.env")), "{built}");
    assert_eq!(floor.run(&["session", "build-cmd", "own", "5.3"]).status.code(), Some(2));
    assert_eq!(
        floor.run(&["session", "build-cmd", "own", "5.3", "--state-file", "none"]).status.code(),
        Some(4)
    );
    assert_eq!(floor.json(&["verify", "own", "5.3", "--state-file", &state]).1["verified"], true);
    let (code, answer) = floor.json(&["verify", "own", "9.9", "--state-file", &state, "--exit-zero"]);
    assert_eq!((code, &answer["verified"]), (0, &false.into()), "{answer}");
    let (code, answer) = floor.json(&["verify", "own", "5.3"]);
    assert_eq!((code, &answer["verified"]), (1, &false.into()), "{answer}");
}

/// The seed's workflow, in a shell that stops at the first command that fails.
#[test]
fn a_script_with_set_e_goes_on_to_read_the_answer() {
    let floor = Floor::new(&format!("{DEMO}[verify.create]\nchecks = [{{ files = \"{{key}}.md\" }}]\n"));
    std::fs::write(floor.path("state.md"), "").expect("written");
    let script = r#"set -e
state_file=../state.md
S=$(shopfloor session spawn create 5 5.3 --command 'exit 3')
result=$(shopfloor session monitor "$S" --json --workflow create --story-key 5.3 --state-file "$state_file" --exit-zero)
validation=$(shopfloor verify create 5.3 --state-file "$state_file" --json --exit-zero)
shopfloor session tmux-status-check "$S" --exit-zero
echo "$result" "$validation"
shopfloor session kill "$S""#;
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_shopfloor")).parent().expect("a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a PATH"));
    let run = std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(floor.path("repo"))
        .env_clear()
        .env("PATH", path)
        .env("HOME", floor.path("home"))
        .env("SHOPFLOOR_HOME", floor.home())
        .stdin(Stdio::null())
        .output()
        .expect("sh runs");
    assert!(run.status.success(), "{}", says(&run));
    let text = says(&run);
    assert!(text.contains("not_found,") && text.contains("\"crashed\""), "{text}");
    assert!(text.contains("\"verified\": false"), "{text}");
}

#[test]
fn a_status_check_follows_the_seeds_matrix() {
    let floor = Floor::new(DEMO);
    let show = "stty -echo; echo ready; while read -r line; do printf '\\033[2J\\033[H%s\\n' \"$line\"; done";
    let name = floor.ok(&["session", "spawn", "dev", "1", "1", "--runtime", "claude", "--command", show]);
    let name = name.trim();
    let draw = |text: &str| {
        let target = format!("={name}:");
        floor.tmux(&["send-keys", "-t", &target, "-l", text]);
        floor.tmux(&["send-keys", "-t", &target, "Enter"]);
        wait_for("it is drawn", || {
            floor.ok(&["session", "capture", name, "--lines", "50"]).trim().ends_with(text)
        });
    };
    wait_for("it is ready", || floor.ok(&["session", "capture", name]).contains("ready"));
    let check = |expect: &str| {
        let (code, checked) = floor.json(&["session", "tmux-status-check", name]);
        assert_eq!(checked["session_state"], expect, "{checked}");
        assert_eq!(code, i32::from(expect == "stuck"), "{checked}");
        checked
    };
    draw("sample | ctx(7%) | 10:00:00");
    let first = check("just_started");
    assert_eq!((&first["previous_time"], &first["context_percent"]), (&Value::Null, &7.into()));
    assert_eq!(check("stuck")["statusline_time"], "10:00:00");
    draw("sample | ctx(7%) | 10:01:00");
    assert_eq!(check("just_started")["previous_time"], "10:00:00");
    draw("nothing that is known");
    check("stuck");
    // Somewhere else, nothing was seen before.
    let own = floor.path("seen.json").display().to_string();
    let (_, checked) = floor.json(&["session", "check", name, "--state-file", &own]);
    assert_eq!(checked["session_state"], "just_started", "{checked}");
    floor.ok(&["session", "kill", name]);
    let (code, gone) = floor.json(&["session", "check", name]);
    assert_eq!((code, &gone["session_state"]), (4, &"not_found".into()));
}

#[test]
fn the_registry_has_hand_sessions_and_the_daemon() {
    let floor = Floor::new(DEMO);
    let lives = floor.ok(&["session", "spawn", "create", "5", "5.3", "--command", "sleep 1000"]);
    let lives = lives.trim();
    let fails = floor.ok(&["session", "spawn", "create", "5", "5.4", "--command", "exit 3"]);
    let find = |name: &str| {
        let (_, all) = floor.json(&["agents"]);
        let role =
            |one: &Value| format!("{}-{}", one["role"].as_str().unwrap(), one["name"].as_str().unwrap());
        all.as_array().expect("a list").iter().find(|one| role(one) == name).cloned().unwrap_or_default()
    };
    wait_for("it has failed", || find(fails.trim())["status"] == "crashed");
    let one = find(lives);
    assert_eq!(
        (&one["role"], &one["status"], &one["liveness"]),
        (&"hand".into(), &"active".into(), &"green".into())
    );
    assert_eq!(
        (&one["tmux_session"], &one["bead_id"], &one["node_id"]),
        (&lives.into(), &"5.3".into(), &"sample".into())
    );
    assert!(one["pid"].is_u64() && one["session_id"] == "h1", "{one}");
    assert_eq!(find("guardian-floor"), Value::Null);
    floor.ok(&["up", "--detach"]);
    let guardian = find("guardian-floor");
    assert_eq!(
        (&guardian["liveness"], &guardian["status"]),
        (&"green".into(), &"active".into()),
        "{guardian}"
    );
    let shown = floor.ok(&["agents"]);
    assert!(shown.contains(lives) && shown.contains("guardian-floor"), "{shown}");
    floor.ok(&["session", "kill-all"]);
    assert_eq!(find(lives), Value::Null);
    let all = floor.ok(&["agents", "--all"]);
    assert!(all.contains(lives) && all.contains("red (ended)"), "{all}");
    floor.ok(&["down"]);
}

#[test]
fn dependencies_are_filtered_from_a_text() {
    let floor = Floor::new(DEMO);
    let mut child = floor
        .command(&["deps"])
        .env("SHOPFLOOR_HOME", floor.path("no-floor"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let text = "Depends on #12.\n\n## Blocked by\n- #3 and #7\n\n## Notes\nsee #99\n";
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "3\n7\n12\n");
}

/// Writes down its environment, and waits.
const WRITES_ENV: &str = r#"
[agents.dev]
runtime = "generic"
command = ["sh", "-c", "env > env.txt; echo done >> env.txt; exec sleep 1000"]
[agents.review]
runtime = "demo"
"#;

#[test]
fn agents_of_jobs_have_the_seeds_names_too() {
    let floor = Floor::new(WRITES_ENV);
    floor.ok(&["up", "--detach"]);
    let issue = floor.issue("Wait", "");
    floor.ok(&["issue", "comment", &issue.to_string(), "now"]);
    let worktree = floor.home().join("projects/sample/worktrees/issue-1");
    let mut text = String::new();
    wait_for("it has written", || {
        text = std::fs::read_to_string(worktree.join("env.txt")).unwrap_or_default();
        text.ends_with("done\n")
    });
    for expected in ["PRIMARY_BRANCH=main\n", "PROJECT_NAME=sample\n"] {
        assert!(text.contains(expected), "{text}");
    }
    let root = text.lines().find_map(|line| line.strip_prefix("PROJECT_REPO_ROOT=")).expect("it is set");
    assert_eq!(std::fs::canonicalize(root).ok(), std::fs::canonicalize(&worktree).ok());
    floor.ok(&["cancel", "1"]);
    floor.ok(&["down"]);
}
