//! Facts: what was seen, by whom, when. A fact says nothing about what it means.

use super::hook::HookEvent;
use crate::phase::Phase;
use crate::runtime::statusline::Clock;
use crate::runtime::{Claim, ErrorKind, Reading};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Process,
    Hook,
    Statusline,
    Transcript,
    PhaseFile,
    Title,
    Screen,
    Git,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Process => "process",
            Source::Hook => "hook",
            Source::Statusline => "statusline",
            Source::Transcript => "transcript",
            Source::PhaseFile => "phase file",
            Source::Title => "title",
            Source::Screen => "screen",
            Source::Git => "git",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    pub at: Time,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "source", content = "what", rename_all = "snake_case")]
pub enum What {
    Process(Process),
    Hook(HookEvent),
    Statusline(StatuslineFact),
    Transcript(Transcript),
    PhaseFile(Option<Phase>),
    /// The title's claim by the runtime's rules, and the title itself.
    Title {
        text: String,
        claim: Option<Claim>,
    },
    Screen(Reading),
    /// Something that changes whenever the worktree does.
    Git {
        digest: String,
    },
}

/// Three values: a process that cannot be seen is not therefore dead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "process", rename_all = "snake_case")]
pub enum Process {
    Alive,
    /// Proven gone, with its exit status or signal if known.
    Gone {
        status: Option<i32>,
        signal: Option<i32>,
    },
    Unknown {
        why: String,
    },
}

/// From the client's own report to our status line, or from the row on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatuslineFact {
    pub clock: Option<Clock>,
    pub context_percent: Option<u8>,
    /// Millionths of a dollar.
    pub cost_micros: Option<u64>,
    /// The nearest limit that is used up, and when it is reset.
    pub limited_until: Option<Time>,
}

/// The client's own log of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    pub bytes: u64,
    /// How the newest turn in it ended, if it has ended and the log says so, and when that was read.
    pub turn: Option<(Time, TurnEnd)>,
    /// When the turn that the log shows as open began, if it says so; and how many prompts wait in the client's
    /// queue.
    #[serde(default)]
    pub began: Option<Time>,
    #[serde(default)]
    pub queued: u32,
}

impl Transcript {
    /// Whether the log shows that nothing is going on: the last turn has ended, and the queue is empty.
    pub fn rests(&self) -> bool {
        self.turn.is_some() && self.queued == 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum TurnEnd {
    Done,
    Aborted,
    Failed { error: ErrorKind },
}

impl Fact {
    pub fn new(at: Time, what: What) -> Fact {
        Fact { at, what }
    }

    pub fn source(&self) -> Source {
        match self.what {
            What::Process(_) => Source::Process,
            What::Hook(_) => Source::Hook,
            What::Statusline(_) => Source::Statusline,
            What::Transcript(_) => Source::Transcript,
            What::PhaseFile(_) => Source::PhaseFile,
            What::Title { .. } => Source::Title,
            What::Screen(_) => Source::Screen,
            What::Git { .. } => Source::Git,
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Process(Process::Alive) => f.write_str("runs"),
            What::Process(Process::Gone { signal: Some(signal), .. }) => {
                write!(f, "gone, killed by signal {signal}")
            }
            What::Process(Process::Gone { status: Some(status), .. }) => {
                write!(f, "gone, with exit status {status}")
            }
            What::Process(Process::Gone { .. }) => f.write_str("gone"),
            What::Process(Process::Unknown { why }) => write!(f, "cannot be seen: {why}"),
            What::Hook(event) => write!(f, "{event}"),
            What::Statusline(line) => {
                match line.clock {
                    Some(clock) => write!(f, "{clock}")?,
                    None => f.write_str("no clock")?,
                }
                match line.context_percent {
                    Some(percent) => write!(f, ", {percent}% of the context used"),
                    None => Ok(()),
                }
            }
            What::Transcript(Transcript { bytes, queued: 0, .. }) => write!(f, "{bytes} bytes"),
            What::Transcript(Transcript { bytes, queued, .. }) => {
                write!(f, "{bytes} bytes, {queued} in the client's queue")
            }
            What::PhaseFile(Some(phase)) => write!(f, "{phase}"),
            What::PhaseFile(None) => f.write_str("no phase"),
            What::Title { text, .. } => write!(f, "{text:?}"),
            What::Screen(reading) => {
                match &reading.claim {
                    Some(claim) => write!(f, "{claim}")?,
                    None => f.write_str("not understood")?,
                }
                write!(f, "; composer {}", reading.composer.as_str())
            }
            What::Git { digest } => f.write_str(digest),
        }
    }
}
