//! Agent runtimes as data: how a client is started, when it is ready, how a prompt is submitted to it, what its
//! screens mean. The embedded files are TOML; the binary parses them and whatever a user puts over them. What can
//! be said in data is said there; the code knows no client by name.

mod dialog;
mod glob;
pub mod reset;
mod rule;
pub mod screen;
pub mod statusline;
pub mod template;
mod validate;
mod version;

pub use dialog::{DialogOption, DialogView};
pub use glob::{BadGlob, Glob};
pub use rule::{DialogKind, ErrorKind, Meaning, Reset, Rule, Where};
pub use screen::{Claim, Composer, Reading};
pub use template::{Launch, TemplateError, Values};
pub use validate::SpecError;
pub use version::Version;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The runtimes that come with the program: name and text.
pub const EMBEDDED: [(&str, &str); 4] = [
    ("claude", include_str!("claude.toml")),
    ("codex", include_str!("codex.toml")),
    ("demo", include_str!("demo.toml")),
    ("generic", include_str!("generic.toml")),
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeSpec {
    pub name: String,
    pub capabilities: Capabilities,
    pub launch: Launch,
    /// How a conversation is resumed; present if and only if `resume` is a capability.
    #[serde(default)]
    pub resume: Option<Launch>,
    /// How another session continues a conversation, for clients that can do this.
    #[serde(default)]
    pub fork: Option<Launch>,
    #[serde(default)]
    pub version: Option<VersionCheck>,
    /// When the client refuses to run as root.
    #[serde(default)]
    pub root: Option<RootRefusal>,
    pub readiness: Readiness,
    /// How a prompt is typed; present if and only if delivery is by paste.
    #[serde(default)]
    pub submit: Option<Submit>,
    #[serde(default)]
    pub timing: Timing,
    #[serde(default)]
    pub screen: ScreenSpec,
    /// What is prepared for the client before it starts.
    #[serde(default)]
    pub setup: Setup,
    /// What the client's own log of a conversation tells, besides that it grows.
    #[serde(default)]
    pub transcript: TranscriptKind,
    /// The client's own names for errors, in its hooks and transcripts, and our kinds for them.
    #[serde(default)]
    pub errors: BTreeMap<String, ErrorKind>,
}

/// What a runtime can do. Whoever needs a missing capability says so, and does not work around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// A conversation survives its process.
    pub resume: bool,
    /// It reports what happens.
    pub hooks: bool,
    /// It draws our status line, with a clock.
    pub statusline: bool,
    /// It reports how much of its context is used.
    pub context: bool,
    /// It reports what it cost.
    pub cost: bool,
    pub delivery: DeliveryMode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptKind {
    #[default]
    Opaque,
    /// Codex's rollout file: it says how each turn ended, which no hook does.
    Rollout,
    /// Claude Code's: when turns begin and end, and what enters and leaves its queue.
    Turns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMode {
    /// The agent takes its messages with `shopfloor inbox wait`.
    Inbox,
    /// Messages are pasted into its composer.
    Paste,
}

/// What shows that a session can be given its first prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// The SessionStart hook.
    Hook,
    /// An empty composer on the screen.
    Screen,
    /// Its process runs: it needs no prompt from us.
    Process,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionCheck {
    pub argv: Vec<String>,
    pub minimum: Version,
    /// Versions whose screens and hooks are in the recordings.
    #[serde(default)]
    pub recorded: Vec<Version>,
}

/// Each client has its own way of being given hooks, settings and trust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setup {
    #[default]
    Nothing,
    /// A file for `{settings_file}`; onboarding and trust in the user's `.claude.json`.
    Claude,
    /// Settings for `{overrides}`.
    Codex,
}

/// A client that refuses to run as root in some permission modes, unless a variable says that it may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootRefusal {
    pub permission_modes: Vec<String>,
    pub unless_env: String,
}

/// The submit recipe: paste, pause, key, confirm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// As a bracketed paste: else every line would be a prompt of its own.
    pub bracketed: bool,
    /// The pause between the paste and the key. A key sent at the same moment is part of the paste.
    pub pause_ms: u64,
    /// As tmux names it.
    pub key: String,
    pub confirm: Confirm,
    /// How long a confirmation may take before the screen is looked at again.
    pub confirm_ms: u64,
    pub resend_max: u32,
    /// A prompt that begins with one of these is a command to the client, which no hook confirms.
    #[serde(default)]
    pub command_prefixes: Vec<String>,
    /// Characters that begin a word which the client replaces with something: a file, a skill.
    #[serde(default)]
    pub mentions: Vec<char>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confirm {
    /// The hook of that name, with a prompt equal to the text.
    UserPromptSubmit,
}

/// How long things may take before they mean something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timing {
    /// From the launch to readiness.
    pub start_ms: u64,
    /// To contradict the last hook, a screen must still say so this long after it.
    pub settle_ms: u64,
    /// Anything older than this says nothing about now.
    pub fresh_ms: u64,
    /// A status line's clock that stands still for this long, with nothing else moving: frozen.
    pub frozen_ms: u64,
    /// Nothing moves in a turn for this long, and no clock shows that the client is alive.
    pub stuck_ms: u64,
    /// Nothing moves in a turn for this long, though the client is alive.
    pub no_progress_ms: u64,
    /// How far apart two observations of idleness have to be to count as two.
    pub idle_gap_ms: u64,
    /// The time between two looks at the screen of an open turn: it may show what no hook reports.
    pub look_ms: u64,
    /// A screen that no rule knows and that looks like a dialog is one if it is unchanged after this.
    pub still_ms: u64,
    /// The time between two looks at a screen that was written to, if its title shows no work.
    pub glance_ms: u64,
    /// How far apart two findings that the same client is stuck have to be to count as two.
    pub strike_ms: u64,
    /// Little context is left from this per cent in use.
    pub context_low_percent: u8,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            start_ms: 60_000,
            settle_ms: 2_000,
            fresh_ms: 60_000,
            frozen_ms: 60_000,
            stuck_ms: 600_000,
            no_progress_ms: 1_800_000,
            idle_gap_ms: 10_000,
            look_ms: 10_000,
            still_ms: 500,
            glance_ms: 1_000,
            strike_ms: 60_000,
            context_low_percent: 85,
        }
    }
}

impl Timing {
    pub fn settle(&self) -> Duration {
        Duration::from_millis(self.settle_ms)
    }
    pub fn fresh(&self) -> Duration {
        Duration::from_millis(self.fresh_ms)
    }
    pub fn frozen(&self) -> Duration {
        Duration::from_millis(self.frozen_ms)
    }
    pub fn stuck(&self) -> Duration {
        Duration::from_millis(self.stuck_ms)
    }
    pub fn no_progress(&self) -> Duration {
        Duration::from_millis(self.no_progress_ms)
    }
    pub fn look(&self) -> Duration {
        Duration::from_millis(self.look_ms)
    }
    pub fn still(&self) -> Duration {
        Duration::from_millis(self.still_ms)
    }
    pub fn glance(&self) -> Duration {
        Duration::from_millis(self.glance_ms)
    }
    pub fn strike(&self) -> Duration {
        Duration::from_millis(self.strike_ms)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScreenSpec {
    /// The mark that precedes the composer and every prompt that was sent.
    pub prompt: Option<String>,
    /// Whether the composer is between rules (rows of `─`).
    pub framed: bool,
    /// Whether the terminal's cursor is where the next character goes, though it may be hidden.
    pub cursor: bool,
    /// What an empty composer shows.
    pub placeholders: Vec<Glob>,
    /// What a composer shows for a long paste.
    pub pasted: Vec<Glob>,
    /// Options of its dialogs that accept text; and those that submit what was answered on earlier pages.
    pub free_text: Vec<Glob>,
    pub submit_page: Vec<Glob>,
    /// In order: the first rule that holds is the claim.
    pub rules: Vec<Rule>,
}

impl RuntimeSpec {
    /// Our kind for a client's own name of an error.
    pub fn error_kind(&self, name: &str) -> ErrorKind {
        self.errors.get(name).copied().or_else(|| ErrorKind::parse(name)).unwrap_or(ErrorKind::Unknown)
    }
}
