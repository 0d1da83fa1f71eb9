//! The statusline time gate: the final authority against calling a session stuck.

use crate::runtime::statusline::Clock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The clock moved, or was seen for the first time: alive, never stuck.
    JustStarted,
    Stuck,
    /// The other signs do not say stuck, so there is nothing to judge.
    NotStuck,
}

/// Any change of the clock counts as an advance: it wraps at midnight, and machines reset theirs. Two equal clocks
/// mean something only if they were seen far enough apart; the caller sees to that.
pub fn time_gate(previous: Option<Clock>, current: Option<Clock>, others_say_stuck: bool) -> Gate {
    if !others_say_stuck {
        return Gate::NotStuck;
    }
    match (previous, current) {
        (Some(previous), Some(current)) if previous != current => Gate::JustStarted,
        (None, Some(_)) => Gate::JustStarted,
        (Some(_), Some(_)) => Gate::Stuck,
        // Nothing is seen now: the other signs decide.
        (_, None) => Gate::Stuck,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_decision_matrix() {
        let clock = |text: &str| Clock::parse(text);
        for (previous, current, expect) in [
            ("10:00:00", "10:01:00", Gate::JustStarted),
            ("10:00:00", "10:00:00", Gate::Stuck),
            ("(none)", "10:00:00", Gate::JustStarted),
            ("(none)", "(none)", Gate::Stuck),
        ] {
            assert_eq!(time_gate(clock(previous), clock(current), true), expect, "{previous} {current}");
            assert_eq!(time_gate(clock(previous), clock(current), false), Gate::NotStuck);
        }
        // Beyond the matrix: midnight, and a status line that vanished.
        assert_eq!(time_gate(clock("23:59:59"), clock("00:00:01"), true), Gate::JustStarted);
        assert_eq!(time_gate(clock("10:00:00"), None, true), Gate::Stuck);
    }
}
