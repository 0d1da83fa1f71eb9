use super::*;
use crate::runtime::DialogKind;

fn recipe() -> Recipe {
    let mode = Mode::Paste {
        pause: Duration::from_millis(300),
        confirm: Duration::from_secs(5),
        resend_max: 3,
        command_prefixes: vec!["/".into(), "!".into()],
    };
    Recipe { mode, ..Recipe::new(None, Duration::from_secs(600)) }
}

fn pane(composer: Composer) -> Pane {
    Pane { dialog: None, composer, busy: false, human_typed: None, elsewhere: false, taken: false }
}

fn draft(text: &str) -> Composer {
    Composer::Draft(text.into())
}

fn look(composer: Composer) -> DeliveryEvent {
    DeliveryEvent::Pane(pane(composer))
}

fn prompt(text: &str) -> DeliveryEvent {
    DeliveryEvent::Prompt { prompt: text.into() }
}

/// A delivery up to the moment its Enter was sent, at 1,400.
fn submitted(text: &str) -> Delivery {
    let mut d = Delivery::new(text, recipe(), Time(1_000)).unwrap();
    assert_eq!(d.step(Time(1_000), DeliveryEvent::Tick), Next::Look);
    assert_eq!(d.step(Time(1_000), look(Composer::Empty)), Next::Paste);
    assert_eq!(d.step(Time(1_050), DeliveryEvent::Pasted), Next::Wait { until: Time(1_350) });
    assert_eq!(d.step(Time(1_350), DeliveryEvent::Tick), Next::Look);
    assert_eq!(d.step(Time(1_380), look(draft(text))), Next::PressEnter);
    assert_eq!(d.step(Time(1_400), DeliveryEvent::EnterSent), Next::Wait { until: Time(6_400) });
    d
}

#[test]
fn the_whole_way_leaves_a_receipt_for_each_stage() {
    let mut d = submitted("CI passed");
    assert_eq!(d.step(Time(1_700), prompt("CI  passed\n")), Next::Delivered);
    let stages: Vec<(Stage, u64)> = d.transitions().iter().map(|t| (t.to, t.at.0)).collect();
    assert_eq!(
        stages,
        [
            (Stage::Queued, 1_000),
            (Stage::Typed, 1_050),
            (Stage::Submitted, 1_400),
            (Stage::TurnStarted, 1_700)
        ]
    );
    // Final is final.
    assert_eq!(d.step(Time(9_999_999), DeliveryEvent::Ended { why: "x".into() }), Next::Delivered);
}

#[test]
fn what_a_dead_daemon_asked_for_is_taken_for_done_and_looked_at() {
    let mut d = Delivery::new("CI passed", recipe(), Time(1_000)).unwrap();
    d.take_over(Time(1_000));
    assert_eq!(d.stage(), Stage::Queued, "nothing was asked for");
    assert_eq!(d.step(Time(1_000), look(Composer::Empty)), Next::Paste);
    d.take_over(Time(1_100));
    assert_eq!(d.stage(), Stage::Typed);
    // It stands there: not typed again.
    assert_eq!(d.step(Time(1_400), look(draft("CI passed"))), Next::PressEnter);
    d.take_over(Time(1_500));
    assert_eq!(d.stage(), Stage::Submitted);
    assert_eq!(d.step(Time(1_600), prompt("CI passed")), Next::Delivered);
}

#[test]
fn a_terminal_that_refuses_for_now_is_asked_again_later() {
    let mut d = Delivery::new("CI passed", recipe(), Time(1_000)).unwrap();
    for at in (1_000..60_000).step_by(2_000).map(Time) {
        assert_eq!(d.step(at, DeliveryEvent::Tick), Next::Look);
        assert_eq!(d.step(at, look(Composer::Empty)), Next::Paste);
        let refused = DeliveryEvent::ActFailed { why: "somebody scrolls".into() };
        assert_eq!(d.step(at, refused), Next::Wait { until: at + Duration::from_secs(2) });
        assert_eq!(d.blocked(), Some("the terminal refused: somebody scrolls"));
    }
    let Next::GiveUp { why } = d.step(Time(601_000), DeliveryEvent::Tick) else { panic!("time is up") };
    assert!(why.contains("somebody scrolls"), "{why}");
}

#[test]
fn nothing_is_typed_by_a_look_that_held_it_up() {
    // The person's ten seconds are over half a second after the look; they may have typed again since.
    let typed = Pane { human_typed: Some(Time(91_000)), ..pane(Composer::Empty) };
    let mut d = Delivery::new("CI passed", recipe(), Time(1_000)).unwrap();
    d.step(Time(100_600), DeliveryEvent::Pane(typed));
    assert_eq!(d.blocked(), Some("somebody is typing"));
    assert_eq!(d.step(Time(101_100), DeliveryEvent::Tick), Next::Look);
}

#[test]
fn nothing_is_typed_where_it_would_do_harm() {
    let dialog = |kind| Pane { dialog: Some(kind), ..pane(Composer::Empty) };
    let typing = Pane { human_typed: Some(Time(995)), ..pane(Composer::Empty) };
    for (seen, why) in [
        (dialog(DialogKind::Permission), "a dialog is up (permission)"),
        (dialog(DialogKind::Question), "a dialog is up (question)"),
        (typing, "somebody is typing"),
        (pane(draft("half a thought")), "the composer holds a draft"),
        (pane(Composer::Pasted("[Pasted text #1]".into())), "the composer holds a draft"),
        (pane(Composer::None), "no composer is to be seen"),
        (
            Pane { elsewhere: true, ..pane(Composer::Empty) },
            "the client is in another mode than its plain composer",
        ),
        (Pane { taken: true, ..pane(Composer::Empty) }, "a person has the session"),
    ] {
        let mut d = Delivery::new("CI passed", recipe(), Time(1_000)).unwrap();
        let next = d.step(Time(1_000), DeliveryEvent::Pane(seen.clone()));
        assert_eq!(next, Next::Wait { until: Time(3_000) }, "{why}");
        assert_eq!(d.blocked(), Some(why));
        // At the deadline somebody is told why.
        let Next::GiveUp { why: told } = d.step(Time(601_000), DeliveryEvent::Tick) else { panic!("{why}") };
        assert!(told.contains(why) && told.contains("not typed"), "{told}");
        // And between the paste and Enter it holds as well.
        if seen.dialog.is_some() {
            let mut d = Delivery::new("CI passed", recipe(), Time(1_000)).unwrap();
            d.step(Time(1_000), look(Composer::Empty));
            d.step(Time(1_000), DeliveryEvent::Pasted);
            let next = d.step(Time(2_000), DeliveryEvent::Pane(seen));
            assert_eq!(next, Next::Wait { until: Time(4_000) }, "{why}");
        }
    }
}

#[test]
fn a_swallowed_enter_is_sent_again_and_not_for_ever() {
    let mut d = submitted("CI passed");
    let mut now = 1_400;
    for _ in 0..3 {
        now += 5_000;
        assert_eq!(d.step(Time(now), DeliveryEvent::Tick), Next::Look);
        assert_eq!(d.step(Time(now), look(draft("CI passed"))), Next::PressEnter);
        d.step(Time(now), DeliveryEvent::EnterSent);
    }
    now += 5_000;
    assert_eq!(
        d.step(Time(now), look(draft("CI passed"))),
        Next::GiveUp { why: "Enter was swallowed each time; its text stands in the composer".into() }
    );
}

#[test]
fn a_paste_that_vanished_is_pasted_again_unless_the_client_works() {
    let mut d = submitted("CI passed");
    let busy = Pane { busy: true, ..pane(Composer::Empty) };
    assert_eq!(d.step(Time(6_400), DeliveryEvent::Pane(busy)), Next::Wait { until: Time(8_400) });
    assert_eq!(d.stage(), Stage::Submitted);
    assert_eq!(d.step(Time(8_400), look(Composer::Empty)), Next::Paste);
    assert_eq!(d.stage(), Stage::Queued);
}

#[test]
fn only_the_same_prompt_counts() {
    let mut d = submitted("CI passed");
    assert!(matches!(d.step(Time(2_000), prompt("something else")), Next::Wait { .. }));
    // A person added words of their own and sent it.
    assert_eq!(d.step(Time(2_100), prompt("my draft CI passed")), Next::Delivered);
    // Before anything is typed, a prompt is somebody else's.
    let mut d = Delivery::new("CI passed", recipe(), Time(0)).unwrap();
    assert_eq!(d.step(Time(1), prompt("CI passed")), Next::Look);
}

#[test]
fn a_draft_somebody_added_to_is_left_alone() {
    let mut d = Delivery::new("CI passed", recipe(), Time(1_000)).unwrap();
    d.step(Time(1_000), look(Composer::Empty));
    d.step(Time(1_000), DeliveryEvent::Pasted);
    assert!(matches!(d.step(Time(2_000), look(draft("CI passed and so on"))), Next::Wait { .. }));
    assert_eq!(d.blocked(), Some("the composer holds another text beside it"));
    // Nor is a paste ours that may be somebody's who typed since.
    let pasted = Composer::Pasted("[Pasted text #2]".into());
    let touched = Pane { human_typed: Some(Time(2_500)), ..pane(pasted.clone()) };
    assert!(matches!(d.step(Time(20_000), DeliveryEvent::Pane(touched)), Next::Wait { .. }));
    assert_eq!(d.step(Time(20_000), look(pasted)), Next::PressEnter);
}

#[test]
fn an_act_nobody_reports_is_looked_for() {
    let mut d = Delivery::new("CI passed", recipe(), Time(1_000)).unwrap();
    assert_eq!(d.step(Time(1_000), look(Composer::Empty)), Next::Paste);
    assert_eq!(d.step(Time(2_000), look(Composer::Empty)), Next::Wait { until: Time(11_000) });
    assert!(matches!(d.step(Time(11_000), DeliveryEvent::Tick), Next::Wait { .. }));
    assert_eq!(d.stage(), Stage::Typed);
    assert_eq!(d.step(Time(12_000), DeliveryEvent::Tick), Next::Look);
    assert_eq!(d.step(Time(12_000), look(draft("CI passed"))), Next::PressEnter);
}

#[test]
fn what_keeps_a_word_from_being_a_mention_reaches_the_client() {
    let submit = Submit {
        bracketed: true,
        pause_ms: 300,
        key: "Enter".into(),
        confirm: crate::runtime::Confirm::UserPromptSubmit,
        confirm_ms: 5_000,
        resend_max: 3,
        command_prefixes: vec!["/".into()],
        mentions: vec!['@', '$'],
    };
    let typed = |text: &str| {
        Delivery::of_others(text, Some(&submit), Duration::from_secs(60), Time(0))
            .map(|d| d.text().to_owned())
    };
    assert_eq!(typed("use $skill\u{200c}-creator"), Ok("use $\u{200c}skill-creator".into()));
    assert_eq!(typed("/clear"), Ok("\\/clear".into()));
}

#[test]
fn what_could_never_be_confirmed_is_refused() {
    let new = |text: &str| Delivery::new(text, recipe(), Time(0)).map(|d| d.text().to_owned());
    assert_eq!(new(" \n\u{1b}[2J"), Err(Refused::Empty));
    assert_eq!(new("/clear"), Err(Refused::Command("/".into())));
    assert_eq!(new("  !rm"), Err(Refused::Command("!".into())));
    assert_eq!(new("a\u{1b}[201~b\r\nc"), Ok("ab\nc".into()));
}

#[test]
fn an_inbox_is_never_typed_into() {
    let recipe = Recipe::new(None, Duration::from_secs(60));
    let mut d = Delivery::new("CI passed", recipe, Time(0)).unwrap();
    assert_eq!(d.step(Time(1), look(Composer::Empty)), Next::Wait { until: Time(60_000) });
    assert_eq!(d.step(Time(2), DeliveryEvent::Taken), Next::Delivered);
}

/// Small, seeded, the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Ten thousand deliveries into a client, with a person beside it, that does what it likes.
#[test]
fn whatever_happens_it_types_only_where_it_may_and_ends() {
    let mut started = 0;
    for seed in 1..=10_000u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut d = Delivery::new("CI passed", recipe(), Time(1_000)).unwrap();
        let mut now = 1_000;
        let (mut pastes, mut enters, mut refused) = (0, 0, 0);
        let mut confirmed = false;
        let mut shown: Option<(u64, Pane)> = None;
        let mut next = d.step(Time(now), DeliveryEvent::Tick);
        for _ in 0..2_000 {
            match &next {
                Next::Paste | Next::PressEnter => {
                    let (at, pane) = shown.take().expect("acts only on a look");
                    assert!(now - at <= 1_000, "seed {seed}: acts on a stale look");
                    assert_eq!(pane.dialog, None, "seed {seed}");
                    assert!(!pane.elsewhere && !pane.taken, "seed {seed}");
                    assert!(pane.human_typed.is_none_or(|t| now - t.0 >= 10_000), "seed {seed}");
                    if next == Next::Paste {
                        assert_eq!(pane.composer, Composer::Empty, "seed {seed}");
                        pastes += 1;
                    } else {
                        assert!(is_ours(&pane.composer, d.text()), "seed {seed}");
                        enters += 1;
                    }
                }
                Next::Delivered => {
                    assert!(confirmed, "seed {seed}: success without a confirmation");
                    break;
                }
                Next::GiveUp { why } => {
                    assert!(!why.is_empty());
                    break;
                }
                Next::Wait { until } => assert!(until.0 <= 601_000, "seed {seed}: waits past the deadline"),
                Next::Look => {}
            }
            let asked = pastes + enters > 0;
            let input = match (&next, dice.roll(12)) {
                (Next::Paste, 0..=8) => DeliveryEvent::Pasted,
                (Next::PressEnter, 0..=8) => DeliveryEvent::EnterSent,
                (_, 0) => DeliveryEvent::Tick,
                (_, 1) if dice.roll(4) == 0 => DeliveryEvent::ActFailed { why: "no pane".into() },
                (_, 2) if dice.roll(3) == 0 => {
                    confirmed |= asked;
                    prompt("CI passed")
                }
                (_, 3) => prompt("another prompt"),
                (_, 4) if dice.roll(9) == 0 => {
                    confirmed |= asked;
                    prompt("draft CI passed")
                }
                (_, 5) if dice.roll(40) == 0 => DeliveryEvent::Ended { why: "killed".into() },
                (_, 6) => DeliveryEvent::Pasted,
                (_, 7) => DeliveryEvent::EnterSent,
                _ => {
                    let composer = match dice.roll(7) {
                        0..=2 => Composer::Empty,
                        3 => draft("CI passed"),
                        4 => Composer::Pasted("[Pasted text #1]".into()),
                        5 => draft("what a person wrote"),
                        _ => Composer::None,
                    };
                    let seen = Pane {
                        dialog: (dice.roll(5) == 0).then_some(DialogKind::Permission),
                        composer,
                        busy: dice.roll(3) == 0,
                        human_typed: (dice.roll(5) == 0).then(|| Time(now - dice.roll(now.min(20_000)))),
                        elsewhere: dice.roll(9) == 0,
                        taken: dice.roll(9) == 0,
                    };
                    shown = Some((now, seen.clone()));
                    DeliveryEvent::Pane(seen)
                }
            };
            // What the terminal refused was not typed.
            refused += u32::from(matches!(input, DeliveryEvent::ActFailed { .. }));
            now += match dice.roll(3) {
                0 => 0,
                1 => dice.roll(500),
                _ => dice.roll(6_000),
            };
            // A look is handed over at the moment it is taken.
            if let (DeliveryEvent::Pane(_), Some((at, _))) = (&input, &mut shown) {
                *at = now;
            }
            next = d.step(Time(now), input);
        }
        assert!(d.stage().is_final(), "seed {seed}: never ends");
        let (pastes_max, enters_max) = (4 + refused, 4 + 4 + refused);
        assert!(
            pastes <= pastes_max && enters <= enters_max,
            "seed {seed}: {pastes} pastes, {enters} enters, {refused} refused"
        );
        assert!(d.transitions().len() <= 20);
        started += u32::from(d.stage() == Stage::TurnStarted);
    }
    assert!((500..9_500).contains(&started), "{started}: the dice are loaded");
}

#[test]
fn a_client_that_draws_late_is_looked_at_again_soon() {
    let mut d = Delivery::new("CI passed", recipe(), Time(1_000)).unwrap();
    d.step(Time(1_000), look(Composer::Empty));
    d.step(Time(1_000), DeliveryEvent::Pasted);
    assert_eq!(d.step(Time(1_300), look(Composer::Empty)), Next::Wait { until: Time(1_600) });
    assert_eq!(
        d.step(Time(1_600), DeliveryEvent::Tick),
        Next::Look,
        "what was seen before is not what is there now"
    );
    assert_eq!(d.step(Time(1_600), look(draft("CI passed"))), Next::PressEnter);
}

#[test]
fn a_confirmation_counts_though_the_act_was_never_reported() {
    let mut d = Delivery::new("CI passed", recipe(), Time(1_000)).unwrap();
    d.step(Time(1_000), look(Composer::Empty));
    d.step(Time(1_000), DeliveryEvent::Pasted);
    assert_eq!(d.step(Time(1_300), look(draft("CI passed"))), Next::PressEnter);
    // The daemon died here; the next one finds the client's word, and no report.
    let mut soon = d.clone();
    assert_eq!(soon.step(Time(1_400), prompt("CI passed")), Next::Delivered);
    assert_eq!(d.step(Time(60_000), prompt("CI passed")), Next::Delivered);
    assert_eq!(d.step(Time(90_000), DeliveryEvent::Tick), Next::Delivered);
}

#[test]
fn what_a_person_typed_while_nobody_watched_is_not_taken_for_ours() {
    let mut d = Delivery::new("CI passed", recipe(), Time(1_000)).unwrap();
    assert_eq!(d.step(Time(1_000), look(Composer::Empty)), Next::Paste);
    // The daemon died before it pasted; a person pasted something long, and went for a coffee.
    let pasted = Pane { human_typed: Some(Time(5_000)), ..pane(Composer::Pasted("[Pasted text]".into())) };
    assert_eq!(d.step(Time(60_000), DeliveryEvent::Tick), Next::Wait { until: Time(60_300) });
    assert_eq!(d.step(Time(60_300), DeliveryEvent::Pane(pasted)), Next::Wait { until: Time(62_300) });
    assert_eq!(d.blocked(), Some("the composer holds another text beside it"));
}
