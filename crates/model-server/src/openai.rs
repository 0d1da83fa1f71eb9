//! OpenAI Responses: a request as a turn, an answer as events, faults as errors.

use crate::director::{Answer, Part};
use crate::fault::{Fault, FaultKind, Wire};
use crate::turn::{Client, Kind, Turn, between, rounds};
use serde_json::{Value, json};

/// Compaction requests have no mark but their words.
const COMPACTION: [&str; 2] = ["CONTEXT CHECKPOINT COMPACTION", "handoff summary"];
/// What Codex says in the user's name.
const OWN: [&str; 3] = ["<environment_context", "<user_instructions", "# AGENTS.md"];

pub fn turn(body: &Value, session: Option<&str>) -> Turn {
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools: Vec<String> =
        tools.filter_map(|tool| tool["name"].as_str().or(tool["type"].as_str()).map(str::to_owned)).collect();
    let mut system = body["instructions"].as_str().unwrap_or_default().to_owned();
    let mut prompts: Vec<String> = Vec::new();
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    if let Some(text) = body["input"].as_str() {
        prompts.push(text.to_owned());
    }
    for item in body["input"].as_array().into_iter().flatten() {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind.ends_with("call_output") {
            calls.push(item["call_id"].as_str().unwrap_or_default().to_owned());
            results.push(text(&item["output"]));
            continue;
        }
        if kind != "message" {
            results.clear();
            continue;
        }
        let text = text(&item["content"]);
        let own = OWN.iter().any(|mark| text.trim_start().starts_with(mark));
        match item["role"].as_str() {
            Some("assistant") => results.clear(),
            Some("user") if !own => {
                prompts.push(text);
                calls.clear();
                results.clear();
            }
            _ => {
                system.push('\n');
                system.push_str(&text);
            }
        }
    }
    let newest = prompts.last().map_or("", String::as_str);
    let kind = match () {
        () if COMPACTION.iter().any(|words| newest.contains(words)) => Kind::Compact,
        () if tools.is_empty() => Kind::Side,
        () if calls.is_empty() => Kind::Prompt,
        () => Kind::ToolResult,
    };
    let cwd = between(&system, "<cwd>", Some("</cwd>")).map(str::to_owned);
    Turn {
        client: Client::Codex,
        kind,
        conversation: session.or(body["prompt_cache_key"].as_str()).unwrap_or_default().to_owned(),
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        prompts,
        tool_result: results.join("\n"),
        system,
        cwd,
        round: rounds(calls.iter().map(String::as_str)),
        tools,
        stream: true,
    }
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

pub fn fault(fault: &Fault) -> Wire {
    let error = |status, body: Value| {
        let retry = fault.retry_after.map(|seconds| ("retry-after".to_owned(), seconds.to_string()));
        Wire::Status { status, body: json!({ "error": body }), headers: retry.into_iter().collect() }
    };
    let plain = |status, kind: &str, code: &str, message: &str| {
        error(status, json!({ "type": kind, "code": code, "message": message }))
    };
    let failed = |code: &str, message: &str| {
        let response = json!({
            "id": "resp_failed", "object": "response", "status": "failed",
            "error": { "code": code, "message": message },
        });
        Wire::Event {
            name: "response.failed",
            data: json!({ "type": "response.failed", "response": response }),
        }
    };
    match fault.kind {
        FaultKind::RateLimit => plain(429, "requests", "rate_limit_exceeded", "Rate limit reached."),
        FaultKind::Overloaded => plain(503, "server_error", "server_is_overloaded", "Overloaded"),
        FaultKind::ServerError => plain(500, "server_error", "server_error", "Internal server error"),
        FaultKind::Auth => {
            plain(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided.")
        }
        FaultKind::Billing => failed("insufficient_quota", "You exceeded your current quota."),
        FaultKind::ContextTooLong => {
            failed("context_length_exceeded", "Your input exceeds the context window of this model.")
        }
        FaultKind::UsageLimit => error(
            429,
            json!({
                "type": "usage_limit_reached", "message": "The usage limit has been reached",
                "plan_type": "plus", "resets_at": fault.resets_at,
            }),
        ),
        FaultKind::Cut => Wire::Cut,
        FaultKind::Hang => Wire::Hang,
        FaultKind::StreamError => {
            failed("rate_limit_exceeded", "Rate limit reached. Please try again in 1s.")
        }
    }
}

/// An answer on its way. `id` is unique, and the ids of calls begin with it.
pub struct Response<'a> {
    pub id: &'a str,
    pub answer: &'a Answer,
}

impl Response<'_> {
    fn head(&self, status: &str) -> Value {
        json!({ "id": format!("resp_{}", self.id), "object": "response", "status": status })
    }

    fn item(&self, index: usize, part: &Part) -> Option<Value> {
        let id = format!("{}_{index}", self.id);
        match part {
            Part::Text(text) => Some(json!({
                "type": "message", "id": format!("msg_{id}"), "role": "assistant", "status": "completed",
                "content": [{ "type": "output_text", "text": text, "annotations": [] }],
            })),
            Part::Call { name, input } => Some(json!({
                "type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"),
                "name": name, "arguments": input.to_string(), "status": "completed",
            })),
            Part::DelayMs(_) | Part::Hold(_) => None,
        }
    }

    pub fn begin(&self) -> Vec<(&'static str, Value)> {
        let created = json!({ "type": "response.created", "response": self.head("in_progress") });
        vec![("response.created", created)]
    }

    /// The events of one part; `index` counts those that say something.
    pub fn part(&self, index: usize, part: &Part) -> Vec<(&'static str, Value)> {
        let Some(item) = self.item(index, part) else { return Vec::new() };
        let mut added = item.clone();
        added["status"] = json!("in_progress");
        let mut events = vec![(
            "response.output_item.added",
            json!({ "type": "response.output_item.added", "output_index": index, "item": added }),
        )];
        if let Part::Text(text) = part {
            let delta = json!({
                "type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
                "content_index": 0, "delta": text,
            });
            events.push(("response.output_text.delta", delta));
        }
        let done = json!({ "type": "response.output_item.done", "output_index": index, "item": item });
        events.push(("response.output_item.done", done));
        events
    }

    /// Responses know one way to stop early, and that one has an event of its own.
    pub fn end(&self) -> Vec<(&'static str, Value)> {
        let usage = self.answer.usage;
        let said = self.answer.parts.iter().filter(|part| part.says()).enumerate();
        let output: Vec<Value> = said.filter_map(|(index, part)| self.item(index, part)).collect();
        let (name, status) = match self.answer.stop {
            None => ("response.completed", "completed"),
            Some(_) => ("response.incomplete", "incomplete"),
        };
        let mut response = self.head(status);
        response["output"] = Value::Array(output);
        response["usage"] = json!({
            "input_tokens": usage.input_tokens, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": usage.output_tokens, "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": usage.input_tokens + usage.output_tokens,
        });
        if let Some(reason) = &self.answer.stop {
            response["incomplete_details"] = json!({ "reason": reason });
        }
        vec![(name, json!({ "type": name, "response": response }))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: &str, text: &str) -> Value {
        json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] })
    }

    /// As 0.166.0 sends it.
    fn request(more: &[Value]) -> Value {
        let mut input = vec![
            message("developer", "You are a coding agent"),
            message("user", "<environment_context>\n  <cwd>/lab/proj</cwd>\n</environment_context>"),
            message("user", "begin: write"),
        ];
        input.extend_from_slice(more);
        json!({ "model": "m", "input": input, "tools": [{ "name": "exec_command" }, { "type": "web_search" }],
            "prompt_cache_key": "thread" })
    }

    fn call(id: &str) -> [Value; 2] {
        [
            json!({ "type": "function_call", "call_id": id }),
            json!({ "type": "function_call_output", "call_id": id, "output": format!("of {id}") }),
        ]
    }

    #[test]
    fn a_prompt_is_told_from_what_the_client_adds() {
        let turn = turn(&request(&[]), None);
        assert_eq!((turn.kind, turn.prompt(), turn.prompts.len()), (Kind::Prompt, "begin: write", 1));
        assert_eq!((turn.cwd.as_deref(), turn.conversation.as_str()), (Some("/lab/proj"), "thread"));
        assert_eq!(turn.tools, ["exec_command", "web_search"]);
    }

    #[test]
    fn results_are_counted_by_the_answers_that_asked_for_them() {
        let [a, b] = call("call_1_0");
        let [c, d] = call("call_1_1");
        let both = turn(&request(&[a.clone(), c.clone(), b.clone(), d.clone()]), None);
        assert_eq!((both.kind, both.round), (Kind::ToolResult, 1));
        assert_eq!(both.tool_result, "of call_1_0\nof call_1_1");
        let [e, f] = call("call_2_0");
        let later = turn(&request(&[a.clone(), c, b.clone(), d, e, f]), None);
        assert_eq!((later.round, later.tool_result.as_str()), (2, "of call_2_0"));
        let next = turn(&request(&[a, b, message("assistant", "done"), message("user", "CI passed")]), None);
        assert_eq!((next.kind, next.round, next.prompt()), (Kind::Prompt, 0, "CI passed"));
    }

    #[test]
    fn compactions_and_the_clients_own_business_are_known() {
        let words = "You are performing a CONTEXT CHECKPOINT COMPACTION.";
        assert_eq!(turn(&request(&[message("user", words)]), None).kind, Kind::Compact);
        let mut title = request(&[message("user", "Generate a concise title")]);
        title["tools"] = json!([]);
        assert_eq!(turn(&title, None).kind, Kind::Side);
        assert_eq!(turn(&json!({ "input": "words" }), None).prompt(), "words");
    }
}
