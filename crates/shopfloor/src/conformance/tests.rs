use super::*;
use crate::config::runtimes;
use shopfloor_core::liveness::{Evidence, Fact, Process, What, derive};

#[test]
fn every_recording_is_listed_and_taken_for_what_it_is() {
    let mut bad = Vec::new();
    let mut count = 0;
    for client in ["claude", "codex"] {
        let spec = runtimes::embedded(client).unwrap();
        for verdict in run(client, &spec) {
            count += 1;
            if !verdict.ok {
                let Judged { recording, behaviour, expected, found, .. } = verdict;
                bad.push(format!("{behaviour}: {recording}\n  expected {expected}\n  found    {found}"));
            }
        }
        assert_eq!(versions(client), spec.version.unwrap().recorded, "{client}");
    }
    assert!(bad.is_empty(), "{} of {count}:\n{}", bad.len(), bad.join("\n"));
    assert!(count >= 179, "{count}");
}

#[test]
fn a_rule_that_is_missing_is_noticed() {
    let mut spec = runtimes::embedded("claude").unwrap();
    spec.screen.rules.retain(|rule| rule.meaning.to_string() != "dialog(permission)");
    let bad: Vec<Judged> = run("claude", &spec).into_iter().filter(|v| !v.ok).collect();
    assert!(bad.iter().any(|v| v.behaviour == "dialogs"), "{bad:?}");
}

fn recording(path: &str) -> &'static str {
    let found = embedded::RECORDINGS.iter().find(|(known, _)| *known == path);
    found.unwrap_or_else(|| panic!("no recording {path}")).1
}

/// What a daemon would see: the recordings, one after the other, three seconds apart.
enum Seen {
    Alive,
    Killed(i32),
    Ended(i32),
    Hook(&'static str),
    Screen(&'static str),
    Title(&'static str),
}

/// Stories told by recordings alone: each of these has to be told apart from all others.
#[test]
fn what_happens_to_a_session_is_told_apart() {
    use Seen::*;
    let claude: &[(&str, &[Seen], &str)] = &[
        ("starts", &[Alive], "starting"),
        ("is ready", &[Alive, Hook("SessionStart.startup"), Screen("01-ready")], "ready"),
        ("works", &[Alive, Hook("UserPromptSubmit"), Title("◐ x"), Screen("03-working-model")], "working"),
        ("runs a tool", &[Alive, Hook("PreToolUse.Bash"), Screen("06-working-tool")], "working (tool Bash)"),
        ("is done", &[Alive, Hook("UserPromptSubmit"), Hook("Stop"), Screen("05-after-queue")], "idle"),
        (
            "the words of an error, while the title works",
            &[Alive, Hook("UserPromptSubmit"), Title("◐ x"), Screen("21-terminal-403")],
            "working",
        ),
        ("Esc", &[Alive, Hook("PreToolUse.Bash"), Title("✳ x"), Screen("08b-interrupted-mid-tool")], "idle"),
        ("Esc at once", &[Alive, Hook("UserPromptSubmit"), Title("✳ x"), Screen("08-interrupted")], "idle"),
        (
            "kill -9",
            &[Alive, Hook("PreToolUse.Bash"), Screen("70-after-kill9"), Killed(9)],
            "crashed (signal 9)",
        ),
        (
            "/exit",
            &[Alive, Hook("SessionEnd.prompt_input_exit"), Screen("20-after-exit"), Ended(0)],
            "exited",
        ),
        ("trust refused", &[Alive, Screen("53b-after-trust-enter"), Ended(1)], "crashed (exit status 1)"),
        ("root", &[Alive, Screen("59-root-refused"), Ended(1)], "crashed (exit status 1)"),
        ("trust", &[Alive, Screen("53-trust-dialog")], "dialog (trust)"),
        ("api key", &[Alive, Screen("55-api-key-approval")], "dialog (api_key)"),
        ("bypass", &[Alive, Screen("54-bypass-warning")], "dialog (bypass)"),
        (
            "permission by hook",
            &[Alive, Hook("UserPromptSubmit"), Hook("PermissionRequest.Bash")],
            "dialog (permission)",
        ),
        (
            "permission by screen",
            &[Alive, Hook("PreToolUse.Bash"), Title("✳ x"), Screen("51-permission-prompt-bash")],
            "dialog (permission)",
        ),
        (
            "question",
            &[Alive, Hook("PreToolUse.AskUserQuestion"), Screen("45-ask-user-question")],
            "dialog (question)",
        ),
        ("login menu", &[Alive, Hook("Stop"), Screen("62-login-menu")], "dialog (login)"),
        (
            "not logged in",
            &[
                Alive,
                Hook("UserPromptSubmit"),
                Hook("StopFailure.authentication_failed"),
                Screen("58-no-key-after-prompt"),
            ],
            "failed (auth)",
        ),
        (
            "limit",
            &[Alive, Hook("UserPromptSubmit"), Hook("StopFailure.rate_limit"), Screen("82-oauth-limit-hit")],
            "limited_until",
        ),
        (
            "rate limit",
            &[Alive, Hook("UserPromptSubmit"), Hook("StopFailure.rate_limit"), Screen("21-terminal-429")],
            "failed (rate_limit)",
        ),
        ("500", &[Alive, Hook("UserPromptSubmit"), Hook("StopFailure.server_error")], "failed (server)"),
        (
            "a helper's 500",
            &[Alive, Hook("UserPromptSubmit"), Hook("StopFailure.server_error-subagent")],
            "working",
        ),
        ("retries", &[Alive, Hook("UserPromptSubmit"), Screen("22-default-retries")], "working (retrying)"),
        (
            "compacts",
            &[Alive, Hook("UserPromptSubmit"), Hook("PreCompact.auto"), Screen("42-autocompacting")],
            "working (compacting)",
        ),
        (
            "compacting failed",
            &[Alive, Hook("PreCompact.manual"), Screen("44-compact-failed")],
            "failed (compaction)",
        ),
        (
            "context low",
            &[Alive, Hook("UserPromptSubmit"), Hook("Stop"), Screen("30-ctx-950000")],
            "context_low",
        ),
        ("resumed after kill -9", &[Alive, Hook("SessionStart.resume"), Screen("71-resumed")], "ready"),
    ];
    let codex: &[(&str, &[Seen], &str)] = &[
        ("is ready", &[Alive, Screen("02-ready")], "ready"),
        ("hooks review", &[Alive, Screen("01-hooks-review")], "dialog (hooks)"),
        ("login", &[Alive, Screen("43-login")], "dialog (login)"),
        ("works", &[Alive, Hook("UserPromptSubmit"), Title("⠋ x"), Screen("06-working-model")], "working"),
        ("start is told late", &[Alive, Hook("UserPromptSubmit"), Hook("SessionStart.startup")], "working"),
        ("Esc", &[Alive, Hook("UserPromptSubmit"), Hook("Interrupt"), Screen("10-interrupted")], "idle"),
        ("Esc on an approval", &[Alive, Hook("PermissionRequest.Bash"), Screen("42b-approval-esc")], "idle"),
        (
            "approval",
            &[Alive, Hook("PreToolUse.Bash"), Title("[ . ] Action Required")],
            "dialog (permission)",
        ),
        ("503, no hook", &[Alive, Hook("UserPromptSubmit"), Screen("503-final")], "failed (overloaded)"),
        ("limit, no hook", &[Alive, Hook("UserPromptSubmit"), Screen("usagelimit-final")], "limited_until"),
        (
            "kill -9",
            &[Alive, Hook("PreToolUse.Bash"), Screen("30-after-kill9"), Killed(9)],
            "crashed (signal 9)",
        ),
    ];
    for (client, folder, stories) in [("claude", "claude-2.1.325", claude), ("codex", "codex-0.166.0", codex)]
    {
        let spec = runtimes::embedded(client).unwrap();
        for (story, seen, expect) in stories {
            let mut evidence = Evidence::new(RECORDED_AT);
            let mut now = RECORDED_AT;
            for seen in *seen {
                now = Time(now.0 + 3_000);
                evidence.add(Fact::new(now, what(&spec, folder, seen, now)));
            }
            let status = derive(&evidence, Time(now.0 + 1_000), &spec);
            let chain: Vec<String> = status.chain.iter().map(ToString::to_string).collect();
            assert_eq!(status.state.to_string(), *expect, "{client} {story}:\n{}", chain.join("\n"));
        }
    }
}

fn what(spec: &RuntimeSpec, folder: &str, seen: &Seen, now: Time) -> What {
    match seen {
        Seen::Alive => What::Process(Process::Alive),
        Seen::Killed(signal) => What::Process(Process::Gone { status: None, signal: Some(*signal) }),
        Seen::Ended(status) => What::Process(Process::Gone { status: Some(*status), signal: None }),
        Seen::Hook(name) => {
            let payload = parse_hook(recording(&format!("{folder}/hooks/{name}.json")).as_bytes());
            What::Hook(payload.unwrap().event)
        }
        Seen::Screen(name) => {
            let text = recording(&format!("{folder}/screens/{name}.txt"));
            What::Screen(screen::read(spec, text, now, 0))
        }
        Seen::Title(title) => {
            What::Title { text: (*title).to_owned(), claim: screen::read_title(spec, title) }
        }
    }
}

#[test]
fn a_helper_thread_of_codex_is_known_by_its_id_alone() {
    let session = parse_hook(recording("codex-0.166.0/hooks/Stop.json").as_bytes()).unwrap().session_id;
    let main = parse_notify(recording("codex-0.166.0/hooks/notify-argv.main.json")).unwrap();
    let title = parse_notify(recording("codex-0.166.0/hooks/notify-argv.title-thread.json")).unwrap();
    assert!(main.is_of(&session) && !title.is_of(&session));
}

/// What a person is shown of each recorded dialog: the question, and the options as the client numbers
/// them, with the cursor's in brackets.
#[test]
fn dialogs_are_read_with_their_text_and_options() {
    for (client, path, asks, options) in [
        ("claude", "45-ask-user-question", "Which way?", "[1 A], 2 B, 3 Type something., 4 Chat about this"),
        (
            "claude",
            "51b-permission-prompt-write",
            "Do you want to create written.txt?",
            "[1 Yes], 2 Yes, and switch to accept edits (auto-approve file edits and common file commands) for this session (shift+tab), 3 No",
        ),
        (
            "claude",
            "53-trust-dialog",
            "Quick safety check: Is this a project you created or one you trust?",
            "[1 No, exit], 2 Yes, I trust this folder",
        ),
        (
            "claude",
            "110-plan",
            "Claude has written up a plan and is ready to execute. Would you like to proceed?",
            "[1 Yes, and use auto mode], 2 Yes, manually approve edits, 3 Tell Claude what to change",
        ),
        (
            "claude",
            "111-mcp-server",
            "New MCP server found in this project: theirs",
            "1 Use this MCP server, 2 Use this and all future MCP servers in this project, [3 Continue without using this MCP server]",
        ),
        (
            "claude",
            "112-mcp-servers",
            "2 new MCP servers found in this project",
            "[1 [✔] theirs], 2 [✔] other, 3 Enable selected",
        ),
        (
            "claude",
            "54-bypass-warning",
            "WARNING: Claude Code running in Bypass Permissions mode",
            "[1 No, exit], 2 Yes, I accept",
        ),
        ("claude", "55-api-key-approval", "Do you want to use this API key?", "1 Yes, [2 No (recommended)]"),
        (
            "claude",
            "62-login-menu",
            "Login",
            "[1 Claude account with subscription · Individual, Team, or Enterprise], 2 Anthropic Console account · API usage billing, 3 3rd-party platform · Bedrock, Microsoft Foundry, Google Vertex AI",
        ),
        (
            "codex",
            "01-hooks-review",
            "Hooks need review",
            "[1 Review hooks], 2 Trust all and continue, 3 Continue without trusting (hooks won't run)",
        ),
        (
            "codex",
            "42-approval",
            "Would you like to run the following command?",
            "[1 Yes, proceed (y)], 2 Yes, and don't ask again for commands that start with `echo hi > x.txt` (p), 3 No, and tell Codex what to do differently (esc)",
        ),
        (
            "codex",
            "43-login",
            "Choose how you want to use Codex.",
            "[1 Sign in with ChatGPT], 2 Sign in with Device Code, 3 Use an OpenAI API key, 4 Use Amazon Bedrock",
        ),
    ] {
        let mut spec = runtimes::embedded(client).unwrap();
        let version = spec.version.as_ref().unwrap().recorded.last().unwrap().to_string();
        let text = recording(&format!("{client}-{version}/screens/{path}.txt"));
        let view = screen::read(&spec, text, RECORDED_AT, 0).dialog.unwrap_or_else(|| panic!("{path}"));
        let shown = view.options.iter().map(|o| {
            let text = format!("{} {}", o.number, o.label);
            if o.selected { format!("[{text}]") } else { text }
        });
        let found = (view.summary(), shown.collect::<Vec<_>>().join(", "));
        assert!(found.0 == asks || view.text.lines().last() == Some(asks), "{path}: {}", view.text);
        assert_eq!(found.1, options, "{path}: {}", view.text);
        assert_eq!(path == "110-plan", view.text.contains("1. Write hello.txt"), "the plan is shown");
        // The same if no rule knew it: but for what kind it is.
        spec.screen.rules.retain(|rule| !rule.meaning.is_dialog());
        let unknown = screen::read(&spec, text, RECORDED_AT, 0);
        assert_eq!(unknown.meaning().map(|m| m.to_string()), Some("dialog(asks)".into()), "{path}");
        assert_eq!(unknown.dialog.map(|d| d.fingerprint), Some(view.fingerprint), "{path}");
    }
}
