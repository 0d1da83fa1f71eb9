//! Codex.

use super::isolation::with_clients;
use super::lab::Lab;
use shopfloor_core::liveness::TurnEnd;
use shopfloor_core::runtime::{ErrorKind, Meaning};
use shopfloor_model_server::{By, Fault, FaultKind, Kind};

const WORK: &str = r#"
[captures]
issue = { after = "issue #", until = ":" }
[[rule]]
name = "work"
when = { prompt = "*issue #*" }
then = [{ text = "I begin." }, { bash = "echo of {issue} > made.txt; cat made.txt" }, { text = "It is made." }]
"#;

const ANYTHING: &str = r#"
[[rule]]
name = "held"
when = { prompt = "*hold*" }
then = [{ hold = "gate" }, { text = "well then" }]
[[rule]]
name = "anything"
then = [{ text = "so be it" }]
"#;

#[test]
fn a_prompt_with_a_tool_call_is_completed() {
    with_clients(|clients| {
        let lab = Lab::new(clients, WORK);
        let codex = lab.codex();
        codex.submit("Work on issue #7: it's \"quoted\"\nwith a second line");
        codex.wait("the turn ends", || codex.hooks("Stop").len() == 1);
        codex.wait("its screen says so", || codex.screen().contains("• It is made."));

        assert_eq!(std::fs::read_to_string(lab.path("work/made.txt")).expect("made"), "of 7\n");
        assert_eq!(codex.prompts(), ["Work on issue #7: it's \"quoted\"\nwith a second line"]);
        assert_eq!(codex.hooks("PostToolUse").len(), 1);
        codex.wait("its rollout says so", || codex.rollout().contains(&TurnEnd::Done));

        let asked = lab.server.requests();
        let ours: Vec<_> = asked.iter().filter(|asked| asked.kind != Kind::Side).collect();
        assert_eq!(ours.len(), 2, "{asked:?}");
        assert!(ours[1].tool_result.ends_with("of 7\n"), "{:?}", ours[1].tool_result);
        assert!(ours.iter().all(|asked| asked.by == By::Rule("work".into())));
        assert!(ours[0].headers.contains(&("authorization".into(), "***".into())));
    });
}

#[test]
fn a_turn_is_seen_to_run_and_to_end() {
    with_clients(|clients| {
        let lab = Lab::new(clients, ANYTHING);
        let codex = lab.codex();
        codex.submit("hold on");
        codex.wait_meaning(Meaning::Working);
        codex.wait("its title says so", || codex.title() == Some(Meaning::Working));
        assert!(codex.hooks("Stop").is_empty());
        lab.server.release("gate");
        codex.wait("the turn ends", || codex.hooks("Stop").len() == 1);
        codex.wait("its screen says so", || codex.reading().meaning().is_some_and(|m| !m.is_busy()));
    });
}

#[test]
fn what_fails_for_good_ends_the_turn_with_its_error() {
    with_clients(|clients| {
        let lab = Lab::new(clients, ANYTHING);
        let codex = lab.codex();
        for (fault, meaning, error) in [
            (Fault::new(FaultKind::RateLimit), Meaning::Error(ErrorKind::RateLimit), ErrorKind::RateLimit),
            (Fault::new(FaultKind::ServerError), Meaning::Error(ErrorKind::Server), ErrorKind::Server),
            (Fault::new(FaultKind::Overloaded), Meaning::Error(ErrorKind::Overloaded), ErrorKind::Overloaded),
            (Fault::new(FaultKind::Auth), Meaning::Error(ErrorKind::Auth), ErrorKind::Auth),
            (Fault::usage_limit(4_000_000_000), Meaning::Limited, ErrorKind::RateLimit),
            (
                Fault::new(FaultKind::ContextTooLong),
                Meaning::Error(ErrorKind::ContextFull),
                ErrorKind::ContextFull,
            ),
        ] {
            let kind = fault.kind;
            let failed = || codex.rollout().iter().filter(|end| **end == TurnEnd::Failed { error }).count();
            let before = failed();
            lab.server.set_fault(fault);
            codex.submit(&format!("now {kind:?}"));
            codex.wait_meaning(meaning);
            codex.wait("its rollout says so", || failed() == before + 1);
            lab.server.clear_faults();
        }
        assert!(codex.hooks("Stop").is_empty(), "no hook tells of a failed turn");
    });
}

#[test]
fn what_fails_for_now_is_tried_again() {
    with_clients(|clients| {
        let lab = Lab::new(clients, ANYTHING);
        let codex = lab.codex();
        for (turns, kind) in [(1, FaultKind::ServerError), (2, FaultKind::Cut)] {
            lab.server.set_fault(Fault::new(kind).times(1));
            codex.submit(&format!("now {kind:?}"));
            codex.wait("the turn ends", || codex.hooks("Stop").len() == turns);
        }
        assert!(codex.rollout().iter().all(|end| *end == TurnEnd::Done));
    });
}
