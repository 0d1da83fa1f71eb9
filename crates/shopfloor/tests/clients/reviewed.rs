//! A review is not run by what it reviews: settings, hooks and servers that a change brings with it are
//! nothing to the client that reviews it.

use super::isolation::with_clients;
use super::plant::{GOES_ON, ISSUE, Plant, Setup};
use crate::client::wait_for;
use shopfloor_model_server::Client;
use std::path::Path;

/// Files that make a client run something before its model says a word; `OUT` is what they make.
const TRAPS: [(&str, &str); 4] = [
    (
        ".claude/settings.json",
        r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch OUT/claude-hook"}]}]}}"#,
    ),
    (".mcp.json", r#"{"mcpServers": {"trap": {"command": "touch", "args": ["OUT/claude-server"]}}}"#),
    (
        ".codex/hooks.json",
        r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch OUT/codex-hook"}]}], "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch OUT/codex-hook"}]}]}}"#,
    ),
    (".codex/config.toml", "[mcp_servers.trap]\ncommand = \"touch\"\nargs = [\"OUT/codex-server\"]\n"),
];

/// The developer commits the traps without having them in its own worktree: it is the reviewer's that has them.
fn reviews_undisturbed(clients: &Path, client: Client) {
    // Beside the floor: a client with a sandbox has a /dev/shm of its own.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let out = folder.path().join("out");
    std::fs::create_dir(&out).expect("a folder");
    let mut script = "set -e\necho hello > hello.txt\ngit add hello.txt\n".to_owned();
    for (at, (path, text)) in TRAPS.into_iter().enumerate() {
        let trap = folder.path().join(at.to_string());
        std::fs::write(&trap, text.replace("OUT", &out.display().to_string())).expect("written");
        script += &format!(
            "git update-index --add --cacheinfo 100644,$(git hash-object -w {}),{path}\n",
            trap.display()
        );
    }
    script += "git commit -qm Hello\nshopfloor phase awaiting_ci\n";
    let file = folder.path().join("change.sh");
    std::fs::write(&file, script).expect("written");
    let rules = format!(
        "[[rule]]\nname = \"begin\"\nwhen = {{ prompt = \"You implement issue #*\" }}\nthen = [{{ bash = \"sh {}\" }}, {{ text = \"It waits.\" }}]\n",
        file.display()
    );
    let plant = Plant::new(clients, &Setup::with_reviews(client, format!("{rules}{GOES_ON}")));
    plant.begin();
    // Its agents are done with it; what it brings lands with a person's approval.
    wait_for("a person is asked", || plant.job(ISSUE).known.persons_word_asked.is_some().then_some(()));
    let pr = plant.job(ISSUE).pr.expect("a pull request");
    plant.ok(&["pr", "review", &pr.to_string(), "--approve"]);
    plant.ends_well(ISSUE);
    let landed = plant.hub(&["ls-tree", "-r", "--name-only", "main"]);
    for (path, _) in TRAPS {
        assert!(landed.lines().any(|line| line == path), "{path} was to be part of the change: {landed}");
    }
    assert!(plant.prompts(2)[0].starts_with("You review pull request #"), "{:?}", plant.prompts(2));
    let made: Vec<_> = std::fs::read_dir(&out).expect("read").flatten().map(|e| e.file_name()).collect();
    assert!(made.is_empty(), "the change ran something in its reviewer's client: {made:?}");
}

#[test]
fn a_change_runs_nothing_in_the_claude_that_reviews_it() {
    with_clients(|clients| reviews_undisturbed(clients, Client::Claude));
}

#[test]
fn a_change_runs_nothing_in_the_codex_that_reviews_it() {
    with_clients(|clients| reviews_undisturbed(clients, Client::Codex));
}
