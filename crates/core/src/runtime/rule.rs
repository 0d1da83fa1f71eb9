//! What a screen can mean, and the rules that say so.

use super::glob::Glob;
use super::reset::ResetForm;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Gives an enum of plain words its text form, its parser and its list.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant,)+];

            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            pub fn parse(word: &str) -> Option<$name> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// What a client asks a person. Anything typed then is an answer.
    DialogKind {
        /// May this tool run? Enter says yes.
        Permission = "permission",
        /// A question from the agent. What is pasted becomes the answer.
        Question = "question",
        /// Is this folder trusted?
        Trust = "trust",
        /// Is running without permissions accepted?
        Bypass = "bypass",
        /// Is the key in the environment to be used?
        ApiKey = "api_key",
        /// Are these hooks trusted?
        Hooks = "hooks",
        /// How to log in.
        Login = "login",
        /// Is this plan to be carried out?
        Plan = "plan",
        /// Are the servers (MCP) that the project sets up to be used?
        Mcp = "mcp",
        /// Some other dialog: recognised as one, but of an unknown kind.
        Other = "other",
        /// No rule knows it, but it stands still and shows options, or a question.
        Asks = "asks",
    }
}

words! {
    /// Why a turn, or a start, failed.
    ErrorKind {
        RateLimit = "rate_limit",
        Overloaded = "overloaded",
        Server = "server",
        Auth = "auth",
        Billing = "billing",
        InvalidRequest = "invalid_request",
        ModelNotFound = "model_not_found",
        ContextFull = "context_full",
        Connection = "connection",
        Compaction = "compaction",
        /// The client refuses to run as root without a sandbox.
        Root = "root",
        /// The conversation to resume does not exist.
        NoConversation = "no_conversation",
        Unknown = "unknown",
    }
}

/// What a rule says of a screen. Each is the *most* the screen may claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Meaning {
    /// The composer is there. Clients show it while they work, too: it does not prove idleness.
    Ready,
    /// The last turn's end is on the screen.
    Done,
    /// A turn is running.
    Working,
    /// A turn is running and waits to retry its request.
    Retrying,
    Compacting,
    /// The turn has ended, and its work continues in the background.
    Background,
    /// A person broke off the turn.
    Interrupted,
    Dialog(DialogKind),
    /// The account's limit is reached; a rule's `reset` says how to read when it ends.
    Limited,
    Error(ErrorKind),
    /// Little context is left. Reported besides whatever else the screen says.
    ContextLow,
    /// The terminal says that the program ended.
    Dead,
}

impl Meaning {
    /// The possible words, for an error message.
    pub const WORDS: &str = "ready, done, working, retrying, compacting, background, interrupted, limited, context_low, dead, \
                             dialog(KIND), error(KIND)";

    /// Whether typing now would answer something.
    pub fn is_dialog(self) -> bool {
        matches!(self, Meaning::Dialog(_))
    }

    pub fn is_busy(self) -> bool {
        matches!(self, Meaning::Working | Meaning::Retrying | Meaning::Compacting)
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Meaning::Ready => f.write_str("ready"),
            Meaning::Done => f.write_str("done"),
            Meaning::Working => f.write_str("working"),
            Meaning::Retrying => f.write_str("retrying"),
            Meaning::Compacting => f.write_str("compacting"),
            Meaning::Background => f.write_str("background"),
            Meaning::Interrupted => f.write_str("interrupted"),
            Meaning::Limited => f.write_str("limited"),
            Meaning::ContextLow => f.write_str("context_low"),
            Meaning::Dead => f.write_str("dead"),
            Meaning::Dialog(kind) => write!(f, "dialog({kind})"),
            Meaning::Error(kind) => write!(f, "error({kind})"),
        }
    }
}

fn kinds<T: Copy + fmt::Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

impl TryFrom<String> for Meaning {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Ok(match text.as_str() {
            "ready" => Meaning::Ready,
            "done" => Meaning::Done,
            "working" => Meaning::Working,
            "retrying" => Meaning::Retrying,
            "compacting" => Meaning::Compacting,
            "background" => Meaning::Background,
            "interrupted" => Meaning::Interrupted,
            "limited" => Meaning::Limited,
            "context_low" => Meaning::ContextLow,
            "dead" => Meaning::Dead,
            other => {
                let inner = |name| other.strip_prefix(name).and_then(|rest| rest.strip_suffix(')'));
                if let Some(kind) = inner("dialog(") {
                    return DialogKind::parse(kind).map(Meaning::Dialog).ok_or_else(|| {
                        format!("{kind:?} is no kind of dialog: use {}", kinds(DialogKind::ALL))
                    });
                }
                if let Some(kind) = inner("error(") {
                    return ErrorKind::parse(kind).map(Meaning::Error).ok_or_else(|| {
                        format!("{kind:?} is no kind of error: use {}", kinds(ErrorKind::ALL))
                    });
                }
                return Err(format!("{other:?} is no meaning: use {}", Meaning::WORDS));
            }
        })
    }
}

impl From<Meaning> for String {
    fn from(meaning: Meaning) -> String {
        meaning.to_string()
    }
}

/// Which rows a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Where {
    /// All of them, including those from turns ago: for what can appear nowhere else.
    Screen,
    /// The last N rows that are not blank.
    LastLines(usize),
    /// The rows between the last prompt that was sent and the composer. An error of an earlier turn is not among
    /// them.
    LastTurn,
    /// The last of those rows above the composer that is not indented: the present state.
    TurnEnd,
    /// The terminal's title.
    Title,
}

impl TryFrom<String> for Where {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "screen" => return Ok(Where::Screen),
            "last_turn" => return Ok(Where::LastTurn),
            "turn_end" => return Ok(Where::TurnEnd),
            "title" => return Ok(Where::Title),
            _ => {}
        }
        let count = text.strip_prefix("last_lines(").and_then(|rest| rest.strip_suffix(')'));
        match count.and_then(|count| count.parse().ok()) {
            Some(count @ 1..=200) => Ok(Where::LastLines(count)),
            _ => {
                Err(format!("{text:?} is no place: use screen, last_turn, turn_end, title or last_lines(N)"))
            }
        }
    }
}

impl From<Where> for String {
    fn from(place: Where) -> String {
        match place {
            Where::Screen => "screen".into(),
            Where::LastTurn => "last_turn".into(),
            Where::TurnEnd => "turn_end".into(),
            Where::Title => "title".into(),
            Where::LastLines(count) => format!("last_lines({count})"),
        }
    }
}

/// One rule. It holds when every pattern of `all` and (if there are any) one of `any` match some row of `where`,
/// and none of `none` does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub name: String,
    #[serde(rename = "where")]
    pub place: Where,
    #[serde(default)]
    pub any: Vec<Glob>,
    #[serde(default)]
    pub all: Vec<Glob>,
    #[serde(default)]
    pub none: Vec<Glob>,
    pub meaning: Meaning,
    /// For `limited`: where to find the time of the reset.
    #[serde(default)]
    pub reset: Vec<Reset>,
}

/// The time of a reset follows `after`, in the rule's rows read as one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    pub after: String,
    pub form: ResetForm,
}

impl Rule {
    /// The row that made the rule hold, if it does. With only `none`, the first row.
    pub fn holds<'r>(&self, rows: &[&'r str]) -> Option<&'r str> {
        let hit = |glob: &Glob| rows.iter().find(|row| glob.matches(row)).copied();
        if self.none.iter().any(|glob| hit(glob).is_some()) {
            return None;
        }
        let mut shown = None;
        for glob in &self.all {
            shown = Some(hit(glob)?);
        }
        if !self.any.is_empty() {
            shown = Some(self.any.iter().find_map(hit)?);
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings_and_places_are_read_back_as_written() {
        let all = [Meaning::Ready, Meaning::Dialog(DialogKind::Trust), Meaning::Error(ErrorKind::Auth)];
        for meaning in all {
            assert_eq!(Meaning::try_from(meaning.to_string()), Ok(meaning));
        }
        for place in [Where::Screen, Where::LastLines(3), Where::LastTurn, Where::TurnEnd, Where::Title] {
            assert_eq!(Where::try_from(String::from(place)), Ok(place));
        }
        for bad in ["dialog", "dialog(x)", "error()", "Ready", ""] {
            assert!(Meaning::try_from(bad.to_owned()).is_err(), "{bad}");
        }
        for bad in ["last_lines", "last_lines(0)", "last_lines(x)", "top"] {
            assert!(Where::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
