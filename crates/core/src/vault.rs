//! The vault's types of requests, as a person declares them, and what of a request follows from them alone: whether its
//! payload will do, what is run, and whom it takes.
//!
//! Invariants:
//! - What is shown is what is run: a payload is one text, of characters that can be seen, from the moment it is taken in
//!   until it reaches the command.
//! - Nothing of a payload is an option or more than one argument of the command.

use crate::schema::Schema;
use crate::text::neutralise;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// The longest payload, as it is shown and passed on: people have to read it.
pub const PAYLOAD_BYTES_MAX: usize = 8 * 1024;

/// How much harm it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    Low,
    Medium,
    High,
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
        })
    }
}

/// What a request of a type is, and does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The program and its arguments.
    pub run: Vec<String>,
    pub risk: Risk,
    pub reversible: bool,
    #[serde(default)]
    pub requires_human: bool,
    /// Doing it twice does no more than doing it once.
    #[serde(default)]
    pub idempotent: bool,
    /// Variables that it alone gets.
    #[serde(default)]
    pub secrets: Vec<String>,
    pub timeout: Duration,
    /// The folder that it is run in; `None`: the project's checkout.
    #[serde(default)]
    pub cwd: Option<String>,
    #[serde(default)]
    pub schema: Option<Schema>,
}

/// Who decides about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Nobody: it is fired.
    Fire,
    /// The same, and people are told.
    FireAndTell,
    /// A person.
    Ask,
}

/// The beginning of an argument that is taken from the payload.
const FIELD: &str = "{payload.";

/// The path of properties that an argument is taken from, if it is.
pub fn field(argument: &str) -> Option<Vec<&str>> {
    let path = argument.strip_prefix(FIELD)?.strip_suffix('}')?;
    Some(path.split('.').collect())
}

/// Whether an argument looks as if something of the payload were meant, but would be passed on as it is.
pub fn is_unfillable(argument: &str) -> bool {
    let is_name = |name: &&str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    match field(argument) {
        Some(path) => !path.iter().all(is_name),
        None => argument.contains("{payload"),
    }
}

impl Spec {
    pub fn route(&self) -> Route {
        match (self.risk, self.reversible) {
            _ if self.requires_human => Route::Ask,
            (Risk::Low, _) => Route::Fire,
            (Risk::Medium, true) => Route::FireAndTell,
            (Risk::Medium, false) | (Risk::High, _) => Route::Ask,
        }
    }

    /// What is run for that payload, or why the payload will not do.
    pub fn command(&self, payload: &Payload) -> Result<Vec<String>, String> {
        let value = payload.value();
        if let Some(schema) = &self.schema {
            schema.check(&value, "payload").map_err(|misfit| misfit.to_string())?;
        }
        self.run.iter().map(|argument| fill(argument, &value)).collect()
    }
}

fn fill(argument: &str, payload: &Value) -> Result<String, String> {
    let Some(path) = field(argument) else { return Ok(argument.to_owned()) };
    let place = format!("payload.{}", path.join("."));
    let value = path.iter().try_fold(payload, |value, name| value.get(name));
    let text = match value {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
        Some(_) => return Err(format!("{place} has to be a string, a number, true or false")),
        None => return Err(format!("{place} is missing")),
    };
    match text.starts_with('-') {
        true => Err(format!("{place} begins with `-`: a program would take it for an option")),
        false => Ok(text),
    }
}

/// The payload of a request: JSON, as it is shown to people and passed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Payload(String);

impl Payload {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn value(&self) -> Value {
        serde_json::from_str(&self.0).expect("it was read before")
    }
}

impl From<Payload> for String {
    fn from(payload: Payload) -> String {
        payload.0
    }
}

impl TryFrom<String> for Payload {
    type Error = String;

    /// Of JSON, however it is laid out.
    fn try_from(text: String) -> Result<Self, String> {
        if text.len() > 4 * PAYLOAD_BYTES_MAX {
            return Err(too_long());
        }
        let value: Value =
            serde_json::from_str(&text).map_err(|e| format!("the payload is not JSON: {e}"))?;
        let text = serde_json::to_string_pretty(&value).map_err(|e| e.to_string())?;
        if text.len() > PAYLOAD_BYTES_MAX {
            return Err(too_long());
        }
        // Some of them cannot be part of an argument either.
        if !is_seen(&value) {
            return Err("the payload has characters that cannot be seen".to_owned());
        }
        Ok(Payload(text))
    }
}

/// Whether it consists of characters that people see.
fn is_seen(value: &Value) -> bool {
    let seen = |text: &str| neutralise(text) == text && !text.chars().any(looks_like_nothing);
    match value {
        Value::String(text) => seen(text),
        Value::Array(items) => items.iter().all(is_seen),
        Value::Object(members) => members.iter().all(|(name, member)| seen(name) && is_seen(member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// A space that is none of the usual, or a letter without a shape: what people read would not be what is run.
fn looks_like_nothing(c: char) -> bool {
    const BLANK: [char; 9] = [
        '\u{034f}', '\u{115f}', '\u{1160}', '\u{17b4}', '\u{17b5}', '\u{180e}', '\u{2800}', '\u{3164}',
        '\u{ffa0}',
    ];
    (c.is_whitespace() && ![' ', '\n', '\t'].contains(&c)) || BLANK.contains(&c)
}

fn too_long() -> String {
    format!("the payload has more than {PAYLOAD_BYTES_MAX} bytes, and people have to read it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(run: &[&str]) -> Spec {
        Spec {
            run: run.iter().map(|word| (*word).to_owned()).collect(),
            risk: Risk::Low,
            reversible: true,
            requires_human: false,
            idempotent: false,
            secrets: Vec::new(),
            timeout: Duration::from_secs(60),
            cwd: None,
            schema: None,
        }
    }

    fn payload(text: &str) -> Payload {
        text.to_owned().try_into().expect("a payload")
    }

    #[test]
    fn what_looks_like_nothing_or_like_another_space_is_no_payload() {
        for hidden in ["\u{2800}", "\u{3164}", "\u{3000}", "\u{a0}", "\u{2003}", "\u{200b}"] {
            let text = format!(r#"{{"version": "1{hidden}2"}}"#);
            assert!(Payload::try_from(text).is_err(), "{hidden:?}");
        }
        assert!(Payload::try_from("{\"version\": \"one two\"}".to_owned()).is_ok());
    }

    #[test]
    fn whom_it_takes_follows_from_the_type() {
        use Risk::{High, Low, Medium};
        for (risk, reversible, requires_human, expected) in [
            (Low, true, false, Route::Fire),
            (Low, false, false, Route::Fire),
            (Low, true, true, Route::Ask),
            (Medium, true, false, Route::FireAndTell),
            (Medium, true, true, Route::Ask),
            (Medium, false, false, Route::Ask),
            (High, true, false, Route::Ask),
            (High, false, true, Route::Ask),
        ] {
            let spec = Spec { risk, reversible, requires_human, ..spec(&["true"]) };
            assert_eq!(spec.route(), expected, "{risk} {reversible} {requires_human}");
        }
    }

    #[test]
    fn a_value_is_one_argument_and_never_an_option() {
        let deploy = spec(&["deploy", "--to={payload.x}", "{payload.version}", "{payload.a.b}"]);
        let command = |text: &str| deploy.command(&payload(text));
        let filled = command(r#"{"version": "1; rm -rf $HOME `x`", "a": {"b": 7}}"#).expect("filled");
        assert_eq!(filled, ["deploy", "--to={payload.x}", "1; rm -rf $HOME `x`", "7"]);
        for (text, why) in [
            ("{}", "payload.version is missing"),
            ("3", "payload.version is missing"),
            (r#"{"version": "--force", "a": {"b": 1}}"#, "payload.version begins with `-`"),
            (r#"{"version": "1", "a": {"b": -1}}"#, "payload.a.b begins with `-`"),
            (r#"{"version": ["1"], "a": {"b": 1}}"#, "payload.version has to be a string"),
        ] {
            let said = command(text).expect_err("refused");
            assert!(said.starts_with(why), "{said}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_no_payload() {
        let read = |text: &str| Payload::try_from(text.to_owned());
        assert_eq!(read(" {\"a\":\"b\\nc\\t\"} ").expect("good").as_str(), "{\n  \"a\": \"b\\nc\\t\"\n}");
        for bad in [
            "",
            "{",
            "{} {}",
            "\"\u{202e}\"",
            "\"\\u202e\"",
            "\"\\u0000\"",
            "\"\\u001b[2J\"",
            "{\"\u{200b}\": 1}",
        ] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
        assert!(read(&format!("{:?}", "x".repeat(PAYLOAD_BYTES_MAX))).is_err());
    }

    #[test]
    fn only_a_whole_argument_is_taken_from_the_payload() {
        for (argument, unfillable) in [
            ("{payload.version}", false),
            ("{payload.a-b.c_d}", false),
            ("plain", false),
            ("{other}", false),
            ("--v={payload.version}", true),
            ("{payload}", true),
            ("{payload.}", true),
            ("{payload.a b}", true),
            ("{payload.a}{payload.b}", true),
        ] {
            assert_eq!(is_unfillable(argument), unfillable, "{argument}");
        }
    }
}
