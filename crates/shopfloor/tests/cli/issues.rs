//! Issues, from the outside.

use crate::floor::{TestFloor, ada, ran};
use serde_json::json;
use std::io::Write;
use std::process::Stdio;

#[test]
fn an_issue_goes_through_its_life() {
    let floor = TestFloor::new();
    let made =
        floor.run(&["issue", "add", "  Say hello ", "--body", "- a list", "--label", "backlog"]).fine();
    assert_eq!((made.stdout.as_str(), made.stderr.as_str()), ("#1\n", ""));
    let made = floor.run(&["issue", "add", "Later", "--depends-on", "1", "--depends-on", "#1"]).fine();
    assert_eq!(made.stdout, "#2\n");
    assert!(made.stderr.contains("issue label 2 --add backlog"), "{}", made.stderr);

    let issue = floor.json(&["issue", "show", "1"]);
    assert_eq!(issue["title"], "Say hello");
    assert_eq!(issue["body"], "- a list");
    assert_eq!(issue["author"], ada());
    assert_eq!(issue["labels"], json!(["backlog"]));
    assert_eq!(issue["job"], json!(null));
    assert_eq!(floor.json(&["issue", "show", "2"])["depends_on"], json!([1]));

    floor.run(&["issue", "edit", "1", "--title", "Say hello twice", "--body", "B"]).fine();
    floor.run(&["issue", "label", "1", "--add", "priority", "--remove", "backlog"]).fine();
    floor.run(&["issue", "comment", "1", "What about bonsoir?"]).fine();
    let id = floor.json(&["issue", "show", "1"])["comments"][0]["id"].to_string();
    for says in ["comment changed", "is so already"] {
        floor.run(&["issue", "comment", "1", "--edit", &id, "What about bonjour?"]).fine().shows(says);
    }
    assert_eq!(floor.run(&["issue", "comment", "1", "--edit", "99", "Hm"]).code, 4);
    let issue = floor.json(&["issue", "close", "1"]);
    assert_eq!((&issue["state"], &issue["title"]), (&json!("closed"), &json!("Say hello twice")));
    assert_eq!(issue["labels"], json!(["priority"]));
    assert_eq!(issue["comments"][0]["body"], "What about bonjour?");
    assert_eq!(floor.json(&["issue", "list"]).as_array().unwrap().len(), 1);
    assert_eq!(floor.json(&["issue", "list", "--state", "closed"])[0]["number"], 1);
    assert_eq!(floor.json(&["issue", "list", "--state", "all", "--label", "priority"])[0]["number"], 1);
    assert_eq!(floor.run(&["issue", "reopen", "1"]).fine().stdout, "#1 open\n");
    floor.run(&["issue", "show", "1"]).fine().shows("#1 Say hello twice").shows("What about bonjour?");
}

#[test]
fn the_list_says_why_nothing_happens() {
    let floor = TestFloor::new();
    for args in [
        &["Ready", "--label", "backlog"][..],
        &["Waits", "--label", "backlog", "--depends-on", "1"],
        &["Unasked"],
        &["Blocked", "--label", "backlog", "--label", "blocked"],
        &["Ghost", "--label", "backlog", "--body", "depends on #99"],
        &["Ring", "--label", "backlog", "--body", "depends on #7"],
        &["Ring back", "--label", "backlog", "--body", "depends on #6"],
        &["Vague", "--label", "backlog", "--label", "underspecified"],
    ] {
        let mut all = vec!["issue", "add"];
        all.extend(args);
        floor.run(&all).fine();
    }
    let why = |issues: &serde_json::Value, field: &str| -> Vec<(u64, String)> {
        let of = |i: &serde_json::Value| (i[field].as_u64().unwrap(), i["why"].as_str().unwrap().to_owned());
        issues.as_array().unwrap().iter().map(of).collect()
    };
    let expect: Vec<(u64, String)> = [
        (1, "ready"),
        (2, "waits for #1"),
        (3, "label backlog is missing"),
        (4, "label blocked is set"),
        (5, "waits for #99, which does not exist"),
        (6, "cycle #6 -> #7 -> #6"),
        (7, "cycle #7 -> #6 -> #7"),
        (8, "label underspecified is set"),
    ]
    .map(|(n, why)| (n, why.to_owned()))
    .to_vec();
    // Without a daemon ever having looked: what the forge holds counts.
    assert_eq!(why(&floor.json(&["issue", "list"]), "number"), expect);
    assert_eq!(why(&floor.json(&["status"])["waiting"], "issue"), expect);
    let human = floor.run(&["status"]).fine();
    human.shows("no jobs").shows("waits for #99, which does not exist").shows("daemon  does not run");
    floor.run(&["explain", "6"]).fine().shows("cycle #6 -> #7 -> #6").shows("no job yet");
    // What a closed issue kept waiting is free.
    floor.run(&["issue", "close", "1"]).fine();
    floor.run(&["issue", "list"]).fine().shows("#2     Waits").shows("ready");
}

const NASTY: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31mred\u{202e}\0\r\nnext\u{7f}\u{8}";

#[test]
fn nothing_that_controls_a_terminal_is_printed() {
    let floor = TestFloor::new();
    let title = "\u{1b}[31mEvil\u{9b}2J \u{202e}title";
    floor.run(&["issue", "add", title, "--label", "backlog"]).fine();
    let file = floor.root().join("body.md");
    std::fs::write(&file, NASTY).unwrap();
    let file = file.to_str().unwrap();
    floor.run(&["issue", "edit", "1", "--body-file", file]).fine();
    floor.run(&["issue", "comment", "1", "--body-file", file]).fine();
    for args in [
        &["issue", "list"][..],
        &["issue", "show", "1"],
        &["status"],
        &["explain", "1"],
        &["issue", "list", "--json"],
        &["issue", "show", "1", "--json"],
        &["status", "--json"],
        &["explain", "1", "--json"],
    ] {
        let shown = floor.run(args).fine().stdout;
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!shown.contains(bad), "{args:?}: {shown:?}");
        assert!(shown.contains("title"), "{args:?}: {shown}");
    }
    // Programs get what was stored; only NUL cannot be.
    let issue = floor.json(&["issue", "show", "1"]);
    assert_eq!(issue["body"].as_str().unwrap(), NASTY.replace('\0', ""));
    assert_eq!(issue["comments"][0]["body"].as_str().unwrap(), NASTY.replace('\0', ""));
    assert_eq!(issue["title"].as_str().unwrap(), title);
}

#[test]
fn a_megabyte_is_taken_and_a_byte_more_is_not() {
    let floor = TestFloor::new();
    let add = |len: usize| {
        let mut body = "\u{1b}[31mA".repeat(len / 6).into_bytes();
        body.resize(len, b'.');
        let mut command = floor.command(&["issue", "add", "Long", "--body-file", "-", "--label", "backlog"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // What is too long is not read to its end.
        let _ = child.stdin.take().unwrap().write_all(&body);
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(add(1 << 20), (Some(0), String::new()));
    let (code, stderr) = add((1 << 20) + 1);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("more than 1048576 bytes"), "{stderr}");
    assert!(stderr.contains("hint: "), "{stderr}");
    assert_eq!(floor.json(&["issue", "list"]).as_array().unwrap().len(), 1);
    let shown = floor.run(&["issue", "show", "1"]).fine().stdout;
    assert!(!shown.contains('\u{1b}'));
    assert_eq!(floor.json(&["issue", "show", "1"])["body"].as_str().unwrap().len(), 1 << 20);
}

#[test]
fn text_that_is_no_text_is_refused() {
    let floor = TestFloor::new();
    let file = floor.root().join("latin1");
    std::fs::write(&file, b"caf\xe9").unwrap();
    let got = floor.run(&["issue", "add", "T", "--body-file", file.to_str().unwrap()]);
    assert_eq!(got.code, 2);
    assert!(got.stderr.contains("is not UTF-8 text"), "{}", got.stderr);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let floor = TestFloor::new();
    floor.run(&["issue", "add", "T"]).fine();
    let mut command = floor.command(&["issue", "list"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn what_an_agent_may_do_is_not_up_to_what_lies_in_its_folder() {
    let floor = TestFloor::new();
    let asks = |args: &[&str]| {
        let mut command = floor.command(args);
        command.env("SHOPFLOOR_SESSION", "7").env("PROJECT_NAME", "demo");
        ran(&mut command)
    };
    let (look, add) = (["issue", "list"], ["issue", "add", "Found on the way", "--json"]);
    assert_eq!(asks(&look).code, 6, "a session without a badge may do nothing");
    let folder = floor.layout().session(shopfloor_core::ids::Epoch(7));
    std::fs::create_dir_all(&folder).unwrap();
    let badge = r#"{"token":"7.secret","project":"demo","role":"dev","kind":"issue","issue":1}"#;
    std::fs::write(folder.join("grant.json"), badge).unwrap();
    asks(&look).fine();
    let refused = asks(&add);
    assert_eq!(refused.code, 6, "the floor knows of no such session");
    assert!(refused.stderr.contains("this session is over"), "{}", refused.stderr);
    assert_eq!(floor.json(&["issue", "list"]), json!([]));
}

#[test]
fn what_cannot_be_hidden_is_not_published() {
    let floor = TestFloor::new();
    let file = floor.root().join("code/demo/shopfloor.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{config}[secrets]\nTOKEN = {{ env = \"A_TOKEN_OF_DEMO\" }}\n")).unwrap();
    let add = |token: Option<&str>| {
        let mut command = floor.command(&["issue", "add", "It says hunter22", "--body", "aHVudGVyMjI="]);
        command.env_remove("A_TOKEN_OF_DEMO").envs(token.map(|token| ("A_TOKEN_OF_DEMO", token)));
        command.output().unwrap()
    };
    // As in a session, where the variable is not set.
    let refused = add(None);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("secret `TOKEN`: the environment variable A_TOKEN_OF_DEMO is not set"), "{said}");
    assert_eq!(floor.run(&["issue", "show", "1"]).code, 4);
    // Where it is known, it is hidden, in base64 too.
    assert!(add(Some("hunter22")).status.success());
    let shown = floor.run(&["issue", "show", "1"]).fine().stdout;
    assert!(shown.contains("It says [redacted]") && !shown.contains("aHVudGVy"), "{shown}");
}

#[test]
fn issues_are_found_by_words_of_their_title_and_text() {
    let floor = TestFloor::new();
    floor.run(&["issue", "add", "Login times out", "--body", "After 50% of an hour."]).fine();
    floor.run(&["issue", "add", "Menu is empty"]).fine();
    floor.run(&["issue", "close", "2"]).fine();
    let found = |words: &[&str]| -> Vec<u64> {
        let found = floor.json(&[&["issue", "search"], words].concat());
        found.as_array().unwrap().iter().map(|issue| issue["number"].as_u64().unwrap()).collect()
    };
    assert_eq!(found(&["LOGIN", "hour"]), [1]);
    assert_eq!(found(&["login hour 50%"]), [1]);
    assert!(found(&["menu"]).is_empty());
    assert_eq!(found(&["menu", "--all"]), [2]);
    assert_eq!(found(&["%"]), [1]);
    assert_eq!(floor.run(&["issue", "search"]).code, 2);
    assert_eq!(floor.run(&["issue", "search", " "]).code, 2);
    floor.run(&["issue", "search", "times"]).fine().shows("#1     Login times out");
}

#[test]
fn the_floor_says_how_it_is_without_a_daemon() {
    let floor = TestFloor::new();
    floor.run(&["issue", "add", "Stuck", "--label", "blocked"]).fine();
    let health = floor.json(&["health"]);
    let machine = &health["machine"];
    for number in ["memory_available", "disk_free", "disk_total", "cpus"] {
        assert!(machine[number].as_u64().is_some_and(|number| number > 0), "{number}: {machine}");
    }
    assert_eq!((&health["running"], &health["jobs"]), (&false.into(), &0.into()));
    assert_eq!(health["blocked"][0]["issue"], 1);
    assert_eq!(health["queues"][0]["waiting"], 0);
    for list in ["questions", "troubles"] {
        assert_eq!(health[list], serde_json::json!([]), "{list}");
    }
    let shown = floor.run(&["health"]).fine();
    shown.shows("memory  ").shows("available").shows("blocked   #1 Stuck").shows("none runs");
}
