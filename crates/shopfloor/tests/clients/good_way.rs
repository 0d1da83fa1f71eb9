//! An issue from its text to the primary branch with real clients: implemented, repaired, reviewed by a
//! second session, changed, reviewed again by the same, queued, merged, closed. On the way the model tries what is
//! not its to do.

use super::isolation::with_clients;
use super::plant::{GOES_ON, ISSUE, Plant, Setup};
use crate::client::wait_for;
use shopfloor_core::delivery::Stage;
use shopfloor_model_server::{By, Client, Kind};

const WORK: &str = r#"
[[rule]]
name = "begin"
when = { prompt = "You implement issue #*" }
then = [
  { text = "I begin." },
  { bash = "echo BROKEN > hello.txt && git add -A && git commit -qm Hello" },
  { bash = "git push -f origin HEAD" },
  { bash = "git push origin HEAD:main" },
  { bash = "git push -q origin HEAD; shopfloor phase awaiting_ci" },
  { text = "It waits for its checks." },
]
[[rule]]
name = "change"
when = { prompt = "Review: REQUEST_CHANGES" }
then = [
  { bash = "echo more > more.txt && git add -A && git commit -qm More && shopfloor phase awaiting_ci" },
  { text = "Changed." },
]
[[rule]]
name = "object"
times = 1
when = { prompt = "You review pull request #*" }
then = [
  { bash = "echo '{\"verdict\": \"REQUEST_CHANGES\", \"verdict_reason\": \"more\", \"review_markdown\": \"More is wanted.\"}' > $SHOPFLOOR_RESULT_FILE && shopfloor phase done" },
  { text = "More is wanted." },
]
"#;

fn an_issue_is_merged(client: Client, clients: &std::path::Path) {
    let plant = Plant::new(clients, &Setup::with_reviews(client, format!("{WORK}{GOES_ON}")));
    plant.isolate("sandbox");
    plant.begin();
    plant.ends_well(ISSUE);
    assert_eq!(plant.landed("more.txt"), "more");

    // What the factory told, in order; each was delivered once, with its receipts.
    let prompts = plant.prompts(1);
    assert!(prompts[0].starts_with("You implement issue #1 "), "{prompts:?}");
    assert_eq!(prompts[1..5], ["CI failed", "CI passed", "Review: REQUEST_CHANGES", "CI passed"]);
    // What comes then may come when all is done already.
    assert!(prompts[5..].iter().all(|p| p == "Review: APPROVE" || p == "PR not merged yet"), "{prompts:?}");
    let journeys = plant.journeys();
    let first = journeys.iter().find(|((epoch, _), _)| *epoch == 1).expect("the prompt's");
    assert_eq!(*first.1, ["typed", "submitted", "turn_started"]);
    let taken = journeys.values().filter(|stages| stages.last().is_some_and(|s| s == "turn_started"));
    assert!(taken.count() >= prompts.len(), "{journeys:?}");
    assert!(
        journeys.values().flatten().all(|stage| *stage != stage_name(Stage::Undelivered)),
        "{journeys:?}"
    );

    // What was not its to do was refused with a reason, and did not keep it from going on.
    let asked = plant.server.requests();
    assert!(asked.iter().all(|a| !matches!(a.by, By::Nothing(_))), "{asked:?}");
    let refused =
        |what: &str| asked.iter().any(|a| a.kind == Kind::ToolResult && a.tool_result.contains(what));
    for why in ["(shopfloor: force-push)", "(shopfloor: push-primary)"] {
        assert!(refused(why), "{why}: {:?}", asked.iter().map(|a| &a.tool_result).collect::<Vec<_>>());
    }
    let conversations: std::collections::BTreeSet<&str> =
        asked.iter().filter(|a| a.kind != Kind::Side).map(|a| a.conversation.as_str()).collect();
    assert_eq!(conversations.len(), 2, "the developer's and the reviewer's");
    // The same session reviewed what it had asked for.
    let prompts = plant.prompts(2);
    assert!(prompts[0].starts_with("You review pull request #"), "{prompts:?}");
    assert_eq!(prompts[1..], ["Review again"]);
}

fn stage_name(stage: Stage) -> String {
    serde_json::to_value(stage).expect("a name").as_str().expect("a name").to_owned()
}

#[test]
fn claude_brings_an_issue_to_the_primary_branch() {
    with_clients(|clients| an_issue_is_merged(Client::Claude, clients));
}

#[test]
fn codex_brings_an_issue_to_the_primary_branch() {
    with_clients(|clients| an_issue_is_merged(Client::Codex, clients));
}

/// A person's own pull request, reviewed when they ask: no issue, no developer, nothing typed elsewhere.
fn a_person_is_advised(client: Client, clients: &std::path::Path) {
    let plant = Plant::new(clients, &Setup::with_reviews(client, GOES_ON.to_owned()));
    plant.isolate("sandbox");
    plant.ok(&["up", "--detach"]);
    plant.git(&["checkout", "--quiet", "-b", "alice/fix"]);
    std::fs::write(plant.path("repo/hello.txt"), "hello\n").expect("written");
    plant.git(&["add", "hello.txt"]);
    plant.git(&["commit", "--quiet", "-m", "Say hello"]);
    plant.git(&["push", "--quiet", "shopfloor", "alice/fix"]);
    let head = plant.git(&["rev-parse", "HEAD"]);
    plant.ok(&["pr", "create", "alice/fix", "--body", "It was too quiet here."]);
    plant.ok(&["pr", "review", "1", "--ask"]);
    let reviews = || plant.json(&["pr", "show", "1"]).1["reviews"].clone();
    let review = wait_for("it is reviewed", || reviews().get(0).cloned());
    assert_eq!((&review["verdict"], &review["head"]), (&"APPROVE".into(), &head.into()));
    assert!(review["text"].as_str().is_some_and(|text| text.contains("It is good.")), "{review}");
    wait_for("nothing is left of it", || {
        let engine = plant.engine();
        engine.floor().jobs.iter().all(|job| job.state.name() == "reviewed").then_some(())
    });
    let prompts = plant.prompts(1);
    assert!(prompts.len() == 1 && prompts[0].starts_with("You review pull request #1 "), "{prompts:?}");
    let asked = plant.server.requests();
    assert!(asked.iter().all(|a| !matches!(a.by, By::Nothing(_))), "{asked:?}");
    plant.ok(&["down"]);
}

#[test]
fn claude_reviews_a_persons_pull_request() {
    with_clients(|clients| a_person_is_advised(Client::Claude, clients));
}

#[test]
fn codex_reviews_a_persons_pull_request() {
    with_clients(|clients| a_person_is_advised(Client::Codex, clients));
}
