//! What clients report of themselves, in types: hook payloads and notifications, after parsing. And what follows
//! from a sequence of them: [`HookState`].

use super::background::Task;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "hook", rename_all = "snake_case")]
pub enum HookEvent {
    SessionStart {
        source: StartSource,
    },
    /// Fires when a prompt is taken, even if it is only put in the queue.
    UserPromptSubmit {
        prompt: String,
        /// The client's id of the turn that is open then: for a prompt that is put in the queue, the turn before
        /// it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<String>,
    },
    PreToolUse {
        tool: String,
    },
    PostToolUse {
        tool: String,
    },
    PostToolUseFailure {
        tool: String,
    },
    Notification {
        kind: NotificationKind,
    },
    PermissionRequest {
        tool: String,
    },
    /// A turn ended: which one, and what continues in the background.
    Stop {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<Task>,
        /// The question that its last words are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asks: Option<String>,
    },
    /// A turn ended in an error. `subagent`: the turn of one of the client's own helpers, not of the session.
    StopFailure {
        error: String,
        message: String,
        subagent: bool,
    },
    SubagentStop,
    PreCompact {
        trigger: CompactTrigger,
    },
    PostCompact {
        trigger: CompactTrigger,
    },
    /// Codex reports when a person breaks off a turn; Claude Code does not.
    Interrupt,
    SessionEnd {
        reason: String,
    },
    /// Codex's `notify`. It also fires for threads that are not the session's: check `thread`.
    TurnComplete {
        thread: String,
        prompt: Option<String>,
    },
    /// An event we know nothing about. It happened: that is a sign of life.
    Other {
        name: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartSource {
    Startup,
    Resume,
    Clear,
    Compact,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotificationKind {
    /// A permission is awaited; comes seconds after the dialog.
    PermissionPrompt,
    /// Nobody typed for a minute.
    IdlePrompt,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactTrigger {
    Manual,
    Auto,
}

/// The tool with which Claude Code's model asks its user.
const QUESTION_TOOL: &str = "AskUserQuestion";

impl fmt::Display for HookEvent {
    /// Short, without anybody's text: `StopFailure(rate_limit)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trigger = |t: &CompactTrigger| if *t == CompactTrigger::Auto { "auto" } else { "manual" };
        match self {
            HookEvent::SessionStart { source } => {
                let source = match source {
                    StartSource::Startup => "startup",
                    StartSource::Resume => "resume",
                    StartSource::Clear => "clear",
                    StartSource::Compact => "compact",
                    StartSource::Other => "other",
                };
                write!(f, "SessionStart({source})")
            }
            HookEvent::UserPromptSubmit { .. } => f.write_str("UserPromptSubmit"),
            HookEvent::PreToolUse { tool } => write!(f, "PreToolUse({tool})"),
            HookEvent::PostToolUse { tool } => write!(f, "PostToolUse({tool})"),
            HookEvent::PostToolUseFailure { tool } => write!(f, "PostToolUseFailure({tool})"),
            HookEvent::Notification { kind } => {
                let kind = match kind {
                    NotificationKind::PermissionPrompt => "permission_prompt",
                    NotificationKind::IdlePrompt => "idle_prompt",
                    NotificationKind::Other => "other",
                };
                write!(f, "Notification({kind})")
            }
            HookEvent::PermissionRequest { tool } => write!(f, "PermissionRequest({tool})"),
            HookEvent::Stop { tasks, .. } if tasks.is_empty() => f.write_str("Stop"),
            HookEvent::Stop { tasks, .. } => write!(f, "Stop ({} in the background)", tasks.len()),
            HookEvent::StopFailure { error, subagent: false, .. } => write!(f, "StopFailure({error})"),
            HookEvent::StopFailure { error, subagent: true, .. } => {
                write!(f, "StopFailure({error}) of a subagent")
            }
            HookEvent::SubagentStop => f.write_str("SubagentStop"),
            HookEvent::PreCompact { trigger: t } => write!(f, "PreCompact({})", trigger(t)),
            HookEvent::PostCompact { trigger: t } => write!(f, "PostCompact({})", trigger(t)),
            HookEvent::Interrupt => f.write_str("Interrupt"),
            HookEvent::SessionEnd { reason } => write!(f, "SessionEnd({reason})"),
            HookEvent::TurnComplete { .. } => f.write_str("notify(turn complete)"),
            HookEvent::Other { name } => write!(f, "{name}"),
        }
    }
}

/// The state of a session according to its hooks alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookState {
    pub stand: Stand,
    /// When it entered that state.
    pub since: Time,
    /// A prompt was taken and its end has not been reported. A compaction leaves this as it is.
    pub turn_open: bool,
    /// When the last prompt was taken.
    pub turn_started: Option<Time>,
    /// It has reported something.
    pub started: bool,
    /// The client's id of the open turn, and how many prompts were put in the queue during it.
    #[serde(default)]
    turn: Option<String>,
    #[serde(default)]
    queued: u32,
    /// What was running in the background when the last turn ended.
    #[serde(default)]
    pub tasks: Vec<Task>,
    /// The question that the last turn ended with, as long as no turn follows.
    #[serde(default)]
    pub asks: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stand", rename_all = "snake_case")]
pub enum Stand {
    /// Nothing has been reported yet.
    Silent,
    Ready,
    Model,
    Tool {
        tool: String,
    },
    Permission {
        tool: String,
    },
    Question,
    Compacting,
    /// Its turn has ended, and a prompt that was put in the queue during it is to be next.
    Queued,
    Idle,
    Interrupted,
    Failed {
        error: String,
        message: String,
    },
    Ended {
        reason: String,
    },
}

impl HookState {
    pub fn new(at: Time) -> Self {
        HookState {
            stand: Stand::Silent,
            since: at,
            turn_open: false,
            turn_started: None,
            started: false,
            turn: None,
            queued: 0,
            tasks: Vec::new(),
            asks: None,
        }
    }

    /// The state after one more event. Events that say nothing about the session's own state (a subagent's,
    /// `/clear`'s end of the old conversation) leave it unchanged.
    pub fn after(&self, event: &HookEvent, at: Time) -> HookState {
        let mut next = self.clone();
        next.started = true;
        let resting = |open: bool| if open { Stand::Model } else { Stand::Idle };
        let stand = match event {
            HookEvent::SessionStart { source: StartSource::Compact } => None,
            // Codex reports its start together with the first prompt.
            HookEvent::SessionStart { .. } if self.turn_open => None,
            HookEvent::SessionStart { .. } => Some(Stand::Ready),
            HookEvent::UserPromptSubmit { turn, .. } => {
                next.turn_open = true;
                next.turn_started = Some(at);
                if self.turn_open && is_of(turn.as_ref(), self.turn.as_ref()) {
                    next.queued = self.queued.saturating_add(1);
                } else {
                    next.queued = 0;
                }
                next.turn = turn.clone().or(next.turn);
                // Taken into the queue behind a dialog or a tool, which continue.
                match &self.stand {
                    Stand::Tool { .. } | Stand::Permission { .. } | Stand::Question | Stand::Compacting
                        if self.turn_open =>
                    {
                        None
                    }
                    _ => Some(Stand::Model),
                }
            }
            HookEvent::PreToolUse { tool } => {
                next.turn_open = true;
                Some(Stand::Tool { tool: tool.clone() })
            }
            HookEvent::PostToolUse { .. } | HookEvent::PostToolUseFailure { .. } => {
                next.turn_open = true;
                Some(Stand::Model)
            }
            HookEvent::PermissionRequest { tool } if tool == QUESTION_TOOL => Some(Stand::Question),
            HookEvent::PermissionRequest { tool } => Some(Stand::Permission { tool: tool.clone() }),
            HookEvent::Notification { kind: NotificationKind::PermissionPrompt } => match &self.stand {
                Stand::Permission { .. } | Stand::Question => None,
                Stand::Tool { tool } if tool == QUESTION_TOOL => Some(Stand::Question),
                Stand::Tool { tool } => Some(Stand::Permission { tool: tool.clone() }),
                _ => Some(Stand::Permission { tool: String::new() }),
            },
            HookEvent::Notification { kind: NotificationKind::IdlePrompt } => match &self.stand {
                Stand::Failed { .. } | Stand::Interrupted | Stand::Ended { .. } => None,
                _ => Some(next.at_rest()),
            },
            HookEvent::Notification { kind: NotificationKind::Other } => None,
            HookEvent::Stop { turn, tasks, asks } => {
                next.tasks.clone_from(tasks);
                next.asks.clone_from(asks);
                let queued = self.queued > 0 && is_of(turn.as_ref(), self.turn.as_ref());
                if queued {
                    // The queued prompt is next, unless the turn took it in: the log and the screen will tell.
                    next.queued = self.queued - 1;
                    next.turn = None;
                    next.turn_open = true;
                    Some(Stand::Queued)
                } else {
                    Some(next.at_rest())
                }
            }
            // Codex reports the end twice.
            HookEvent::TurnComplete { .. } if self.stand == Stand::Queued => None,
            HookEvent::TurnComplete { .. } => Some(next.at_rest()),
            HookEvent::StopFailure { subagent: true, .. } | HookEvent::SubagentStop => None,
            HookEvent::StopFailure { error, message, .. } => {
                next.turn_open = false;
                Some(Stand::Failed { error: error.clone(), message: message.clone() })
            }
            HookEvent::PreCompact { .. } => Some(Stand::Compacting),
            // No Stop follows a `/compact`; an automatic compaction continues its turn.
            HookEvent::PostCompact { .. } => Some(resting(self.turn_open)),
            HookEvent::Interrupt => {
                next.turn_open = false;
                Some(Stand::Interrupted)
            }
            HookEvent::SessionEnd { reason } if reason == "clear" => None,
            HookEvent::SessionEnd { reason } => {
                next.turn_open = false;
                Some(Stand::Ended { reason: reason.clone() })
            }
            HookEvent::Other { .. } => None,
        };
        match stand {
            Some(stand) => {
                if stand != self.stand {
                    next.since = at;
                }
                next.stand = stand;
            }
            None => {
                // A session that had been silent reported something: it runs.
                if next.stand == Stand::Silent && matches!(event, HookEvent::SessionStart { .. }) {
                    next.stand = Stand::Ready;
                    next.since = at;
                }
            }
        }
        if next.stand != Stand::Idle {
            next.asks = None;
        }
        next
    }

    fn at_rest(&mut self) -> Stand {
        self.turn_open = false;
        self.queued = 0;
        Stand::Idle
    }
}

/// Whether an event belongs to the open turn. Clients that report no ids are taken at their word.
fn is_of(turn: Option<&String>, open: Option<&String>) -> bool {
    match (turn, open) {
        (Some(turn), Some(open)) => turn == open,
        _ => true,
    }
}
