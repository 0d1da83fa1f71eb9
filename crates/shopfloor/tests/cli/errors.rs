//! Whatever goes wrong has a documented exit code, says what, and where possible what to do.

use crate::floor::{TestFloor, ran};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;

/// Runs the arguments; expects the code, a part of the message and a part of the hint.
#[track_caller]
fn check(floor: &TestFloor, args: &[&str], code: i32, message: &str, hint: &str) {
    let got = floor.run(args);
    assert_eq!(got.code, code, "{args:?}\n{}{}", got.stdout, got.stderr);
    assert_eq!(got.stdout, "", "{args:?}");
    assert!(got.stderr.starts_with("error: "), "{args:?}: {}", got.stderr);
    assert!(got.stderr.contains(message), "{args:?}: no {message:?} in {}", got.stderr);
    if hint.is_empty() {
        assert!(!got.stderr.contains("hint:"), "{args:?}: {}", got.stderr);
    } else {
        let (_, hints) = got.stderr.split_once("hint: ").unwrap_or_default();
        assert!(hints.contains(hint), "{args:?}: no {hint:?} in {}", got.stderr);
    }
    assert!(!got.stderr.contains('\u{1b}'), "{args:?}: {:?}", got.stderr);
}

#[test]
fn with_json_an_error_is_an_object_on_standard_error() {
    let floor = TestFloor::new();
    floor.run(&["issue", "add", "First"]).fine();
    for (args, code, message, hint) in [
        (&["issue", "show", "9", "--json"][..], 4, "no issue #9", "#1"),
        (&["issue", "add", "T", "--label", "\u{1b}[31mred", "--json"], 4, "no label", "this project has"),
        (&["--json", "issue", "nope"], 2, "unrecognized subcommand 'nope'", "Usage:"),
        (&["issue", "show", "x", "--json"], 2, "invalid value 'x'", "--help"),
    ] {
        let got = floor.run(args);
        assert_eq!((got.code, got.stdout.as_str()), (code, ""), "{args:?}: {}", got.stderr);
        assert_eq!(got.stderr.lines().count(), 1, "{args:?}: {}", got.stderr);
        let error: serde_json::Value = serde_json::from_str(&got.stderr).expect("an object");
        let part = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        assert!(part("error").contains(message) && part("hint").contains(hint), "{args:?}: {error}");
        assert_eq!(error["exit"], code, "{args:?}");
    }
    // What is no error, and what comes after `--`, is as it was.
    floor.run(&["--json", "--help"]).fine().shows("Usage:");
    assert!(floor.run(&["issue", "nope", "--", "--json"]).stderr.starts_with("error: "));
}

#[test]
fn bad_input_is_refused_with_a_way_out() {
    let floor = TestFloor::new();
    floor.run(&["issue", "add", "First"]).fine();
    floor.run(&["issue", "add", "Second", "--label", "backlog"]).fine();
    let long = "x".repeat(301);
    let missing = floor.root().join("missing.md");
    let missing = missing.to_str().unwrap();
    type Case<'a> = (&'a [&'a str], i32, &'a str, &'a str);
    let cases: &[Case<'_>] = &[
        (&["issue", "add", "T", "--label", "baklog"], 4, "no label \"baklog\"", "did you mean \"backlog\"?"),
        (
            &["issue", "add", "T", "--label", "zebra"],
            4,
            "no label \"zebra\"",
            "this project has action, backlog",
        ),
        (&["issue", "add", "T", "--depends-on", "77"], 4, "no issue #77", "the nearest are #1, #2"),
        (&["issue", "add", ""], 2, "issue title is empty", ""),
        (&["issue", "add", "two\nlines"], 2, "must be one line", ""),
        (&["issue", "add", &long], 2, "301 characters; at most 300", ""),
        (&["issue", "add", "T", "--body-file", missing], 4, "there is no file", ""),
        (&["issue", "show", "9"], 4, "no issue #9", "the nearest are #1, #2"),
        (&["issue", "close", "9"], 4, "no issue #9", "#1, #2"),
        (&["issue", "reopen", "9"], 4, "no issue #9", "#1, #2"),
        (&["issue", "comment", "9", "hello"], 4, "no issue #9", "#1, #2"),
        (&["issue", "comment", "1", " "], 2, "comment is empty", ""),
        (&["issue", "edit", "1"], 2, "nothing to change", "--title, --body"),
        (&["issue", "label", "1", "--add", "Blocked"], 4, "no label \"Blocked\"", "\"blocked\"?"),
        (&["issue", "label", "1", "--add", "\u{1b}[31mred"], 4, "no label", "this project has"),
        (&["issue", "list", "--label", "prio"], 4, "no label \"prio\"", "this project has"),
        (&["pr", "show", "1"], 4, "no pull request #1", "pr list --state all"),
        (&["pr", "close", "3"], 4, "no pull request #3", "pr list --state all"),
        (&["pr", "review", "3", "--approve"], 4, "no pull request #3", "pr list --state all"),
        (&["ci", "logs", "3"], 4, "no CI run 3", "ci list"),
        (&["ci", "status", "3"], 4, "no CI run or checked commit \"3\"", "ci list"),
        (&["ci", "status", "abcdef"], 4, "no CI run or checked commit", "ci list"),
        (&["cancel", "1"], 4, "no job at work on issue #1", "shopfloor explain 1"),
        (&["explain", "99"], 4, "there is no issue #99", "issue list --state all"),
        (&["issue", "list", "--project", "../x"], 2, "project name \"../x\" is not valid", ""),
        (&["issue", "list", "--project", "other"], 4, "no project other", "known projects: demo"),
        (&["events", "--project", "other"], 4, "no project other", "known projects: demo"),
    ];
    for (args, code, message, hint) in cases {
        check(&floor, args, *code, message, hint);
    }
    assert_eq!(floor.json(&["issue", "list", "--state", "all"]).as_array().unwrap().len(), 2);
}

#[test]
fn usage_errors_have_exit_code_2() {
    let floor = TestFloor::new();
    for args in [
        &["frobnicate"][..],
        &[],
        &["issue"],
        &["issue", "show", "x"],
        &["issue", "label", "1"],
        &["issue", "comment", "1"],
        &["issue", "comment", "1", "text", "--body-file", "f"],
        &["issue", "add", "T", "--body", "x", "--body-file", "-"],
        &["pr", "review", "1"],
        &["pr", "review", "1", "--approve", "--comment"],
        &["events", "--since", "yesterday"],
        &["completions", "powershell"],
    ] {
        let got = floor.run(args);
        assert_eq!(got.code, 2, "{args:?}: {}", got.stderr);
        assert!(!got.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn without_a_floor_every_command_says_so() {
    let floor = TestFloor::none();
    for args in [
        &["status"][..],
        &["issue", "list"],
        &["pr", "list"],
        &["ci", "list"],
        &["agents"],
        &["events"],
        &["merge-queue", "list"],
        &["explain", "1"],
        &["cancel", "1"],
    ] {
        check(&floor, args, 4, "there is no floor in", "shopfloor init");
    }
    assert!(!floor.home().exists(), "looking makes nothing");
}

#[test]
fn a_floor_without_projects_and_one_with_several() {
    let floor = TestFloor::none();
    std::fs::create_dir_all(floor.home()).unwrap();
    drop(floor.engine());
    check(&floor, &["issue", "list"], 4, "this floor has no project", "shopfloor init");
    floor.add_project("one");
    floor.add_project("two");
    check(&floor, &["issue", "list"], 2, "which project?", "one of: one, two");
    floor.run(&["issue", "list", "--project", "two"]).fine();
    floor.run(&["status"]).fine().shows("project one").shows("project two");
}

#[test]
fn a_damaged_store_is_named_and_left_alone() {
    let floor = TestFloor::new();
    let path = floor.database();
    std::fs::write(&path, b"this is not a database, but it is long enough to look like one\n".repeat(40))
        .unwrap();
    let before = std::fs::read(&path).unwrap();
    for args in [&["status"][..], &["issue", "list"], &["agents"], &["events"], &["issue", "add", "T"]] {
        check(&floor, args, 1, "the store is damaged", "Copy the floor's folder");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let got = floor.run(&["doctor"]);
    assert_eq!(got.code, 1);
    got.shows("fail  store: the store is damaged");
}

#[test]
fn a_newer_store_is_refused() {
    let floor = TestFloor::new();
    // `user_version` of SQLite's header, big-endian.
    let mut file = std::fs::OpenOptions::new().write(true).open(floor.database()).unwrap();
    file.seek(SeekFrom::Start(60)).unwrap();
    file.write_all(&999u32.to_be_bytes()).unwrap();
    drop(file);
    check(&floor, &["status"], 1, "written by a newer shopfloor (schema 999", "");
    check(&floor, &["issue", "add", "T"], 1, "written by a newer shopfloor (schema 999", "");
    let got = floor.run(&["doctor"]);
    assert_eq!(got.code, 1);
    got.shows("fail  store: the store was written by a newer shopfloor (schema 999");
}

#[test]
fn a_store_that_cannot_be_read_is_an_error() {
    let floor = TestFloor::new();
    std::fs::remove_file(floor.database()).unwrap();
    std::fs::create_dir(floor.database()).unwrap();
    let got = floor.run(&["status"]);
    assert_eq!((got.code, got.stdout.as_str()), (1, ""), "{}", got.stderr);
    assert!(got.stderr.starts_with("error: "), "{}", got.stderr);
    std::fs::set_permissions(floor.home(), std::fs::Permissions::from_mode(0o755)).unwrap();
    floor.run(&["doctor"]).shows("warn  home:").shows("chmod 700");
}

#[test]
fn no_home_at_all_is_a_usage_error() {
    let floor = TestFloor::none();
    let got = ran(floor.command(&["status"]).env_remove("HOME").env_remove("SHOPFLOOR_HOME"));
    assert_eq!(got.code, 2);
    assert!(got.stderr.contains("hint: set HOME, or SHOPFLOOR_HOME"), "{}", got.stderr);
}
