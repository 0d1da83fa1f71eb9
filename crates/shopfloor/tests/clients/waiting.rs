//! An agent that works is never taken for idle: not while work of its goes on in the background, and not
//! while a prompt that was queued in one turn is the next.

use super::isolation::with_clients;
use super::plant::{IMPLEMENT, ISSUE, Plant, Setup, scenario};
use crate::client::wait_for;
use shopfloor_model_server::Client;
use std::path::Path;

/// What a background shell waits for: the test says when it is over.
const OVER: &str = "until [ -e over ]; do sleep 0.1; done; rm over";

/// The client tells its model when background work has ended, and the model goes on.
fn noticed() -> String {
    format!(
        "[[rule]]\nname = \"noticed\"\nwhen = {{ on = \"tool_result\", system = \"<task-notification>\", round = 1 }}\ntimes = 1\nthen = [{{ bash = \"{IMPLEMENT}\" }}]\n\
         [[rule]]\nname = \"said\"\nwhen = {{ system = \"<task-notification>\", round = 2 }}\nthen = [{{ text = \"It waits.\" }}]\n"
    )
}

/// While the agent waits for `what`, time passes, and nobody takes it for idle. Then it goes on by itself.
fn waits(clients: &Path, rules: &str, what: &str) {
    let plant = Plant::new(clients, &Setup::new(Client::Claude, scenario(&format!("{}{rules}", noticed()))));
    plant.begin();
    let session = plant.status(1, "background");
    // Twenty times as long as idleness takes to be found.
    plant.beats(1, 1);
    let shown = plant.explain("dev-sample-1");
    let status = shown["status"].as_str().expect("a status");
    assert!(status.starts_with("waits for its own background work") && status.contains(what), "{shown}");
    assert!(plant.ok(&["status"]).contains("its own background work"), "{}", plant.ok(&["status"]));
    assert_eq!(plant.prompts(1).len(), 1);
    assert_eq!(plant.session(1, "it lives", |s| s.status.is_some()).status, session.status);
    let worktree = plant.job(ISSUE).worktree.expect("it has one");
    std::fs::write(Path::new(&worktree).join("over"), "").expect("written");
    plant.ends_well(ISSUE);
    assert!(!plant.notes("MESSAGE_QUEUED").iter().any(|line| line == "PHASE missing"));
    assert_eq!(plant.job(ISSUE).rounds.respawns, 0);
}

#[test]
fn claude_waits_for_a_shell_in_the_background() {
    with_clients(|clients| {
        let rules = format!(
            "[[rule]]\nname = \"begins\"\nwhen = {{ prompt = \"You implement issue #*\" }}\nthen = [{{ tool = {{ name = \"Bash\", input = {{ command = \"{OVER}\", description = \"the tests\", run_in_background = true }} }} }}, {{ text = \"I wait for the tests.\" }}]\n"
        );
        waits(clients, &rules, "the tests");
    });
}

#[test]
fn claude_waits_for_an_agent_in_the_background() {
    with_clients(|clients| {
        let rules = format!(
            "[[rule]]\nname = \"looks\"\nwhen = {{ prompt = \"Helper: look around\" }}\nthen = [{{ bash = \"{OVER}\" }}, {{ text = \"Nothing there.\" }}]\n\
             [[rule]]\nname = \"sends\"\nwhen = {{ prompt = \"You implement issue #*\" }}\nthen = [{{ tool = {{ name = \"Agent\", input = {{ description = \"look around\", prompt = \"Helper: look around\", subagent_type = \"general-purpose\" }} }} }}, {{ text = \"I wait for it.\" }}]\n"
        );
        waits(clients, &rules, "look around");
    });
}

/// The phase is written before the turn's last words, the checks are faster, and "CI passed" is queued in
/// the turn. The turn it begins without a hook thinks for long.
#[test]
fn a_prompt_that_claude_queued_is_a_turn_of_its_own() {
    with_clients(|clients| {
        let rules = format!(
            "[[rule]]\nname = \"first\"\nwhen = {{ prompt = \"You implement issue #*\" }}\nthen = [{{ bash = \"{IMPLEMENT}\" }}, {{ hold = \"last words\" }}, {{ text = \"It waits.\" }}]\n\
             [[rule]]\nname = \"thinks\"\nwhen = {{ prompt = \"CI passed\" }}\nthen = [{{ hold = \"thinking\" }}, {{ bash = \"shopfloor phase awaiting_review\" }}, {{ text = \"It waits for its review.\" }}]\n"
        );
        let plant = Plant::new(clients, &Setup::new(Client::Claude, scenario(&rules)));
        plant.begin();
        wait_for("the message is queued", || (plant.prompts(1).len() == 2).then_some(()));
        plant.server.release("last words");
        wait_for("the first turn ends", || plant.hooks(1).iter().any(|hook| hook == "stop").then_some(()));
        plant.asked("about the queued message", |asked| {
            asked.iter().any(|a| a.prompt == "CI passed" || a.prompt.starts_with("CI passed\n"))
        });
        let from = plant.statuses(1).len();
        plant.beats(1, 1);
        let shown = plant.explain("dev-sample-1");
        assert!(shown["status"].as_str().is_some_and(|status| status.starts_with("working")), "{shown}");
        let since = plant.statuses(1).split_off(from);
        assert!(!since.iter().any(|state| state == "idle_prompt"), "{since:?}");
        assert_eq!(plant.prompts(1).len(), 2);
        plant.server.release("thinking");
        plant.ends_well(ISSUE);
        assert!(!plant.notes("MESSAGE_QUEUED").iter().any(|line| line == "PHASE missing"));
        assert_eq!(plant.job(ISSUE).rounds.reminders, 0);
    });
}
