use super::*;
use shopfloor_core::runtime::statusline::{Clock, Statusline};
use shopfloor_core::runtime::{
    Capabilities, DeliveryMode, DialogKind, ErrorKind, Glob, Launch, Readiness, Rule, ScreenSpec, Timing,
    Where,
};

const S: u64 = 1_000;
const MIN: u64 = 60 * S;

/// A client whose screen can be read.
pub(crate) fn client() -> RuntimeSpec {
    let rule = Rule {
        name: "spinner".into(),
        place: Where::LastTurn,
        any: vec![Glob::new("✻ *").unwrap()],
        all: vec![],
        none: vec![],
        meaning: Meaning::Working,
        reset: vec![],
    };
    RuntimeSpec {
        name: "client".into(),
        capabilities: Capabilities {
            resume: false,
            hooks: true,
            statusline: true,
            context: false,
            cost: false,
            delivery: DeliveryMode::Inbox,
        },
        launch: Launch::default(),
        resume: None,
        fork: None,
        version: None,
        root: None,
        setup: Default::default(),
        transcript: Default::default(),
        readiness: Readiness::Hook,
        submit: None,
        timing: Timing::default(),
        screen: ScreenSpec { rules: vec![rule], ..ScreenSpec::default() },
        errors: Default::default(),
    }
}

pub(crate) fn program() -> RuntimeSpec {
    RuntimeSpec { screen: ScreenSpec::default(), readiness: Readiness::Process, ..client() }
}

fn watch(spec: RuntimeSpec) -> Watch {
    Watch::new(spec, Time(0), Time(0), Limits { timeout: Duration::from_secs(3600), polls_max: None })
}

fn look(at: u64) -> Look {
    Look {
        at: Time(at),
        process: Process::Alive,
        vanished: false,
        phase: None,
        screen: None,
        title: None,
        git: None,
    }
}

fn showing(at: u64, meaning: Meaning, composer: Composer, digest: u64) -> Look {
    let claim = Claim { rule: "r".into(), meaning, row: "row".into(), until: None };
    let reading = Reading { claim: Some(claim), composer, ..Reading::default() };
    Look { screen: Some((reading, digest)), ..look(at) }
}

fn gone(at: u64, status: Option<i32>, vanished: bool) -> Look {
    Look { process: Process::Gone { status, signal: None }, vanished, ..look(at) }
}

#[track_caller]
fn finds(watch: &mut Watch, looks: &[Look]) -> Option<Finding> {
    let (last, before) = looks.split_last().expect("a look");
    for look in before {
        assert_eq!(watch.take(look).1, None, "at {}", look.at.0);
    }
    watch.take(last).1
}

#[test]
fn a_program_that_ended_is_judged_by_its_status_and_never_crashed_without_one() {
    let judge = |look: Look, verified| finds(&mut watch(program()), &[look]).unwrap().final_state(verified);
    for (verified, expect) in [
        (None, FinalState::Completed),
        (Some(true), FinalState::Completed),
        (Some(false), FinalState::Incomplete),
    ] {
        assert_eq!(judge(gone(S, Some(0), false), verified), expect);
    }
    for verified in [None, Some(true), Some(false)] {
        assert_eq!(judge(gone(S, Some(137), false), verified), FinalState::Crashed);
    }
    assert_eq!(judge(gone(S, None, false), None), FinalState::Incomplete);
    assert_eq!(judge(gone(S, None, false), Some(true)), FinalState::Completed);
    assert_eq!(judge(gone(S, None, true), None), FinalState::NotFound);
    assert_eq!(judge(gone(S, None, true), Some(true)), FinalState::Completed);
    // That it cannot be seen does not make it dead.
    let unseen = Look { process: Process::Unknown { why: "tmux".into() }, ..look(S) };
    assert_eq!(finds(&mut watch(program()), &[unseen]), None);
}

#[test]
fn idle_three_times_in_a_row_is_a_finding_and_work_begins_the_count_again() {
    let idle = |at| showing(at, Meaning::Ready, Composer::Empty, 1);
    let found =
        finds(&mut watch(client()), &[idle(0), idle(S), idle(10 * S), idle(15 * S), idle(20 * S)]).unwrap();
    assert!(found.is_alive());
    assert_eq!(found.final_state(None), FinalState::Completed);
    assert_eq!(found.final_state(Some(false)), FinalState::Incomplete);
    let busy = showing(20 * S, Meaning::Working, Composer::Empty, 2);
    let looks = [idle(0), idle(10 * S), busy, idle(30 * S), idle(40 * S), idle(50 * S)];
    assert!(matches!(finds(&mut watch(client()), &looks), Some(Finding::Rests { .. })));
    // A draft is somebody's; a title that works says that it goes on.
    let draft = |at| showing(at, Meaning::Ready, Composer::Draft("x".into()), 1);
    assert_eq!(finds(&mut watch(client()), &[draft(0), draft(10 * S), draft(20 * S), draft(30 * S)]), None);
    let title = |at| {
        let claim = Claim { rule: "t".into(), meaning: Meaning::Working, row: "⠙".into(), until: None };
        Look { title: Some(("⠙".into(), Some(claim))), ..idle(at) }
    };
    assert_eq!(finds(&mut watch(client()), &[title(0), title(10 * S), title(20 * S), title(30 * S)]), None);
}

#[test]
fn a_dialog_or_an_error_that_stays_needs_somebody() {
    for (meaning, says) in [
        (Meaning::Dialog(DialogKind::Permission), "a dialog (permission)"),
        (Meaning::Error(ErrorKind::Auth), "an error (auth)"),
        (Meaning::Dialog(DialogKind::Asks), "it asks something"),
    ] {
        let at = |at| showing(at, meaning, Composer::None, 1);
        let found = finds(&mut watch(client()), &[at(10 * S), at(20 * S), at(30 * S)]).unwrap();
        assert!(found.to_string().contains(says), "{found}");
        assert_eq!(found.final_state(Some(true)), FinalState::Incomplete);
    }
}

#[test]
fn background_work_is_neither_rest_nor_stuck() {
    let at = |at| showing(at, Meaning::Background, Composer::Empty, 1);
    let looks = [at(0), at(10 * S), at(20 * S), at(30 * S), at(11 * MIN), at(50 * MIN)];
    assert_eq!(finds(&mut watch(client()), &looks), None);
}

#[test]
fn a_phase_says_where_it_stands() {
    for (phase, expect) in [
        (Phase::Done, FinalState::Completed),
        (Phase::AwaitingCi, FinalState::Completed),
        (Phase::Failed, FinalState::Incomplete),
        (Phase::NeedsHuman, FinalState::Incomplete),
    ] {
        let look = Look { phase: Some(phase), ..look(S) };
        assert_eq!(finds(&mut watch(program()), &[look]).unwrap().final_state(None), expect, "{phase}");
    }
}

#[test]
fn stuck_takes_a_client_that_does_not_move_and_a_clock_that_moves_forbids_it() {
    let at = |at| showing(at, Meaning::Working, Composer::None, 1);
    let found = finds(&mut watch(client()), &[at(0), at(5 * MIN), at(9 * MIN), at(10 * MIN)]);
    assert_eq!(found.unwrap().final_state(Some(true)), FinalState::Stuck);
    // Any movement puts it off.
    let moved = showing(9 * MIN, Meaning::Working, Composer::None, 2);
    assert_eq!(
        finds(&mut watch(client()), &[at(0), moved, showing(18 * MIN, Meaning::Working, Composer::None, 2)]),
        None
    );
    let git = Look { git: Some("x".into()), ..at(9 * MIN) };
    assert_eq!(finds(&mut watch(client()), &[at(0), git, at(18 * MIN)]), None);
    let clock = |at_time: u64, shows: u32| {
        let mut look = at(at_time);
        if let Some((reading, _)) = &mut look.screen {
            reading.statusline = Some(Statusline { clock: Clock(shows), context_percent: None });
        }
        look
    };
    let moving: Vec<Look> = (0..40).map(|i| clock(i * 30 * S, i as u32)).collect();
    assert_eq!(finds(&mut watch(client()), &moving), None);
    let frozen: Vec<Look> = (0..8).map(|i| clock(i * 10 * S, 7)).collect();
    let (state, found) = {
        let mut watch = watch(client());
        frozen.iter().map(|look| watch.take(look)).find(|(_, found)| found.is_some()).expect("a finding")
    };
    assert_eq!((state, found.unwrap().final_state(None)), (State::Stuck, FinalState::Stuck));
    // Of a program we cannot read, silence says nothing.
    assert_eq!(finds(&mut watch(program()), &[at(0), at(10 * MIN), at(50 * MIN)]), None);
}

#[test]
fn time_and_polls_are_bounded() {
    let few = || {
        let limits = Limits { timeout: Duration::from_secs(3600), polls_max: Some(2) };
        Watch::new(program(), Time(0), Time(0), limits)
    };
    assert_eq!(few().next_look(), Time(10 * S));
    let found = finds(&mut few(), &[look(0), look(S), look(10 * S)]).unwrap();
    assert_eq!(found.final_state(Some(true)), FinalState::Timeout);
    assert!(found.to_string().contains("2 polls"), "{found}");
    let mut short = watch(program());
    assert_eq!(short.next_look(), Time(60 * MIN));
    let found = finds(&mut short, &[look(0), look(59 * MIN), look(60 * MIN)]).unwrap();
    assert_eq!(found.final_state(None), FinalState::Timeout);
    // What has ended in the last look has ended.
    let mut last =
        Watch::new(program(), Time(0), Time(0), Limits { timeout: Duration::ZERO, polls_max: Some(1) });
    assert_eq!(finds(&mut last, &[gone(0, Some(0), false)]), Some(Finding::Ended));
}

#[test]
fn looks_follow_from_what_was_told_and_not_from_time() {
    // Of a program that no rules describe only its end is of interest.
    let mut silent = watch(program());
    silent.take(&look(0));
    silent.drew(Time(S));
    assert_eq!(silent.next_look(), Time(60 * MIN));
    // A client: what it drew is read when it is quiet, or after a while if it never is.
    let busy = |at, digest| showing(at, Meaning::Working, Composer::None, digest);
    let mut client = watch(client());
    client.take(&busy(0, 1));
    client.drew(Time(2 * S));
    assert_eq!(client.next_look(), Time(3_500));
    for at in 3..=11 {
        client.drew(Time(at * S));
    }
    assert_eq!(client.next_look(), Time(12 * S));
    client.take(&busy(12 * S, 2));
    // Nothing is drawn, nothing is claimed: nothing to look for before it is stuck.
    assert_eq!(client.next_look(), Time(12 * S + 10 * MIN));
    assert!(!client.is_deaf());
    // A claim is confirmed, so many times and no more.
    client.drew(Time(20 * S));
    client.take(&showing(22 * S, Meaning::Ready, Composer::Empty, 3));
    assert_eq!(client.next_look(), Time(32 * S));
    assert_eq!(client.claimed().as_deref(), Some("idle at its prompt (1 of 3)"));
    // A clock must move.
    let mut clocked = busy(30 * S, 4);
    let line = Statusline { clock: Clock(7), context_percent: None };
    clocked.screen.as_mut().unwrap().0.statusline = Some(line);
    client.take(&clocked);
    assert_eq!(client.next_look(), Time(90 * S));
}

#[test]
fn a_terminal_that_changes_and_tells_nothing_is_not_relied_on() {
    let busy = |at, digest| showing(at, Meaning::Working, Composer::None, digest);
    let mut deaf = watch(client());
    for (at, digest) in [(0, 1), (10 * S, 1), (20 * S, 2)] {
        assert!(!deaf.is_deaf());
        deaf.take(&busy(at, digest));
    }
    assert!(deaf.is_deaf());
    assert_eq!(deaf.next_look(), Time(30 * S));
    let mut unwatched = watch(client());
    unwatched.cannot_see_drawing();
    unwatched.take(&busy(0, 1));
    assert_eq!(unwatched.next_look(), Time(10 * S));
}
