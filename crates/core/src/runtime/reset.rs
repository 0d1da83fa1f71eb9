//! When a limit ends, as clients write it: `9:44am (UTC)`, `9:50 AM`, `21:44`, `3pm`, `1s`.

use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// No limit is believed for longer than this: after that, the client is looked at again.
pub const RESET_MAX: Duration = Duration::from_secs(24 * 3600);

/// A time of day that is at most this far back has just passed; it is not tomorrow's: the screen still shows the
/// limit when the limit is over.
const JUST_PASSED: Duration = Duration::from_secs(3600);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetForm {
    /// A time of day, in UTC if that follows in brackets, otherwise in the machine's zone.
    Clock,
    /// A duration: `1s`, `2m 30s`, `1h 5m`.
    Span,
}

/// The time that `text` begins with, at most a day after `now`. `utc_offset` is the machine's, in minutes east of
/// Greenwich: clients write their own zone.
pub fn parse_reset(text: &str, form: ResetForm, now: Time, utc_offset: i32) -> Option<Time> {
    let at = match form {
        ResetForm::Span => now + span(text)?,
        ResetForm::Clock => clock(text, now, utc_offset)?,
    };
    Some(at.min(now + RESET_MAX))
}

fn clock(text: &str, now: Time, utc_offset: i32) -> Option<Time> {
    let text = text.trim_start();
    if begins_with_month(text) {
        // Days away: longer than is believed at once.
        return Some(now + RESET_MAX);
    }
    let (hour, rest) = number(text)?;
    let (minute, rest) = match rest.strip_prefix(':') {
        Some(rest) => number(rest)?,
        None => (0, rest),
    };
    let lower: String = rest.chars().take(40).collect::<String>().to_ascii_lowercase();
    let after = lower.trim_start();
    let hour = if after.starts_with("am") {
        (1..=12).contains(&hour).then_some(hour % 12)?
    } else if after.starts_with("pm") {
        (1..=12).contains(&hour).then_some(hour % 12 + 12)?
    } else if rest.len() < text.len() && text.contains(':') {
        hour
    } else {
        // A bare number is not a time of day.
        return None;
    };
    if hour > 23 || minute > 59 {
        return None;
    }
    let zone = lower.split_once('(').and_then(|(_, zone)| zone.split_once(')')).map(|(zone, _)| zone.trim());
    let offset = if zone.is_some_and(|zone| zone == "utc" || zone == "gmt") { 0 } else { utc_offset };
    const MINUTE_MS: i64 = 60_000;
    const DAY_MS: i64 = 1440 * MINUTE_MS;
    let now_ms = i64::try_from(now.0).ok()?;
    let of_day = (i64::from(hour) * 60 + i64::from(minute) - i64::from(offset)) * MINUTE_MS;
    // Whole minutes are compared with whole minutes.
    let today = now_ms.div_euclid(DAY_MS) * DAY_MS;
    let mut at = today + of_day.rem_euclid(DAY_MS);
    let passed_ms = JUST_PASSED.as_millis() as i64;
    if at > now_ms + DAY_MS - passed_ms {
        at -= DAY_MS;
    } else if at < now_ms - passed_ms {
        at += DAY_MS;
    }
    u64::try_from(at).ok().map(Time)
}

fn begins_with_month(text: &str) -> bool {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    MONTHS.iter().any(|month| text.starts_with(month))
}

fn span(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut total = Duration::ZERO;
    let mut any = false;
    while let Some((count, after)) = number(rest) {
        // `1.5s`: the fraction is rounded up.
        let (count, after) = match after.strip_prefix('.') {
            Some(fraction) if fraction.starts_with(|c: char| c.is_ascii_digit()) => {
                (count + 1, fraction.trim_start_matches(|c: char| c.is_ascii_digit()))
            }
            _ => (count, after),
        };
        let after = after.trim_start();
        let word = after.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let seconds = match word {
            "ms" => 0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1,
            "m" | "min" | "mins" | "minute" | "minutes" => 60,
            "h" | "hour" | "hours" => 3600,
            "d" | "day" | "days" => 86400,
            _ => break,
        };
        total += Duration::from_secs(u64::from(count) * seconds);
        any = true;
        rest = after[word.len()..].trim_start_matches([' ', ',']);
    }
    any.then_some(total)
}

fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let value = text.get(..end).filter(|digits| (1..=6).contains(&digits.len()))?.parse().ok()?;
    Some((value, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;
    const MINUTE: u64 = 60_000;
    /// 2026-11-15 00:00 UTC.
    const DAY: u64 = 1_794_700_800_000;

    #[test]
    fn times_of_day_are_the_next_ones() {
        let at_7_45 = Time(DAY + 7 * HOUR + 45 * MINUTE);
        let check = |text: &str, offset: i32, expect: Option<u64>| {
            assert_eq!(
                parse_reset(text, ResetForm::Clock, at_7_45, offset),
                expect.map(|m| Time(DAY + m * MINUTE)),
                "{text}"
            );
        };
        check("9:44am (UTC)", 0, Some(9 * 60 + 44));
        check("9:44am (UTC)", 120, Some(9 * 60 + 44));
        check("9:44am", 60, Some(8 * 60 + 44));
        check("9:44am (Europe/Berlin)", 60, Some(8 * 60 + 44));
        check("9:50 AM.", 0, Some(9 * 60 + 50));
        check("3pm", 0, Some(15 * 60));
        check("12am", 0, Some(24 * 60));
        check("12:30pm", 0, Some(12 * 60 + 30));
        check("21:44", 0, Some(21 * 60 + 44));
        // Just passed, not tomorrow.
        check("7:44am (UTC)", 0, Some(7 * 60 + 44));
        check("6:00am (UTC)", 0, Some(30 * 60));
        // Days away: believed for one day.
        check("Nov 18, 9am (UTC)", 0, Some(7 * 60 + 45 + 24 * 60));
        for bad in ["", "soon", "25:00", "9:75am", "13pm", "0am", "7", "9999999:00"] {
            check(bad, 0, None);
        }
        // Across midnight.
        let late = Time(DAY + 23 * HOUR + 50 * MINUTE);
        assert_eq!(
            parse_reset("12:05am (UTC)", ResetForm::Clock, late, 0),
            Some(Time(DAY + 24 * HOUR + 5 * MINUTE))
        );
        let early = Time(DAY + 10 * MINUTE);
        assert_eq!(
            parse_reset("11:55pm (UTC)", ResetForm::Clock, early, 0),
            Some(Time(DAY - 5 * MINUTE)),
            "passed a quarter of an hour ago"
        );
    }

    #[test]
    fn lengths_of_time_are_bounded() {
        let now = Time(DAY);
        let check = |text: &str, expect: Option<u64>| {
            assert_eq!(
                parse_reset(text, ResetForm::Span, now, 0),
                expect.map(|s| Time(DAY + s * 1000)),
                "{text}"
            );
        };
        check("1s.", Some(1));
        check("1.2s", Some(2));
        check("2m 30s", Some(150));
        check("1 hour, 5 minutes", Some(3900));
        check("3 days", Some(86400));
        check("a while", None);
        check("5 apples", None);
    }
}
