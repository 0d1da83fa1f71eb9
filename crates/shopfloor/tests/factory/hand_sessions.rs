//! Hand sessions on real tmux: names, starting, ending, typing; and what a crash in the middle leaves.

use crate::floor::{DEMO, Floor, on_path, wait_for};
use shopfloor_adapters::host::process::{Liveness, identify, is_same};
use shopfloor_core::effect::ProcessId;
use std::path::PathBuf;

fn spawn(floor: &Floor, story: &str, script: &str) -> String {
    let name = floor.ok(&["session", "spawn", "create", "5", story, "--command", script]);
    name.trim().to_owned()
}

fn names(floor: &Floor) -> Vec<String> {
    let (code, list) = floor.json(&["session", "list"]);
    assert_eq!(code, 0);
    list.as_array().expect("a list").iter().map(|s| s["name"].as_str().expect("a name").to_owned()).collect()
}

/// The process whose pid a program wrote to a file, once it has.
fn process_in(file: PathBuf) -> ProcessId {
    let mut found = None;
    wait_for("the program says its pid", || {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let pid = text.strip_suffix('\n').and_then(|pid| pid.parse().ok());
        found = pid.and_then(identify);
        found.is_some()
    });
    found.expect("waited for")
}

#[test]
fn names_follow_from_the_input_and_numbers_grow() {
    let floor = Floor::new(DEMO);
    let stem = floor.ok(&["session", "name", "create", "5", "5.3"]);
    assert_eq!(stem.trim(), "hand-sample-create-5-5-3");
    assert_eq!(
        floor.ok(&["session", "name", "create", "5", "5.3", "--cycle", "2"]).trim(),
        "hand-sample-create-5-5-3-r2"
    );
    let first = spawn(&floor, "5.3", "sleep 1000");
    let second = spawn(&floor, "5.3", "sleep 1000");
    assert_eq!(
        (first.as_str(), second.as_str()),
        ("hand-sample-create-5-5-3-h1", "hand-sample-create-5-5-3-h2")
    );
    let (_, list) = floor.json(&["session", "list", "--project-only"]);
    assert_eq!(
        (&list[0]["name"], &list[0]["state"], &list[0]["story"]),
        (&first.into(), &"alive".into(), &"5.3".into())
    );
    // The stem means the newest; one that is over already is fine; one that never was is not.
    let (code, killed) = floor.json(&["session", "kill", stem.trim()]);
    assert_eq!((code, &killed["name"], &killed["state"]), (0, &second.clone().into(), &"killed".into()));
    let again = floor.ok(&["session", "kill", &second]);
    assert!(again.contains("already ended"), "{again}");
    assert_eq!(floor.run(&["session", "kill", "hand-sample-create-5-5-3-h77"]).status.code(), Some(4));
    assert_eq!(floor.run(&["session", "kill", "nothing"]).status.code(), Some(4));
    let shown = floor.ok(&["session", "attach", "hand-sample-create-5-5-3-h1", "--print"]);
    assert!(shown.contains("attach-session -t '=hand-sample-create-5-5-3-h1'"), "{shown}");
    floor.ok(&["session", "kill-all"]);
    assert_eq!(names(&floor), [""; 0]);
    assert_eq!(spawn(&floor, "5.3", "true"), "hand-sample-create-5-5-3-h3", "a number is not given twice");
    floor.ok(&["session", "kill-all", "--project-only"]);
}

#[test]
fn hostile_names_are_only_names() {
    let floor = Floor::new(DEMO);
    let long = "x".repeat(5_000);
    let mut all = Vec::new();
    for story in [
        "../../../etc/passwd",
        "$(touch pwned)",
        "'; touch pwned; '",
        "\u{1b}]0;x\u{7}\u{1b}[2J",
        "a:b.c",
        "",
        &long,
    ] {
        let name = spawn(&floor, story, "sleep 1000");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "{name}");
        assert!(name.len() < 200, "{name}");
        assert!(floor.home().join("hand").join(&name).join("record.json").exists());
        all.push(name);
    }
    assert_eq!(names(&floor), all);
    assert!(!floor.path("repo/pwned").exists());
    floor.ok(&["session", "kill-all"]);
}

#[test]
fn what_it_runs_is_said_in_words_and_its_environment_is_clean() {
    let floor = Floor::new(DEMO);
    let out = floor.path("out");
    let script = "printf '%s\\n' \"$@\" > \"$0\"; env >> \"$0\"; echo done >> \"$0\"; sleep 1000";
    let out_text = out.display().to_string();
    let spawned = floor
        .command(&[
            "session",
            "spawn",
            "dev",
            "1",
            "1",
            "--",
            "sh",
            "-c",
            script,
            &out_text,
            "a b;",
            "$(x) #{y}",
        ])
        .env("MY_SECRET", "hunter22")
        .env("TMUX", "/nowhere,1,0")
        .output()
        .expect("it runs");
    assert!(spawned.status.success());
    let mut text = String::new();
    wait_for("it has written", || {
        text = std::fs::read_to_string(&out).unwrap_or_default();
        text.ends_with("done\n")
    });
    assert!(text.starts_with("a b;\n$(x) #{y}\n"), "{text}");
    assert!(text.contains("SHOPFLOOR_HAND=hand-sample-dev-1-1-h1\n"), "{text}");
    assert!(!text.contains("hunter22") && !text.contains("\nTMUX="), "{text}");
    floor.ok(&["session", "kill-all"]);
    let none = floor.run(&["session", "spawn", "dev", "1", "1"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("[steps.create]"));
}

#[test]
fn everything_a_session_started_ends_with_it() {
    let floor = Floor::new(DEMO);
    // Ignores SIGTERM and SIGHUP, and has a grandchild in a session of its own.
    let script = "trap '' TERM HUP; \
        setsid sh -c 'trap \"\" TERM HUP; echo $$ > grandchild; while :; do sleep 1000; done' & \
        echo $$ > child; while :; do sleep 1000; done";
    let name = spawn(&floor, "1", script);
    let tree = ["child", "grandchild"].map(|file| process_in(floor.path("repo").join(file)));
    assert_eq!(tree.map(is_same), [Liveness::Alive; 2]);
    floor.ok(&["session", "kill", &name]);
    assert_eq!(tree.map(is_same), [Liveness::Gone; 2]);
    assert_eq!(names(&floor), [""; 0]);
}

#[test]
fn two_that_start_the_same_at_once_get_two_sessions() {
    let floor = Floor::new(DEMO);
    let args = ["session", "spawn", "create", "5", "5.3", "--command", "sleep 1000"];
    let running: Vec<_> = (0..4)
        .map(|_| floor.command(&args).stdout(std::process::Stdio::piped()).spawn().expect("it runs"))
        .collect();
    let mut printed: Vec<String> = running
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        })
        .collect();
    printed.sort();
    assert_eq!(printed, [1, 2, 3, 4].map(|n| format!("hand-sample-create-5-5-3-h{n}")));
    assert_eq!(names(&floor), printed);
    floor.ok(&["session", "kill-all"]);
}

#[test]
fn a_start_that_was_killed_in_the_middle_is_cleaned_up_or_finished() {
    let floor = Floor::new(DEMO);
    let real = on_path("tmux");
    let reached = floor.path("reached");
    // Before the session is there, and after.
    for (story, before) in [("1", ""), ("2", "\"$REAL\" \"$@\" >/dev/null")] {
        let before = before.replace("$REAL", &real.display().to_string());
        let script = format!(
            "case \"$*\" in *new-session*) {before}\n echo $$ > {reached}; exec sleep 1000;; esac\nexec {real} \"$@\"",
            reached = reached.display(),
            real = real.display(),
        );
        let path = floor.stand_in("tmux", &script);
        let mut killed = floor
            .command(&["session", "spawn", "create", "5", story, "--command", "sleep 1000"])
            .env("PATH", path)
            .spawn()
            .expect("it runs");
        let stuck = process_in(reached.clone());
        killed.kill().expect("killed");
        killed.wait().expect("it ended");
        shopfloor_adapters::host::process::end_tree(stuck, std::time::Duration::ZERO).expect("ended");
        std::fs::remove_file(&reached).expect("removed");
    }
    let (_, list) = floor.json(&["session", "list"]);
    let list = list.as_array().expect("a list");
    assert_eq!(list.len(), 1, "{list:?}");
    assert_eq!((&list[0]["name"], &list[0]["state"]), (&"hand-sample-create-5-2-h2".into(), &"alive".into()));
    assert!(list[0]["pid"].is_u64(), "{list:?}");
    assert!(!floor.home().join("hand/hand-sample-create-5-1-h1").exists());
    assert_eq!(std::fs::read_dir(floor.home().join("tmux.launch")).expect("a folder").count(), 0);
    floor.ok(&["session", "kill-all"]);
}

#[test]
fn a_text_is_typed_whole_and_never_into_a_dialog_or_a_draft() {
    let floor = Floor::new(DEMO);
    let name = spawn(&floor, "1", "read -r line; echo \"$line\" > got; sleep 1000");
    let (code, sent) = floor.json(&["session", "send", &name, "it's \u{1b}[31m$(x)"]);
    assert_eq!((code, &sent["stage"], &sent["confirmed"]), (0, &"submitted".into(), &false.into()));
    let got = floor.path("repo/got");
    wait_for("it is read", || std::fs::read_to_string(&got).is_ok_and(|text| text == "it's $(x)\n"));
    assert_eq!(floor.run(&["session", "send", &name, " "]).status.code(), Some(2));
    floor.ok(&["session", "kill", &name]);
    assert_eq!(floor.run(&["session", "send", &name, "x"]).status.code(), Some(4));

    // A client's own screens, as they were recorded.
    let screens = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../core/tests/fixtures/clients/claude-2.1.325/screens");
    // Their cursor is not where the client had it: so much is clear, too.
    for (screen, why) in
        [("51-permission-prompt-bash", "a dialog is up"), ("02-pasted-not-submitted", "another mode")]
    {
        let show = format!("cat {}/{screen}.txt; touch shown; cat > typed", screens.display());
        let args = ["session", "spawn", "dev", "1", "2", "--runtime", "claude", "--command", &show];
        let name = floor.ok(&args).trim().to_owned();
        wait_for("it is shown", || floor.path("repo/shown").exists());
        let refused = floor.run(&["session", "send", &name, "yes"]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("nothing was typed") && said.contains(why), "{said}");
        assert_eq!(std::fs::read_to_string(floor.path("repo/typed")).unwrap_or_default(), "");
        floor.ok(&["session", "kill", &name]);
        std::fs::remove_file(floor.path("repo/shown")).expect("removed");
    }
    // A composer that takes it: Enter goes to our text, once.
    let rule = "─".repeat(20);
    let client = format!(
        "printf '{rule}\\n❯ '; read -r line; printf '\\033[2J\\033[H{rule}\\n❯ \\n{rule}\\n'; echo \"$line\" >> taken; sleep 1000"
    );
    let name = floor.ok(&["session", "spawn", "dev", "1", "3", "--runtime", "claude", "--command", &client]);
    wait_for("it is ready", || floor.ok(&["session", "capture", name.trim()]).contains('❯'));
    let (code, sent) = floor.json(&["session", "send", name.trim(), "go on"]);
    assert_eq!((code, &sent["stage"]), (0, &"submitted".into()), "{sent}");
    wait_for("it is taken", || floor.path("repo/taken").exists());
    assert_eq!(std::fs::read_to_string(floor.path("repo/taken")).expect("taken"), "go on\n");
    floor.ok(&["session", "kill-all"]);
}

/// An agent that stays.
const WAITS: &str = "[agents.dev]\nruntime = \"generic\"\ncommand = [\"sleep\", \"300\"]\n[agents.review]\nruntime = \"demo\"\n";

#[test]
fn work_in_the_floors_worktree_is_kept_and_jobs_are_left_alone() {
    let floor = Floor::new(WAITS);
    floor.ok(&["up", "--detach"]);
    let issue = floor.issue("Wait", "");
    floor.ok(&["issue", "comment", &issue.to_string(), "now"]);
    let worktree = floor.home().join("projects/sample/worktrees/issue-1");
    wait_for("the agent works", || floor.run(&["attach", "1", "--print"]).status.success());
    let refused = floor.run(&["session", "kill", "dev-sample-1-e1"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`shopfloor cancel 1`"));

    let cwd = worktree.display().to_string();
    let args = [
        "session",
        "spawn",
        "dev",
        "1",
        "1",
        "--cwd",
        &cwd,
        "--command",
        "echo precious > work.txt; sleep 1000",
    ];
    let name = floor.ok(&args).trim().to_owned();
    wait_for("it has worked", || {
        std::fs::read_to_string(worktree.join("work.txt")).is_ok_and(|t| t == "precious\n")
    });
    let (code, killed) = floor.json(&["session", "kill", &name]);
    assert_eq!(code, 0);
    let rescue = killed["rescue"].as_str().expect("a rescue ref");
    let clone = floor.home().join("projects/sample/clone.git");
    let kept = std::process::Command::new("git")
        .args(["-C", &clone.display().to_string(), "show", &format!("{rescue}:work.txt")])
        .output()
        .expect("git runs");
    assert_eq!(String::from_utf8_lossy(&kept.stdout), "precious\n");
    floor.ok(&["session", "kill-all"]);
    assert!(floor.run(&["attach", "1", "--print"]).status.success(), "the job's session lives");
    floor.ok(&["down"]);
}
