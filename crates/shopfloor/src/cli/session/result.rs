//! What `monitor` answers.

use crate::cli::{Exit, output};
use serde::Serialize;
use shopfloor_core::hand::watch::FinalState;

#[derive(Serialize)]
pub(super) struct MonitorResult {
    pub final_state: FinalState,
    pub output_file: Option<String>,
    pub exit_reason: String,
    /// `null`: nothing was asked to verify it, or its end made that pointless.
    pub output_verified: Option<bool>,
    pub session: String,
    /// The program's, or 128 + the signal that ended it.
    pub exit_status: Option<i32>,
    pub polls: u32,
    /// The session was removed, as its result is taken.
    pub cleaned_up: bool,
}

impl MonitorResult {
    pub(super) fn print(&self, json: bool) {
        if json {
            return output::json(self);
        }
        let verified = self.output_verified.map_or("", |verified| if verified { "true" } else { "false" });
        let file = self.output_file.as_deref().unwrap_or_default();
        let fields = [self.final_state.as_str(), file, &self.exit_reason, verified];
        output::line(csv(&fields));
    }

    pub(super) fn exit(&self) -> Exit {
        match self.final_state {
            FinalState::Completed => Exit::Fine,
            FinalState::NotFound => Exit::NoSuchThing,
            _ => Exit::Failed,
        }
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
