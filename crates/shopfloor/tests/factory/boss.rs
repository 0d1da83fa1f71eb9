//! People stop agents, take their jobs and hand them back.

use crate::client::{FAST, Person, wait_for};
use crate::floor::{DEMO, Floor};
use shopfloor_core::ids::{Epoch, IssueNumber};

/// An agent that stays.
const WAITS: &str = "[agents.dev]\nruntime = \"generic\"\ncommand = [\"sleep\", \"300\"]\n[agents.review]\nruntime = \"demo\"\n";

#[test]
fn what_is_paused_starts_nothing_until_it_goes_on() {
    let floor = Floor::new(DEMO);
    floor.ok(&["pause", "--reason", "a release"]);
    floor.issue("Say hello", "demo: write hello.txt <<hello");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.engine().floor().jobs.iter().count(), 0);
    let status = floor.ok(&["status"]);
    assert!(status.contains("paused for") && status.contains("a release"), "{status}");
    assert_eq!(floor.json(&["status"]).1["floor"]["projects"][0]["paused"], "a release");
    assert_eq!(floor.run(&["resume", "nosuch"]).status.code(), Some(4));
    floor.ok(&["resume", "sample"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("hello.txt"), "hello");
}

#[test]
fn a_job_that_a_person_took_is_theirs_until_they_hand_it_back() {
    let floor = Floor::new(WAITS);
    let issue = floor.issue("Wait", "");
    floor.ok(&["up", "--detach"]);
    floor.live(1);
    assert_eq!(floor.run(&["take", "9"]).status.code(), Some(4));
    let agent = floor.command(&["take", "1"]).env("SHOPFLOOR_SESSION", "1").output().expect("it runs");
    assert_eq!(agent.status.code(), Some(6), "no agent takes anything");
    floor.ok(&["take", "1"]);
    floor.kill_daemon();
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "a person has it: {text}");
    let status = floor.ok(&["status"]);
    assert!(status.contains("you have had it since"), "{status}");
    floor.ok(&["resume", "1"]);
    assert_eq!(floor.run(&["resume", "1"]).status.code(), Some(1), "nobody has it");
    assert!(floor.job(issue).taken.is_none());
    // Explicit words are heeded at once.
    floor.ok(&["take", "1"]);
    floor.ok(&["cancel", "1"]);
    let (_, text) = floor.until_idle();
    assert_eq!(floor.job(issue).state.name(), "cancelled", "{text}");
}

#[test]
fn esc_at_a_terminal_takes_the_session() {
    let floor = Floor::new(WAITS);
    floor.issue("Wait", "");
    floor.up();
    let person = Person::attach(&floor, &floor.live(1).tmux);
    // tmux counts in seconds: a key in the second of attaching is seen with the next.
    wait_for("a person has it", || {
        person.press("Escape");
        floor.engine().floor().sessions.get(&Epoch(1))?.hold.clone()
    });
    let status = floor.ok(&["status"]);
    assert!(status.contains("you have had it since"), "{status}");
    drop(person);
    wait_for("it is handed back", || {
        floor.engine().floor().sessions.get(&Epoch(1))?.hold.is_none().then_some(())
    });
}

#[test]
fn next_goes_to_the_job_that_has_waited_longest() {
    let floor = Floor::with_clients(FAST);
    assert_eq!(floor.run(&["next", "--print"]).status.code(), Some(4), "nobody waits");
    let asks = floor.issue("Which?", "demo: ask <<A or B?\ndemo: write choice.txt <<{answer}");
    floor.up();
    wait_for("it asks", || floor.run(&["next", "--print"]).status.success().then_some(()));
    let body = "demo: dialog\ndemo: write a.txt <<a";
    let (_, made) = floor.json(&["issue", "add", "Asks", "--body", body, "--label", "backlog"]);
    let dialog = IssueNumber(made["number"].as_u64().expect("a number"));
    wait_for("its client shows a dialog", || (floor.json(&["next"]).1["others"] == 1).then_some(()));
    let session = |issue| {
        let epoch = floor.job(issue).session.expect("a session").0;
        floor.live(epoch).tmux
    };
    let (_, first) = floor.json(&["next"]);
    assert_eq!((&first["issue"], &first["session"]), (&asks.0.into(), &session(asks).into()), "{first}");
    assert_eq!(first["why"], "it asks: A or B?", "{first}");
    let said = floor.ok(&["next", "--print"]);
    assert!(
        said.starts_with(&format!("{} waits for ", session(asks))) && said.contains("(1 more wait)"),
        "{said}"
    );
    // In a terminal it goes there.
    let person = Person::run(&floor, "next");
    wait_for("it is attached", || {
        let clients = floor.tmux(&["list-clients", "-F", "#{session_name} #{client_control_mode}"]);
        clients.lines().any(|line| line == format!("{} 0", session(asks))).then_some(())
    });
    drop(person);
    // Who was seen to is not next.
    floor.ok(&["answer", &asks.to_string(), "A"]);
    floor.wait_until_merged(asks);
    let (_, next) = floor.json(&["next"]);
    assert_eq!((&next["issue"], &next["others"]), (&dialog.0.into(), &0.into()), "{next}");
    assert!(next["why"].as_str().expect("text").contains("a dialog (permission)"), "{next}");
}
