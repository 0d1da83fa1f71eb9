//! What fails at present and is tried again, as `shopfloor status` shows it.

use super::output;
use shopfloor_core::state::Floor;
use shopfloor_core::text::one_line;
use shopfloor_desk::now;
use shopfloor_desk::view::trouble::TroubleView;

pub fn print(floor: &Floor, troubles: &[TroubleView]) {
    if troubles.is_empty() {
        return;
    }
    let several = floor.projects.len() > 1;
    let rows: Vec<Vec<String>> = troubles.iter().map(|t| row(t, several)).collect();
    output::line("");
    output::table(&["ISSUE", "FAILS, AND IS TRIED AGAIN", "SINCE", "TRIES", "NEXT", "WHY"], &rows);
}

fn row(trouble: &TroubleView, several: bool) -> Vec<String> {
    let issue = trouble.issue.map(|issue| format!("#{issue}")).unwrap_or_default();
    let whose = if several { format!("{}{issue}", trouble.project) } else { issue };
    let since = trouble.times.0.map(|at| output::span(now().since(at)));
    let next = trouble.times.1.map(|at| format!("in {}", output::span(at.since(now()))));
    let tries = trouble.attempts.map(|n| n.to_string());
    let dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    vec![
        if whose.is_empty() { "-".into() } else { whose },
        trouble.what.replace('_', " "),
        dash(since),
        dash(tries),
        dash(next),
        one_line(&trouble.why, 160),
    ]
}
