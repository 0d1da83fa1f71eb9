//! One look at a hand session, weighed against the one before: the seeds' `tmux-status-check`.
//!
//! The time gate is the final authority ([`shopfloor_core::liveness::time_gate`]): a clock that moved, or is
//! seen for the first time, means alive, whatever else says stuck. What else can say so: a screen that no
//! rule understands, or one that stood still for too long. A program that no rules describe is never stuck.

use super::watch::{Look, asks, dialog, rests, runs_on};
use serde::{Deserialize, Serialize};
use shopfloor_core::liveness::{Gate, Process, time_gate};
use shopfloor_core::runtime::statusline::Clock;
use shopfloor_core::runtime::{DialogKind, Meaning, RuntimeSpec};
use shopfloor_core::time::Time;

/// What is remembered of a look for the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    pub at: Time,
    pub clock: Option<Clock>,
    pub screen: Option<u64>,
    /// Since when the screen has looked like this.
    pub since: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LookState {
    NotFound,
    /// Its program ended with status 0.
    Completed,
    Crashed,
    InProgress,
    /// Its clock moved, or is seen for the first time: alive, even if nothing else says so.
    JustStarted,
    Idle,
    /// Waits for somebody to answer a dialog, or for a limit to pass.
    Waiting,
    Stuck,
    /// Not known to be alive or gone.
    Unknown,
}

impl LookState {
    pub fn as_str(self) -> &'static str {
        match self {
            LookState::NotFound => "not_found",
            LookState::Completed => "completed",
            LookState::Crashed => "crashed",
            LookState::InProgress => "in_progress",
            LookState::JustStarted => "just_started",
            LookState::Idle => "idle",
            LookState::Waiting => "waiting",
            LookState::Stuck => "stuck",
            LookState::Unknown => "unknown",
        }
    }
}

/// The session's state, and why; and what to remember.
pub fn check(spec: &RuntimeSpec, before: Option<&Sight>, look: &Look) -> (LookState, String, Sight) {
    let screen = look.screen.as_ref().map(|(_, digest)| *digest);
    let clock = look.screen.as_ref().and_then(|(reading, _)| reading.statusline).map(|line| line.clock);
    let same = before.filter(|before| before.screen.is_some() && before.screen == screen);
    let sight = Sight { at: look.at, clock, screen, since: same.map_or(look.at, |before| before.since) };
    let (standing, why) = judge(spec, before, look, &sight);
    (standing, why, sight)
}

fn judge(spec: &RuntimeSpec, before: Option<&Sight>, look: &Look, sight: &Sight) -> (LookState, String) {
    match &look.process {
        Process::Gone { status: Some(0), .. } => {
            return (LookState::Completed, "its program ended with exit status 0".into());
        }
        Process::Gone { status: Some(status), .. } => {
            return (LookState::Crashed, format!("its program ended with exit status {status}"));
        }
        Process::Gone { .. } => {
            return (LookState::NotFound, "it is gone, and how its program ended is not known".into());
        }
        Process::Unknown { why } => return (LookState::Unknown, why.clone()),
        Process::Alive => {}
    }
    if let Some(phase) = look.phase {
        return (LookState::Idle, format!("it signalled {phase}"));
    }
    let Some((reading, _)) = look.screen.as_ref().filter(|_| !spec.screen.rules.is_empty()) else {
        return (LookState::InProgress, "its program runs".into());
    };
    let meaning = reading.meaning();
    match meaning {
        Some(Meaning::Dialog(kind)) if kind != DialogKind::Asks || asks(look) => {
            return (LookState::Waiting, dialog(kind, look));
        }
        _ if runs_on(look) => return (LookState::InProgress, "work goes on in the background".into()),
        Some(Meaning::Limited) => return (LookState::Waiting, "it waits for a limit to pass".into()),
        _ if rests(look) => return (LookState::Idle, "it is at its prompt".into()),
        _ => {}
    }
    let still = look.at.since(sight.since);
    let others = meaning.is_none() || still >= spec.timing.stuck();
    let old = before.and_then(|before| before.clock);
    match time_gate(old, sight.clock, others) {
        Gate::NotStuck => (LookState::InProgress, "its screen shows work".into()),
        Gate::JustStarted => (LookState::JustStarted, "its clock moves: it is alive".into()),
        // Nothing can have moved before a second look.
        Gate::Stuck if before.is_none() => (LookState::JustStarted, "this is the first look at it".into()),
        Gate::Stuck if sight.clock.is_some() => (LookState::Stuck, "its clock stands still".into()),
        Gate::Stuck => (
            LookState::Stuck,
            format!("no clock is seen, and its screen is the same for {} s", still.as_secs()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::tests::{client, program};
    use shopfloor_core::runtime::statusline::Statusline;
    use shopfloor_core::runtime::{Claim, Composer, Reading};

    fn look(clock: Option<u32>, meaning: Option<Meaning>) -> Look {
        let claim =
            meaning.map(|meaning| Claim { rule: "r".into(), meaning, row: "row".into(), until: None });
        let statusline = clock.map(|clock| Statusline { clock: Clock(clock), context_percent: None });
        let reading = Reading { claim, statusline, composer: Composer::None, ..Reading::default() };
        Look {
            at: Time(1_000_000),
            process: Process::Alive,
            vanished: false,
            phase: None,
            screen: Some((reading, 1)),
            title: None,
            git: None,
        }
    }

    fn before(clock: Option<u32>) -> Sight {
        Sight { at: Time(0), clock: clock.map(Clock), screen: Some(1), since: Time(0) }
    }

    #[test]
    fn the_clock_is_the_final_authority_as_the_seed_has_it() {
        let claude = client();
        for (previous, current, expect) in [
            (Some(36_000), Some(36_060), LookState::JustStarted),
            (Some(36_000), Some(36_000), LookState::Stuck),
            (None, Some(36_000), LookState::JustStarted),
            (None, None, LookState::Stuck),
        ] {
            let (standing, why, sight) = check(&claude, Some(&before(previous)), &look(current, None));
            assert_eq!(standing, expect, "{previous:?} {current:?} {why}");
            assert_eq!(sight.clock, current.map(Clock));
        }
    }

    #[test]
    fn what_the_screen_says_comes_first_and_a_program_is_never_stuck() {
        let claude = client();
        let of = |meaning| check(&claude, None, &look(None, Some(meaning))).0;
        assert_eq!(of(Meaning::Working), LookState::InProgress);
        assert_eq!(of(Meaning::Dialog(DialogKind::Permission)), LookState::Waiting);
        assert_eq!(check(&program(), Some(&before(None)), &look(None, None)).0, LookState::InProgress);
        let mut ended = look(None, None);
        for (status, expect) in
            [(Some(0), LookState::Completed), (Some(137), LookState::Crashed), (None, LookState::NotFound)]
        {
            ended.process = Process::Gone { status, signal: None };
            assert_eq!(check(&claude, None, &ended).0, expect);
        }
    }
}
