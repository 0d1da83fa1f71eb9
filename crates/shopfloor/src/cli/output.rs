//! Output for people: tables, times, colours. Text from outside is neutralised by whoever passes
//! it in.

use shopfloor_core::text;
use shopfloor_core::time::Time;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Prints a line to standard output. A closed pipe ends the program quietly, as tools do.
pub fn line(text: impl AsRef<str>) {
    // In one piece: who reads the first line only, as with `head -n 1`, has been told all of it.
    let text = format!("{}\n", text.as_ref());
    if std::io::stdout().lock().write_all(text.as_bytes()).is_err() {
        std::process::exit(0);
    }
}

pub fn json(value: &impl serde::Serialize) {
    line(shield(&serde_json::to_string_pretty(value).expect("output types have string keys only")));
}

/// As [`json`], on one line: for streams of values.
pub fn json_line(value: &impl serde::Serialize) {
    line(json_text(value));
}

/// A value as one line of JSON.
pub fn json_text(value: &impl serde::Serialize) -> String {
    shield(&serde_json::to_string(value).expect("output types have string keys only"))
}

/// Prints a line of progress. Nobody reading it is no reason to stop what it is about.
pub fn progress(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stdout().lock(), "{}", text.as_ref());
}

/// JSON must escape control characters up to U+001F only; a terminal also obeys some of those
/// beyond, and people are misled by the invisible ones. They stand in strings, so escaping them
/// changes nothing for who parses.
fn shield(json: &str) -> String {
    let unsafe_to_show = |c: char| ('\u{7f}'..='\u{9f}').contains(&c) || text::is_invisible(c);
    if !json.contains(unsafe_to_show) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if unsafe_to_show(c) {
            out.push_str(&format!("\\u{:04x}", c as u32));
        } else {
            out.push(c);
        }
    }
    out
}

/// Prints what somebody else wrote, neutralised and indented.
pub fn quoted(text: &str) {
    for row in text::neutralise(text).trim_end().lines() {
        line(format!("    {row}").trim_end());
    }
}

/// A coloured word, if standard output wants colour; `code` is SGR's.
pub fn paint(word: &str, code: u8) -> String {
    if colour() { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word.to_owned() }
}

/// Columns padded to their widest cell; the last is not padded. Nothing but the header for no rows.
pub fn table(header: &[&str], rows: &[Vec<String>]) {
    let mut widths: Vec<usize> = header.iter().map(|h| h.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let render = |cells: Vec<&str>| {
        let mut text = String::new();
        for (i, cell) in cells.iter().enumerate() {
            text.push_str(cell);
            if i + 1 < cells.len() {
                let pad = widths[i].saturating_sub(cell.chars().count()) + 2;
                text.extend(std::iter::repeat_n(' ', pad));
            }
        }
        text.trim_end().to_owned()
    };
    line(render(header.to_vec()));
    for row in rows {
        line(render(row.iter().map(String::as_str).collect()));
    }
}

/// Whether a person looks at what is printed.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether to colour standard output: a terminal that wants it.
pub fn colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
        && is_terminal()
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

/// The time of day, as the clocks here show it: `14:05`; with its date if that is another day.
pub fn clock(t: Time) -> String {
    let here = |t: Time| {
        let at = jiff::Timestamp::from_millisecond(t.0 as i64).ok()?;
        Some(at.to_zoned(jiff::tz::TimeZone::system()))
    };
    let (Some(at), Some(now)) = (here(t), here(super::now())) else { return String::new() };
    let format = if at.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    at.strftime(format).to_string()
}

/// RFC 3339, UTC, whole seconds.
pub fn timestamp(t: Time) -> String {
    jiff::Timestamp::from_millisecond(t.0 as i64)
        .map(|t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_default()
}

/// As [`timestamp`] with milliseconds: for `--json`.
pub fn moment(t: Time) -> String {
    jiff::Timestamp::from_millisecond(t.0 as i64)
        .map(|t| t.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_shows_no_control_character_and_parses_to_the_same() {
        let value = "a\u{1b}[31m\u{7f}\u{9b}2J\u{202e}b\u{feff}\n";
        let shown = shield(&serde_json::to_string(value).unwrap());
        assert!(!shown.contains(|c: char| c.is_control() || text::is_invisible(c)), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), value);
    }

    #[test]
    fn moments_have_milliseconds() {
        assert_eq!(moment(Time(1_500)), "1970-01-01T00:00:01.500Z");
        assert_eq!(timestamp(Time(1_500)), "1970-01-01T00:00:01Z");
    }
}
