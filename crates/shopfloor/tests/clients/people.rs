//! People at their agents' terminals, and clients that ask them: a dialog is never typed into, a draft
//! never sent, and whatever a person does to the session, it is understood and goes on.

use super::isolation::with_clients;
use super::plant::{IMPLEMENT, ISSUE, Plant, Setup, scenario};
use crate::client::wait_for;
use shopfloor_core::state::MessageState;
use shopfloor_model_server::{Client, Kind};
use std::path::Path;

/// A rule for the first prompt: the work is done and signalled, and then comes `next`.
fn after_work(next: &str) -> String {
    format!(
        "[[rule]]\nname = \"first\"\nwhen = {{ prompt = \"You implement issue #*\" }}\nthen = [{{ bash = \"{IMPLEMENT}\" }}, {next}, {{ text = \"It waits.\" }}]\n"
    )
}

/// A dialog is up when "CI passed" is due; a person says yes.
fn dialog(clients: &Path, mut setup: Setup<'_>, kind: &str, shown: &str, files: &[(&str, &str)]) -> Plant {
    setup.checks_wait = true;
    let plant = Plant::new(clients, &setup);
    for (file, text) in files {
        let file = plant.path(file);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("written");
    }
    let tmux = plant.begin();
    plant.status(1, "dialog");
    let up = || plant.screen(&tmux).contains(shown);
    wait_for("the dialog is drawn", || up().then_some(()));
    plant.let_checks_begin();
    let message = plant.held(1, &format!("a dialog is up ({kind})"));
    assert_eq!((message.text.lines().next(), message.state), (Some("CI passed"), MessageState::Queued));
    assert_eq!(plant.explain("dev-sample-1")["status"], format!("dialog ({kind})"));
    let told = plant.notes("NEEDS_HUMAN");
    assert!(told.iter().any(|t| t.contains(&format!("a dialog ({kind})")) && t.contains(&tmux)), "{told:?}");
    // Nothing was typed: the dialog stands there as it came up, and no prompt was taken.
    assert!(up(), "{}", plant.screen(&tmux));
    assert_eq!(plant.prompts(1).len(), 1);
    assert!(plant.journeys().iter().all(|((_, message), stages)| *message == 1 || stages.is_empty()));
    plant.send_keys(&tmux, "Enter");
    plant.ends_well(ISSUE);
    assert_eq!(plant.prompts(1)[1], "CI passed");
    plant
}

#[test]
fn claude_asks_for_a_permission_while_a_message_is_due() {
    with_clients(|clients| {
        let scenario = scenario(&after_work("{ bash = \"sh -c 'expr 20 + 22'\" }"));
        let mut setup = Setup::new(Client::Claude, scenario);
        setup.permission_mode = Some("acceptEdits");
        let allowed = r#"{"permissions": {"allow": ["Bash(echo *)", "Bash(git *)", "Bash(shopfloor *)"]}}"#;
        let files = [("home/.claude/settings.json", allowed)];
        let plant = dialog(clients, setup, "permission", "Do you want to proceed?", &files);
        let asked = plant.server.requests();
        assert!(
            asked.iter().any(|a| a.kind == Kind::ToolResult && a.tool_result == "42"),
            "a person said yes"
        );
    });
}

#[test]
fn codex_asks_for_a_permission_while_a_message_is_due() {
    with_clients(|clients| {
        let next = "{ bash = \"expr 20 + 22\" }";
        let mut setup = Setup::new(Client::Codex, scenario(&after_work(next)));
        setup.permission_mode = Some("on-request");
        let asks = "prefix_rule(pattern = [\"expr\"], decision = \"prompt\")\n";
        let files = [("home/.codex/rules/default.rules", asks)];
        dialog(clients, setup, "permission", "Press enter to confirm", &files);
    });
}

#[test]
fn claude_asks_a_question_while_a_message_is_due() {
    with_clients(|clients| {
        let next = r#"{ tool = { name = "AskUserQuestion", input = { questions = [{ question = "Which greeting?", header = "Greeting", multiSelect = false, options = [{ label = "Hello", description = "short" }, { label = "Good day", description = "long" }] }] } } }"#;
        let setup = Setup::new(Client::Claude, scenario(&after_work(next)));
        dialog(clients, setup, "question", "Enter to select", &[]);
    });
}

/// The model is held in the first turn, and the person presses Esc.
fn interrupted(clients: &Path, client: Client) {
    const HELD: &str = r#"
[[rule]]
name = "held"
when = { prompt = "You implement issue #*" }
then = [{ text = "I think." }, { hold = "for ever" }, { text = "Never said." }]
"#;
    let plant = Plant::new(clients, &Setup::new(client, scenario(HELD)));
    let tmux = plant.begin();
    plant.status(1, "working");
    wait_for("the answer has begun", || plant.screen(&tmux).contains("I think.").then_some(()));
    plant.send_keys(&tmux, "Escape");
    // Nobody said where it stands: it is asked, and goes on.
    plant.ends_well(ISSUE);
    assert_eq!(plant.prompts(1)[1], "PHASE missing");
    assert_eq!(plant.job(ISSUE).rounds.respawns, 0);
}

#[test]
fn claude_is_interrupted_by_a_person_and_asked_where_it_stands() {
    with_clients(|clients| interrupted(clients, Client::Claude));
}

#[test]
fn codex_is_interrupted_by_a_person_and_asked_where_it_stands() {
    with_clients(|clients| interrupted(clients, Client::Codex));
}

/// A draft is in the composer when a message is due.
fn draft(clients: &Path, client: Client) {
    let rules = after_work("{ hold = \"gate\" }");
    let plant = Plant::new(clients, &Setup::new(client, scenario(&rules)));
    let tmux = plant.begin();
    let phase = || plant.live(1).phase.is_some().then_some(());
    wait_for("the work is done, and the turn still runs", phase);
    plant.send_keys(&tmux, "half a thought");
    wait_for("the draft is there", || plant.screen(&tmux).contains("half a thought").then_some(()));
    plant.server.release("gate");
    let message = plant.held(1, "the composer holds a draft");
    assert_eq!(message.text.lines().next(), Some("CI passed"));
    assert!(plant.screen(&tmux).contains("half a thought"));
    assert_eq!(plant.prompts(1).len(), 1);
    plant.send_keys(&tmux, "C-u");
    plant.ends_well(ISSUE);
    assert_eq!(plant.prompts(1)[1], "CI passed");
}

#[test]
fn a_draft_in_claudes_composer_is_left_alone() {
    with_clients(|clients| draft(clients, Client::Claude));
}

#[test]
fn a_draft_in_codexs_composer_is_left_alone() {
    with_clients(|clients| draft(clients, Client::Codex));
}

#[test]
fn a_conversation_that_a_person_clears_goes_on_as_another() {
    with_clients(|clients| {
        const ASKS: &str = r#"
[[rule]]
name = "asks"
when = { prompt = "You implement issue #*" }
then = [{ bash = "shopfloor phase needs_human --detail 'Which greeting?'" }, { text = "I wait." }]
"#;
        let plant = Plant::new(clients, &Setup::new(Client::Claude, scenario(ASKS)));
        let tmux = plant.begin();
        plant.person_asked(ISSUE);
        let before = plant.status(1, "idle").client.conversation.expect("it is known");
        plant.send_keys(&tmux, "/clear");
        wait_for("it is typed", || plant.screen(&tmux).contains("/clear").then_some(()));
        plant.send_keys(&tmux, "Enter");
        let cleared = || plant.hooks(1).iter().filter(|h| *h == "session_start").count() == 2;
        wait_for("it is cleared", || cleared().then_some(()));
        plant.ok(&["answer", "1", "hello"]);
        plant.ends_well(ISSUE);
        let after = plant
            .session(1, "it is known", |s| s.client.conversation.is_some())
            .client
            .conversation
            .expect("known");
        assert_ne!(before, after);
        let asked = plant.server.requests();
        let answer = asked.iter().find(|a| a.kind == Kind::Prompt && a.prompt.starts_with("Answer: hello"));
        let answer = answer.expect("it was told");
        assert_eq!(answer.conversation, after);
        // What the client itself says of the command is not what was said before.
        assert!(!answer.before.iter().any(|line| line.starts_with("You implement")), "{:?}", answer.before);
        assert!(answer.system.contains("## How to work"), "but is told how to work");
        assert_eq!(plant.prompts(1)[1..3], ["Answer: hello", "CI passed"]);
    });
}
