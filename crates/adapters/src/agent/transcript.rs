//! What clients write to their own logs of a conversation, line by line: turns that begin and end,
//! prompts that wait in a queue, and what requests have cost. An unknown line is ignored.

use serde_json::Value;
use shopfloor_core::liveness::TurnEnd;
use shopfloor_core::runtime::ErrorKind;
use shopfloor_core::state::Tokens;
use shopfloor_core::time::Time;

/// What a line of a log says about a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnLine {
    Begins,
    Ends(TurnEnd),
    /// A prompt waits for the turn to end; the client takes it up as a turn of its own; or it waits no longer.
    Queued,
    Dequeued,
    Unqueued,
}

/// One line of Codex's rollout file, if it is a turn's first or last. No hook reports a request that failed.
/// `kind` is [`RuntimeSpec::error_kind`].
///
/// [`RuntimeSpec::error_kind`]: shopfloor_core::runtime::RuntimeSpec::error_kind
pub fn parse_rollout_line(line: &str, kind: impl Fn(&str) -> ErrorKind) -> Option<TurnLine> {
    let value: Value = serde_json::from_str(line).ok()?;
    let payload = value.get("payload").filter(|_| value["type"] == "event_msg")?;
    match payload["type"].as_str()? {
        "task_started" => Some(TurnLine::Begins),
        "turn_aborted" => Some(TurnLine::Ends(TurnEnd::Aborted)),
        "task_complete" => {
            let Some(error) = payload.get("error").filter(|error| !error.is_null()) else {
                return Some(TurnLine::Ends(TurnEnd::Done));
            };
            let info = &error["codex_error_info"];
            // A word, or an object with one key and the HTTP status in it.
            let object = info.as_object().and_then(|object| object.iter().next());
            let status = object.and_then(|(_, detail)| detail["http_status_code"].as_u64());
            let name = match status {
                Some(401 | 403) => "auth",
                _ => info.as_str().or(object.map(|(name, _)| name.as_str())).unwrap_or("unknown"),
            };
            Some(TurnLine::Ends(TurnEnd::Failed { error: kind(name) }))
        }
        _ => None,
    }
}

/// One line of Claude Code's log, and when it was written. What it logs of its requests is as long as a
/// conversation: only lines that can be of use are parsed at all.
pub fn parse_turns_line(line: &str) -> Option<(Time, TurnLine)> {
    const MARKS: [&str; 4] =
        ["\"queue-operation\"", "\"turn_duration\"", "\"promptSource\":", "\"[Request interrupted by user"];
    if !MARKS.iter().any(|mark| line.contains(mark)) {
        return None;
    }
    let value: Value = serde_json::from_str(line).ok()?;
    let at = Time::parse_utc(value["timestamp"].as_str()?)?;
    let sidechain = value["isSidechain"] == true;
    let said = match value["type"].as_str()? {
        "queue-operation" if value["operation"] == "enqueue" => TurnLine::Queued,
        "queue-operation" if value["operation"] == "dequeue" => TurnLine::Dequeued,
        // Taken into this turn, or back by a person.
        "queue-operation" => TurnLine::Unqueued,
        "system" if value["subtype"] == "turn_duration" && !sidechain => TurnLine::Ends(TurnEnd::Done),
        "user" if !sidechain && is_interruption(&value) => TurnLine::Ends(TurnEnd::Aborted),
        "user" if value["promptSource"].is_string() && !sidechain => TurnLine::Begins,
        _ => return None,
    };
    Some((at, said))
}

/// What one line of a log says of tokens, and when it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Usage {
    /// All of the conversation so far.
    All(Tokens),
    /// One request. A log may say so in several lines, each with its name.
    Request { name: String, tokens: Tokens },
}

/// Of Codex's rollout file: it counts the whole conversation.
pub fn parse_rollout_usage(line: &str) -> Option<(Time, Usage)> {
    if !line.contains("\"token_count\"") {
        return None;
    }
    let value: Value = serde_json::from_str(line).ok()?;
    let all = value.pointer("/payload/info/total_token_usage")?;
    let cached = number(all, "cached_input_tokens");
    let input = number(all, "input_tokens").saturating_sub(cached);
    let tokens = Tokens { input, output: number(all, "output_tokens"), cached };
    Some((Time::parse_utc(value["timestamp"].as_str()?)?, Usage::All(tokens)))
}

/// Of Claude Code's log: each answer says what its request took.
pub fn parse_turns_usage(line: &str) -> Option<(Time, Usage)> {
    if !line.contains("\"output_tokens\"") {
        return None;
    }
    let value: Value = serde_json::from_str(line).ok()?;
    let message = value.get("message").filter(|_| value["type"] == "assistant")?;
    let usage = message.get("usage")?;
    let input = number(usage, "input_tokens").saturating_add(number(usage, "cache_creation_input_tokens"));
    let cached = number(usage, "cache_read_input_tokens");
    let tokens = Tokens { input, output: number(usage, "output_tokens"), cached };
    let name = message["id"].as_str()?.to_owned();
    Some((Time::parse_utc(value["timestamp"].as_str()?)?, Usage::Request { name, tokens }))
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or(0)
}

/// What the client logs when a person presses Esc. A tool's output has another type.
fn is_interruption(line: &Value) -> bool {
    let parts = line["message"]["content"].as_array();
    let mut texts = parts.into_iter().flatten().filter(|part| part["type"] == "text");
    texts.any(|part| {
        part["text"].as_str().is_some_and(|text| text.starts_with("[Request interrupted by user"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_tells_how_each_turn_ended() {
        let errors = [
            ("response_too_many_failed_attempts", ErrorKind::RateLimit),
            ("rate_limit_exceeded", ErrorKind::RateLimit),
            ("usage_limit_exceeded", ErrorKind::RateLimit),
            ("internal_server_error", ErrorKind::Server),
            ("server_overloaded", ErrorKind::Overloaded),
            ("context_window_exceeded", ErrorKind::ContextFull),
            ("other", ErrorKind::Unknown),
        ];
        let kind = |name: &str| {
            let known = errors.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
            known.or(ErrorKind::parse(name)).unwrap_or(ErrorKind::Unknown)
        };
        let lines = include_str!("../../tests/fixtures/codex-0.166.0-rollout.jsonl").lines();
        let turns: Vec<TurnLine> = lines.filter_map(|line| parse_rollout_line(line, kind)).collect();
        // Each begins and then ends.
        let pair = |pair: &[TurnLine]| match pair {
            [TurnLine::Begins, TurnLine::Ends(end)] => *end,
            other => panic!("{other:?}"),
        };
        let ends: Vec<TurnEnd> = turns.chunks(2).map(pair).collect();
        let failed = |error| TurnEnd::Failed { error };
        assert_eq!(
            ends,
            [
                TurnEnd::Done,
                TurnEnd::Done,
                TurnEnd::Done,
                TurnEnd::Aborted,
                failed(ErrorKind::RateLimit),
                failed(ErrorKind::RateLimit),
                failed(ErrorKind::Server),
                failed(ErrorKind::Overloaded),
                failed(ErrorKind::Auth),
                failed(ErrorKind::Unknown),
                failed(ErrorKind::RateLimit),
                failed(ErrorKind::RateLimit),
                failed(ErrorKind::ContextFull),
            ]
        );
        assert_eq!(parse_rollout_line("not JSON", kind), None);
    }

    #[test]
    fn a_log_tells_what_its_requests_took() {
        let line = r#"{"timestamp":"2026-11-15T07:48:43.372Z","type":"event_msg","payload":{"type":"token_count",
            "info":{"total_token_usage":{"input_tokens":1200,"cached_input_tokens":200,"output_tokens":40}}}}"#;
        let line = line.replace('\n', "");
        let (_, usage) = parse_rollout_usage(&line).expect("it says so");
        assert_eq!(usage, Usage::All(Tokens { input: 1000, output: 40, cached: 200 }));
        let line = r#"{"type":"assistant","isSidechain":false,"timestamp":"2026-11-15T07:43:20.438Z","message":{"id":"msg_1",
            "usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":900,"output_tokens":7}}}"#;
        let line = line.replace('\n', "");
        let (at, usage) = parse_turns_usage(&line).expect("it says so");
        let tokens = Tokens { input: 15, output: 7, cached: 900 };
        assert_eq!(usage, Usage::Request { name: "msg_1".into(), tokens });
        assert_eq!(Some(at), Time::parse_utc("2026-11-15T07:43:20.438Z"));
        for other in ["", "not JSON", r#"{"type":"user","message":{"content":"\"output_tokens\""}}"#] {
            assert_eq!((parse_turns_usage(other), parse_rollout_usage(other)), (None, None));
        }
    }

    #[test]
    fn a_log_of_claude_code_tells_turns_and_its_queue() {
        let lines = include_str!("../../tests/fixtures/claude-2.1.325-queued.jsonl").lines();
        let told: Vec<(u64, TurnLine)> =
            lines.filter_map(parse_turns_line).map(|(at, line)| (at.0 - 1_794_798_804_119, line)).collect();
        use TurnLine::{Begins, Dequeued, Ends, Queued};
        let done = Ends(TurnEnd::Done);
        assert_eq!(
            told,
            [(0, Begins), (4_375, Queued), (7_880, Dequeued), (7_798, done), (7_980, Begins), (12_865, done),]
        );
    }
}
