//! What a request says, whichever client sent it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Client {
    /// Speaks Anthropic Messages.
    Claude,
    /// Speaks OpenAI Responses.
    Codex,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Somebody prompted.
    Prompt,
    /// What the model's tool calls gave.
    ToolResult,
    /// The client wants a summary of the conversation.
    Compact,
    /// The client's own business: a title, a topic. No rule and no fault is for these.
    Side,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub client: Client,
    pub kind: Kind,
    /// The client's id of the conversation.
    pub conversation: String,
    pub model: String,
    /// Everything people said, the newest last. What clients add of their own is not here.
    pub prompts: Vec<String>,
    /// The newest tool results, if those are what the turn brings.
    pub tool_result: String,
    /// The instructions, and what else the client tells by itself.
    pub system: String,
    pub cwd: Option<String>,
    /// How often the model has called tools since the newest prompt.
    pub round: usize,
    /// The names of the tools on offer.
    pub tools: Vec<String>,
    pub stream: bool,
}

impl Turn {
    /// What was said last.
    pub fn prompt(&self) -> &str {
        self.prompts.last().map_or("", String::as_str)
    }
}

/// In how many answers these calls were made. The calls of one answer have ids that differ in what
/// follows the last `_`.
pub fn rounds<'a>(call_ids: impl Iterator<Item = &'a str>) -> usize {
    let answers: BTreeSet<&str> = call_ids.map(|id| id.rsplit_once('_').map_or(id, |(a, _)| a)).collect();
    answers.len()
}

/// What stands between two markers; to the end of the line if there is no second one.
pub fn between<'a>(text: &'a str, after: &str, until: Option<&str>) -> Option<&'a str> {
    let rest = &text[text.find(after)? + after.len()..];
    let line = rest.lines().next().unwrap_or_default();
    let value = until.and_then(|until| line.split_once(until)).map_or(line, |(value, _)| value);
    Some(value.trim()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_of_one_answer_are_one_round() {
        assert_eq!(rounds(["toolu_x1_0", "toolu_x1_1", "toolu_x2_0"].into_iter()), 2);
        assert_eq!(rounds(["a", "b"].into_iter()), 2);
        assert_eq!(rounds([].into_iter()), 0);
    }

    #[test]
    fn a_value_ends_at_its_marker_or_its_line() {
        let text = "Work on issue #7: title\nnext";
        assert_eq!(between(text, "issue #", Some(":")), Some("7"));
        assert_eq!(between(text, "issue #", None), Some("7: title"));
        assert_eq!(between(text, "issue #", Some("none such")), Some("7: title"));
        assert_eq!(between(text, "title", None), None);
        assert_eq!(between(text, "absent", None), None);
    }
}
