//! What is said of a floor's health: to people, in the day's journal, and to the supervisor's agent.

use super::{count, span};
use crate::health::{Finding, FindingKey, Priority, Remedy};
use crate::ids::{Epoch, RunNumber};
use crate::state::{Known, Letter, RunResult};
use crate::text::{fence, one_line};
use std::time::Duration;

/// How many findings a summary names.
const NAMED: usize = 8;

// ---- notes on what happens -----------------------------------------------------------------------

pub fn urgent(finding: &Finding) -> String {
    let Finding { key, priority, what, .. } = finding;
    format!(
        "{priority} {key}: {what}; `shopfloor health` shows it, `shopfloor health ack {key} 7d` keeps it quiet for a week"
    )
}

pub fn summary(shown: &[Known], over: &[FindingKey], quiet: usize) -> String {
    let mut named: Vec<String> = shown.iter().take(NAMED).map(|known| line(&known.finding)).collect();
    if shown.len() > NAMED {
        named.push(format!("and {} more", shown.len() - NAMED));
    }
    let over: Vec<&str> = over.iter().take(NAMED).map(FindingKey::as_str).collect();
    let over = if over.is_empty() { String::new() } else { format!("; over: {}", over.join(", ")) };
    let quiet = if quiet > 0 { format!("; acknowledged: {quiet}") } else { String::new() };
    match named.is_empty() {
        true if quiet.is_empty() => format!("health: all is well{over}"),
        true => format!("health: nothing else is wrong{over}{quiet}"),
        false => format!("health: {}{over}{quiet}", named.join("; ")),
    }
}

fn line(finding: &Finding) -> String {
    format!("{} {}: {}", finding.priority, finding.key, one_line(&finding.what, 160))
}

/// In words.
pub fn remedy(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Tidy => "what may go is pruned".to_owned(),
        Remedy::CancelChecks { runs } if runs.len() == 1 => "that run is cancelled".to_owned(),
        Remedy::CancelChecks { runs } => format!("those {} runs are cancelled", runs.len()),
        Remedy::EndStrays { strays } => {
            let sessions = count(u32::try_from(strays.len()).unwrap_or(u32::MAX), "session");
            format!("{sessions} ended, with what was in the worktrees kept")
        }
        Remedy::EndAgain => "what could not be ended is ended once more".to_owned(),
    }
}

pub fn remedied(finding: &Finding, what: &Remedy, times: u32) -> String {
    let again = if times > 1 { format!(", for the {times}. time") } else { String::new() };
    format!("{} {}: {}; so {}{again}", finding.priority, finding.key, finding.what, remedy(what))
}

pub fn stray_ended(epoch: Epoch, kept: Option<&str>) -> String {
    let kept = kept.map_or_else(|| "it had no worktree".to_owned(), |at| format!("its work is kept at {at}"));
    format!("session {epoch} was nobody's and is ended; {kept}")
}

pub fn cannot_look(why: &str) -> String {
    format!("how the floor is doing cannot be found out: {why}")
}

pub fn acked(key: &FindingKey, within: Duration, by: &str) -> String {
    format!(
        "{key} is acknowledged by {by} for {}: it is told again after that, or when it gets worse",
        span(within)
    )
}

pub fn unacked(key: &FindingKey, by: &str) -> String {
    format!("{key} is no longer acknowledged, says {by}")
}

pub fn ack_over(key: &FindingKey) -> String {
    format!("{key} is no longer acknowledged: the time is over")
}

// ---- letters -------------------------------------------------------------------------------------

pub fn letter(number: u64, by: &str, text: &str) -> String {
    format!("letter {number} to the supervisor, by {by}: {}", one_line(text, 200))
}

pub fn too_many_letters(open: usize) -> String {
    format!("{open} letters wait for the supervisor: another is not taken before it has answered")
}

pub fn answers(letters: &[u64], text: &str) -> String {
    format!("the supervisor answers {}: {}", numbers(letters), one_line(text, 500))
}

pub fn no_answer() -> &'static str {
    "The runs that were to answer this failed."
}

pub fn not_answered(letters: &[u64]) -> String {
    format!(
        "{} to the supervisor cannot be answered: the runs that were to do so failed; `shopfloor runs` shows them",
        numbers(letters)
    )
}

fn numbers(letters: &[u64]) -> String {
    let all: Vec<String> = letters.iter().map(u64::to_string).collect();
    format!("letter{} {}", if all.len() == 1 { "" } else { "s" }, all.join(", "))
}

// ---- the day's journal ---------------------------------------------------------------------------

pub fn journal_entry(shown: &[Known], done: &[String]) -> String {
    let found = shown.iter().map(|known| format!("- {}", line(&known.finding)));
    let done = done.iter().map(|text| format!("- {text}"));
    let lines: Vec<String> = found.chain(done).collect();
    if lines.is_empty() { "- nothing new is wrong".to_owned() } else { lines.join("\n") }
}

pub fn run_entry(run: RunNumber, result: RunResult, said: &str) -> String {
    let said = if said.is_empty() { String::new() } else { format!("\n\n{said}") };
    format!("- run {run} of the supervisor: {}{said}", result.name().replace('_', " "))
}

// ---- for the supervisor's agent ------------------------------------------------------------------

/// What it is to look into. Letters are people's words, and findings may quote others': none of it can close its fence.
pub fn briefing(unexplained: &[&Known], letters: &[&Letter]) -> String {
    let mut out = String::new();
    for known in unexplained {
        let Finding { key, priority, what, evidence, remedy, .. } = &known.finding;
        let numbers: Vec<String> = evidence.iter().map(|(name, number)| format!("{name}={number}")).collect();
        out.push_str(&format!("{priority} {key}: {what} ({})\n", numbers.join(", ")));
        if remedy.is_some() {
            out.push_str(&format!("  the factory's own remedy was applied {} times, in vain\n", known.tried));
        }
    }
    for Letter { number, by, text, .. } in letters {
        let fence = fence(text);
        out.push_str(&format!("Letter {number}, by {}:\n{fence}\n{text}\n{fence}\n", one_line(by, 80)));
    }
    out
}

pub fn nothing_for_an_agent() -> &'static str {
    "nothing is left to look into, and nobody has written"
}

/// What a priority says.
pub fn priority(priority: Priority) -> &'static str {
    match priority {
        Priority::P0 => "the machine is about to fail",
        Priority::P1 => "the machine soon will",
        Priority::P2 => "the factory, or something in it, has stopped",
        Priority::P3 => "something gets on worse than it should",
        Priority::P4 => "housekeeping",
    }
}
