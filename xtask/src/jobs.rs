//! The demo's table of jobs: how long each was in which state, from `shopfloor events --json`, and
//! the commit that git shows for it.

use crate::sh::{self, seconds_short};
use crate::verify::Landed;
use serde_json::Value;
use std::time::Duration;

/// A job's states in the order they come; a column each.
const STATES: [&str; 10] = [
    "preparing",
    "starting",
    "respawning",
    "working",
    "publishing",
    "checking",
    "reviewing",
    "needs_human",
    "merging",
    "finishing",
];

/// When an issue's job entered which state.
type History = Vec<(String, Duration)>;

pub fn print(events: &Value, landed: &[Landed]) {
    let histories: Vec<History> = landed.iter().map(|l| history(events, l.issue)).collect();
    let used = |state: &&&str| histories.iter().any(|h| in_state(h, state).is_some());
    let states: Vec<&str> = STATES.iter().filter(used).copied().collect();
    let header = [&["issue", "title"], &states[..], &["all", "end", "merged"]].concat();
    let rows: Vec<Vec<String>> =
        landed.iter().zip(&histories).map(|(landed, history)| row(landed, history, &states)).collect();
    sh::table(&header, &rows);
}

fn row(landed: &Landed, history: &History, states: &[&str]) -> Vec<String> {
    let mut cells = vec![format!("#{}", landed.issue), landed.title.to_owned()];
    cells.extend(states.iter().map(|state| match in_state(history, state) {
        None => "-".to_owned(),
        Some((spent, 1)) => seconds_short(spent),
        Some((spent, times)) => format!("{} ×{times}", seconds_short(spent)),
    }));
    let (first, last) = (history.first(), history.last());
    let all = first.zip(last).map(|((_, from), (_, to))| to.saturating_sub(*from));
    cells.push(all.map_or_else(|| "-".to_owned(), seconds_short));
    cells.push(last.map_or_else(|| "no job".to_owned(), |(state, _)| state.clone()));
    cells.push(landed.commit.as_ref().map_or_else(|| "no".to_owned(), |commit| commit[..12].to_owned()));
    cells
}

/// How long it was in that state in all, and how often it came there.
fn in_state(history: &History, state: &str) -> Option<(Duration, u32)> {
    let mut found = None;
    for pair in history.windows(2) {
        let ((name, from), (_, to)) = (&pair[0], &pair[1]);
        if name == state {
            let (spent, times) = found.unwrap_or((Duration::ZERO, 0));
            found = Some((spent + to.saturating_sub(*from), times + 1));
        }
    }
    found
}

fn history(events: &Value, issue: u64) -> History {
    let mut history: History = Vec::new();
    for event in events.as_array().into_iter().flatten().filter(|e| e["issue"].as_u64() == Some(issue)) {
        let state = match event["kind"].as_str() {
            Some("JOB_STARTED") => STATES[0],
            Some("JOB_STATE") => event["text"].as_str().unwrap_or("unknown"),
            _ => continue,
        };
        let Some(at) = event["at"].as_str().and_then(moment) else { continue };
        if history.last().is_none_or(|(last, _)| last != state) {
            history.push((state.to_owned(), at));
        }
    }
    history
}

/// `2026-11-15T10:17:56.123Z` as the time since the month began: enough for differences within a
/// demo, unless it runs at midnight of the last day of a month, which shows as 0.
fn moment(text: &str) -> Option<Duration> {
    let (date, time) = text.trim_end_matches('Z').split_once('T')?;
    let day: u64 = date.rsplit('-').next()?.parse().ok()?;
    let mut parts = time.split(':');
    let (hour, minute): (u64, u64) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let seconds: f64 = parts.next()?.parse().ok()?;
    Some(Duration::from_secs(((day * 24 + hour) * 60 + minute) * 60) + Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn states_that_come_again_are_added_up() {
        let event = |kind: &str, text: &str, second: &str| json!({"issue": 1, "kind": kind, "text": text, "at": format!("2026-11-15T10:59:{second}Z")});
        let events = json!([
            event("JOB_STARTED", "claimed as job 1", "01.000"),
            event("JOB_STATE", "working", "02.000"),
            event("CI_RESULT", "red", "02.100"),
            event("JOB_STATE", "checking", "03.500"),
            event("JOB_STATE", "working", "04.000"),
            json!({"issue": 2, "kind": "JOB_STATE", "text": "working", "at": "2026-11-15T10:59:04.500Z"}),
            event("JOB_STATE", "merged", "05.250"),
        ]);
        let history = history(&events, 1);
        assert_eq!(in_state(&history, "preparing"), Some((Duration::from_secs(1), 1)));
        assert_eq!(in_state(&history, "working"), Some((Duration::from_millis(2750), 2)));
        assert_eq!(in_state(&history, "merged"), None);
        assert_eq!(history.last().unwrap().0, "merged");
        assert_eq!(moment("nonsense"), None);
    }
}
