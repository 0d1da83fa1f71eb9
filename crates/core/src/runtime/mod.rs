//! Agent runtimes as data: how a client is started, when it is ready, how a prompt is submitted to
//! it, what its screens mean. The embedded files are TOML; the binary parses them and whatever a
//! user puts over them. What can be said in data is said there; code knows no client by name.

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
    /// How a conversation is taken up again; there if and only if `resume` is a capability.
    #[serde(default)]
    pub resume: Option<Launch>,
    /// How another session goes on from a conversation, for clients that can.
    #[serde(default)]
    pub fork: Option<Launch>,
    #[serde(default)]
    pub version: Option<VersionCheck>,
    /// When it refuses to run as root.
    #[serde(default)]
    pub root: Option<RootRefusal>,
    pub readiness: Readiness,
    /// How a prompt is typed; there if and only if delivery is by paste.
    #[serde(default)]
    pub submit: Option<Submit>,
    #[serde(default)]
    pub timing: Timing,
    #[serde(default)]
    pub screen: ScreenSpec,
    /// What is prepared for it before it starts.
    #[serde(default)]
    pub setup: Setup,
    /// What its own log of a conversation tells, beside that it grows.
    #[serde(default)]
    pub transcript: TranscriptKind,
    /// The client's own names for errors, in its hooks and transcripts, and what they are to us.
    #[serde(default)]
    pub errors: BTreeMap<String, ErrorKind>,
}

/// What a runtime can do. Whoever needs one that is missing says so, and does not do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// A conversation survives its process.
    pub resume: bool,
    /// It tells us what happens.
    pub hooks: bool,
    /// It draws our status line, with a clock.
    pub statusline: bool,
    /// It says how much of its context is used.
    pub context: bool,
    /// It says what it cost.
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
    /// Claude Code's: when turns begin and end, and what is put in its queue and taken out again.
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

/// Clients are told of hooks, settings and trust each in its own way.
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

/// A client that does not run as root in some permission modes, unless a variable says that it may.
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
    /// Between the paste and the key. A key in the same moment is part of the paste.
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
    /// Characters that begin a word the client puts something in the place of: a file, a skill.
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
    /// A screen must still say it this long after the last hook to speak against that hook.
    pub settle_ms: u64,
    /// What is older than this says nothing about now.
    pub fresh_ms: u64,
    /// A status line's clock that stands still for this long, with nothing else moving: frozen.
    pub frozen_ms: u64,
    /// Nothing moves in a turn for this long, and no clock to say that it lives.
    pub stuck_ms: u64,
    /// Nothing moves in a turn for this long, though it lives.
    pub no_progress_ms: u64,
    /// Between two observations of idleness that count as two.
    pub idle_gap_ms: u64,
    /// Between two looks at the screen of an open turn: it may show what no hook tells.
    pub look_ms: u64,
    /// A screen that no rule knows and that looks like a dialog is one if it is the same after this.
    pub still_ms: u64,
    /// Between two looks at a screen that something was written to, if its title shows no work.
    pub glance_ms: u64,
    /// Between two findings of the same client as stuck that count as two.
    pub strike_ms: u64,
    /// Per cent of the context in use from which little is left.
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
    /// The mark that begins the composer and every prompt that was sent.
    pub prompt: Option<String>,
    /// Whether the composer stands between rules (rows of `─`).
    pub framed: bool,
    /// Whether the terminal's cursor stands where the next character goes, though it may be hidden.
    pub cursor: bool,
    /// What an empty composer shows.
    pub placeholders: Vec<Glob>,
    /// What a composer shows for a long paste.
    pub pasted: Vec<Glob>,
    /// Options of its dialogs that take a text; and those that send what was answered on pages before.
    pub free_text: Vec<Glob>,
    pub submit_page: Vec<Glob>,
    /// In order: the first that holds is the claim.
    pub rules: Vec<Rule>,
}

impl RuntimeSpec {
    /// A client's own name for an error, as ours.
    pub fn error_kind(&self, name: &str) -> ErrorKind {
        self.errors.get(name).copied().or_else(|| ErrorKind::parse(name)).unwrap_or(ErrorKind::Unknown)
    }
}
