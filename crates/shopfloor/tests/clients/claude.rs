//! Claude Code.

use super::isolation::with_clients;
use super::lab::Lab;
use super::pane::Pane;
use shopfloor_core::liveness::{HookEvent, StartSource};
use shopfloor_core::runtime::{ErrorKind, Meaning};
use shopfloor_core::time::Time;
use shopfloor_model_server::{By, Fault, FaultKind, Kind, Usage};

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

/// The turn ends well.
fn ends(pane: &Pane<'_>, turns: usize) {
    pane.wait("the turn ends", || pane.hooks("Stop").len() == turns);
    pane.wait_meaning(Meaning::Done);
}

#[test]
fn a_prompt_with_a_tool_call_is_completed() {
    with_clients(|clients| {
        let lab = Lab::new(clients, WORK);
        let claude = lab.claude();
        let start = HookEvent::SessionStart { source: StartSource::Startup };
        assert_eq!(claude.hooks("SessionStart"), [start]);
        claude.submit("Work on issue #7: it's \"quoted\"\nwith a second line");
        ends(&claude, 1);

        assert_eq!(std::fs::read_to_string(lab.path("work/made.txt")).expect("made"), "of 7\n");
        assert_eq!(claude.prompts(), ["Work on issue #7: it's \"quoted\"\nwith a second line"]);
        assert_eq!(claude.hooks("PreToolUse"), [HookEvent::PreToolUse { tool: "Bash".to_owned() }]);
        assert_eq!(claude.hooks("PostToolUse").len(), 1);
        assert!(claude.screen().contains("● It is made."));

        let asked = lab.server.requests();
        let ours: Vec<_> = asked.iter().filter(|asked| asked.kind != Kind::Side).collect();
        assert_eq!(ours.len(), 2, "{asked:?}");
        assert_eq!((ours[1].kind, ours[1].tool_result.as_str()), (Kind::ToolResult, "of 7"));
        assert!(ours.iter().all(|asked| asked.by == By::Rule("work".into())));
        let shown = |name: &str| ours[0].headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        assert_eq!(shown("x-api-key"), Some("***"), "it used the dummy, and that is not kept");
    });
}

#[test]
fn a_turn_is_seen_to_run_and_to_end() {
    with_clients(|clients| {
        let lab = Lab::new(clients, ANYTHING);
        let claude = lab.claude();
        claude.submit("hold on");
        claude.wait_meaning(Meaning::Working);
        claude.wait("its title says so", || claude.title() == Some(Meaning::Working));
        assert!(claude.hooks("Stop").is_empty());
        lab.server.release("gate");
        ends(&claude, 1);
        claude.wait("its title says so", || claude.title() == Some(Meaning::Ready));
    });
}

#[test]
fn what_fails_for_good_ends_the_turn_with_its_error() {
    with_clients(|clients| {
        let lab = Lab::new(clients, ANYTHING);
        let claude = lab.claude();
        for (kind, meaning, name) in [
            (FaultKind::RateLimit, ErrorKind::RateLimit, "rate_limit"),
            (FaultKind::Overloaded, ErrorKind::Overloaded, "server_error"),
            (FaultKind::ServerError, ErrorKind::Server, "server_error"),
            (FaultKind::Auth, ErrorKind::Auth, "authentication_failed"),
            (FaultKind::Billing, ErrorKind::Billing, "billing_error"),
            (FaultKind::ContextTooLong, ErrorKind::ContextFull, "invalid_request"),
        ] {
            let before = failures(&claude).len();
            lab.server.set_fault(Fault::new(kind));
            claude.submit(&format!("now {kind:?}"));
            claude.wait("the turn fails", || failures(&claude).len() > before);
            claude.wait_meaning(Meaning::Error(meaning));
            assert_eq!(failures(&claude)[before..], [name], "{kind:?}");
            lab.server.clear_faults();
        }
        // It is none the worse for it.
        claude.submit("and now");
        ends(&claude, 1);
    });
}

/// The errors of turns, without those of its own helpers.
fn failures(pane: &Pane<'_>) -> Vec<String> {
    let failed = pane.hooks("StopFailure").into_iter();
    let own = failed.filter_map(|event| match event {
        HookEvent::StopFailure { error, subagent: false, .. } => Some(error),
        _ => None,
    });
    own.collect()
}

#[test]
fn what_fails_for_now_is_tried_again() {
    with_clients(|clients| {
        let lab = Lab::new(clients, ANYTHING);
        let claude = lab.claude();
        lab.server.set_fault(Fault::new(FaultKind::RateLimit).retry_after(2).times(1));
        claude.submit("first");
        claude.wait_meaning(Meaning::Retrying);
        ends(&claude, 1);

        for (turns, kind) in [(2, FaultKind::Overloaded), (3, FaultKind::Cut), (4, FaultKind::StreamError)] {
            lab.server.set_fault(Fault::new(kind).times(1));
            claude.submit(&format!("now {kind:?}"));
            ends(&claude, turns);
        }
        assert!(claude.screen().contains("Retrying without streaming"), "after the cut");

        lab.server.set_fault(Fault::new(FaultKind::Hang).times(1));
        claude.submit("now wait");
        claude.wait_meaning(Meaning::Working);
        lab.server.clear_faults();
        ends(&claude, 5);
        assert!(failures(&claude).is_empty());
    });
}

#[test]
fn a_used_up_subscription_is_seen_with_its_end() {
    with_clients(|clients| {
        let lab = Lab::new(clients, ANYTHING);
        let claude = lab.claude_subscribed();
        // Clocks on screens have no date: any time that is ahead will do.
        let in_two_hours = now() + 2 * 60 * 60;
        lab.server.set_fault(Fault::usage_limit(in_two_hours));
        claude.submit("go on");
        claude.wait_meaning(Meaning::Limited);
        let claim = claude.reading_at(Time(now() * 1000)).claim.expect("limited");
        let until = claim.until.expect("it says until when").0 / 1000;
        assert!(until.abs_diff(in_two_hours) < 15 * 60, "{claim}, not {in_two_hours}");
        claude.wait("its hook tells, too", || failures(&claude) == ["rate_limit"]);
    });
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("after 1970").as_secs()
}

#[test]
fn the_context_in_use_is_what_the_model_says() {
    with_clients(|clients| {
        let lab = Lab::new(clients, ANYTHING);
        let claude = lab.claude();
        for (turns, percent) in [(1, 50), (2, 95)] {
            lab.server.set_usage(Some(Usage { input_tokens: percent * 10_000, output_tokens: 40 }));
            claude.submit(&format!("use {percent} of a hundred"));
            ends(&claude, turns);
            claude.wait("the status line is told", || {
                claude.statusline().and_then(|told| told.context_percent).map(u64::from) == Some(percent)
            });
            claude
                .wait("its screen says if little is left", || claude.reading().context_low == (percent > 94));
        }
    });
}
