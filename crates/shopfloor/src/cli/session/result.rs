//! What `monitor` answers, printed.

use crate::cli::{Exit, output};
use shopfloor_hand::monitor::MonitorResult;
use shopfloor_hand::watch::FinalState;

pub(super) fn print(result: &MonitorResult, json: bool) {
    if json {
        return output::json(result);
    }
    let verified = result.output_verified.map_or("", |verified| if verified { "true" } else { "false" });
    let file = result.output_file.as_deref().unwrap_or_default();
    let fields = [result.final_state.as_str(), file, &result.exit_reason, verified];
    output::line(csv(&fields));
}

pub(super) fn exit(result: &MonitorResult) -> Exit {
    match result.final_state {
        FinalState::Completed => Exit::Fine,
        FinalState::NotFound => Exit::NoSuchThing,
        _ => Exit::Failed,
    }
}

/// A line of CSV.
pub(super) fn csv(fields: &[&str]) -> String {
    fields.iter().map(|field| csv_field(field)).collect::<Vec<_>>().join(",")
}

fn csv_field(text: &str) -> String {
    if !text.contains(['"', ',', '\n', '\r']) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::csv_field;

    #[test]
    fn fields_with_commas_and_quotes_stay_one_field() {
        for (text, expect) in
            [("plain text", "plain text"), ("a,b", "\"a,b\""), ("a \"b\"", "\"a \"\"b\"\"\"")]
        {
            assert_eq!(csv_field(text), expect);
        }
    }
}
