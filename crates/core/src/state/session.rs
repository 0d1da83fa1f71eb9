//! Sessions and the messages to them.

use super::{Answered, Hold, SessionAsk};
use crate::delivery::Transition;
use crate::effect::ProcessId;
use crate::ids::{Epoch, IssueNumber, JobId, MessageId, ProjectName, Role, Sha};
use crate::liveness::{Confidence, State};
use crate::phase::Phase;
use crate::runtime::DialogView;
use crate::table::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    Starting,
    Live,
    /// Its process is gone; what it left is still there.
    Exited,
    /// Its end was ordered: what is left of it is being cleared away.
    Ending,
    /// It could not be ended, and somebody was told. It may still own its worktree.
    Unended,
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub epoch: Epoch,
    pub job: JobId,
    pub role: Role,
    pub project: ProjectName,
    pub issue: IssueNumber,
    pub state: SessionState,
    pub tmux: String,
    pub process: Option<ProcessId>,
    pub phase_file: Option<String>,
    pub phase: Option<Phase>,
    /// Tells one writing of the phase file from the next.
    pub phase_stamp: Option<String>,
    pub created_at: Time,
    pub last_seen: Time,
    pub exit_status: Option<i32>,
    /// It ended otherwise than it should: by itself in an error, killed, or replaced as frozen.
    #[serde(default)]
    pub crashed: bool,
    pub predecessor: Option<Epoch>,
    /// For a review: the commit under review.
    #[serde(default)]
    pub head: Option<Sha>,
    /// The runtime it was started with, and its client's id of the conversation.
    #[serde(default)]
    pub runtime: String,
    #[serde(default)]
    pub conversation: Option<String>,
    /// Its messages are typed into its terminal; else it takes them from its inbox.
    #[serde(default)]
    pub typed: bool,
    /// It ended before it took its prompt.
    #[serde(default)]
    pub stillborn: bool,
    /// It was to take up its predecessor's conversation.
    #[serde(default)]
    pub resumed: bool,
    /// What its evidence says, where somebody weighs it.
    #[serde(default)]
    pub status: Option<SessionStatus>,
    /// How often in a row it was found stuck.
    #[serde(default)]
    pub strikes: u32,
    /// When it is told to go on, after a limit or a failed request; and how often in a row it was.
    #[serde(default)]
    pub resume_at: Option<Time>,
    #[serde(default)]
    pub nudges: u32,
    /// When the dialog came up that a person was last told of. A client may hide one for a while.
    #[serde(default)]
    pub dialog_told: Option<Time>,
    /// What its terminal asks a person, and what became of the newest answer.
    #[serde(default)]
    pub asks: Option<SessionAsk>,
    #[serde(default)]
    pub answered: Option<Answered>,
    /// A person types at its terminal; and when one last handed it back.
    #[serde(default)]
    pub hold: Option<Hold>,
    #[serde(default)]
    pub handed_back: Option<Time>,
    /// Its end was ordered while a person has it, and follows.
    #[serde(default)]
    pub end_put_off: bool,
    /// A reviewer that was told once that its result is of no use.
    #[serde(default)]
    pub repaired: bool,
    /// For a review: the newest commit it gave a usable verdict on, and the one its worktree is being
    /// moved to.
    #[serde(default)]
    pub reviewed: Option<Sha>,
    #[serde(default)]
    pub next_head: Option<Sha>,
    /// It has reviewed other commits before this one: its result has to say which it is of.
    #[serde(default)]
    pub moved: bool,
    /// When it is replaced if it has left no review.
    #[serde(default)]
    pub review_due: Option<Time>,
    #[serde(default)]
    pub verdict: VerdictDuty,
}
record!(Session, "session", Epoch, |s| s.epoch, |k| k.to_string());

/// For a review: what its result has to be, and how it stands with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerdictDuty {
    /// Whatever was in its result's place was removed before it began: what is there is its own.
    pub cleared: bool,
    /// It left nothing usable, and that was acted upon.
    pub failed: bool,
    /// It stopped without a review. That is acted upon when what it said last is known.
    pub stopped: bool,
    /// Since when it runs and has neither said nor left anything.
    pub mute_since: Option<Time>,
}

/// What a session's evidence says of it. The evidence itself stays where it is collected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    pub state: State,
    pub since: Time,
    pub confidence: Confidence,
    /// Per cent of the client's context in use.
    pub context_percent: Option<u8>,
    /// Millionths of a dollar, so far.
    pub cost_micros: Option<u64>,
    /// For a dialog: what it says, once the screen has shown it.
    #[serde(default)]
    pub dialog: Option<DialogView>,
    /// At rest without a phase: the question that its last turn ended with.
    #[serde(default)]
    pub question: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    Queued,
    /// The agent took it: its turn has started.
    Taken,
    Undelivered,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub job: JobId,
    /// The session it is for now; a successor inherits what was not taken.
    pub to: Option<Epoch>,
    pub text: String,
    pub state: MessageState,
    pub queued_at: Time,
    pub taken_at: Option<Time>,
    pub deadline: Option<Time>,
    /// The session that has it in its prompt. It counts as taken at that session's first sign.
    #[serde(default)]
    pub in_prompt_of: Option<Epoch>,
    /// Its agent has signalled a phase since it took it; or it asks for no more than that.
    #[serde(default)]
    pub answered: bool,
    /// It says what is amiss: once it is taken it counts as a reminder.
    #[serde(default)]
    pub reminder: bool,
    /// It is its session's first prompt: it dies with the session.
    #[serde(default)]
    pub prompt: bool,
    /// How far it came, with the evidence for each step.
    #[serde(default)]
    pub receipts: Vec<Transition>,
    /// What is in its way, since when something is, and whether somebody was told.
    #[serde(default)]
    pub held: Option<String>,
    #[serde(default)]
    pub held_since: Option<Time>,
    #[serde(default)]
    pub held_told: bool,
}

impl Message {
    /// When somebody is told that it cannot be typed.
    pub(crate) fn told_at(&self) -> Option<Time> {
        let since = self.held_since.filter(|_| !self.held_told)?;
        Some(since + crate::step::HELD_FOR)
    }
}
record!(Message, "message", MessageId, |m| m.id, |k| k.to_string());
