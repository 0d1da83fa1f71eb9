//! Anthropic Messages: a request as a turn, an answer as events or as one message, faults as errors.

use crate::director::{Answer, Part};
use crate::fault::{Fault, FaultKind, Wire};
use crate::turn::{Client, Kind, Turn, between, rounds};
use serde_json::{Value, json};

/// Compaction requests have no mark but their words.
const COMPACTION: [&str; 2] = ["create a detailed summary", "CRITICAL: Respond with TEXT ONLY"];

pub fn turn(body: &Value, session: Option<&str>) -> Turn {
    let tools: Vec<String> = names(&body["tools"]);
    let mut system = texts(&body["system"]).join("\n");
    let mut prompts: Vec<String> = Vec::new();
    let (mut calls, mut results, mut fresh) = (Vec::new(), Vec::new(), true);
    let mut reminders = String::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        match message["role"].as_str() {
            Some("assistant") => results.clear(),
            Some("system") => {
                system.push('\n');
                system.push_str(&texts(&message["content"]).join("\n"));
            }
            _ => {
                for block in blocks(&message["content"]) {
                    if block["type"] == "tool_result" {
                        calls.push(block["tool_use_id"].as_str().unwrap_or_default().to_owned());
                        results.push(texts(&block["content"]).join("\n"));
                        fresh = false;
                    } else if let Some(text) =
                        said(block["text"].as_str().unwrap_or_default(), &mut reminders)
                    {
                        prompts.push(text);
                        calls.clear();
                        results.clear();
                        fresh = true;
                    }
                }
            }
        }
    }
    let newest = prompts.last().map_or("", String::as_str);
    let kind = match () {
        () if COMPACTION.iter().any(|words| newest.contains(words)) => Kind::Compact,
        () if !tools.iter().any(|tool| tool == "Bash") => Kind::Side,
        () if fresh => Kind::Prompt,
        () => Kind::ToolResult,
    };
    system.push_str(&reminders);
    let cwd = between(&system, "working directory: ", None).map(str::to_owned);
    Turn {
        client: Client::Claude,
        kind,
        conversation: session.unwrap_or_default().to_owned(),
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        prompts,
        tool_result: results.join("\n"),
        system,
        cwd,
        round: rounds(calls.iter().map(String::as_str)),
        tools,
        stream: body["stream"] == true,
    }
}

fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn texts(content: &Value) -> Vec<String> {
    blocks(content).iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
}

fn names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
}

/// What a person said of a text block. What the client adds in tags of its own goes to `reminders`.
fn said(text: &str, reminders: &mut String) -> Option<String> {
    const TAG: (&str, &str) = ("<system-reminder>", "</system-reminder>");
    let mut kept = String::new();
    let mut rest = text;
    while let Some(open) = rest.find(TAG.0) {
        kept.push_str(&rest[..open]);
        let (inside, after) = rest[open + TAG.0.len()..].split_once(TAG.1).unwrap_or((&rest[open..], ""));
        reminders.push('\n');
        reminders.push_str(inside.trim());
        rest = after;
    }
    kept.push_str(rest);
    let kept = kept.trim();
    let own = kept.is_empty() || kept.starts_with("[Request interrupted");
    (!own).then(|| kept.to_owned())
}

pub fn fault(fault: &Fault) -> Wire {
    let error = |status, kind: &str, message: &str| {
        let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
        let retry = fault.retry_after.map(|seconds| ("retry-after".to_owned(), seconds.to_string()));
        Wire::Status { status, body, headers: retry.into_iter().collect() }
    };
    let limit = "This request would exceed your account's rate limit. Please try again later.";
    match fault.kind {
        FaultKind::RateLimit => error(429, "rate_limit_error", limit),
        FaultKind::Overloaded => error(529, "overloaded_error", "Overloaded"),
        FaultKind::ServerError => error(500, "api_error", "Internal server error"),
        FaultKind::Auth => error(401, "authentication_error", "invalid x-api-key"),
        FaultKind::Billing => {
            error(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.")
        }
        FaultKind::ContextTooLong => {
            error(400, "invalid_request_error", "prompt is too long: 205000 tokens > 200000 maximum")
        }
        FaultKind::UsageLimit => match error(429, "rate_limit_error", limit) {
            Wire::Status { status, body, mut headers } => {
                headers.extend(unified("rejected", "1.0", fault.resets_at.unwrap_or_default()));
                Wire::Status { status, body, headers }
            }
            other => other,
        },
        FaultKind::Cut => Wire::Cut,
        FaultKind::Hang => Wire::Hang,
        FaultKind::StreamError => Wire::Event {
            name: "error",
            data: json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } }),
        },
    }
}

/// The headers of a subscription: how its five hours stand.
fn unified(status: &str, used: &str, resets_at: u64) -> Vec<(String, String)> {
    let reset = resets_at.to_string();
    let fields = [
        ("status", status),
        ("reset", &reset),
        ("representative-claim", "five_hour"),
        ("5h-status", status),
        ("5h-utilization", used),
        ("5h-reset", &reset),
        ("7d-status", "allowed"),
        ("7d-utilization", "0.4"),
        ("7d-reset", &reset),
        ("overage-status", "rejected"),
    ];
    let prefix = "anthropic-ratelimit-unified";
    fields.map(|(name, value)| (format!("{prefix}-{name}"), value.to_owned())).into()
}

/// An answer on its way. `id` is unique, and the ids of calls begin with it.
pub struct Message<'a> {
    pub id: &'a str,
    pub model: &'a str,
    pub answer: &'a Answer,
}

impl Message<'_> {
    fn stop(&self) -> String {
        let calls = self.answer.parts.iter().any(|part| matches!(part, Part::Call { .. }));
        let usual = if calls { "tool_use" } else { "end_turn" };
        self.answer.stop.clone().unwrap_or_else(|| usual.to_owned())
    }

    fn usage(&self, output_tokens: u64) -> Value {
        json!({
            "input_tokens": self.answer.usage.input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": output_tokens,
        })
    }

    fn head(&self, content: Value, stop: Option<String>, output_tokens: u64) -> Value {
        json!({
            "id": format!("msg_{}", self.id), "type": "message", "role": "assistant", "model": self.model,
            "content": content, "stop_reason": stop, "stop_sequence": null, "usage": self.usage(output_tokens),
        })
    }

    fn block(&self, index: usize, part: &Part) -> Option<Value> {
        match part {
            Part::Text(text) => Some(json!({ "type": "text", "text": text })),
            Part::Call { name, input } => {
                let id = format!("toolu_{}_{index}", self.id);
                Some(json!({ "type": "tool_use", "id": id, "name": name, "input": input }))
            }
            Part::DelayMs(_) | Part::Hold(_) => None,
        }
    }

    pub fn whole(&self) -> Value {
        let said = self.answer.parts.iter().filter(|part| part.says()).enumerate();
        let blocks: Vec<Value> = said.filter_map(|(index, part)| self.block(index, part)).collect();
        self.head(Value::Array(blocks), Some(self.stop()), self.answer.usage.output_tokens)
    }

    pub fn begin(&self) -> Vec<(&'static str, Value)> {
        vec![("message_start", json!({ "type": "message_start", "message": self.head(json!([]), None, 1) }))]
    }

    /// The events of one part; `index` counts those that say something.
    pub fn part(&self, index: usize, part: &Part) -> Vec<(&'static str, Value)> {
        let Some(mut block) = self.block(index, part) else { return Vec::new() };
        let delta = match part {
            Part::Call { input, .. } => {
                json!({ "type": "input_json_delta", "partial_json": input.to_string() })
            }
            _ => json!({ "type": "text_delta", "text": block["text"].clone() }),
        };
        match part {
            Part::Call { .. } => block["input"] = json!({}),
            _ => block["text"] = json!(""),
        }
        let start = json!({ "type": "content_block_start", "index": index, "content_block": block });
        let delta = json!({ "type": "content_block_delta", "index": index, "delta": delta });
        let stop = json!({ "type": "content_block_stop", "index": index });
        vec![("content_block_start", start), ("content_block_delta", delta), ("content_block_stop", stop)]
    }

    pub fn end(&self) -> Vec<(&'static str, Value)> {
        let delta = json!({
            "type": "message_delta", "delta": { "stop_reason": self.stop(), "stop_sequence": null },
            "usage": self.usage(self.answer.usage.output_tokens),
        });
        vec![("message_delta", delta), ("message_stop", json!({ "type": "message_stop" }))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(messages: Value) -> Value {
        json!({
            "model": "m", "stream": true, "tools": [{ "name": "Bash" }, { "name": "Write" }],
            "system": [{ "type": "text", "text": "You are an agent." }], "messages": messages,
        })
    }

    /// As 2.1.325 sends it: reminders before the prompt, the environment as a message of its own.
    fn conversation() -> Vec<Value> {
        vec![
            json!({ "role": "user", "content": [
                { "type": "text", "text": "<system-reminder>\n# gitStatus\n</system-reminder>" },
                { "type": "text", "text": "<system-reminder>\nAttribution\n</system-reminder>\n" },
                { "type": "text", "text": "begin: write" },
            ] }),
            json!({ "role": "system", "content": "# Environment\n - Primary working directory: /lab/proj\n - more" }),
        ]
    }

    #[test]
    fn a_prompt_is_told_from_what_the_client_adds() {
        let turn = turn(&request(Value::Array(conversation())), Some("s"));
        assert_eq!((turn.kind, turn.round, turn.prompt()), (Kind::Prompt, 0, "begin: write"));
        assert_eq!(turn.cwd.as_deref(), Some("/lab/proj"));
        assert_eq!(turn.conversation, "s");
        assert!(turn.system.starts_with("You are an agent.\n# Environment"));
        assert!(turn.system.ends_with("# gitStatus\nAttribution"));
    }

    #[test]
    fn results_are_told_from_prompts_that_come_with_them() {
        let mut messages = conversation();
        let result =
            |id: &str, text: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": text });
        messages.push(json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "toolu_1_0" }] }));
        messages.push(json!({ "role": "user", "content": [
            result("toolu_1_0", "one"),
            { "type": "tool_result", "tool_use_id": "toolu_1_1", "content": [{ "type": "text", "text": "two" }] },
            { "type": "text", "text": "<system-reminder>a file changed</system-reminder>" },
        ] }));
        let after = turn(&request(Value::Array(messages.clone())), None);
        assert_eq!((after.kind, after.round, after.tool_result.as_str()), (Kind::ToolResult, 1, "one\ntwo"));
        assert_eq!(after.prompt(), "begin: write");

        messages.push(json!({ "role": "assistant", "content": "next" }));
        messages.push(json!({ "role": "user", "content": [result("toolu_2_0", "three")] }));
        let after = turn(&request(Value::Array(messages.clone())), None);
        assert_eq!((after.round, after.tool_result.as_str()), (2, "three"));

        // What was queued while a tool ran.
        let last = messages.last_mut().unwrap()["content"].as_array_mut().unwrap();
        last.push(json!({ "type": "text", "text": "CI passed" }));
        let queued = turn(&request(Value::Array(messages)), None);
        assert_eq!((queued.kind, queued.round, queued.prompt()), (Kind::Prompt, 0, "CI passed"));
        assert_eq!(queued.prompts.len(), 2);
    }

    #[test]
    fn compactions_and_the_clients_own_business_are_known() {
        let mut messages = conversation();
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "a", "content": "x" },
            { "type": "text", "text": "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools." },
        ] }));
        assert_eq!(turn(&request(Value::Array(messages)), None).kind, Kind::Compact);
        let title = json!({ "system": "Write a title", "messages": [{ "role": "user", "content": "x" }] });
        assert_eq!(turn(&title, None).kind, Kind::Side);
        assert_eq!(turn(&Value::Null, None).kind, Kind::Side);
    }

    #[test]
    fn an_interruption_is_no_prompt() {
        assert_eq!(said("[Request interrupted by user]", &mut String::new()), None);
        assert_eq!(said("a <system-reminder>b</system-reminder> c", &mut String::new()), Some("a  c".into()));
        assert_eq!(said("a<system-reminder>never closed", &mut String::new()), Some("a".into()));
    }
}
