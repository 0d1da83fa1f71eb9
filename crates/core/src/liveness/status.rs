//! What is derived: a state, how certain it is, and the chain of facts it was derived from.

use super::fact::Fact;
use crate::runtime::{DialogKind, DialogView, ErrorKind};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Launched, not ready yet.
    Starting,
    /// Ready for its first prompt.
    Ready,
    Working {
        activity: Activity,
    },
    /// It asks a person something. Nothing may be typed.
    Dialog {
        kind: DialogKind,
    },
    /// Its turn has ended.
    Idle,
    /// Idle three times in a row without having signalled a phase.
    IdlePrompt,
    LimitedUntil {
        until: Time,
    },
    /// Its turn has ended, but work that it began continues in the background: it waits for that.
    Background {
        /// What work, in a few words.
        what: String,
    },
    /// Between turns, with little context left.
    ContextLow {
        percent: Option<u8>,
    },
    /// Its turn ended in an error.
    Failed {
        error: ErrorKind,
    },
    /// It neither moves nor shows any sign of life.
    Stuck,
    /// It is alive, but nothing has moved for long.
    NoProgress,
    /// Its process is gone, and not by its own will.
    Crashed {
        status: Option<i32>,
        signal: Option<i32>,
    },
    /// Its process is gone, as it should be.
    Exited,
    /// Nothing reliable is known. Not dead.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Activity {
    /// The model's turn.
    Thinking,
    Tool {
        tool: String,
    },
    Compacting,
    /// Its request failed and is being retried.
    Retrying,
    /// Work of unknown kind.
    Something,
}

impl State {
    pub fn as_str(&self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::Ready => "ready",
            State::Working { .. } => "working",
            State::Dialog { .. } => "dialog",
            State::Idle => "idle",
            State::IdlePrompt => "idle_prompt",
            State::LimitedUntil { .. } => "limited_until",
            State::Background { .. } => "background",
            State::ContextLow { .. } => "context_low",
            State::Failed { .. } => "failed",
            State::Stuck => "stuck",
            State::NoProgress => "no_progress",
            State::Crashed { .. } => "crashed",
            State::Exited => "exited",
            State::Unknown => "unknown",
        }
    }

    /// Nothing is being done at the moment, and that is known.
    pub fn rests(&self) -> bool {
        matches!(
            self,
            State::Idle
                | State::IdlePrompt
                | State::Ready
                | State::Dialog { .. }
                | State::LimitedUntil { .. }
                | State::ContextLow { .. }
                | State::Failed { .. }
        )
    }

    /// A turn is under way, as far as is known.
    pub fn in_turn(&self) -> bool {
        matches!(self, State::Working { .. } | State::Dialog { .. })
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Working { activity: Activity::Tool { tool } } => write!(f, "working (tool {tool})"),
            State::Working { activity: Activity::Compacting } => f.write_str("working (compacting)"),
            State::Working { activity: Activity::Retrying } => f.write_str("working (retrying)"),
            State::Dialog { kind: DialogKind::Asks } => f.write_str("asks something"),
            State::Dialog { kind } => write!(f, "dialog ({kind})"),
            State::Background { what } => write!(f, "waits for its own background work ({what})"),
            State::Failed { error } => write!(f, "failed ({error})"),
            State::Crashed { signal: Some(signal), .. } => write!(f, "crashed (signal {signal})"),
            State::Crashed { status: Some(status), .. } => write!(f, "crashed (exit status {status})"),
            state => f.write_str(state.as_str()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    pub fact: Fact,
    pub age_ms: u64,
    /// What it contributed, in words.
    pub says: String,
}

impl fmt::Display for Reason {
    /// `hook, 3s ago: Stop: its turn has ended`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let age = self.age_ms / 1000;
        write!(f, "{}, {age}s ago: {}: {}", self.fact.source(), self.fact.what, self.says)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub state: State,
    pub since: Time,
    pub confidence: Confidence,
    /// Per cent in use; also given during a turn, when the state does not say it.
    pub context_percent: Option<u8>,
    /// What the dialog says, once the screen has shown it.
    #[serde(default)]
    pub dialog: Option<DialogView>,
    /// At rest without a phase: the question that its last turn ended with.
    #[serde(default)]
    pub question: Option<String>,
    /// In the order they were weighed.
    pub chain: Vec<Reason>,
}
