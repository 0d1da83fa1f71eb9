//! The person is the boss, on the real clients: who attaches and types has the session; what a client asks
//! is answered from outside; and nothing that others wrote is a command to a client.

use super::isolation::with_clients;
use super::plant::{ISSUE, Plant, Setup, scenario};
use crate::client::{Person, wait_for};
use shopfloor_core::ids::Epoch;
use shopfloor_model_server::{Client, Kind};
use std::path::Path;

/// The model is held in the first turn.
const HELD: &str = r#"
[[rule]]
name = "chat"
when = { prompt = "a word" }
then = [{ text = "I listen." }]
[[rule]]
name = "held"
when = { prompt = "You implement issue #*" }
then = [{ text = "I think." }, { hold = "for ever" }, { text = "Never said." }]
"#;

/// A person attaches, breaks the turn off, and chats; the agent is reminded when they have left.
fn attached(clients: &Path, client: Client) {
    let mut setup = Setup::new(client, scenario(HELD));
    setup.limits = "reminders = 1\n";
    let plant = Plant::new(clients, &setup);
    let tmux = plant.begin();
    plant.status(1, "working");
    wait_for("the answer has begun", || plant.screen(&tmux).contains("I think.").then_some(()));
    let person = Person::attach(&plant, &tmux);
    let has_it = || plant.engine().floor().sessions.get(&Epoch(1)).is_some_and(|s| s.hold.is_some());
    wait_for("the person has it", || {
        person.press("C-u");
        has_it().then_some(())
    });
    person.press("Escape");
    plant.status(1, "idle_prompt");
    let waits = plant.explain("1")["job"]["waits_for"].to_string();
    assert!(waits.contains("you have had it since"), "{waits}");
    person.press("C-u");
    person.press("a word");
    wait_for("it is typed", || plant.screen(&tmux).contains("a word").then_some(()));
    person.press("Enter");
    wait_for("the model is asked", || {
        plant.server.requests().iter().any(|a| a.prompt == "a word").then_some(())
    });
    plant.status(1, "idle_prompt");
    // It was found idle, and nothing came of it.
    assert_eq!((plant.job(ISSUE).rounds.reminders, plant.messages(1).len()), (0, 1));
    drop(person);
    wait_for("they left", || (!has_it()).then_some(()));
    plant.ends_well(ISSUE);
    assert_eq!(plant.prompts(1)[1..3], ["a word", "PHASE missing"]);
    assert_eq!(plant.job(ISSUE).rounds.respawns, 0);
}

#[test]
fn whoever_is_attached_to_claude_and_types_has_it() {
    with_clients(|clients| attached(clients, Client::Claude));
}

#[test]
fn whoever_is_attached_to_codex_and_types_has_it() {
    with_clients(|clients| attached(clients, Client::Codex));
}

/// A rule for the first prompt: `asks`, then the work is done.
fn asking(asks: &str) -> String {
    let work = super::plant::IMPLEMENT;
    scenario(&format!(
        "[[rule]]\nname = \"first\"\nwhen = {{ prompt = \"You implement issue #*\" }}\nthen = [{asks}, {{ bash = \"{work}\" }}, {{ text = \"It waits.\" }}]\n"
    ))
}

#[test]
fn claude_asks_for_a_permission_and_is_answered_from_outside() {
    with_clients(|clients| {
        let mut setup = Setup::new(Client::Claude, asking("{ bash = \"sh -c 'expr 20 + 22'\" }"));
        setup.permission_mode = Some("acceptEdits");
        let plant = Plant::new(clients, &setup);
        let settings = plant.path("home/.claude/settings.json");
        std::fs::create_dir_all(settings.parent().expect("a folder")).expect("a folder");
        let allowed = r#"{"permissions": {"allow": ["Bash(echo *)", "Bash(git *)", "Bash(shopfloor *)"]}}"#;
        std::fs::write(settings, allowed).expect("written");
        assert_eq!(plant.issue("Say hello", "A file hello.txt that says hello."), ISSUE);
        let (code, text) = plant.until_idle();
        assert_eq!(code, 3, "a dialog waits for a person: {text}");
        plant.ok(&["up", "--detach"]);
        let (id, text, options) = plant.question("");
        assert!(text.contains("expr 20 + 22") && text.contains("Do you want to proceed?"), "{text}");
        assert_eq!(options[0], "Yes", "{options:?}");
        assert!(plant.ok(&["status"]).contains(&id));
        assert!(plant.ok(&["explain", "1"]).contains("expr 20 + 22"));
        // Nonsense is refused before anything is typed.
        assert_eq!(plant.run(&["answer", &id, "perhaps"]).status.code(), Some(2));
        assert_eq!(plant.run(&["answer", "q99", "1"]).status.code(), Some(4));
        plant.ok(&["answer", &id, "1"]);
        plant.ends_well(ISSUE);
        let asked = plant.server.requests();
        assert!(asked.iter().any(|a| a.kind == Kind::ToolResult && a.tool_result == "42"), "it was allowed");
        assert_eq!(plant.ok(&["questions"]).trim(), "no questions");
    });
}

#[test]
fn codex_asks_for_a_permission_and_is_answered_from_outside() {
    with_clients(|clients| {
        let mut setup = Setup::new(Client::Codex, asking("{ bash = \"expr 20 + 22\" }"));
        setup.permission_mode = Some("on-request");
        let plant = Plant::new(clients, &setup);
        let rules = plant.path("home/.codex/rules/default.rules");
        std::fs::create_dir_all(rules.parent().expect("a folder")).expect("a folder");
        std::fs::write(rules, "prefix_rule(pattern = [\"expr\"], decision = \"prompt\")\n").expect("written");
        plant.begin();
        let (id, text, options) = plant.question("");
        assert!(text.contains("expr 20 + 22"), "{text}");
        assert!(options[0].starts_with("Yes"), "{options:?}");
        plant.ok(&["answer", &id, "1"]);
        plant.ends_well(ISSUE);
    });
}

#[test]
fn claude_asks_questions_and_is_answered_by_options_and_words() {
    with_clients(|clients| {
        let asks = r#"{ tool = { name = "AskUserQuestion", input = { questions = [{ question = "Which greeting?", header = "Greeting", multiSelect = false, options = [{ label = "Hello", description = "short" }, { label = "Good day", description = "long" }] }, { question = "Which fruits?", header = "Fruits", multiSelect = true, options = [{ label = "Apple", description = "a" }, { label = "Pear", description = "p" }, { label = "Plum", description = "pl" }] }] } } }"#;
        let plant = Plant::new(clients, &Setup::new(Client::Claude, asking(asks)));
        plant.begin();
        let (first, text, options) = plant.question("");
        assert!(text.contains("Which greeting?"), "{text}");
        assert_eq!(options[..2], ["Hello", "Good day"]);
        plant.ok(&["answer", &first, "howdy, all"]);
        let (second, text, _) = plant.question(&first);
        assert!(text.contains("Which fruits?"), "{text}");
        plant.ok(&["answer", &second, "1,3"]);
        plant.ends_well(ISSUE);
        let asked = plant.server.requests();
        let told = asked.iter().find(|a| a.kind == Kind::ToolResult && a.tool_result.contains("howdy, all"));
        let told = &told.expect("the words arrive").tool_result;
        assert!(told.contains("Apple, Plum"), "{told}");
    });
}

/// What others wrote names a file that is nobody's business.
fn expands_nothing(clients: &Path, client: Client) {
    let plant = Plant::new(clients, &Setup::new(client, scenario("")));
    let secret = plant.path("home/secret.txt");
    std::fs::write(&secret, "TOP-SECRET-42\n").expect("written");
    let body = format!(
        "A file hello.txt that says hello.\n@{0}\n- @{0} and \u{3000}@{0}\u{200d} and \"@{0}\" $skill-creator\nAt last @{0}",
        secret.display()
    );
    assert_eq!(plant.issue("Say hello", &body), ISSUE);
    plant.up();
    plant.ends_well(ISSUE);
    let log = serde_json::to_string(&plant.server.requests()).expect("JSON");
    assert!(log.contains("secret.txt"), "the model reads the same words");
    assert!(!log.contains("TOP-SECRET-42"), "the file was not attached");
    assert!(!log.contains("<skill>"), "no skill was attached");
}

#[test]
fn nothing_in_an_issue_is_expanded_by_claude() {
    with_clients(|clients| expands_nothing(clients, Client::Claude));
}

#[test]
fn nothing_in_an_issue_is_expanded_by_codex() {
    with_clients(|clients| expands_nothing(clients, Client::Codex));
}

/// The history is searched when a message is due.
fn searched(clients: &Path, client: Client) {
    let mut setup = Setup::new(client, scenario(""));
    setup.checks_wait = true;
    let plant = Plant::new(clients, &setup);
    let tmux = plant.begin();
    wait_for("the work is done", || plant.live(1).phase.is_some().then_some(()));
    plant.status(1, "idle");
    plant.send_keys(&tmux, "C-r");
    let search = |screen: &str| screen.contains("search prompts:") || screen.contains("reverse-i-search:");
    wait_for("the search is open", || search(&plant.screen(&tmux)).then_some(()));
    plant.let_checks_begin();
    let message = plant.held(1, "another mode than its plain composer");
    assert_eq!(message.text.lines().next(), Some("CI passed"));
    assert!(plant.journeys().iter().all(|((_, message), stages)| *message == 1 || stages.is_empty()));
    assert!(search(&plant.screen(&tmux)), "nothing was typed");
    plant.send_keys(&tmux, "Escape");
    // A search that is left may leave what it found.
    wait_for("it is left", || (!search(&plant.screen(&tmux))).then_some(()));
    plant.send_keys(&tmux, "C-u");
    plant.ends_well(ISSUE);
    assert_eq!(plant.prompts(1)[1], "CI passed");
    assert_eq!(plant.job(ISSUE).rounds.respawns, 0);
}

#[test]
fn nothing_is_typed_into_claudes_search() {
    with_clients(|clients| searched(clients, Client::Claude));
}

#[test]
fn nothing_is_typed_into_codexs_search() {
    with_clients(|clients| searched(clients, Client::Codex));
}
