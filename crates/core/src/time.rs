//! Time as a value. The core never asks what time it is; it is told.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};
use std::time::Duration;

/// Milliseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// How long ago `earlier` was; zero if it lies ahead (clocks may step back).
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// A time as programs write it: `2026-11-16T03:13:28.494Z`, with or without the fraction.
    pub fn parse_utc(text: &str) -> Option<Time> {
        let text = text.strip_suffix('Z').filter(|text| text.is_ascii() && text.len() >= 19)?;
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
        let separated = [(4, '-'), (7, '-'), (10, 'T'), (13, ':'), (16, ':')];
        if separated.iter().any(|(at, mark)| !text[*at..].starts_with(*mark)) {
            return None;
        }
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 {
            return None;
        }
        let millis = match text.get(19..)?.strip_prefix('.') {
            Some(fraction) => format!("{fraction:0<3}").get(..3)?.parse::<u64>().ok()?,
            None => 0,
        };
        // Years begin in March here, so that a leap day is the last day of its year.
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let days =
            365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
        Some(Time((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + millis))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, d: Duration) -> Time {
        Time(self.0.saturating_add(d.as_millis() as u64))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, d: Duration) -> Time {
        Time(self.0.saturating_sub(d.as_millis() as u64))
    }
}

/// The units of a duration, longest first: the order in which it is written.
pub const SPAN_UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Adding a year to any time of this century cannot overflow; a longer wait is a typo.
const MILLIS_MAX: u64 = 366 * 86_400_000;

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    #[error("{0:?} is not a duration: write 30s, 10m, 3h or 1h30m")]
    Form(String),
    #[error("{0:?} is longer than a year")]
    TooLong(String),
}

/// A duration as people write it (`30s`, `10m`, `3h`, `1h30m`): numbers with units, each unit at most
/// once and longest first, nothing between them.
pub fn parse_span(text: &str) -> Result<Duration, SpanError> {
    let form = || SpanError::Form(text.chars().take(40).collect());
    let too_long = || SpanError::TooLong(text.chars().take(40).collect());
    let mut rest = text;
    let mut units = &SPAN_UNITS[..];
    let mut millis: u64 = 0;
    while !rest.is_empty() || text.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(digits);
        let letters = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, after) = after.split_at(letters);
        let at = units.iter().position(|(name, _)| *name == unit).ok_or_else(form)?;
        if digits == 0 {
            return Err(form());
        }
        let number: u64 = number.parse().map_err(|_| too_long())?;
        let part = number.checked_mul(units[at].1).ok_or_else(too_long)?;
        millis = millis.checked_add(part).filter(|sum| *sum <= MILLIS_MAX).ok_or_else(too_long)?;
        units = &units[at + 1..];
        rest = after;
    }
    Ok(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_programs_write_them() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-11-16T03:13:24.119Z", 1_794_798_804_119),
            ("2024-02-29T23:59:59.5Z", 1_709_251_199_500),
            ("2000-03-01T00:00:00.000001Z", 951_868_800_000),
        ] {
            assert_eq!(Time::parse_utc(text), Some(Time(millis)), "{text}");
        }
        for bad in
            ["", "Z", "2026-11-16", "2026-13-01T00:00:00Z", "2026-11-16 03:13:24Z", "2026-11-16T03:13:2äZ"]
        {
            assert_eq!(Time::parse_utc(bad), None, "{bad}");
        }
    }
}
