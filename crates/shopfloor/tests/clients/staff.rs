//! What a client needs around it: that it asks nobody about what the configuration has settled, that a
//! person's own programs are called, and that a client that cannot work holds its project and no issue.

use super::isolation::with_clients;
use super::plant::{ISSUE, Plant, Setup, scenario};
use crate::client::wait_for;
use serde_json::{Value, json};
use shopfloor_core::ids::{IssueNumber, Role};
use shopfloor_model_server::{Client, Fault, FaultKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn write(file: PathBuf, text: &str) {
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(file, text).expect("written");
}

/// Changes the project's configuration.
fn configure(plant: &Plant, change: impl FnOnce(String) -> String) {
    let file = plant.path("repo/shopfloor.toml");
    let text = std::fs::read_to_string(&file).expect("read");
    write(file, &change(text));
    plant.ok(&["config", "accept"]);
}

/// The labels of all issues, and that none has a job that ended.
fn untouched(plant: &Plant, issues: &[IssueNumber]) {
    let all = |engine: &shopfloor_engine::Engine<shopfloor_store::sqlite::SqliteStore>| {
        issues.iter().all(|n| engine.floor().issues.get(&(plant.project.clone(), *n)).is_some())
    };
    let engine = wait_for("the issues are seen", || Some(plant.engine()).filter(all));
    for number in issues {
        let issue = engine.floor().issues.get(&(plant.project.clone(), *number)).expect("seen");
        assert!(issue.labels.contains("backlog") && issue.labels.len() == 1, "{number}: {:?}", issue.labels);
    }
    assert!(engine.floor().jobs.iter().next().is_none());
}

fn held(plant: &Plant, role: Role, why: &str) {
    wait_for(&format!("{role} is held: {why}"), || {
        let engine = plant.engine();
        engine.floor().outage(&plant.project, role).filter(|outage| outage.why.contains(why)).map(|_| ())
    });
}

fn questions(plant: &Plant) -> Vec<Value> {
    let text = plant.ok(&["questions", "--json"]);
    serde_json::from_str(&text).expect("JSON")
}

/// With `acceptEdits`, as the README has it, nothing of a day's work is asked about: reading, git, the
/// phases, what `allow` names; nor are a server of the repository's or a new key.
#[test]
fn claude_asks_about_nothing_that_the_configuration_settles() {
    with_clients(|clients| {
        const WORK: &str = r#"
[[rule]]
name = "first"
when = { prompt = "You implement issue #*" }
then = [
  { bash = "ls; git status" },
  { bash = "cat README && git log --oneline | head -3" },
  { bash = "echo hello > hello.txt && ./check.sh 2>&1 | tail -3" },
  { bash = "git add -A && git commit -m \"Hello: it's here\" && git push origin HEAD" },
  { bash = "shopfloor phase awaiting_ci" },
  { text = "It waits." },
]
"#;
        let mut setup = Setup::with_reviews(Client::Claude, String::new());
        setup.permission_mode = Some("acceptEdits");
        setup.scenario = scenario(WORK);
        let plant = Plant::new(clients, &setup);
        configure(&plant, |text| {
            text.replace("[agents.dev]\n", "[agents.dev]\nallow = [\"./check.sh\", \"tail\"]\n")
        });
        let server =
            json!({"mcpServers": {"theirs": {"command": "sh", "args": ["-c", "touch STARTED; sleep 9"]}}});
        write(plant.path("repo/.mcp.json"), &server.to_string());
        plant.git(&["add", "-A"]);
        plant.git(&["commit", "-qm", "a server"]);
        plant.git(&["push", "-q", "shopfloor", "main"]);
        // A key that this home has never seen.
        let state = plant.path("home/.claude.json");
        let mut known: Value =
            serde_json::from_str(&std::fs::read_to_string(&state).expect("read")).expect("JSON");
        known["customApiKeyResponses"] = json!({});
        write(state, &known.to_string());
        plant.begin();
        plant.wait_until_merged(ISSUE);
        let dialogs: Vec<String> = plant.notes("NEEDS_HUMAN").into_iter().collect();
        assert!(dialogs.is_empty(), "{dialogs:?}");
        assert!(plant.hooks(1).iter().all(|hook| hook != "permission_request"), "{:?}", plant.hooks(1));
    });
}

/// The repository's server is used where the configuration says so, as a person accepted it.
#[test]
fn a_repositorys_servers_are_started_only_if_the_configuration_says_so() {
    with_clients(|clients| {
        for (mcp, starts) in [("none", false), ("user", false), ("project", true)] {
            let plant = Plant::new(clients, &Setup::with_reviews(Client::Claude, scenario("")));
            let started = plant.path("started");
            let script = format!("touch {}; sleep 9", started.display());
            let server = json!({"mcpServers": {"theirs": {"command": "sh", "args": ["-c", script]}}});
            write(plant.path("repo/.mcp.json"), &server.to_string());
            plant.git(&["add", ".mcp.json"]);
            plant.git(&["commit", "-qm", "a server"]);
            plant.git(&["push", "-q", "shopfloor", "main"]);
            configure(&plant, |text| {
                text.replace("[agents.dev]\n", &format!("[agents.dev]\nmcp = \"{mcp}\"\n"))
            });
            plant.begin();
            plant.ends_well(ISSUE);
            assert_eq!(started.exists(), starts, "{mcp}");
            assert!(plant.notes("NEEDS_HUMAN").is_empty());
        }
    });
}

#[test]
fn a_persons_own_status_line_is_called_through() {
    with_clients(|clients| {
        let plant = Plant::new(clients, &Setup::with_reviews(Client::Claude, scenario("")));
        let seen = plant.path("seen");
        let command = format!("cat > {}; echo my own line; exit 3", seen.display());
        let own = json!({"statusLine": {"type": "command", "command": command}});
        write(plant.path("home/.claude/settings.json"), &own.to_string());
        let tmux = plant.begin();
        wait_for("it is on the screen, with ours", || {
            let screen = plant.screen(&tmux);
            (screen.contains("my own line") && screen.contains(" | ctx(")).then_some(())
        });
        let input: Value =
            serde_json::from_str(&std::fs::read_to_string(seen).expect("called")).expect("JSON");
        assert!(input["session_id"].is_string() && input["context_window"].is_object(), "{input}");
        plant.ends_well(ISSUE);
    });
}

#[test]
fn a_persons_own_notify_is_called_through() {
    with_clients(|clients| {
        let plant = Plant::new(clients, &Setup::with_reviews(Client::Codex, scenario("")));
        let (seen, own) = (plant.path("seen"), plant.path("home/notify.sh"));
        write(own.clone(), &format!("#!/bin/sh\necho \"$@\" >> {}\n", seen.display()));
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).expect("set");
        let config = plant.path("home/.codex/config.toml");
        let text = std::fs::read_to_string(&config).expect("read");
        write(config, &format!("notify = [\"{}\", \"mine\"]\n{text}", own.display()));
        plant.begin();
        plant.ends_well(ISSUE);
        // It runs beside the client, which does not wait for it.
        let told = |line: &str| line.starts_with("mine {") && line.contains("agent-turn-complete");
        wait_for("it was called", || std::fs::read_to_string(&seen).ok()?.lines().any(told).then_some(()));
    });
}

/// A client that is not there: every issue stays as it is, and the work begins when it is installed.
fn missing(clients: &Path, client: Client, name: &str) {
    let mut plant = Plant::new(clients, &Setup::with_reviews(client, scenario("")));
    let bin = plant.path("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let path = std::env::var("PATH").expect("a PATH");
    plant.put("PATH", &format!("{}:{path}", bin.display()));
    let issues: Vec<IssueNumber> = (1..=6)
        .map(|n| plant.issue("Say hello", &format!("A file hello.txt that says hello. {n}")))
        .collect();
    plant.up();
    held(&plant, Role::DEV, &format!("{name} is not installed"));
    untouched(&plant, &issues);
    let asked = questions(&plant);
    let why = format!("dev and review agents cannot work: {name} is not installed");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0]["question"].as_str().is_some_and(|text| text.contains(&why)), "{asked:?}");
    assert!(plant.ok(&["status"]).contains(&why));
    std::os::unix::fs::symlink(clients.join("bin").join(name), bin.join(name)).expect("installed");
    plant.wait_until_merged(ISSUE);
    assert!(questions(&plant).is_empty());
}

#[test]
fn a_missing_claude_holds_the_project_until_it_is_installed() {
    with_clients(|clients| missing(clients, Client::Claude, "claude"));
}

#[test]
fn a_missing_codex_holds_the_project_until_it_is_installed() {
    with_clients(|clients| missing(clients, Client::Codex, "codex"));
}

#[test]
fn codex_with_a_broken_configuration_is_held_until_it_is_mended() {
    with_clients(|clients| {
        let plant = Plant::new(clients, &Setup::with_reviews(Client::Codex, scenario("")));
        let config = plant.path("home/.codex/config.toml");
        let good = std::fs::read_to_string(&config).expect("read");
        write(config.clone(), &format!("sandbox_mode = \"bogus\"\n{good}"));
        let issue = plant.issue("Say hello", "A file hello.txt that says hello.");
        plant.up();
        held(&plant, Role::DEV, "unknown variant `bogus`");
        held(&plant, Role::REVIEW, "unknown variant `bogus`");
        untouched(&plant, &[issue]);
        write(config, &good);
        plant.ends_well(issue);
    });
}

#[test]
fn a_client_without_a_login_or_a_key_is_held_until_the_daemon_is_told_of_one() {
    with_clients(|clients| {
        for (client, name, why) in [
            (Client::Claude, "ANTHROPIC_API_KEY", "claude is not logged in"),
            (Client::Codex, "OPENAI_API_KEY", "OPENAI_API_KEY, which its model provider takes it from"),
        ] {
            let mut plant = Plant::new(clients, &Setup::with_reviews(client, scenario("")));
            let key = plant.take(name);
            let issue = plant.issue("Say hello", "A file hello.txt that says hello.");
            let told = plant.run(&["up", "--detach"]);
            let said = String::from_utf8_lossy(&told.stderr).into_owned();
            assert!(
                told.status.success() && said.contains(&format!("{name} is in pass_env, but is not set")),
                "{said}"
            );
            held(&plant, Role::DEV, why);
            untouched(&plant, &[issue]);
            assert!(plant.ok(&["status"]).contains(&format!("not set for its agents: {name}")));
            // `up` in a shell that has it tells the daemon that runs.
            plant.put(name, &key);
            let told = plant.ok(&["up"]);
            assert!(told.contains(name) && !told.contains(&key), "{told}");
            plant.ends_well(issue);
        }
    });
}

/// A key that is refused: the project is held, and a session with the new key goes on with the
/// conversation.
fn refused_key(clients: &Path, client: Client, name: &str) {
    let mut plant = Plant::new(clients, &Setup::with_reviews(client, scenario("")));
    plant.server.set_fault(Fault::new(FaultKind::Auth));
    plant.begin();
    held(&plant, Role::DEV, "not logged in, or its key is not accepted");
    let job = plant.job(ISSUE);
    assert_eq!((job.rounds.respawns, job.rounds.ci_fixes), (0, 0));
    assert!(job.is_unstaffed(), "{:?}", job.state);
    assert_eq!(plant.notes("NEEDS_HUMAN").len(), 1);
    plant.server.clear_faults();
    plant.put(name, "another-dummy-key-of-some-length");
    plant.ok(&["up"]);
    plant.ends_well(ISSUE);
    assert_eq!(plant.notes("NEEDS_HUMAN").len(), 1);
}

#[test]
fn claude_with_a_refused_key_goes_on_with_the_next() {
    with_clients(|clients| refused_key(clients, Client::Claude, "ANTHROPIC_API_KEY"));
}

#[test]
fn codex_with_a_refused_key_goes_on_with_the_next() {
    with_clients(|clients| refused_key(clients, Client::Codex, "OPENAI_API_KEY"));
}

#[test]
fn a_key_comes_from_a_program_and_is_seen_nowhere() {
    with_clients(|clients| {
        const KEY: &str = "printed-dummy-key-of-some-length";
        let mut plant = Plant::new(clients, &Setup::with_reviews(Client::Claude, scenario("")));
        plant.take("ANTHROPIC_API_KEY");
        let program = plant.path("home/key.sh");
        write(program.clone(), &format!("#!/bin/sh\necho {KEY}\n"));
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("set");
        configure(&plant, |text| {
            let line = format!("key_command = [\"{}\"]\n", program.display());
            text.replace("[agents.dev]\n", &format!("[agents.dev]\n{line}"))
                .replace("[agents.review]\n", &format!("[agents.review]\n{line}"))
        });
        plant.begin();
        plant.ends_well(ISSUE);
        let log = std::fs::read_to_string(plant.home().join("daemon.log")).unwrap_or_default();
        assert!(!log.contains(KEY) && !plant.ok(&["events"]).contains(KEY));
    });
}
