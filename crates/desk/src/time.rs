//! The clock, and time as shown to people and programs.

use shopfloor_adapters::host::clock;
use shopfloor_core::time::Time;
use std::time::Duration;

pub fn now() -> Time {
    Time(clock::since_epoch().as_millis() as u64)
}

/// Minutes east of Greenwich: clients write their machine's local time.
pub fn utc_offset() -> i32 {
    jiff::Zoned::now().offset().seconds() / 60
}

/// A length of time, short: `3s`, `2m10s`, `1h05m`, `3d`.
pub fn span(d: Duration) -> String {
    let s = d.as_secs();
    match s {
        0 => format!("{:.1}s", d.as_secs_f64()),
        1..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        3600..86400 => format!("{}h{:02}m", s / 3600, s % 3600 / 60),
        _ => format!("{}d", s / 86400),
    }
}

/// The local time of day: `14:05`; with the date if that is another day.
pub fn clock(t: Time) -> String {
    let here = |t: Time| {
        let at = jiff::Timestamp::from_millisecond(t.0 as i64).ok()?;
        Some(at.to_zoned(jiff::tz::TimeZone::system()))
    };
    let (Some(at), Some(now)) = (here(t), here(now())) else { return String::new() };
    let format = if at.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    at.strftime(format).to_string()
}

/// RFC 3339, UTC, whole seconds.
pub fn timestamp(t: Time) -> String {
    jiff::Timestamp::from_millisecond(t.0 as i64)
        .map(|t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_default()
}

/// Like [`timestamp`] but with milliseconds: for programs.
pub fn moment(t: Time) -> String {
    jiff::Timestamp::from_millisecond(t.0 as i64)
        .map(|t| t.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_milliseconds() {
        assert_eq!(moment(Time(1_500)), "1970-01-01T00:00:01.500Z");
        assert_eq!(timestamp(Time(1_500)), "1970-01-01T00:00:01Z");
    }
}
