//! Output for people: tables, colours. Text from outside is neutralised by whoever passes
//! it in.

use shopfloor_core::state::Tokens;
use shopfloor_core::text;
use shopfloor_desk::json;
pub use shopfloor_desk::json::text as json_text;
pub use shopfloor_desk::time::{moment, span, timestamp};
use std::io::{IsTerminal, Write};

/// Prints a line to standard output. A closed pipe ends the program quietly, as tools do.
pub fn line(text: impl AsRef<str>) {
    // In one piece: who reads the first line only, as with `head -n 1`, has been told all of it.
    let text = format!("{}\n", text.as_ref());
    if std::io::stdout().lock().write_all(text.as_bytes()).is_err() {
        std::process::exit(0);
    }
}

pub fn json(value: &impl serde::Serialize) {
    line(json::pretty(value));
}

/// As [`json`], on one line: for streams of values.
pub fn json_line(value: &impl serde::Serialize) {
    line(json_text(value));
}

/// Prints a line of progress. Nobody reading it is no reason to stop what it is about.
pub fn progress(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stdout().lock(), "{}", text.as_ref());
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
    let mut text = render(header.to_vec());
    for row in rows {
        text.push('\n');
        text.push_str(&render(row.iter().map(String::as_str).collect()));
    }
    // At once: a call of the kernel for each row of a long table takes longer than making it.
    line(text);
}

/// How many there are, in thousands.
pub fn tokens(tokens: &Tokens) -> String {
    match tokens.all() {
        few @ 0..1000 => format!("{few} tokens"),
        many => format!("{}k tokens", many / 1000),
    }
}

/// `-` for nothing, in a table.
pub fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| v.to_string())
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
