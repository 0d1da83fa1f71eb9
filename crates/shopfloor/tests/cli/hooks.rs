//! What agents' clients call: never a failure, never a word too many, nothing outside our sessions.

use crate::floor::{Ran, TestFloor};
use shopfloor_adapters::agent::spool::{HookReport, protocol_file, read_line, read_new};
use shopfloor_core::ids::Epoch;
use shopfloor_core::liveness::{HookEvent, StartSource};
use shopfloor_core::runtime::statusline;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

/// A session's folder on a floor that has nothing else: no database, no daemon.
pub struct Session {
    pub floor: TestFloor,
}

impl Session {
    pub fn new() -> Session {
        let session = Session { floor: TestFloor::none() };
        std::fs::create_dir_all(session.dir()).unwrap();
        std::fs::create_dir_all(session.worktree()).unwrap();
        session
    }

    pub fn dir(&self) -> PathBuf {
        self.floor.layout().session(Epoch(7))
    }

    pub fn worktree(&self) -> PathBuf {
        self.floor.root().join("tree")
    }

    /// A call in the session, with the environment its agent has.
    pub fn call(&self, args: &[&str], input: &[u8]) -> Ran {
        self.call_with(args, input, &[("SHOPFLOOR_SESSION", "7")])
    }

    pub fn call_with(&self, args: &[&str], input: &[u8], env: &[(&str, &str)]) -> Ran {
        let mut command = self.floor.command(args);
        command
            .env("SHOPFLOOR_ROLE", "dev")
            .env("SHOPFLOOR_BRANCH", "fix/issue-7")
            .env("SHOPFLOOR_PRIMARY_BRANCH", "main")
            .env("SHOPFLOOR_WORKTREE", self.worktree())
            .env("TMPDIR", self.floor.root().join("scratch"))
            .envs(env.iter().copied());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It may end without having read it all.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap_or(-1);
        Ran { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    pub fn told(&self) -> Vec<HookReport> {
        read_new(&self.dir(), 0).unwrap().told
    }

    fn complaints(&self) -> String {
        std::fs::read_to_string(self.dir().join("hook-errors.log")).unwrap_or_default()
    }
}

/// A payload as it was recorded from a client.
pub fn recorded(path: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../core/tests/fixtures/clients");
    std::fs::read(folder.join(path)).unwrap()
}

#[track_caller]
fn silent(ran: Ran) {
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
}

#[test]
fn what_a_client_tells_is_in_the_spool() {
    let session = Session::new();
    silent(session.call(&["hook"], &recorded("claude-2.1.325/hooks/UserPromptSubmit.json")));
    silent(session.call(&["hook"], &recorded("codex-0.166.0/hooks/PreToolUse.Bash.json")));
    silent(session.call(&["hook"], &recorded("claude-2.1.325/hooks/Stop.json")));
    let notify = String::from_utf8(recorded("codex-0.166.0/hooks/notify-argv.main.json")).unwrap();
    silent(session.call(&["hook", "notify", &notify], b""));
    // The long way through the command line is the same.
    silent(session.call(&["--json", "hook"], &recorded("claude-2.1.325/hooks/SessionEnd.other.json")));
    silent(session.call(&["--json", "hook", "notify", "more", &notify], b""));
    let told = session.told();
    let events: Vec<String> = told.iter().map(|told| told.event.to_string()).collect();
    let expect = [
        "UserPromptSubmit",
        "PreToolUse(Bash)",
        "Stop",
        "notify(turn complete)",
        "SessionEnd(other)",
        "notify(turn complete)",
    ];
    assert_eq!(events, expect);
    assert!(told[0].transcript.as_deref().is_some_and(|path| path.ends_with(".jsonl")));
    assert!(told.iter().all(|told| told.at.0 > 0 && !told.conversation.is_empty()));
    assert_eq!(session.complaints(), "");
}

#[test]
fn nothing_is_done_outside_our_sessions() {
    let session = Session::new();
    let stop = recorded("claude-2.1.325/hooks/Stop.json");
    let home = session.floor.home();
    for env in [
        vec![],
        vec![("SHOPFLOOR_SESSION", "8")],
        vec![("SHOPFLOOR_SESSION", "../e7")],
        vec![("SHOPFLOOR_SESSION", "7"), ("SHOPFLOOR_HOME", "floor")],
        vec![("SHOPFLOOR_SESSION", "7"), ("SHOPFLOOR_HOME", "")],
    ] {
        silent(session.call_with(&["hook"], &stop, &env));
    }
    assert_eq!(session.told(), []);
    assert_eq!(std::fs::read_dir(&home).unwrap().count(), 1, "only the sessions' folder");
}

#[test]
fn what_goes_wrong_is_noted_and_troubles_nobody() {
    let session = Session::new();
    silent(session.call(&["hook"], b""));
    silent(session.call(&["hook"], b"\xff\x00{"));
    silent(session.call(&["hook", "notify", "not JSON"], b""));
    let mut huge = br#"{"hook_event_name":"PostToolUse","tool_response":""#.to_vec();
    huge.resize(6 * 1024 * 1024, b'x');
    huge.extend_from_slice(b"\"}");
    silent(session.call(&["hook"], &huge));
    assert_eq!(session.told(), []);
    assert_eq!(session.complaints().lines().count(), 4, "{}", session.complaints());
    assert!(session.complaints().contains("more than"));
    // A spool that cannot be written.
    std::fs::create_dir(session.dir().join("hooks.jsonl")).unwrap();
    silent(session.call(&["hook"], &recorded("claude-2.1.325/hooks/Stop.json")));
    assert!(session.complaints().contains("Stop was not kept"), "{}", session.complaints());
}

#[test]
fn a_command_too_large_to_be_looked_at_is_refused() {
    let session = Session::new();
    let mut huge =
        br#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git push -f # "#
            .to_vec();
    huge.resize(5 * 1024 * 1024, b'x');
    huge.extend_from_slice(b"\"}}");
    let ran = session.call(&["hook"], &huge);
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{answer}");
    assert_eq!(ran.code, 0);
}

#[test]
fn a_call_that_cannot_be_read_is_refused() {
    let session = Session::new();
    let nested = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let deep = format!(
        r#"{{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"git push -f","x":{nested}}}}}"#
    );
    let ran = session.call(&["hook"], deep.as_bytes());
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{answer}");
    let other = deep.replace("PreToolUse", "PostToolUse");
    silent(session.call(&["hook"], other.as_bytes()));
}

#[test]
fn the_protocol_is_told_again_after_it_was_forgotten() {
    let session = Session::new();
    let start = |source: &str| {
        let payload = format!(r#"{{"hook_event_name":"SessionStart","session_id":"s","source":"{source}"}}"#);
        session.call(&["hook"], payload.as_bytes())
    };
    // Nothing to tell yet.
    silent(start("compact"));
    std::fs::write(protocol_file(&session.dir()), "Signal \"awaiting_ci\".\n").unwrap();
    for source in ["compact", "resume", "clear"] {
        let answer: serde_json::Value = serde_json::from_str(&start(source).fine().stdout).unwrap();
        let output = &answer["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "SessionStart");
        assert_eq!(output["additionalContext"], "Signal \"awaiting_ci\".\n");
    }
    silent(start("startup"));
    assert_eq!(session.told().len(), 5);
    assert_eq!(session.told()[4].event, HookEvent::SessionStart { source: StartSource::Startup });
}

#[test]
fn the_status_line_is_printed_everywhere_and_kept_in_our_sessions() {
    let session = Session::new();
    let input = recorded("claude-2.1.325/hooks/statusline-input.json");
    let ran = session.call(&["statusline"], &input).fine();
    assert!(ran.stdout.starts_with("proj | ctx(95%) | "), "{}", ran.stdout);
    let shown = statusline::parse(ran.stdout.trim_end()).unwrap();
    let line = read_line(&session.dir()).unwrap().unwrap();
    assert_eq!((line.fact.clock, line.fact.context_percent), (Some(shown.clock), Some(95)));
    assert_eq!(line.conversation, "5beb98e0-30de-4b7e-97a7-472ff094f0ab");

    let outside = session.call_with(&["statusline"], &input, &[]).fine();
    assert!(outside.stdout.starts_with("proj | ctx(95%) | "), "{}", outside.stdout);
    let nasty = br#"{"cwd":"/a/\u001b[31mred\nrow","context_window":{"used_percentage":null}}"#;
    let ran = session.call(&["--json", "statusline"], nasty).fine();
    assert!(ran.stdout.starts_with("red row | ctx(?%) | "), "{}", ran.stdout);
    let ran = session.call(&["statusline"], b"nonsense").fine();
    assert!(ran.stdout.starts_with("? | ctx(?%) | "), "{}", ran.stdout);
    assert!(session.complaints().contains("the status line"), "{}", session.complaints());
}

#[test]
fn what_must_not_run_is_refused_with_a_reason_and_told_all_the_same() {
    let session = Session::new();
    let ask = |command: &str| {
        let cwd = session.worktree().join("src");
        let payload = serde_json::json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": cwd,
            "tool_name": "Bash", "tool_input": {"command": command}});
        session.call(&["hook"], payload.to_string().as_bytes())
    };
    for command in ["git push -f", "git push origin main", "rm -rf ../..", "rm -rf ~", "git checkout main"] {
        let answer: serde_json::Value = serde_json::from_str(&ask(command).fine().stdout).unwrap();
        let output = &answer["hookSpecificOutput"];
        assert_eq!(
            (&output["hookEventName"], &output["permissionDecision"]),
            (&"PreToolUse".into(), &"deny".into())
        );
        assert!(output["permissionDecisionReason"].as_str().unwrap().contains("shopfloor: "), "{answer}");
    }
    for command in
        ["git push origin fix/issue-7", "rm -rf ../target", "rm -rf \"$TMPDIR/x\"", "git merge origin/main"]
    {
        silent(ask(command));
    }
    assert_eq!(session.told().len(), 9);
    // The client says where it is by another name of the same folder.
    let link = session.floor.root().join("link");
    std::os::unix::fs::symlink(session.worktree(), &link).unwrap();
    let payload = serde_json::json!({"hook_event_name": "PreToolUse", "cwd": link, "tool_name": "Bash",
        "tool_input": {"command": "rm -rf target"}});
    silent(session.call(&["hook"], payload.to_string().as_bytes()));
    // Not where we have no say.
    let push =
        br#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git push -f"}}"#;
    silent(session.call_with(&["hook"], push, &[]));
}

#[test]
fn our_hooks_come_and_go_beside_a_persons_own() {
    let floor = TestFloor::none();
    let file = floor.root().join(".claude/settings.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let own = r#"{"model":"m","hooks":{"Stop":[{"hooks":[{"type":"command","command":"bell"}]}]}}"#;
    std::fs::write(&file, own).unwrap();
    floor.run(&["hook", "install"]).fine().shows("Installed in");
    floor.run(&["hook", "install"]).fine().shows("Already installed");
    floor.run(&["hook", "show"]).fine().shows("PreToolUse").shows("statusline # managed by shopfloor");
    let shown = floor.json(&["hook", "show"]);
    assert_eq!(shown["entries"].as_array().unwrap().len(), 14);
    floor.run(&["hook", "remove"]).fine().shows("Removed from");
    let left: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(left, serde_json::from_str::<serde_json::Value>(own).unwrap());
    assert_eq!(floor.run(&["hook", "show"]).code, 4);

    floor.run(&["hook", "install", "--client", "codex"]).fine().shows("review");
    assert!(floor.root().join(".codex/hooks.json").is_file());
    std::fs::write(&file, "{ not JSON").unwrap();
    let ran = floor.run(&["hook", "install"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("is not JSON") && ran.stderr.contains("hint:"),
        "{}",
        ran.stderr
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ not JSON");
}
