//! What clients ask people, each as it really comes up: it is seen from outside with its text and options,
//! answered there, and typed into that very dialog; and so are messages that cannot be typed, and questions
//! that an agent asks where nobody is.

use super::isolation::with_clients;
use super::plant::{IMPLEMENT, ISSUE, Plant, Setup, scenario};
use crate::client::{Person, wait_for};
use serde_json::{Value, json};
use shopfloor_core::ids::{Epoch, Role};
use shopfloor_model_server::{Client, Kind};
use std::path::Path;

/// How often a busy client may drop the keys of an answer before that is a fault.
const KEYS_DROPPED_MAX: usize = 3;

fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(file, text).expect("written");
}

/// The issue comes in, `up --until-idle` ends because of the question, and everybody shows it: its number.
fn asked(plant: &Plant, kind: &str, says: &[&str], offers: &[&str]) -> String {
    assert_eq!(plant.issue("Say hello", "A file hello.txt that says hello."), ISSUE);
    let (code, text) = plant.until_idle();
    assert_eq!(code, 3, "a person is waited for: {text}");
    // It can be read though no daemon runs.
    let id = shown(plant, "", kind, says, offers);
    plant.ok(&["up", "--detach"]);
    assert_eq!(shown(plant, "", kind, says, offers), id, "it is the same with another daemon");
    assert_eq!(plant.run(&["answer", "q99", "1"]).status.code(), Some(4));
    id
}

fn shown(plant: &Plant, after: &str, kind: &str, says: &[&str], offers: &[&str]) -> String {
    let (id, text, options) = plant.question(after);
    assert_eq!(options, offers);
    let (status, explained) = (plant.ok(&["status"]), plant.ok(&["explain", "1"]));
    let listed = plant.ok(&["questions"]);
    for what in says {
        assert!(text.contains(what) && explained.contains(what) && listed.contains(what), "{what}: {text}");
    }
    assert!(explained.contains(kind) && listed.contains(kind), "{kind}: {explained}");
    let one = |text: &str| text.lines().filter(|line| line.contains(&id)).count();
    assert!(one(&status) >= 1, "{status}");
    for option in offers {
        let start: String = option.chars().take(30).collect();
        assert!(status.contains(&start) && explained.contains(option), "{option}: {status}{explained}");
    }
    id
}

fn answered(plant: &Plant, id: &str, answer: &str) {
    assert_eq!(plant.run(&["answer", id, ""]).status.code(), Some(2));
    let mut id = id.to_owned();
    for _ in 0..KEYS_DROPPED_MAX {
        let said = plant.run(&["answer", &id, answer]);
        assert_eq!(plant.run(&["answer", &id, answer]).status.code(), Some(4), "it is answered once");
        if said.status.success() {
            return;
        }
        // A busy client drops a key. It is not pressed again by itself, for it may come late: the person decides.
        let why = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(why.contains("the client did not take it"), "{why}");
        id = plant.question(&id).0;
    }
    panic!("the client takes no answer");
}

#[test]
fn claudes_plan_is_read_changed_and_approved_from_outside() {
    with_clients(|clients| {
        let plans = format!(
            r##"[captures]
plan = {{ after = "create your plan at ", until = " using the Write tool" }}
[[rule]]
name = "first"
when = {{ prompt = "You implement issue #*" }}
then = [
  {{ tool = {{ name = "Write", input = {{ file_path = "{{plan}}", content = "# Say hello\n\n1. Write hello.txt\n2. Commit it\n" }} }} }},
  {{ tool = {{ name = "ExitPlanMode", input = {{ }} }} }},
  {{ tool = {{ name = "ExitPlanMode", input = {{ }} }} }},
  {{ bash = "{IMPLEMENT}" }},
  {{ text = "It waits." }},
]
"##
        );
        let mut setup = Setup::new(Client::Claude, scenario(&plans));
        setup.permission_mode = Some("plan");
        let plant = Plant::new(clients, &setup);
        let says = ["1. Write hello.txt", "Would you like to proceed?"];
        let offers = ["Yes, and use auto mode", "Yes, manually approve edits", "Tell Claude what to change"];
        let first = asked(&plant, "dialog (plan)", &says, &offers);
        answered(&plant, &first, "in capitals, please");
        let second = shown(&plant, &first, "dialog (plan)", &says, &offers);
        answered(&plant, &second, "1");
        plant.ends_well(ISSUE);
        let asked = plant.server.requests();
        let told =
            |what: &str| asked.iter().any(|a| a.kind == Kind::ToolResult && a.tool_result.contains(what));
        assert!(told("in capitals, please") && told("User has approved your plan"), "{asked:?}");
    });
}

/// A worktree that gets servers after we looked at it, of a person's own program.
fn with_servers(clients: &Path, names: &[&str]) -> Plant {
    let mut plant = Plant::new(clients, &Setup::new(Client::Claude, scenario("")));
    let server = |name: &&str| {
        let script = format!("touch {}; sleep 9", plant.path(name).display());
        ((*name).to_owned(), json!({ "command": "sh", "args": ["-c", script] }))
    };
    let servers: serde_json::Map<String, Value> = names.iter().map(server).collect();
    let file = plant.path("servers.json");
    write(&file, &json!({ "mcpServers": servers }).to_string());
    let copies = format!(
        "cp {} .mcp.json; echo .mcp.json >> \"$(git rev-parse --git-path info/exclude)\"",
        file.display()
    );
    plant.wrap(clients, "claude", &copies);
    plant
}

#[test]
fn claude_asks_about_a_new_server_and_is_answered_from_outside() {
    with_clients(|clients| {
        let plant = with_servers(clients, &["theirs"]);
        let offers = [
            "Use this MCP server",
            "Use this and all future MCP servers in this project",
            "Continue without using this MCP server",
        ];
        let id = asked(&plant, "dialog (mcp)", &["New MCP server found in this project: theirs"], &offers);
        answered(&plant, &id, "1");
        plant.ends_well(ISSUE);
        assert!(plant.path("theirs").exists());
    });
}

#[test]
fn claude_asks_about_several_servers_and_gets_those_that_were_ticked() {
    with_clients(|clients| {
        let plant = with_servers(clients, &["first", "second", "third"]);
        let offers = ["[✔] first", "[✔] second", "[✔] third", "Enable selected"];
        let id = asked(&plant, "dialog (mcp)", &["3 new MCP servers found"], &offers);
        answered(&plant, &id, "1,3");
        plant.ends_well(ISSUE);
        assert_eq!(["first", "second", "third"].map(|name| plant.path(name).exists()), [true, false, true]);
    });
}

#[test]
fn claude_asks_about_a_key_that_is_not_ours_and_is_answered_from_outside() {
    with_clients(|clients| {
        let mut plant = Plant::new(clients, &Setup::new(Client::Claude, scenario("")));
        plant.wrap(clients, "claude", "export ANTHROPIC_API_KEY=dummy-key-of-a-vault-somewhere");
        let says = ["Detected a custom API key", "Do you want to use this API key?"];
        let id = asked(&plant, "dialog (api_key)", &says, &["Yes", "No (recommended)"]);
        assert_eq!(plant.run(&["answer", &id, "perhaps"]).status.code(), Some(2));
        answered(&plant, &id, "yes");
        plant.ends_well(ISSUE);
    });
}

#[test]
fn claude_asks_whether_a_folder_is_trusted_and_is_answered_from_outside() {
    with_clients(|clients| {
        let mut plant = Plant::new(clients, &Setup::new(Client::Claude, scenario("")));
        let other = plant.path("other");
        super::home::seed_claude(&other, &json!({}));
        plant.wrap(clients, "claude", &format!("export CLAUDE_CONFIG_DIR={}", other.display()));
        let says = ["Quick safety check", "worktrees/issue-1"];
        let id = asked(&plant, "dialog (trust)", &says, &["No, exit", "Yes, I trust this folder"]);
        answered(&plant, &id, "2");
        plant.ends_well(ISSUE);
    });
}

#[test]
fn a_login_dialog_is_one_hold_with_one_question() {
    with_clients(|clients| {
        const HELD: &str = "[[rule]]\nname = \"held\"\nwhen = { prompt = \"You implement issue #*\" }\nthen = [{ text = \"I think.\" }, { hold = \"for ever\" }, { text = \"Never said.\" }]\n";
        let plant = Plant::new(clients, &Setup::new(Client::Claude, scenario(HELD)));
        let tmux = plant.begin();
        wait_for("the answer has begun", || plant.screen(&tmux).contains("I think.").then_some(()));
        let person = Person::attach(&plant, &tmux);
        wait_for("the person has it", || {
            person.press("C-u");
            let engine = plant.engine();
            engine.floor().sessions.get(&Epoch(1)).is_some_and(|s| s.hold.is_some()).then_some(())
        });
        person.press("Escape");
        plant.status(1, "idle_prompt");
        person.press("C-u");
        person.press("/login");
        wait_for("it is typed", || plant.screen(&tmux).contains("❯ /login").then_some(()));
        person.press("Enter");
        wait_for("it asks", || plant.screen(&tmux).contains("Select login method").then_some(()));
        // And away.
        drop(person);
        wait_for("held", || plant.engine().floor().outage(&plant.project, Role::DEV).map(|_| ()));
        let next = plant.issue("Say hello again", "Another file.");
        let offers = [
            "Claude account with subscription · Individual, Team, or Enterprise",
            "Anthropic Console account · API usage billing",
            "3rd-party platform · Bedrock, Microsoft Foundry, Google Vertex AI",
        ];
        let id = shown(&plant, "", "dialog (login)", &["cannot work", "Select login method:"], &offers);
        assert_eq!(plant.json(&["questions"]).1.as_array().map(Vec::len), Some(1));
        let status = plant.ok(&["status"]);
        assert_eq!(status.matches("dev agents cannot work").count(), 1, "{status}");
        assert!(status.contains(&format!("held, {id}: ")), "{status}");
        plant.ok(&["down"]);
        let (code, text) = plant.until_idle();
        assert_eq!(code, 3, "{text}");
        plant.up();
        assert!(plant.engine().floor().job_of(&plant.project, next).is_none(), "nothing is begun");
        // Each of its pages is answered as it comes.
        plant.ok(&["answer", &id, "2"]);
        let (page, text, options) = plant.question(&id);
        assert!(text.contains("How do you want to sign in?"), "{text}");
        assert_eq!(options.last().map(String::as_str), Some("Go back"));
        plant.ok(&["answer", &page, "3"]);
        shown(&plant, &page, "dialog (login)", &["Select login method:"], &offers);
        // Whoever leaves it lets everything go on.
        plant.send_keys(&tmux, "Escape");
        plant.ends_well(ISSUE);
        assert_eq!(plant.job(ISSUE).rounds.respawns, 0);
        assert_eq!(plant.ok(&["questions"]).trim(), "no questions");
    });
}

/// Hooks that are turned off, in a file of the person's and in one of the project's.
#[test]
fn claude_without_its_hooks_is_not_typed_to_and_everybody_shows_why() {
    with_clients(|clients| {
        const OFF: &str = r#"{"disableAllHooks": true}"#;
        for committed in [false, true] {
            let plant = Plant::new(clients, &Setup::new(Client::Claude, scenario("")));
            let mut file = plant.path("home/.claude/settings.json");
            if committed {
                write(&plant.path("repo/.claude/settings.json"), OFF);
                plant.git(&["add", "-A"]);
                plant.git(&["commit", "-qm", "no hooks"]);
                plant.git(&["push", "-q", "shopfloor", "main"]);
                // Its agent commits what mends it.
                plant.configure(|config| format!("{config}\n[review]\nprotected = []\n"));
                file = plant.home().join("projects/sample/worktrees/issue-1/.claude/settings.json");
            } else {
                write(&file, OFF);
            }
            let why = format!("disableAllHooks in {}", file.display());
            let says = ["the first prompt", why.as_str()];
            let id = asked(&plant, "held message", &says, &["Start the session anew"]);
            assert!(plant.ok(&["status"]).contains("disableAllHooks in"));
            assert!(plant.prompts(1).is_empty() && plant.server.requests().is_empty(), "nothing was typed");
            write(&file, r#"{"disableAllHooks": false}"#);
            plant.ok(&["answer", &id, "1"]);
            plant.ends_well(ISSUE);
        }
    });
}

/// Above it a picture moves. Its login is asked for though the client said that there is one.
#[test]
fn codexs_login_dialog_is_one_question_and_is_answered_from_outside() {
    with_clients(|clients| {
        let mut plant = Plant::new(clients, &Setup::new(Client::Codex, scenario("")));
        plant.take("OPENAI_API_KEY");
        write(&plant.path("home/.codex/config.toml"), "");
        let says = "[ \"$1 $2\" = 'login status' ] && { echo 'Logged in using ChatGPT'; exit 0; }";
        plant.wrap_always(clients, "codex", says);
        let tmux = plant.begin();
        let offers = [
            "Sign in with ChatGPT",
            "Sign in with Device Code",
            "Use an OpenAI API key",
            "Use Amazon Bedrock",
        ];
        let says = ["cannot work", "Choose how you want to use Codex."];
        let id = shown(&plant, "", "dialog (login)", &says, &offers);
        let picture = plant.screen(&tmux);
        // Its picture moves, but not on a machine that is too slow for it: it goes where there is no room for it.
        plant.tmux(&["resize-window", "-t", &format!("={tmux}:"), "-x", "100", "-y", "24"]);
        wait_for("it is drawn anew", || {
            let now = plant.screen(&tmux);
            (now != picture && now.contains("Choose how you want")).then_some(())
        });
        assert_eq!(shown(&plant, "", "dialog (login)", &says, &offers), id);
        assert_eq!(plant.notes("NEEDS_HUMAN").len(), 1);
        plant.ok(&["answer", &id, "3"]);
        wait_for("it asks for a key", || {
            plant.screen(&tmux).contains("Paste or type your API key").then_some(())
        });
    });
}

/// An agent that ends its turn with a question, and says nothing else.
const ASKS: &str = r#"
[[rule]]
name = "asks"
when = { prompt = "You implement issue #*" }
then = [{ text = "I looked at it.\n\nShall I go on with A or B?" }]
"#;

/// Nobody reads the chat, but what is asked there is seen at once, and can be answered.
fn answers_in_the_chat(clients: &Path, client: Client) {
    let mut setup = Setup::new(client, scenario(ASKS));
    setup.runtime = "[timing]\nlook_ms = 500\nsettle_ms = 1000\nidle_gap_ms = 3600000\n";
    let plant = Plant::new(clients, &setup);
    plant.begin();
    let id = wait_for("it is seen", || {
        let (_, open) = plant.json(&["questions"]);
        let asks = open.as_array()?.iter().find(|q| q["question"] == "Shall I go on with A or B?")?;
        asks["id"].as_str().map(str::to_owned)
    });
    for words in [["status"].as_slice(), &["explain", "1"], &["explain", "dev-sample-1"]] {
        let text = plant.ok(words);
        assert!(text.contains("Shall I go on with A or B?"), "{words:?}: {text}");
    }
    assert!(plant.ok(&["status"]).contains("asks something in its chat"));
    assert!(plant.notes("NEEDS_HUMAN").is_empty(), "nobody has to come");
    plant.ok(&["answer", &id, "B"]);
    plant.ends_well(ISSUE);
    assert_eq!(plant.prompts(1)[1], "Answer: B");
}

#[test]
fn what_claude_asks_in_its_chat_is_seen_and_answered() {
    with_clients(|clients| answers_in_the_chat(clients, Client::Claude));
}

#[test]
fn what_codex_asks_in_its_chat_is_seen_and_answered() {
    with_clients(|clients| answers_in_the_chat(clients, Client::Codex));
}

#[test]
fn claude_that_asks_in_its_chat_is_told_how_to_ask() {
    with_clients(|clients| {
        let mut setup = Setup::new(Client::Claude, scenario(ASKS));
        // It is read what the agent asks before it is reminded.
        setup.runtime = "[timing]\nlook_ms = 500\nsettle_ms = 1000\nidle_gap_ms = 5000\n";
        let plant = Plant::new(clients, &setup);
        plant.begin();
        plant.ends_well(ISSUE);
        assert_eq!(plant.prompts(1)[1], "PHASE missing");
        let asked = plant.server.requests();
        assert!(asked.iter().any(|a| a.prompt.contains("nobody reads this chat")));
        let told = plant.notes("AGENT_STATUS");
        assert!(told.iter().any(|t| t.contains("asks in its chat: Shall I go on with A or B?")), "{told:?}");
    });
}
