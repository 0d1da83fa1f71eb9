//! A client's own log of its conversation: that it grows and, where its lines are understood, when turns
//! begin and end and what waits in the client's queue. Each byte is read once.

use serde::{Deserialize, Serialize};
use shopfloor_adapters::agent::transcript::{
    TurnLine, Usage, parse_rollout_line, parse_rollout_usage, parse_turns_line, parse_turns_usage,
};
use shopfloor_adapters::host::theirs;
use shopfloor_core::liveness::{Transcript, TurnEnd};
use shopfloor_core::runtime::{RuntimeSpec, TranscriptKind};
use shopfloor_core::state::Tokens;
use shopfloor_core::time::Time;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// How much is read in one go. A line may hold a whole request.
const READ_BYTES_MAX: u64 = 16 * 1024 * 1024;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Log {
    path: Option<PathBuf>,
    /// How far it was read, and how long it was then.
    offset: u64,
    bytes: u64,
    turn: Option<(Time, TurnEnd)>,
    #[serde(default)]
    began: Option<Time>,
    #[serde(default)]
    queued: u32,
    /// What this process of the client has used; what was used in the conversation before it; and the request that was
    /// counted last.
    #[serde(default)]
    tokens: Tokens,
    #[serde(default)]
    used_before: Tokens,
    #[serde(default)]
    request: String,
    /// When the client took a prompt from its queue whose turn it has not logged yet.
    #[serde(default)]
    dequeued: Option<Time>,
}

impl Log {
    /// Sets where the log is. Another conversation has another log.
    pub fn is_at(&mut self, path: PathBuf) {
        if self.path.as_ref() != Some(&path) {
            *self = Log { path: Some(path), ..Log::default() };
        }
    }

    /// What is new in it; lines from before the session's launch belong to another process.
    pub fn read(&mut self, spec: &RuntimeSpec, launched: Time, now: Time) -> io::Result<Option<Transcript>> {
        let Some(path) = &self.path else { return Ok(None) };
        let meta = std::fs::symlink_metadata(path)?;
        if !meta.is_file() || meta.len() == self.bytes {
            return Ok(None);
        }
        let bytes = meta.len();
        if spec.transcript != TranscriptKind::Opaque {
            if self.offset > bytes {
                self.offset = 0;
            }
            let start = self.offset.max(bytes.saturating_sub(READ_BYTES_MAX));
            if start > self.offset {
                // After a long silence only the end matters; what was queued before was taken long ago.
                self.queued = 0;
            }
            let mut file = theirs::open(path)?;
            file.seek(SeekFrom::Start(start))?;
            let mut text = Vec::new();
            file.take(READ_BYTES_MAX).read_to_end(&mut text)?;
            let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
            for line in text[..whole].split(|b| *b == b'\n') {
                self.line(spec, &String::from_utf8_lossy(line), launched, now);
            }
            self.offset = start + whole as u64;
        }
        self.bytes = bytes;
        let (turn, began, queued) = (self.turn, self.began, self.queued);
        Ok(Some(Transcript { bytes, turn, began, queued }))
    }

    /// What the session has used, if its log says so.
    pub fn tokens(&self) -> Option<Tokens> {
        Some(self.tokens).filter(|tokens| tokens.all() > 0)
    }

    fn usage(&mut self, spec: &RuntimeSpec, line: &str, launched: Time) {
        let used = match spec.transcript {
            TranscriptKind::Rollout => parse_rollout_usage(line),
            TranscriptKind::Turns => parse_turns_usage(line),
            TranscriptKind::Opaque => None,
        };
        match used {
            Some((at, Usage::All(all))) if at < launched => self.used_before = all,
            Some((_, Usage::All(all))) => self.tokens = all.since(self.used_before),
            Some((at, Usage::Request { name, tokens })) if at >= launched && name != self.request => {
                (self.tokens, self.request) = (self.tokens.plus(tokens), name);
            }
            Some((_, Usage::Request { .. })) | None => {}
        }
    }

    fn line(&mut self, spec: &RuntimeSpec, line: &str, launched: Time, now: Time) {
        self.usage(spec, line, launched);
        let said = match spec.transcript {
            TranscriptKind::Rollout => {
                parse_rollout_line(line, |name| spec.error_kind(name)).map(|said| (now, said))
            }
            TranscriptKind::Turns => parse_turns_line(line).filter(|(at, _)| *at >= launched),
            TranscriptKind::Opaque => None,
        };
        match said {
            Some((at, TurnLine::Begins)) => {
                (self.turn, self.dequeued) = (None, None);
                self.began = Some(at).filter(|_| spec.transcript == TranscriptKind::Turns);
            }
            Some((at, TurnLine::Ends(end))) => {
                (self.turn, self.began) = (Some((at, end)), None);
                self.take_up();
            }
            Some((at, TurnLine::Dequeued)) => {
                self.queued = self.queued.saturating_sub(1);
                self.dequeued = Some(at);
                self.take_up();
            }
            Some((_, TurnLine::Queued)) => self.queued = self.queued.saturating_add(1),
            Some((_, TurnLine::Unqueued)) => self.queued = self.queued.saturating_sub(1),
            None => {}
        }
    }

    /// A prompt that was dequeued since the turn ended begins the next one. Its line follows, on a busy machine
    /// seconds later; the end of the turn and the dequeuing are logged in either order.
    fn take_up(&mut self) {
        if let (Some(dequeued), Some((ended, _))) = (self.dequeued, self.turn)
            && dequeued >= ended
        {
            (self.turn, self.began) = (None, Some(dequeued));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_was_dequeued_begins_a_turn_before_its_line_is_logged() {
        let spec: RuntimeSpec = serde_json::from_value(serde_json::json!({
            "name": "client", "launch": { "argv": ["client"] }, "readiness": "hook", "transcript": "turns",
            "capabilities": {
                "resume": false, "hooks": true, "statusline": false, "context": false, "cost": false,
                "delivery": "inbox",
            },
        }))
        .expect("a runtime");
        let queue = |what: &str, s: u32| {
            format!(
                r#"{{"type":"queue-operation","operation":"{what}","timestamp":"2026-11-16T03:13:{s}.000Z"}}"#
            )
        };
        let end = r#"{"type":"system","subtype":"turn_duration","timestamp":"2026-11-16T03:13:31.500Z"}"#
            .to_owned();
        let read = |lines: &[String]| {
            let mut log = Log::default();
            lines.iter().for_each(|line| log.line(&spec, line, Time(0), Time(0)));
            (log.turn.is_some(), log.began.is_some(), log.queued)
        };
        let enqueue = || queue("enqueue", 30);
        assert_eq!(read(&[enqueue(), end.clone()]), (true, false, 1));
        assert_eq!(read(&[enqueue(), queue("dequeue", 32), end.clone()]), (false, true, 0));
        assert_eq!(read(&[enqueue(), end.clone(), queue("dequeue", 32)]), (false, true, 0));
        // Into the turn that ended since; and back to the person who had typed it.
        assert_eq!(read(&[enqueue(), queue("dequeue", 31), end.clone()]), (true, false, 0));
        assert_eq!(read(&[enqueue(), end, queue("popAll", 32)]), (true, false, 0));
    }

    #[test]
    fn what_was_used_before_the_launch_is_not_counted_and_a_request_once() {
        let spec = |transcript: &str| -> RuntimeSpec {
            serde_json::from_value(serde_json::json!({
                "name": "client", "launch": { "argv": ["client"] }, "readiness": "hook", "transcript": transcript,
                "capabilities": {
                    "resume": false, "hooks": true, "statusline": false, "context": false, "cost": false,
                    "delivery": "inbox",
                },
            }))
            .expect("a runtime")
        };
        let launched = Time::parse_utc("2026-11-16T03:13:30.000Z").expect("a time");
        let read = |kind: &str, lines: &[String]| {
            let (spec, mut log) = (spec(kind), Log::default());
            lines.iter().for_each(|line| log.line(&spec, line, launched, launched));
            log.tokens()
        };
        let answer = |s: u32, id: &str, output: u64| {
            format!(
                r#"{{"type":"assistant","timestamp":"2026-11-16T03:13:{s}.000Z","message":{{"id":"{id}","usage":{{"input_tokens":10,"output_tokens":{output}}}}}}}"#
            )
        };
        let told = [answer(20, "a", 5), answer(31, "b", 5), answer(31, "b", 5), answer(32, "c", 6)];
        assert_eq!(read("turns", &told), Some(Tokens { input: 20, output: 11, cached: 0 }));
        assert_eq!(read("turns", &told[..1]), None);
        let count = |s: u32, input: u64| {
            format!(
                r#"{{"type":"event_msg","timestamp":"2026-11-16T03:13:{s}.000Z","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{input},"cached_input_tokens":0,"output_tokens":1}}}}}}}}"#
            )
        };
        let told = [count(20, 100), count(31, 150), count(31, 150), count(32, 170)];
        assert_eq!(read("rollout", &told), Some(Tokens { input: 70, output: 0, cached: 0 }));
    }
}
