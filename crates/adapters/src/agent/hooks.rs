//! Parses what clients send to their hooks, their status line and `notify`, and write to their logs: JSON,
//! into the core's types. Clients change: an unknown field is ignored, an unknown event is
//! [`HookEvent::Other`], and only something that is no payload at all is an error.

use serde::Deserialize;
use serde_json::Value;
use shopfloor_core::liveness::{
    CompactTrigger, HookEvent, NotificationKind, StartSource, StatuslineFact, Task, question_at_end,
};
use shopfloor_core::text::shell_word;
use shopfloor_core::time::Time;

/// A payload larger than this is not read: a tool's whole output may be in one.
pub const PAYLOAD_BYTES_MAX: usize = 4 * 1024 * 1024;
/// More tasks than anybody looks at.
const TASKS_MAX: usize = 16;

/// A hook's payload: who reports, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookPayload {
    /// The client's id for the conversation; `/clear` changes it.
    pub session_id: String,
    pub transcript_path: Option<String>,
    pub cwd: Option<String>,
    /// For PreToolUse of a shell: the command, for the guard.
    pub command: Option<String>,
    /// One of the client's own helpers reports it, not the session: its steps are not steps of the turn.
    pub subagent: bool,
    pub event: HookEvent,
}

impl HookPayload {
    /// Whether it belongs to the conversation `session`. Codex also notifies about its helpers' threads,
    /// which differ only in their id.
    pub fn is_of(&self, session: &str) -> bool {
        self.session_id == session
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    #[error("it has more than {PAYLOAD_BYTES_MAX} bytes")]
    TooLarge,
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("it is not an object with a `hook_event_name`")]
    NoEvent,
}

#[derive(Deserialize)]
struct Wire {
    #[serde(default)]
    session_id: String,
    transcript_path: Option<String>,
    cwd: Option<String>,
    hook_event_name: Option<String>,
    agent_id: Option<String>,
    #[serde(default)]
    source: String,
    #[serde(default)]
    prompt: String,
    #[serde(default)]
    tool_name: String,
    tool_input: Option<Value>,
    #[serde(default)]
    notification_type: String,
    /// A word in StopFailure, a text in PostToolUseFailure.
    error: Option<Value>,
    #[serde(default)]
    trigger: String,
    #[serde(default)]
    reason: String,
    last_assistant_message: Option<String>,
    /// The turn's id, under Claude Code's name and under Codex's.
    #[serde(alias = "turn_id")]
    prompt_id: Option<String>,
    /// May have any shape: an unknown one must not cost us the event.
    background_tasks: Option<Value>,
}

/// A hook's standard input.
pub fn parse_hook(bytes: &[u8]) -> Result<HookPayload, HookError> {
    if bytes.len() > PAYLOAD_BYTES_MAX {
        return Err(HookError::TooLarge);
    }
    let wire: Wire = serde_json::from_slice(bytes).map_err(|e| HookError::NotJson(e.to_string()))?;
    let name = wire.hook_event_name.clone().filter(|name| !name.is_empty()).ok_or(HookError::NoEvent)?;
    Ok(HookPayload {
        command: wire.tool_input.as_ref().and_then(command),
        subagent: wire.agent_id.is_some(),
        event: event(&name, &wire),
        session_id: wire.session_id,
        transcript_path: wire.transcript_path,
        cwd: wire.cwd,
    })
}

/// Of a payload that is too large to be read, so that only its beginning is there: whether it may be a `PreToolUse`.
/// If its name is not there, it may.
pub fn may_ask_for_a_tool(beginning: &[u8]) -> bool {
    let mut names = event_names(beginning).map(|name| name == TOOL_CALL);
    names.next().is_none_or(|first| first || names.any(|is| is))
}

/// Of a payload that is whole and not understood: whether it says that it is a `PreToolUse`.
pub fn names_a_tool_call(payload: &[u8]) -> bool {
    event_names(payload).any(|name| name == TOOL_CALL)
}

const TOOL_CALL: &[u8] = b"\"PreToolUse\"";

fn event_names(payload: &[u8]) -> impl Iterator<Item = &[u8]> {
    const NAME: &[u8] = b"\"hook_event_name\"";
    // Inside of a text the quotes have backslashes.
    let named = payload.windows(NAME.len()).enumerate().filter(|(_, found)| *found == NAME);
    named.filter_map(|(at, _)| {
        let value = payload[at + NAME.len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        Some(&value[..value.len().min(TOOL_CALL.len())])
    })
}

/// The command in a tool's input: as one text, or as words.
fn command(input: &Value) -> Option<String> {
    match input.get("command").or_else(|| input.get("cmd"))? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<String> = words.iter().filter_map(Value::as_str).map(shell_word).collect();
            Some(words.join(" "))
        }
        _ => None,
    }
}

fn event(name: &str, wire: &Wire) -> HookEvent {
    let tool = || wire.tool_name.clone();
    let trigger = || if wire.trigger == "auto" { CompactTrigger::Auto } else { CompactTrigger::Manual };
    match name {
        "SessionStart" => HookEvent::SessionStart {
            source: match wire.source.as_str() {
                "startup" => StartSource::Startup,
                "resume" => StartSource::Resume,
                "clear" => StartSource::Clear,
                "compact" => StartSource::Compact,
                _ => StartSource::Other,
            },
        },
        "UserPromptSubmit" => {
            HookEvent::UserPromptSubmit { prompt: wire.prompt.clone(), turn: wire.prompt_id.clone() }
        }
        "PreToolUse" => HookEvent::PreToolUse { tool: tool() },
        "PostToolUse" => HookEvent::PostToolUse { tool: tool() },
        "PostToolUseFailure" => HookEvent::PostToolUseFailure { tool: tool() },
        "PermissionRequest" => HookEvent::PermissionRequest { tool: tool() },
        "Notification" => HookEvent::Notification {
            kind: match wire.notification_type.as_str() {
                "permission_prompt" => NotificationKind::PermissionPrompt,
                "idle_prompt" => NotificationKind::IdlePrompt,
                _ => NotificationKind::Other,
            },
        },
        // A subagent's end is not the session's, under whatever name it is reported.
        "Stop" if wire.agent_id.is_some() => HookEvent::SubagentStop,
        "Stop" => HookEvent::Stop {
            turn: wire.prompt_id.clone(),
            tasks: wire.background_tasks.as_ref().map(running).unwrap_or_default(),
            asks: wire.last_assistant_message.as_deref().and_then(question_at_end),
        },
        "SubagentStop" => HookEvent::SubagentStop,
        "StopFailure" => HookEvent::StopFailure {
            error: wire.error.as_ref().and_then(Value::as_str).unwrap_or("unknown").to_owned(),
            message: wire.last_assistant_message.clone().unwrap_or_default(),
            subagent: wire.agent_id.is_some(),
        },
        "PreCompact" => HookEvent::PreCompact { trigger: trigger() },
        "PostCompact" => HookEvent::PostCompact { trigger: trigger() },
        "Interrupt" => HookEvent::Interrupt,
        "SessionEnd" => HookEvent::SessionEnd { reason: wire.reason.clone() },
        other => HookEvent::Other { name: other.to_owned() },
    }
}

/// The tasks that still run, from a list of all.
fn running(tasks: &Value) -> Vec<Task> {
    let text = |task: &Value, name: &str| task[name].as_str().unwrap_or_default().to_owned();
    let still_runs = |task: &&Value| matches!(text(task, "status").as_str(), "running" | "pending" | "");
    let tasks = tasks.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter(still_runs);
    tasks.take(TASKS_MAX).map(|task| Task::new(&text(task, "type"), &text(task, "description"))).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Notify {
    r#type: String,
    #[serde(default)]
    thread_id: String,
    cwd: Option<String>,
    #[serde(default)]
    input_messages: Vec<String>,
}

/// Codex's `notify`: its last argument. It is also called for the thread that makes up a title, whose
/// `session_id` is not the session's.
pub fn parse_notify(argument: &str) -> Result<HookPayload, HookError> {
    if argument.len() > PAYLOAD_BYTES_MAX {
        return Err(HookError::TooLarge);
    }
    let notify: Notify = serde_json::from_str(argument).map_err(|e| HookError::NotJson(e.to_string()))?;
    let event = match notify.r#type.as_str() {
        "agent-turn-complete" => HookEvent::TurnComplete {
            thread: notify.thread_id.clone(),
            prompt: notify.input_messages.last().cloned(),
        },
        other => HookEvent::Other { name: other.to_owned() },
    };
    Ok(HookPayload {
        session_id: notify.thread_id,
        transcript_path: None,
        cwd: notify.cwd,
        command: None,
        subagent: false,
        event,
    })
}

/// What Claude Code passes to a status line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatuslinePayload {
    pub session_id: String,
    pub cwd: Option<String>,
    /// Without the time: we add that ourselves, at the moment of the call.
    pub fact: StatuslineFact,
}

pub fn parse_statusline(bytes: &[u8]) -> Result<StatuslinePayload, HookError> {
    if bytes.len() > PAYLOAD_BYTES_MAX {
        return Err(HookError::TooLarge);
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|e| HookError::NotJson(e.to_string()))?;
    if !value.is_object() {
        return Err(HookError::NotJson("expected an object".into()));
    }
    let number = |pointer: &str| value.pointer(pointer).and_then(Value::as_f64).filter(|n| n.is_finite());
    // If several limits are used up, the last reset frees the account.
    let limited_until = ["five_hour", "seven_day"]
        .iter()
        .filter(|name| {
            number(&format!("/rate_limits/{name}/used_percentage")).is_some_and(|used| used >= 100.0)
        })
        .filter_map(|name| number(&format!("/rate_limits/{name}/resets_at")))
        .map(|seconds| Time((seconds.max(0.0) * 1000.0) as u64))
        .max();
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Ok(StatuslinePayload {
        session_id: text("/session_id").unwrap_or_default(),
        cwd: text("/workspace/current_dir").or_else(|| text("/cwd")),
        fact: StatuslineFact {
            clock: None,
            context_percent: number("/context_window/used_percentage").map(|n| n.clamp(0.0, 100.0) as u8),
            cost_micros: number("/cost/total_cost_usd").map(|n| (n.max(0.0) * 1e6).round() as u64),
            limited_until,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_payload_is_an_error_and_never_a_panic() {
        for (bad, why) in [
            ("", "not JSON"),
            ("[]", "hook_event_name"),
            ("null", "not JSON"),
            ("{}", "hook_event_name"),
            (r#"{"hook_event_name": ""}"#, "hook_event_name"),
            (r#"{"hook_event_name": 7}"#, "not JSON"),
        ] {
            let error = parse_hook(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(why) || bad == "[]", "{bad}: {error}");
        }
        assert_eq!(parse_hook(&vec![b' '; PAYLOAD_BYTES_MAX + 1]), Err(HookError::TooLarge));
        for (beginning, may) in [
            (r#"{"hook_event_name": "PreToolUse", "tool_input": {"command": "ls"#, true),
            (r#"{"hook_event_name":"PostToolUse","tool_response":"x"#, false),
            (r#"{"tool_input": {"command": "\"hook_event_name\": \"PostToolUse\" "#, true),
            (r#"{"tool_input": {"hook_event_name": "Stop"}, "hook_event_name": "PreToolUse""#, true),
            ("", true),
        ] {
            assert_eq!(may_ask_for_a_tool(beginning.as_bytes()), may, "{beginning}");
        }
    }

    #[test]
    fn an_unknown_event_is_still_an_event() {
        let hook = parse_hook(br#"{"hook_event_name":"TeammateIdle","session_id":"s","new":1}"#).unwrap();
        assert_eq!(hook.event, HookEvent::Other { name: "TeammateIdle".into() });
        let hook = parse_hook(
            br#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#,
        );
        assert_eq!(hook.unwrap().command.as_deref(), Some("ls"));
        let words = br#"{"hook_event_name":"PreToolUse","tool_input":{"command":["bash","-lc","echo 'a'"]}}"#;
        assert_eq!(parse_hook(words).unwrap().command.as_deref(), Some(r"bash -lc 'echo '\''a'\'''"));
    }

    #[test]
    fn limits_are_read_from_the_status_line() {
        let line = parse_statusline(
            br#"{"rate_limits":{"five_hour":{"used_percentage":100,"resets_at":1794735840},
                "seven_day":{"used_percentage":40,"resets_at":1795000000}},
                "context_window":{"used_percentage":null},"cost":{"total_cost_usd":0.25}}"#,
        )
        .unwrap()
        .fact;
        assert_eq!(line.limited_until, Some(Time(1_794_735_840_000)));
        assert_eq!((line.context_percent, line.cost_micros), (None, Some(250_000)));
    }
}
