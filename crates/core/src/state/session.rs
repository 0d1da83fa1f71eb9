//! Sessions and the messages to them.

use super::{Answered, Hold, SessionAsk, Tokens};
use crate::delivery::Transition;
use crate::effect::ProcessId;
use crate::ids::{Assignment, Epoch, JobId, MessageId, ProjectName, Role, Sha};
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
    /// Its process is gone; what it left behind is still there.
    Exited,
    /// Its end was ordered: its remains are being cleared away.
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
    #[serde(flatten)]
    pub assignment: Assignment,
    pub state: SessionState,
    pub tmux: String,
    pub process: Option<ProcessId>,
    pub phase_file: Option<String>,
    pub phase: Option<Phase>,
    /// Tells one write of the phase file from the next.
    pub phase_stamp: Option<String>,
    pub created_at: Time,
    pub last_seen: Time,
    pub exit_status: Option<i32>,
    /// It did not end properly: it exited with an error, was killed, or was replaced as frozen.
    #[serde(default)]
    pub crashed: bool,
    pub predecessor: Option<Epoch>,
    #[serde(flatten)]
    pub client: SessionClient,
    /// What its evidence says, if somebody weighs it.
    #[serde(default)]
    pub status: Option<SessionStatus>,
    #[serde(flatten)]
    pub stops: Stops,
    #[serde(flatten)]
    pub asks: SessionAsks,
    /// A person is typing at its terminal; and when a person last handed it back.
    #[serde(default)]
    pub hold: Option<Hold>,
    #[serde(default)]
    pub handed_back: Option<Time>,
    /// Its end was ordered while a person holds it, and will follow.
    #[serde(default)]
    pub end_put_off: bool,
    #[serde(flatten)]
    pub review: ReviewDuty,
}
record!(Session, "session", Sessions, Epoch, |s| s.epoch, |k| k.to_string());

/// The client that runs the agent in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionClient {
    /// The runtime it was started with, and its own id for the conversation.
    pub runtime: String,
    pub conversation: Option<String>,
    /// Messages are typed into its terminal; else it takes them from its inbox.
    pub typed: bool,
    /// It ended before it took its prompt.
    pub stillborn: bool,
    /// It was meant to resume its predecessor's conversation.
    pub resumed: bool,
}

/// How often the session got stuck or stopped, and what is done about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stops {
    /// How many times in a row it was found stuck.
    pub strikes: u32,
    /// When it is told to continue, after a limit or a failed request; and how many times in a row it has been.
    pub resume_at: Option<Time>,
    pub nudges: u32,
}

/// What the session's terminal asks a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionAsks {
    #[serde(rename = "asks")]
    pub open: Option<SessionAsk>,
    /// What became of the newest answer.
    pub answered: Option<Answered>,
    /// When the dialog that a person was last told of came up. A client may hide a dialog for a while.
    pub dialog_told: Option<Time>,
}

/// For a reviewer: which commit it reviews, and how far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewDuty {
    /// The commit under review.
    pub head: Option<Sha>,
    /// The newest commit it gave a usable verdict on, and the commit its worktree is being moved to.
    pub reviewed: Option<Sha>,
    pub next_head: Option<Sha>,
    /// It has reviewed other commits before this one, so its result has to say which commit it is about.
    pub moved: bool,
    /// It was told once that its result cannot be used.
    pub repaired: bool,
    /// When it is replaced, should it have left no review by then.
    #[serde(rename = "review_due")]
    pub due: Option<Time>,
    pub verdict: VerdictDuty,
}

/// For a reviewer: what its result has to be, and how far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerdictDuty {
    /// Whatever lay in its result's place was removed before it began, so anything there is its own.
    pub cleared: bool,
    /// It left nothing usable, and this has been acted upon.
    pub failed: bool,
    /// It stopped without a review. This is acted upon once its last words are known.
    pub stopped: bool,
    /// Since when it has been running without saying or leaving anything.
    pub mute_since: Option<Time>,
}

/// What a session's evidence says of it. The evidence itself stays where it was collected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    pub state: State,
    pub since: Time,
    pub confidence: Confidence,
    /// Per cent of the client's context in use.
    pub context_percent: Option<u8>,
    /// Cost so far, in millionths of a dollar.
    pub cost_micros: Option<u64>,
    /// Tokens used so far.
    #[serde(default)]
    pub tokens: Option<Tokens>,
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
    /// The session it is now meant for; a successor inherits whatever was not taken.
    pub to: Option<Epoch>,
    pub text: String,
    pub state: MessageState,
    pub queued_at: Time,
    pub taken_at: Option<Time>,
    pub deadline: Option<Time>,
    /// The session that has it in its prompt. It counts as taken at that session's first sign.
    #[serde(default)]
    pub in_prompt_of: Option<Epoch>,
    /// The agent has signalled a phase since it took the message, or the message asks for nothing more than being
    /// taken.
    #[serde(default)]
    pub answered: bool,
    /// It says what is amiss: once taken, it counts as a reminder.
    #[serde(default)]
    pub reminder: bool,
    /// It is its session's first prompt: it dies with the session.
    #[serde(default)]
    pub prompt: bool,
    /// How far it got, with the evidence for each step.
    #[serde(default)]
    pub receipts: Vec<Transition>,
    /// What is in its way, since when, and whether somebody was told.
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
record!(Message, "message", Sessions, MessageId, |m| m.id, |k| k.to_string());
