//! Watching hand sessions to their end: what is answered, what is left, and that nothing is called
//! crashed without proof.

use crate::floor::{DEMO, Floor, wait_for};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const VERIFIED: &str = "[verify.create]\nchecks = [{ files = \"stories/{key}-*.md\" }]\n";

fn spawn(floor: &Floor, script: &str) -> String {
    floor.ok(&["session", "spawn", "create", "5", "5.3", "--command", script]).trim().to_owned()
}

pub fn monitor(floor: &Floor, name: &str, more: &[&str]) -> (i32, Value) {
    floor.json(&[&["session", "monitor", name], more].concat())
}

fn output(result: &Value) -> String {
    std::fs::read_to_string(result["output_file"].as_str().expect("a file")).expect("it is there")
}

fn is_left(floor: &Floor, name: &str) -> bool {
    floor.ok(&["session", "list"]).contains(name)
}

fn pid(floor: &Floor) -> String {
    floor.json(&["session", "list"]).1[0]["pid"].to_string()
}

fn signal(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().expect("kill runs").success());
}

/// `monitor` in the background, after its first look.
pub fn watching(command: &mut Command) -> Child {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut said = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    assert!(line.contains("look 1: "), "{line}");
    // Nobody else reads on; a full pipe would stop it.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    child
}

pub fn answer(child: Child) -> (i32, Value) {
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (
        output.status.code().unwrap_or(-1),
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}")),
    )
}

#[test]
fn a_program_that_ends_well_has_completed_and_is_cleaned_up() {
    let floor = Floor::new(DEMO);
    let token = format!("ghp_{}", "a1".repeat(12));
    let script = format!("printf '\\033[31mred\\033[0m \\033]0;title\\007and {token}\\n'; echo last words");
    let name = spawn(&floor, &script);
    let (code, result) = monitor(&floor, &name, &[]);
    assert_eq!((code, &result["final_state"]), (0, &"completed".into()), "{result}");
    assert_eq!((&result["output_verified"], &result["exit_status"]), (&Value::Null, &0.into()));
    assert_eq!(result["cleaned_up"], true);
    let text = output(&result);
    assert_eq!(text, "red and [redacted]\nlast words\n");
    assert!(!is_left(&floor, &name));
    assert_eq!(floor.tmux(&["list-sessions"]), "");
    assert!(floor.ok(&["session", "capture", &name, "--lines", "1"]).contains("last words"));
    // Taken is taken.
    let (code, again) = monitor(&floor, &name, &[]);
    assert_eq!((code, &again["final_state"]), (4, &"not_found".into()));
    assert!(
        again["exit_reason"].as_str().expect("text").contains("its result was taken: completed"),
        "{again}"
    );
    assert_eq!(again["output_file"], result["output_file"]);
    let (code, never) = monitor(&floor, "hand-never", &[]);
    assert_eq!((code, &never["final_state"], &never["output_file"]), (4, &"not_found".into(), &Value::Null));
}

#[test]
fn a_program_that_fails_has_crashed_also_if_it_does_so_at_once() {
    let floor = Floor::new(DEMO);
    let name = spawn(&floor, "exit 3");
    let shown = floor.run(&["session", "monitor", &name]);
    assert_eq!(shown.status.code(), Some(1));
    let line = String::from_utf8_lossy(&shown.stdout).into_owned();
    let fields: Vec<&str> = line.trim_end().split(',').collect();
    assert_eq!(
        (fields[0], fields[2], fields[3]),
        ("crashed", "its program ended with exit status 3", ""),
        "{line}"
    );
    let name = floor.ok(&["session", "spawn", "create", "5", "1", "--", "no-such-program"]);
    let (_, result) = monitor(&floor, name.trim(), &[]);
    assert_eq!(
        (&result["final_state"], &result["exit_status"]),
        (&"crashed".into(), &127.into()),
        "{result}"
    );
    assert!(output(&result).contains("not found"));
}

#[test]
fn a_program_killed_while_it_is_watched_has_crashed() {
    let floor = Floor::new(DEMO);
    let name = spawn(&floor, "sleep 1000");
    let watched = watching(&mut floor.command(&["session", "monitor", &name, "--verbose", "--json"]));
    signal("-9", &pid(&floor));
    let (code, result) = answer(watched);
    assert_eq!(
        (code, &result["final_state"], &result["exit_status"]),
        (1, &"crashed".into(), &137.into()),
        "{result}"
    );
    assert!(result["exit_reason"].as_str().expect("text").contains("signal 9"));
    assert!(!is_left(&floor, &name));
}

#[test]
fn fifty_megabytes_are_read_to_their_end_and_bounded_in_the_file() {
    let floor = Floor::new(DEMO);
    let name = spawn(&floor, "yes 'line of the flood' | head -c 50000000; echo; printf 'the end'");
    let (code, result) = monitor(&floor, &name, &[]);
    assert_eq!((code, &result["final_state"]), (0, &"completed".into()), "{result}");
    let text = output(&result);
    assert!(text.ends_with("the end\n"), "{}", &text[text.len().saturating_sub(100)..]);
    assert!(text.len() < 2_000_000, "{}", text.len());
}

#[test]
fn a_session_that_does_not_finish_is_left_and_the_answer_says_so() {
    let floor = Floor::new(DEMO);
    let name = spawn(&floor, "echo here I am; sleep 1000");
    wait_for("it has printed", || floor.ok(&["session", "capture", &name]).contains("here I am"));
    for limit in [["--max-polls", "1"], ["--timeout", "0"]] {
        let (code, result) = monitor(&floor, &name, &limit);
        assert_eq!(
            (code, &result["final_state"], &result["polls"]),
            (1, &"timeout".into(), &1.into()),
            "{result}"
        );
        assert!(result["exit_reason"].as_str().expect("text").contains("the session is left"), "{result}");
        assert_eq!(output(&result), "here I am\n");
        assert!(is_left(&floor, &name));
    }
    floor.ok(&["session", "kill", &name]);
}

#[test]
fn the_verifier_decides_whether_an_end_is_a_completion() {
    let floor = Floor::new(&format!("{DEMO}{VERIFIED}"));
    let by = ["--workflow", "create", "--story-key", "5.3"];
    let name = spawn(&floor, "true");
    let (code, result) = monitor(&floor, &name, &by);
    assert_eq!((code, &result["final_state"]), (1, &"incomplete".into()), "{result}");
    assert_eq!(result["output_verified"], false);
    assert!(result["exit_reason"].as_str().expect("text").contains("0 files match"), "{result}");
    assert!(!is_left(&floor, &name), "its program has ended");
    let name = spawn(&floor, "mkdir stories; touch stories/5.3-login.md");
    let (code, result) = monitor(&floor, &name, &by);
    assert_eq!((code, &result["output_verified"]), (0, &true.into()), "{result}");
    // What cannot be verified is said before anybody waits.
    let name = spawn(&floor, "sleep 1000");
    let unknown = floor.run(&["session", "monitor", &name, "--workflow", "other", "--story-key", "5.3"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(is_left(&floor, &name));
    floor.ok(&["session", "kill-all"]);
}

#[test]
fn a_phase_that_is_signalled_ends_the_wait() {
    let floor = Floor::new(DEMO);
    let name = spawn(&floor, "read -r go; echo \"PHASE:$go\" > \"$PHASE_FILE\"; sleep 1000");
    let watched = watching(&mut floor.command(&["session", "monitor", &name, "--verbose", "--json"]));
    floor.ok(&["session", "send", &name, "needs_human"]);
    let (code, result) = answer(watched);
    assert_eq!((code, &result["final_state"]), (1, &"incomplete".into()), "{result}");
    assert!(is_left(&floor, &name));
    std::fs::write(floor.home().join("hand").join(&name).join("phase"), "PHASE:done\n").expect("written");
    let (code, result) = monitor(&floor, &name, &["--keep"]);
    assert_eq!((code, &result["cleaned_up"]), (0, &false.into()), "{result}");
    let (code, result) = monitor(&floor, &name, &[]);
    assert_eq!(
        (code, &result["final_state"], &result["cleaned_up"]),
        (0, &"completed".into(), &true.into()),
        "{result}"
    );
    assert!(!is_left(&floor, &name));
}

#[test]
fn a_session_that_somebody_kills_is_over_and_not_crashed() {
    let floor = Floor::new(DEMO);
    let name = spawn(&floor, "sleep 1000");
    let watched = watching(&mut floor.command(&["session", "monitor", &name, "--verbose", "--json"]));
    floor.ok(&["session", "kill", &name]);
    let (_, result) = answer(watched);
    // Seen dead just before it was removed, it has crashed, by the status that its killing left.
    let state = result["final_state"].as_str().expect("text");
    assert!(state == "not_found" || result["exit_status"].is_u64(), "{result}");
    assert!(!is_left(&floor, &name));
}

#[test]
fn a_session_that_vanishes_is_not_found_and_not_crashed() {
    let floor = Floor::new(DEMO);
    let name = spawn(&floor, "sleep 1000");
    let watched = watching(&mut floor.command(&["session", "monitor", &name, "--verbose", "--json"]));
    floor.tmux(&["kill-session", "-t", &format!("={name}")]);
    let (code, result) = answer(watched);
    assert_eq!((code, &result["final_state"]), (4, &"not_found".into()), "{result}");
    assert!(!is_left(&floor, &name));
}

#[test]
fn without_tmux_the_process_is_asked_and_nothing_is_called_crashed() {
    let floor = Floor::new(&format!("{DEMO}{VERIFIED}"));
    let broken = floor.stand_in("tmux", "echo 'the server is not well' >&2; exit 1");
    for (verified, expect) in [(false, "incomplete"), (true, "completed")] {
        if verified {
            std::fs::create_dir(floor.path("repo/stories")).expect("a folder");
            std::fs::write(floor.path("repo/stories/5.3-x.md"), "").expect("written");
        }
        let name = spawn(&floor, "sleep 1000");
        let pid = pid(&floor);
        let args = [
            "session",
            "monitor",
            &name,
            "--verbose",
            "--json",
            "--workflow",
            "create",
            "--story-key",
            "5.3",
        ];
        let watched = watching(floor.command(&args).env("PATH", &broken));
        signal("-9", &pid);
        let (_, result) = answer(watched);
        assert_eq!(result["final_state"], expect, "{result}");
        let reason = result["exit_reason"].as_str().expect("text");
        assert!(reason.contains("monitoring fell back: tmux does not answer"), "{reason}");
        assert!(reason.contains("could not be cleaned up"), "{reason}");
        // tmux is well again: what is known now can be had.
        floor.ok(&["session", "kill", &name]);
    }
}
