//! The status line we install: `folder | ctx(N%) | HH:MM:SS`. Its clock is redrawn every few
//! seconds for as long as the client runs, whether it works or waits: it proves life, not work.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A time of day as a status line shows it. All that matters is whether it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Clock(pub u32);

impl Clock {
    /// `HH:MM:SS`.
    pub fn parse(text: &str) -> Option<Clock> {
        let mut parts = text.split(':');
        let mut part = |max: u32| {
            let part = parts.next()?;
            let digits = part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| part.parse::<u32>().ok()).flatten().filter(|value| *value <= max)
        };
        let (hours, minutes, seconds) = (part(23)?, part(59)?, part(60)?);
        parts.next().is_none().then_some(Clock(hours * 3600 + minutes * 60 + seconds))
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Clock(s) = self;
        write!(f, "{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statusline {
    pub clock: Clock,
    /// Per cent of the context in use; not known before the first answer.
    pub context_percent: Option<u8>,
}

/// What we print; the other half of [`parse`].
pub fn render(folder: &str, context_percent: Option<u8>, clock: Clock) -> String {
    match context_percent {
        Some(percent) => format!("{folder} | ctx({percent}%) | {clock}"),
        None => format!("{folder} | ctx(?%) | {clock}"),
    }
}

/// Reads a row; anything a client writes to the right of it is ignored.
pub fn parse(row: &str) -> Option<Statusline> {
    let (before, after) = row.rsplit_once(" | ")?;
    let clock = Clock::parse(after.split_whitespace().next()?)?;
    let context = before.rsplit_once("ctx(").and_then(|(_, rest)| rest.split_once("%)"));
    let context_percent = context.and_then(|(percent, _)| percent.parse().ok()).filter(|p| *p <= 100);
    Some(Statusline { clock, context_percent })
}

/// The lowest status line on a screen.
pub(super) fn last_of(rows: &[&str]) -> Option<Statusline> {
    rows.iter().rev().take(6).find_map(|row| parse(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_print_we_read() {
        let clock = Clock::parse("07:36:45").unwrap();
        for percent in [None, Some(0), Some(100)] {
            let line = Statusline { clock, context_percent: percent };
            assert_eq!(parse(&render("a | b", percent, clock)), Some(line));
        }
        assert_eq!(parse("  proj | ctx(0%) | 07:36:45        ● high").unwrap().clock, clock);
        assert_eq!(parse("proj | ctx(200%) | 07:36:45").unwrap().context_percent, None);
        for bad in ["", "proj | ctx(0%)", "proj | 7:36:45", "proj | 25:00:00", "a | 07:36", "| 07:36:45:01"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(clock.to_string(), "07:36:45");
    }
}
