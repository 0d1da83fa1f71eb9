//! Every text that an agent or a person reads from the factory, one named function each, so that somebody can read them
//! all and change one without searching for it. They are pure: what a text says follows from its arguments. Nothing here
//! decides anything.
//!
//! The tests write all of them to `snapshots/`, which read like documents. After you changed a text:
//! `INSTA_UPDATE=always cargo test -p shopfloor-core texts`, and read the diff.
//!
//! How they are written: what happened, then what to do next, in plain words. An agent's message begins with a
//! [`FirstLine`], which programs match. Notes and reasons are fragments in lower case, since they stand after a name or a
//! colon; comments and messages are sentences.

pub mod agents;
pub mod checks;
pub mod comments;
pub mod escalations;
mod first_line;
pub mod groom;
pub mod health;
pub mod markers;
pub mod notes;
pub mod people;
pub mod queue;
pub mod reasons;
pub mod records;
pub mod vault;

pub use first_line::{FirstLine, NoFirstLine};

use crate::ids::IssueNumber;
use crate::text::one_line;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// A time as people say it.
pub fn span(d: Duration) -> String {
    match d.as_secs() {
        s if s >= 7200 && s % 3600 == 0 => format!("{} h", s / 3600),
        s if s >= 120 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

/// `#1, #2`, or with another word between them.
pub fn issues(numbers: &[IssueNumber], between: &str) -> String {
    numbers.iter().map(|n| format!("#{n}")).collect::<Vec<_>>().join(between)
}

/// The names of files, as far as they fit into a sentence.
pub fn files_in_words(files: &[String]) -> String {
    const NAMED: usize = 8;
    let named: Vec<String> = files.iter().take(NAMED).map(|file| one_line(file, 100)).collect();
    let more = files.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// `1 file`, `2 files`.
fn count(n: u32, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
