//! Findings as text: what the gardener's session is shown, and what the factory reads in it of what was judged.

use super::{Finding, Kind};
use crate::ids::IssueNumber;
use crate::text::one_line;
use crate::texts::groom as texts;
use std::fmt::Write;

/// What one session is shown: more is for the next.
const SHOWN_MAX: usize = 40;
const TITLE_CHARS_MAX: usize = 100;
const DECISIONS_BYTES_MAX: usize = 4 * 1024;
/// Before the keys of what was shown. No title begins a line.
const KEYS: &str = "Findings:";

/// What a session is told.
pub struct Report<'f> {
    /// What was not judged yet.
    pub fresh: Vec<&'f Finding>,
    /// What people decided since it was last told.
    pub decided: Vec<String>,
}

impl Report<'_> {
    pub fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.decided.is_empty()
    }

    /// In words, for a session, and the keys of what is in them.
    pub fn text(&self) -> String {
        let shown = &self.fresh[..self.fresh.len().min(SHOWN_MAX)];
        let mut out = self.in_words(shown);
        let keys: Vec<String> = shown.iter().map(|finding| format!("{:016x}", finding.key)).collect();
        let _ = writeln!(out, "{KEYS} {}", keys.join(" "));
        out
    }

    /// In words, for people: all of it.
    pub fn findings(&self) -> String {
        self.in_words(&self.fresh)
    }

    fn in_words(&self, shown: &[&Finding]) -> String {
        let mut out = String::new();
        for kind in Kind::ALL {
            let mine: Vec<_> = shown.iter().filter(|finding| finding.kind == kind).collect();
            if !mine.is_empty() {
                let _ = writeln!(out, "{}:", texts::kind(kind));
            }
            for finding in mine {
                let _ = writeln!(out, "- {}", line(finding));
            }
        }
        let more = self.fresh.len() - shown.len();
        if more > 0 {
            let _ = writeln!(out, "{}", texts::more(more));
        }
        if !self.decided.is_empty() {
            let decided: String = self.decided.iter().map(|decided| format!("- {decided}\n")).collect();
            let _ = write!(out, "{}\n{}", texts::decided(), crate::text::head(&decided, DECISIONS_BYTES_MAX));
            if !out.ends_with('\n') {
                out.push('\n');
            }
        }
        out
    }
}

/// One finding in a line.
pub fn line(finding: &Finding) -> String {
    let numbers =
        |all: &[IssueNumber]| all.iter().map(|number| format!("#{number}")).collect::<Vec<_>>().join(", ");
    let mut line = format!("#{} {}", finding.issue, one_line(&finding.title, TITLE_CHARS_MAX));
    if !finding.others.is_empty() {
        let _ = write!(line, " ({} {})", texts::others(finding.kind), numbers(&finding.others));
    }
    if !finding.measure.is_empty() {
        let _ = write!(line, " ({})", finding.measure);
    }
    line
}

/// The command that finds them, as a step of a formula has it.
pub fn findings_in(command: &[String]) -> bool {
    command.iter().map(String::as_str).take(2).eq(["shopfloor", "groom"])
}

/// The keys of what a session was shown.
pub fn judged_in(output: &str) -> Vec<u64> {
    let keys = output.lines().rev().find_map(|line| line.strip_prefix(KEYS));
    let keys = keys.into_iter().flat_map(str::split_whitespace);
    keys.filter_map(|key| u64::from_str_radix(key, 16).ok()).take(SHOWN_MAX).collect()
}
