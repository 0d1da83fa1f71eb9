//! Each row is a story: facts in order, a time, and what has to be made of them.

use super::*;
use crate::phase::Phase;
use crate::runtime::statusline::Clock;
use crate::runtime::{
    Capabilities, Claim, Composer, DeliveryMode, DialogKind, DialogView, ErrorKind, Glob, Launch, Meaning,
    Readiness, Reading, Rule, RuntimeSpec, ScreenSpec, Timing, Where,
};
use crate::time::Time;

const S: u64 = 1_000;
const MIN: u64 = 60 * S;

/// A runtime with everything, and a title that can say "idle".
fn full() -> RuntimeSpec {
    let title = Rule {
        name: "idle".into(),
        place: Where::Title,
        any: vec![Glob::new("✳*").unwrap()],
        all: vec![],
        none: vec![],
        meaning: Meaning::Ready,
        reset: vec![],
    };
    RuntimeSpec {
        name: "full".into(),
        capabilities: Capabilities {
            resume: false,
            hooks: true,
            statusline: true,
            context: true,
            cost: true,
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
        screen: ScreenSpec { prompt: Some("❯".into()), rules: vec![title], ..ScreenSpec::default() },
        errors: [("server_error".to_owned(), ErrorKind::Server)].into(),
    }
}

/// Hooks, but no status line, and readiness by the screen.
fn codex() -> RuntimeSpec {
    let mut spec = full();
    spec.capabilities.statusline = false;
    spec.readiness = Readiness::Screen;
    spec.screen.rules.clear();
    spec
}

fn generic() -> RuntimeSpec {
    let mut spec = codex();
    spec.capabilities.hooks = false;
    spec.readiness = Readiness::Process;
    spec
}

fn alive() -> What {
    What::Process(Process::Alive)
}
fn gone(status: Option<i32>, signal: Option<i32>) -> What {
    What::Process(Process::Gone { status, signal })
}
fn start() -> What {
    What::Hook(HookEvent::SessionStart { source: StartSource::Startup })
}
fn prompt() -> What {
    What::Hook(HookEvent::UserPromptSubmit { prompt: "go".into(), turn: None })
}
fn tool() -> What {
    What::Hook(HookEvent::PreToolUse { tool: "Bash".into() })
}
fn permission() -> What {
    What::Hook(HookEvent::PermissionRequest { tool: "Bash".into() })
}
fn stop() -> What {
    stop_of(None, &[])
}
fn prompt_in(turn: &str) -> What {
    What::Hook(HookEvent::UserPromptSubmit { prompt: "go".into(), turn: Some(turn.into()) })
}
fn stop_of(turn: Option<&str>, tasks: &[Task]) -> What {
    What::Hook(HookEvent::Stop { turn: turn.map(str::to_owned), tasks: tasks.to_vec(), asks: None })
}
fn log(bytes: u64, turn: Option<(u64, TurnEnd)>, began: Option<u64>, queued: u32) -> What {
    let turn = turn.map(|(at, end)| (Time(at), end));
    What::Transcript(Transcript { bytes, turn, began: began.map(Time), queued })
}
fn failure(error: &str, subagent: bool) -> What {
    What::Hook(HookEvent::StopFailure { error: error.into(), message: String::new(), subagent })
}
fn hook(event: HookEvent) -> What {
    What::Hook(event)
}
fn clock(text: &str) -> What {
    What::Statusline(StatuslineFact { clock: Clock::parse(text), ..StatuslineFact::default() })
}
fn context(percent: u8) -> What {
    What::Statusline(StatuslineFact { context_percent: Some(percent), ..StatuslineFact::default() })
}
fn claim(meaning: Meaning, until: Option<u64>) -> Claim {
    Claim { rule: "r".into(), meaning, row: "row".into(), until: until.map(Time) }
}
fn screen(meaning: Meaning) -> What {
    What::Screen(Reading {
        claim: Some(claim(meaning, None)),
        composer: Composer::Empty,
        ..Reading::default()
    })
}
fn limit(until: u64) -> What {
    What::Screen(Reading { claim: Some(claim(Meaning::Limited, Some(until))), ..Reading::default() })
}
fn title(meaning: Option<Meaning>) -> What {
    What::Title { text: format!("{meaning:?}"), claim: meaning.map(|m| claim(m, None)) }
}
fn git(digest: &str) -> What {
    What::Git { digest: digest.into() }
}

fn evidence(facts: &[(u64, What)]) -> Evidence {
    let mut evidence = Evidence::new(Time(0));
    for (at, what) in facts {
        evidence.add(Fact::new(Time(*at), what.clone()));
    }
    evidence
}

#[track_caller]
fn check(spec: &RuntimeSpec, story: &str, facts: &[(u64, What)], now: u64, expect: &str) -> Status {
    let status = derive(&evidence(facts), Time(now), spec);
    assert_eq!(status.state.to_string(), expect, "{story}\n{:#?}", status.chain);
    assert!(!status.chain.is_empty() || expect == "unknown", "{story}: no reason given");
    status
}

#[test]
fn hooks_say_where_a_session_stands() {
    let spec = full();
    let turn = [(0, alive()), (S, start()), (2 * S, prompt())];
    let with = |more: &[(u64, What)]| [&turn[..], more].concat();
    let now = 10 * S;
    check(&spec, "launched", &turn[..1], now, "starting");
    check(&spec, "started", &turn[..2], now, "ready");
    check(&spec, "prompted", &turn, now, "working");
    check(&spec, "a tool", &with(&[(3 * S, tool())]), now, "working (tool Bash)");
    check(&spec, "stopped", &with(&[(4 * S, stop())]), now, "idle");
    check(&spec, "permission", &with(&[(4 * S, permission())]), now, "dialog (permission)");
    let long = with(&[(4 * S, permission()), (5 * S, clock("10:00:00"))]);
    check(
        &spec,
        "a dialog at night",
        &[&long[..], &[(600 * MIN, alive())]].concat(),
        600 * MIN,
        "dialog (permission)",
    );
    let question = hook(HookEvent::PermissionRequest { tool: "AskUserQuestion".into() });
    check(&spec, "question", &with(&[(4 * S, question)]), now, "dialog (question)");
    check(&spec, "failed", &with(&[(4 * S, failure("server_error", false))]), now, "failed (server)");
    check(&spec, "new error", &with(&[(4 * S, failure("novel", false))]), now, "failed (unknown)");
    check(&spec, "a subagent failed", &with(&[(4 * S, failure("server_error", true))]), now, "working");
    let pre = hook(HookEvent::PreCompact { trigger: CompactTrigger::Auto });
    let post = hook(HookEvent::PostCompact { trigger: CompactTrigger::Auto });
    let again = hook(HookEvent::SessionStart { source: StartSource::Compact });
    check(&spec, "compacting", &with(&[(4 * S, pre.clone())]), now, "working (compacting)");
    let auto = with(&[(4 * S, pre.clone()), (5 * S, again.clone()), (6 * S, post.clone())]);
    check(&spec, "compacted in a turn", &auto, now, "working");
    let manual = with(&[(3 * S, stop()), (4 * S, pre), (5 * S, again), (6 * S, post)]);
    check(&spec, "/compact fires no Stop", &manual, now, "idle");
    let cleared = hook(HookEvent::SessionEnd { reason: "clear".into() });
    let fresh = hook(HookEvent::SessionStart { source: StartSource::Clear });
    check(&spec, "/clear", &with(&[(3 * S, stop()), (4 * S, cleared), (5 * S, fresh)]), now, "ready");
    let ended = hook(HookEvent::SessionEnd { reason: "other".into() });
    check(&spec, "says it ends, and runs", &with(&[(4 * S, ended)]), now, "unknown");
}

#[test]
fn only_a_process_that_is_proven_gone_is_dead() {
    let spec = full();
    let turn = [(0, alive()), (S, start()), (2 * S, prompt())];
    let with = |more: &[(u64, What)]| [&turn[..], more].concat();
    let ended = hook(HookEvent::SessionEnd { reason: "prompt_input_exit".into() });
    let now = 10 * S;
    check(&spec, "kill -9", &with(&[(3 * S, gone(None, Some(9)))]), now, "crashed (signal 9)");
    check(&spec, "exit 1", &with(&[(3 * S, gone(Some(1), None))]), now, "crashed (exit status 1)");
    check(&spec, "exit 0", &with(&[(3 * S, gone(Some(0), None))]), now, "exited");
    check(&spec, "gone, silent", &with(&[(3 * S, gone(None, None))]), now, "crashed");
    check(&spec, "gone, announced", &with(&[(3 * S, ended), (4 * S, gone(None, None))]), now, "exited");
    // The terminal's word alone is not proof.
    check(&spec, "dead pane", &with(&[(5 * S, screen(Meaning::Dead))]), now, "working");
    let blind = What::Process(Process::Unknown { why: "the connection dropped".into() });
    let status = check(&spec, "not seen, but it talks", &with(&[(3 * S, blind.clone())]), now, "working");
    assert_eq!(status.confidence, Confidence::Medium);
    check(&spec, "not seen, and silent", &with(&[(3 * S, blind)]), 30 * MIN, "unknown");
    check(&spec, "nothing at all", &[], now, "unknown");
}

#[test]
fn a_screen_takes_away_and_never_adds() {
    let spec = full();
    let turn = [(0, alive()), (S, start()), (2 * S, prompt())];
    let with = |more: &[(u64, What)]| [&turn[..], more].concat();
    let now = 10 * S;
    // It cannot make a session busy, alive or ready.
    let idle = with(&[(3 * S, stop())]);
    let after_stop = |meaning, at| [&idle[..], &[(at, screen(meaning))]].concat();
    check(&spec, "busy at once", &after_stop(Meaning::Working, 4 * S), now, "idle");
    check(&spec, "ready by screen only", &[(0, alive()), (9 * S, screen(Meaning::Ready))], now, "starting");
    let dead = [&turn[..], &[(4 * S, gone(None, Some(9))), (9 * S, screen(Meaning::Working))]].concat();
    check(&spec, "busy after death", &dead, now, "crashed (signal 9)");
    // It can say that a session does not rest.
    check(&spec, "busy by screen", &after_stop(Meaning::Working, 9 * S), now, "working");
    check(&spec, "retrying by screen", &after_stop(Meaning::Retrying, 9 * S), now, "working");
    let disagrees =
        [after_stop(Meaning::Working, 9 * S), vec![(9 * S, title(Some(Meaning::Ready)))]].concat();
    check(&spec, "busy, and the title rests", &disagrees, now, "idle");
    // It can say that a dialog is up, whatever the hooks say, unless they say something newer.
    let dialog = |kind| screen(Meaning::Dialog(kind));
    check(&spec, "trust", &[(0, alive()), (9 * S, dialog(DialogKind::Trust))], now, "dialog (trust)");
    check(&spec, "login", &after_stop(Meaning::Dialog(DialogKind::Login), 9 * S), now, "dialog (login)");
    let answered = with(&[(3 * S, dialog(DialogKind::Permission)), (4 * S, tool())]);
    check(&spec, "an old dialog", &answered, now, "working (tool Bash)");
    // What it shows of a turn is said, where there is a turn.
    check(&spec, "retrying", &with(&[(9 * S, screen(Meaning::Retrying))]), now, "working (retrying)");
    // No hook tells that a permission was given.
    let asked = with(&[(3 * S, tool()), (4 * S, permission())]);
    let shows = |more: &[(u64, What)]| [&asked[..], more].concat();
    let busy = (9 * S, screen(Meaning::Working));
    check(&spec, "permission given", &shows(std::slice::from_ref(&busy)), now, "working");
    let at_rest = shows(&[(9 * S, title(Some(Meaning::Ready))), busy]);
    check(&spec, "the title disagrees", &at_rest, now, "dialog (permission)");
    // An error no hook told of, after a while; one that a Stop contradicts, never.
    let error = screen(Meaning::Error(ErrorKind::Server));
    check(&spec, "error at once", &with(&[(3 * S, error.clone())]), now, "working");
    check(&spec, "error settled", &with(&[(9 * S, error.clone())]), now, "failed (server)");
    check(&spec, "error after Stop", &after_stop(Meaning::Error(ErrorKind::Server), 9 * S), now, "idle");
    let vague = with(&[(3 * S, failure("novel", false)), (9 * S, error)]);
    check(&spec, "error explained", &vague, now, "failed (server)");
    // What was seen too long ago says nothing.
    let old = with(&[(9 * S, dialog(DialogKind::Permission))]);
    check(
        &spec,
        "a stale screen",
        &[&old[..], &[(5 * MIN, tool())]].concat(),
        5 * MIN,
        "working (tool Bash)",
    );
}

#[test]
fn esc_is_seen_by_screen_and_title_together() {
    let spec = full();
    let turn = [(0, alive()), (S, start()), (2 * S, prompt())];
    let now = 10 * S;
    let idle = || title(Some(Meaning::Ready));
    let busy = || title(Some(Meaning::Working));
    for (story, seen, sign, at, expect) in [
        ("esc", Meaning::Interrupted, Some(idle()), 9 * S, "idle"),
        ("esc, nothing shown", Meaning::Ready, Some(idle()), 9 * S, "idle"),
        ("done, and the hook was lost", Meaning::Done, Some(idle()), 9 * S, "idle"),
        ("between two redraws", Meaning::Ready, Some(idle()), 3 * S, "working"),
        ("the composer is always there", Meaning::Ready, None, 9 * S, "working"),
        ("the title disagrees", Meaning::Interrupted, Some(busy()), 9 * S, "working"),
        ("the end is shown, no title", Meaning::Interrupted, None, 9 * S, "idle"),
    ] {
        let mut facts = turn.to_vec();
        facts.extend(sign.map(|sign| (at, sign)));
        facts.push((at, screen(seen)));
        check(&spec, story, &facts, now, expect);
    }
    // Esc on a dialog.
    let facts = [&turn[..], &[(3 * S, permission()), (9 * S, idle()), (9 * S, screen(Meaning::Interrupted))]];
    check(&spec, "esc on a dialog", &facts.concat(), now, "idle");
    // Codex tells.
    let facts = [&turn[..], &[(3 * S, hook(HookEvent::Interrupt))]].concat();
    check(&codex(), "interrupt hook", &facts, now, "idle");
}

#[test]
fn a_clock_that_moves_is_alive_and_one_that_stands_is_frozen() {
    let spec = full();
    let turn = [(0, alive()), (S, start()), (2 * S, prompt()), (3 * S, tool())];
    let with = |more: &[(u64, What)]| [&turn[..], more].concat();
    let ticking = |until: u64| -> Vec<(u64, What)> {
        (0..until / (10 * S))
            .map(|i| (i * 10 * S, clock(&format!("10:{:02}:{:02}", i / 6 % 60, i % 6 * 10))))
            .collect()
    };
    check(&spec, "a long tool", &with(&ticking(20 * MIN)), 20 * MIN, "working (tool Bash)");
    let status = check(&spec, "nothing for long", &with(&ticking(31 * MIN)), 31 * MIN, "no_progress");
    assert_eq!(status.confidence, Confidence::High);
    let moving = [with(&ticking(31 * MIN)), vec![(30 * MIN, git("b"))]].concat();
    check(&spec, "work in the tree", &moving, 31 * MIN, "working (tool Bash)");
    // Frozen: seen again and again with the same clock.
    let frozen: Vec<(u64, What)> = (1..20).map(|i| (i * 10 * S, clock("10:00:00"))).collect();
    check(&spec, "frozen", &with(&frozen), 3 * MIN, "stuck");
    check(&spec, "not for long", &with(&frozen[..5]), 55 * S, "working (tool Bash)");
    let idle = [with(&frozen), vec![(100 * S, stop())]].concat();
    check(&spec, "idle just now", &idle, 2 * MIN, "idle");
    check(&spec, "frozen while idle", &idle, 5 * MIN, "stuck");
    // No status line: the others decide.
    check(&spec, "silence, no clock", &turn, 9 * MIN, "working (tool Bash)");
    check(&spec, "long silence, no clock", &turn, 11 * MIN, "stuck");
    check(&spec, "it never started", &[(0, alive())], 2 * MIN, "stuck");
    let titles: Vec<(u64, What)> =
        (0..70).map(|i| (i * 30 * S, What::Title { text: format!("{i}"), claim: None })).collect();
    check(&codex(), "a title that moves", &with(&titles), 11 * MIN, "working (tool Bash)");
    check(&codex(), "and nothing else", &with(&titles), 34 * MIN, "no_progress");
}

#[test]
fn silence_before_the_watch_does_not_count() {
    let spec = full();
    let mut evidence = evidence(&[(0, alive()), (S, start()), (2 * S, prompt()), (3 * S, clock("10:00:00"))]);
    assert_eq!(derive(&evidence, Time(60 * MIN), &spec).state, State::Stuck);
    evidence.watch_from(Time(60 * MIN));
    assert_ne!(derive(&evidence, Time(60 * MIN), &spec).state, State::Stuck);
    assert_eq!(derive(&evidence, Time(62 * MIN), &spec).state, State::Stuck);
}

#[test]
fn limits_last_until_their_reset_and_no_longer() {
    let spec = full();
    let base = [(0, alive()), (S, start()), (2 * S, prompt()), (3 * S, failure("rate_limit", false))];
    let facts = [&base[..], &[(9 * S, limit(30 * S))]].concat();
    check(&spec, "limited", &facts, 10 * S, "limited_until");
    check(&spec, "over", &facts, 31 * S, "failed (rate_limit)");
    // Looked at again later, the same notice keeps its time.
    let again = [&facts[..], &[(40 * S, limit(86_400 * S))]].concat();
    check(&spec, "the same notice", &again, 41 * S, "failed (rate_limit)");
    let numbers = StatuslineFact { limited_until: Some(Time(50 * S)), ..StatuslineFact::default() };
    let facts = [&base[..], &[(9 * S, What::Statusline(numbers))]].concat();
    check(&spec, "by numbers", &facts, 10 * S, "limited_until");
    // Codex: no hook tells of it, but the log and the screen do.
    let turn = [(0, alive()), (S, prompt())];
    let end = Some((Time(5 * S), TurnEnd::Failed { error: ErrorKind::Overloaded }));
    let log = |bytes, turn| What::Transcript(Transcript { bytes, turn, ..Transcript::default() });
    let failed = [&turn[..], &[(5 * S, log(9, end))]].concat();
    check(&codex(), "failed by the log", &failed, 10 * S, "failed (overloaded)");
    // What is written to it afterwards is no other failure.
    let written = [&failed[..], &[(6 * S, log(10, end))]].concat();
    assert_eq!(
        check(&codex(), "more in the log", &written, 10 * S, "failed (overloaded)").since,
        Time(5 * S)
    );
    let next = [&failed[..], &[(6 * S, prompt()), (7 * S, log(11, end))]].concat();
    check(&codex(), "the next turn", &next, 10 * S, "working");
}

#[test]
fn context_is_low_between_turns_and_said_in_them() {
    let spec = full();
    let turn = [(0, alive()), (S, start()), (2 * S, prompt()), (3 * S, context(90))];
    let status = check(&spec, "in a turn", &turn, 10 * S, "working");
    assert_eq!(status.context_percent, Some(90));
    let idle = [&turn[..], &[(4 * S, stop())]].concat();
    check(&spec, "between turns", &idle, 10 * S, "context_low");
    let low = Reading { claim: Some(claim(Meaning::Done, None)), context_low: true, ..Reading::default() };
    let facts = [(0, alive()), (S, start()), (2 * S, stop()), (3 * S, What::Screen(low))];
    check(&spec, "by the screen", &facts, 10 * S, "context_low");
}

#[test]
fn idle_three_times_without_a_phase_is_a_finding() {
    let spec = full();
    let facts = [(0, alive()), (S, start()), (2 * S, prompt()), (3 * S, stop())];
    let mut e = evidence(&facts);
    // What a daemon does: it looks at whoever seems to rest.
    let states = |e: &mut Evidence, times: &[u64]| -> Vec<&'static str> {
        let look = |now: &u64| {
            e.add(Fact::new(Time(*now), screen(Meaning::Done)));
            observe(e, Time(*now), &spec).state.as_str()
        };
        times.iter().map(look).collect()
    };
    assert_eq!(states(&mut e, &[10 * S, 11 * S, 20 * S, 25 * S]), ["idle"; 4], "too close to count");
    assert_eq!(states(&mut e, &[31 * S, 32 * S]), ["idle_prompt"; 2]);
    // A phase ends it; one of an earlier turn does not count.
    e.add(Fact::new(Time(33 * S), What::PhaseFile(Some(Phase::AwaitingCi))));
    assert_eq!(states(&mut e, &[34 * S, 50 * S, 60 * S, 70 * S, 80 * S]), ["idle"; 5]);
    e.add(Fact::new(Time(81 * S), prompt()));
    assert_eq!(states(&mut e, &[82 * S]), ["working"]);
    e.add(Fact::new(Time(83 * S), stop()));
    assert_eq!(states(&mut e, &[90 * S, 100 * S, 110 * S]), ["idle", "idle", "idle_prompt"]);
    // A turn that nobody saw, since it was so short, is one all the same.
    e.add(Fact::new(Time(111 * S), prompt()));
    e.add(Fact::new(Time(111 * S + 4), stop()));
    assert_eq!(states(&mut e, &[112 * S, 122 * S, 132 * S]), ["idle", "idle", "idle_prompt"]);
}

#[test]
fn a_runtime_that_tells_nothing_is_judged_by_its_work() {
    let spec = generic();
    check(&spec, "runs", &[(0, alive())], 10 * S, "working");
    check(&spec, "silent for long", &[(0, alive())], 11 * MIN, "working");
    let status = check(&spec, "for very long", &[(0, alive())], 31 * MIN, "no_progress");
    assert_eq!(status.confidence, Confidence::Low);
    let phase = What::PhaseFile(Some(Phase::AwaitingCi));
    check(&spec, "waits", &[(0, alive()), (S, phase.clone())], 60 * MIN, "idle");
    check(&spec, "goes on", &[(0, alive()), (S, phase), (2 * S, git("x"))], 10 * S, "working");
    // Codex is ready when its screen says so: its hook comes too late.
    check(&codex(), "ready", &[(0, alive()), (S, screen(Meaning::Ready))], 2 * S, "ready");
}

#[test]
fn evidence_is_bounded_and_survives_being_stored() {
    let mut e = evidence(&[(0, alive())]);
    for i in 0..1_000 {
        e.add(Fact::new(
            Time(i),
            hook(HookEvent::UserPromptSubmit { prompt: "x".repeat(100_000), turn: None }),
        ));
        e.add(Fact::new(Time(i), What::Title { text: "y".repeat(10_000), claim: None }));
    }
    assert_eq!(e.facts().count(), 3);
    assert!(format!("{e:?}").len() < 4_000);
    for what in
        [screen(Meaning::Dialog(DialogKind::Trust)), clock("10:00:00"), git("x"), What::PhaseFile(None)]
    {
        e.add(Fact::new(Time(2_000), what));
    }
    let stored = serde_json::to_string(&e).unwrap();
    assert_eq!(serde_json::from_str::<Evidence>(&stored).unwrap(), e);
    let status = derive(&e, Time(3_000), &full());
    let stored = serde_json::to_string(&status).unwrap();
    assert_eq!(serde_json::from_str::<Status>(&stored).unwrap(), status);
    let mut e = evidence(&[(0, alive())]);
    // An older fact does not replace a newer one.
    e.add(Fact::new(Time(5), What::Process(Process::Unknown { why: String::new() })));
    e.add(Fact::new(Time(3), alive()));
    assert!(matches!(e.newest(Source::Process).unwrap().what, What::Process(Process::Unknown { .. })));
}

#[test]
fn the_end_of_a_turn_is_of_that_turn() {
    let spec = full();
    let done = TurnEnd::Done;
    // As the client tells it: what is put in the queue has the open turn's id, and so has its Stop.
    let queued = [
        (0, alive()),
        (S, start()),
        (2 * S, prompt_in("a")),
        (3 * S, tool()),
        (4 * S, prompt_in("a")),
        (6 * S, stop_of(Some("a"), &[])),
    ];
    let with = |more: &[(u64, What)]| [&queued[..], more].concat();
    check(&spec, "what was queued is next", &queued, 7 * S, "working");
    let last = (20 * S, stop_of(Some("b"), &[]));
    check(&spec, "and ends with a Stop of its own", &with(std::slice::from_ref(&last)), 21 * S, "idle");
    check(
        &spec,
        "taken into the turn",
        &with(&[(7 * S, log(9, Some((6 * S + 1, done)), None, 0))]),
        8 * S,
        "idle",
    );
    let gap = [(7 * S, log(9, Some((6 * S + 1, done)), None, 1))];
    check(&spec, "the log knows that it waits", &with(&gap), 8 * S, "working");
    let begun = [(7 * S, log(9, None, Some(6 * S + 5), 0))];
    check(&spec, "the log knows that it began", &with(&begun), 50 * S, "working");
    let rests = [(9 * S, title(Some(Meaning::Ready))), (9 * S, screen(Meaning::Done))];
    check(&spec, "no log, and a screen at rest", &with(&rests), 10 * S, "idle");
    // A prompt of its own turn has another id; so has one after Esc, which no hook tells.
    let next = [(2 * S, prompt_in("a")), (4 * S, prompt_in("b")), (6 * S, stop_of(Some("b"), &[]))];
    check(&spec, "one after another", &[&queued[..2], &next].concat(), 7 * S, "idle");
    // Without any id: a prompt in an open turn is in the queue.
    let plain = [(2 * S, prompt()), (4 * S, prompt()), (6 * S, stop())];
    check(&spec, "no ids", &[&queued[..2], &plain].concat(), 7 * S, "working");
    // Even if hooks tell of an end only, the log knows better.
    let stopped = [(2 * S, prompt_in("a")), (6 * S, stop_of(Some("a"), &[]))];
    let known = |log| [&queued[..2], &stopped, &[(8 * S, log)]].concat();
    check(&spec, "a turn nobody told of", &known(log(9, None, Some(7 * S), 0)), 9 * S, "working");
    check(&spec, "a prompt nobody told of", &known(log(9, Some((6 * S, done)), None, 1)), 9 * S, "working");
    check(&spec, "the turn that has ended", &known(log(9, None, Some(2 * S), 0)), 9 * S, "idle");
}

#[test]
fn work_in_the_background_is_waited_for() {
    let spec = full();
    let tests = [Task::new("shell", "cargo test")];
    let turn = [(0, alive()), (S, start()), (2 * S, prompt_in("a")), (3 * S, stop_of(Some("a"), &tests))];
    let waits = "waits for its own background work (1 task: shell \"cargo test\")";
    check(&spec, "it waits", &turn, 60 * MIN, waits);
    let with = |more: &[(u64, What)]| [&turn[..], more].concat();
    check(&spec, "seen on the screen", &with(&[(9 * S, screen(Meaning::Background))]), 10 * S, waits);
    let helper = hook(HookEvent::Other { name: "PostToolUse(Bash) of a subagent".into() });
    check(&spec, "a helper's step", &with(&[(9 * S, helper)]), 10 * S, waits);
    let minute = hook(HookEvent::Notification { kind: NotificationKind::IdlePrompt });
    check(&spec, "nobody typed for a minute", &with(&[(63 * S, minute)]), 64 * S, waits);
    // It ends, and the client begins a turn by itself.
    let ended = [(9 * S, prompt_in("b"))];
    check(&spec, "its own turn", &with(&ended), 10 * S, "working");
    let over = [&ended[..], &[(11 * S, stop_of(Some("b"), &[]))]].concat();
    check(&spec, "and its end", &with(&over), 12 * S, "idle");
    // Never counted as idleness, however often it is seen.
    let mut e = evidence(&turn);
    for i in 1..20 {
        e.add(Fact::new(Time(i * 10 * S), screen(Meaning::Background)));
        assert_eq!(observe(&mut e, Time(i * 10 * S), &spec).state.as_str(), "background");
    }
    // The screen alone keeps it from being idle.
    let stopped = [(0, alive()), (S, start()), (2 * S, prompt()), (3 * S, stop())];
    let seen = [&stopped[..], &[(9 * S, screen(Meaning::Background))]].concat();
    assert_eq!(derive(&evidence(&seen), Time(10 * S), &spec).state.as_str(), "background");
}

#[test]
fn a_reminder_takes_two_kinds_of_evidence() {
    let spec = full();
    let turn = [(0, alive()), (S, start()), (2 * S, prompt()), (3 * S, stop())];
    let third = |more: &[(u64, What)]| {
        let mut e = evidence(&[&turn[..], more].concat());
        let last = [10 * S, 20 * S, 30 * S].map(|now| observe(&mut e, Time(now), &spec).state);
        last[2].as_str()
    };
    assert_eq!(third(&[]), "idle", "a hook alone");
    assert_eq!(third(&[(9 * S, screen(Meaning::Done))]), "idle_prompt");
    assert_eq!(third(&[(9 * S, log(9, Some((4 * S, TurnEnd::Done)), None, 0))]), "idle_prompt");
    let busy = title(Some(Meaning::Working));
    assert_eq!(third(&[(9 * S, screen(Meaning::Done)), (9 * S, busy)]), "idle", "the title works");
    let strange = What::Screen(Reading::default());
    assert_eq!(third(&[(9 * S, strange)]), "idle", "a screen that is not understood");
    // Esc is told by no hook: the screen shows it, and the title rests.
    let mut broken_off = evidence(&[(0, alive()), (S, start()), (2 * S, prompt())]);
    let mut last = State::Starting;
    for now in [9 * S, 10 * S, 20 * S, 30 * S] {
        broken_off.add(Fact::new(Time(now), title(Some(Meaning::Ready))));
        broken_off.add(Fact::new(Time(now), screen(Meaning::Interrupted)));
        last = observe(&mut broken_off, Time(now + 1), &spec).state;
    }
    assert_eq!(last.as_str(), "idle_prompt");
}

#[test]
fn what_no_rule_knows_is_a_dialog_if_it_stands_still() {
    let spec = full();
    let asks = |title: &str| {
        let view = DialogView { title: title.into(), fingerprint: title.into(), ..DialogView::default() };
        let claim = Some(claim(Meaning::Dialog(DialogKind::Asks), None));
        What::Screen(Reading { claim, dialog: Some(view), ..Reading::default() })
    };
    let begun = [(0, alive()), (9 * S, asks("a"))];
    let with = |more: &[(u64, What)]| [&begun[..], more].concat();
    check(&spec, "seen once", &begun, 10 * S, "starting");
    let status = check(&spec, "stands still", &with(&[(9_500, asks("a"))]), 10 * S, "asks something");
    assert_eq!((status.since, status.dialog.map(|d| d.title)), (Time(9 * S), Some("a".into())));
    check(&spec, "changes", &with(&[(9_500, asks("b"))]), 10 * S, "starting");
    let works = [(9_500, asks("a")), (9_500, title(Some(Meaning::Working)))];
    check(&spec, "the title works", &with(&works), 10 * S, "starting");
    // However often it is looked at, it is as old as it is.
    let looked: Vec<(u64, What)> = (10..60).map(|s| (s * S, asks("a"))).collect();
    assert_eq!(check(&spec, "age", &with(&looked), 60 * S, "asks something").since, Time(9 * S));
}

#[test]
fn a_dialog_that_is_shown_after_an_answer_is_another_however_alike_they_are() {
    let spec = full();
    let view = DialogView { title: "a".into(), fingerprint: "a".into(), ..DialogView::default() };
    let claim = Some(claim(Meaning::Dialog(DialogKind::Permission), None));
    let shown = What::Screen(Reading { claim, dialog: Some(view), ..Reading::default() });
    let mut e = evidence(&[(0, alive()), (3 * S, shown.clone())]);
    let since = |e: &Evidence| derive(e, Time(9 * S), &spec).since;
    assert_eq!(since(&e), Time(3 * S));
    e.dialog_answered(Time(5 * S));
    assert_eq!(since(&e), Time(3 * S), "what was seen before is what was answered");
    e.add(Fact::new(Time(6 * S), shown.clone()));
    assert_eq!(since(&e), Time(5 * S));
    e.add(Fact::new(Time(7 * S), shown));
    assert_eq!(since(&e), Time(5 * S), "it is asked once");
}

#[test]
fn a_question_in_the_chat_counts_once_its_turn_is_off_the_screen() {
    let spec = full();
    let asks = HookEvent::Stop { turn: None, tasks: vec![], asks: Some("A or B?".into()) };
    let ended = [(0, alive()), (S, start()), (2 * S, prompt()), (3 * S, hook(asks))];
    let question = |more: &[(u64, What)], now| {
        derive(&evidence(&[&ended[..], more].concat()), Time(now), &spec).question
    };
    let (busy, done) = (screen(Meaning::Working), screen(Meaning::Done));
    assert_eq!(question(&[], 4 * S), None, "not looked at");
    assert_eq!(question(&[(4 * S, busy.clone())], 4 * S), None, "drawn late");
    assert_eq!(question(&[(3_100, done.clone())], 3_200), None, "a phase may follow");
    assert_eq!(question(&[(4 * S, busy), (6 * S, done)], 6 * S).as_deref(), Some("A or B?"));
}

#[test]
fn an_error_in_a_conversation_taken_up_is_an_earlier_session_s() {
    let spec = codex();
    let error = screen(Meaning::Error(ErrorKind::Auth));
    let mut e = evidence(&[(0, alive()), (9 * S, error.clone())]);
    assert_eq!(derive(&e, Time(10 * S), &spec).state.as_str(), "failed", "it cannot even start");
    e.resumed = true;
    assert_eq!(derive(&e, Time(10 * S), &spec).state.as_str(), "ready");
    e.add(Fact::new(Time(11 * S), prompt()));
    e.add(Fact::new(Time(14 * S), error));
    assert_eq!(derive(&e, Time(15 * S), &spec).state.as_str(), "failed", "its own turn");
}
