//! Scenarios: what the scripted model answers to what.
//!
//! A scenario is a list of rules, written in TOML. The first rule that fits the newest turn answers it:
//!
//! ```text
//! [captures]                      # names for pieces of what was said, the newest prompt first, and
//!                                 # what the client tells by itself last
//! issue = { after = "issue #", until = ":" }
//!
//! [[rule]]
//! name = "begin"
//! when = { prompt = "*issue #*" } # patterns hold for a line; `*` is any run of characters
//! then = [
//!   { text = "I look at issue {issue}." },
//!   { bash = "git commit -m {issue}" },   # in a shell command a capture is one quoted word
//!   { text = "Done." },                   # said when the command's result is there
//! ]
//! ```
//!
//! `then` is the whole exchange: each tool call ends an answer, and what follows is answered to its result. A
//! rule for tool results (`on = "tool_result"`, or a pattern for them) goes before that.

use crate::fault::Fault;
use crate::turn::{Client, Kind, Turn, between};
use serde::{Deserialize, Serialize};
use shopfloor_core::runtime::Glob;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    #[serde(default)]
    pub captures: BTreeMap<String, Capture>,
    /// What each answer is said to have cost, unless its rule says otherwise.
    #[serde(default)]
    pub usage: Usage,
    /// Headers of every answer that is none of the client's own business.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default, rename = "rule")]
    pub rules: Vec<Rule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    pub after: String,
    /// Without, to the end of the line.
    #[serde(default)]
    pub until: Option<String>,
}

/// Tokens. `input_tokens` is what a client takes for the size of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    pub input_tokens: u64,
    #[serde(default = "output_tokens")]
    pub output_tokens: u64,
}

fn output_tokens() -> u64 {
    40
}

impl Default for Usage {
    fn default() -> Self {
        Usage { input_tokens: 1200, output_tokens: output_tokens() }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub name: String,
    #[serde(default)]
    pub when: When,
    /// How often it may be used; without, always. Rules further down get what comes after.
    #[serde(default)]
    pub times: Option<u32>,
    pub then: Vec<Step>,
}

/// All of it has to hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// Prompts, unless something is said of tool results.
    #[serde(default)]
    pub on: Option<Kind>,
    #[serde(default)]
    pub client: Option<Client>,
    #[serde(default)]
    pub prompt: Option<Glob>,
    #[serde(default)]
    pub tool_result: Option<Glob>,
    #[serde(default)]
    pub system: Option<Glob>,
    /// Which prompt of the conversation it is, from 1.
    #[serde(default)]
    pub nth: Option<usize>,
    /// How often tools were called since the prompt, from 1.
    #[serde(default)]
    pub round: Option<usize>,
}

impl When {
    pub(crate) fn on(&self) -> Kind {
        let of_results = self.tool_result.is_some() || self.round.is_some();
        self.on.unwrap_or(if of_results { Kind::ToolResult } else { Kind::Prompt })
    }

    pub(crate) fn holds(&self, turn: &Turn) -> bool {
        self.on() == turn.kind && self.fits(turn)
    }

    /// Whether the exchange that the turn belongs to began like this.
    pub(crate) fn began(&self, turn: &Turn) -> bool {
        self.on() == Kind::Prompt && self.fits(turn)
    }

    fn fits(&self, turn: &Turn) -> bool {
        let line = |glob: &Option<Glob>, text: &str| {
            glob.as_ref().is_none_or(|glob| text.lines().any(|line| glob.matches(line)))
        };
        self.client.is_none_or(|client| client == turn.client)
            && line(&self.prompt, turn.prompt())
            && line(&self.tool_result, &turn.tool_result)
            && line(&self.system, &turn.system)
            && self.nth.is_none_or(|nth| nth == turn.prompts.len())
            && self.round.is_none_or(|round| round == turn.round)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Text(String),
    /// A command, with the client's own tool for that.
    Bash(String),
    Tool(Tool),
    /// Several calls in one answer.
    Calls(Vec<Call>),
    DelayMs(u64),
    /// Goes on when the test says so: [`crate::ModelServer::release`].
    Hold(String),
    /// The stop reason of this answer, as its API calls it.
    Stop(String),
    /// The usage of this answer.
    Usage(Usage),
    /// Instead of this answer, as often as it says.
    Fault(Fault),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    Bash(String),
    Tool(Tool),
}

/// Any tool the client offers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    pub name: String,
    pub input: serde_json::Value,
}

impl Step {
    /// Whether the answer ends here, for the client has something to do.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Step::Bash(_) | Step::Tool(_) | Step::Calls(_))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("the scenario cannot be read: {0}")]
    Syntax(#[from] toml::de::Error),
    #[error("the scenario's rule {rule:?}: {why}")]
    Rule { rule: String, why: String },
}

impl Scenario {
    pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
        let scenario: Scenario = toml::from_str(text)?;
        for rule in &scenario.rules {
            rule.check().map_err(|why| ScenarioError::Rule { rule: rule.name.clone(), why })?;
        }
        Ok(scenario)
    }

    /// What the names in a text of this turn stand for. The newest prompt that has one counts: an
    /// issue's number is in the first, not in what is said about its checks.
    pub(crate) fn values(&self, turn: &Turn) -> BTreeMap<&str, String> {
        let find = |capture: &Capture| {
            let mut newest = turn.prompts.iter().rev().chain([&turn.system]);
            newest.find_map(|prompt| between(prompt, &capture.after, capture.until.as_deref()))
        };
        let named = self.captures.iter().filter_map(|(name, c)| Some((name.as_str(), find(c)?.to_owned())));
        named.chain(turn.cwd.iter().map(|cwd| ("cwd", cwd.clone()))).collect()
    }

    /// A name that the text uses and this turn has no value for.
    pub(crate) fn missing<'a>(&'a self, text: &str, values: &BTreeMap<&str, String>) -> Option<&'a str> {
        let names = self.captures.keys().map(String::as_str).chain(["cwd"]);
        names.filter(|name| !values.contains_key(name)).find(|name| text.contains(&format!("{{{name}}}")))
    }
}

impl Rule {
    fn check(&self) -> Result<(), String> {
        if self.times == Some(0) {
            return Err("it is never used: `times` is 0".into());
        }
        if self.when.on() == Kind::Side {
            return Err("the client's own business is answered without rules".into());
        }
        if self.then.is_empty() {
            return Err("it answers nothing: `then` is empty".into());
        }
        for step in &self.then {
            match step {
                Step::Fault(fault) if fault.times.is_none() => {
                    return Err("a fault in `then` needs `times`, or the exchange never goes on".into());
                }
                Step::Fault(fault) => fault.check()?,
                Step::Calls(calls) if calls.is_empty() => return Err("`calls` is empty".into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// The steps of the answer after so many rounds of tool calls.
    pub(crate) fn answer(&self, round: usize) -> &[Step] {
        self.then.split_inclusive(Step::is_call).nth(round).unwrap_or_default()
    }
}

/// The text with its names replaced. `word` is what a value becomes.
pub(crate) fn fill(text: &str, values: &BTreeMap<&str, String>, word: impl Fn(&str) -> String) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open..];
        let name = rest[1..].split_once('}').map(|(name, _)| name);
        match name.and_then(|name| Some((name, values.get(name)?))) {
            Some((name, value)) => {
                filled.push_str(&word(value));
                rest = &rest[name.len() + 2..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

/// As one word of a shell command, whatever is in it.
pub(crate) fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_and_other_braces_stay() {
        let values = BTreeMap::from([("issue", "7'; id".to_owned())]);
        assert_eq!(fill("{issue}{x}${issue {", &values, str::to_owned), "7'; id{x}${issue {");
        assert_eq!(fill("echo {issue}; { a; }", &values, quoted), r"echo '7'\''; id'; { a; }");
        assert_eq!(fill("{{issue}}", &values, |_| "v".into()), "{v}");
    }

    #[test]
    fn a_tool_call_ends_an_answer() {
        let text = r#"
            [[rule]]
            name = "r"
            then = [{ text = "a" }, { bash = "b" }, { bash = "c" }, { text = "d" }]
        "#;
        let rule = &Scenario::parse(text).unwrap().rules[0];
        let lengths: Vec<usize> = (0..4).map(|round| rule.answer(round).len()).collect();
        assert_eq!(lengths, [2, 1, 1, 0]);
    }

    #[test]
    fn what_cannot_work_is_refused_with_the_rules_name() {
        for (rest, why) in [
            ("then = []", "empty"),
            ("times = 0\nthen = [{ text = \"a\" }]", "times"),
            ("when = { on = \"side\" }\nthen = [{ text = \"a\" }]", "own business"),
            ("then = [{ fault = { kind = \"overloaded\" } }]", "needs `times`"),
            ("then = [{ fault = { kind = \"usage_limit\", times = 1 } }]", "resets_at"),
            ("then = [{ calls = [] }]", "calls"),
            ("then = [{ txt = \"a\" }]", "unknown variant"),
            ("when = { user = \"a\" }\nthen = [{ text = \"a\" }]", "unknown field"),
        ] {
            let error =
                Scenario::parse(&format!("[[rule]]\nname = \"r\"\n{rest}\n")).unwrap_err().to_string();
            assert!(error.contains(why), "{rest}: {error}");
        }
    }
}
