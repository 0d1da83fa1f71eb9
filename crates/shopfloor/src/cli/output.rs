//! Output for people: tables, times, colours. Text from outside is neutralised by whoever passes
//! it in.

use shopfloor_core::time::Time;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Prints a line to standard output. A closed pipe ends the program quietly, as tools do.
pub fn line(text: impl AsRef<str>) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{}", text.as_ref()).is_err() {
        std::process::exit(0);
    }
}

pub fn json(value: &impl serde::Serialize) {
    line(serde_json::to_string_pretty(value).expect("output types have string keys only"));
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

/// Whether to colour standard output: a terminal that wants it.
pub fn colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
        && std::io::stdout().is_terminal()
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

/// RFC 3339, UTC, whole seconds.
pub fn timestamp(t: Time) -> String {
    jiff::Timestamp::from_millisecond(t.0 as i64)
        .map(|t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_default()
}
