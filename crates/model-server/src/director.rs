//! Which rule or fault answers a turn. No I/O and no clock here: what has to be waited for is part of
//! the answer.
//!
//! Asking twice gives the same answer, as clients do it after a failure: which piece of an exchange
//! comes next is read from the request. Only uses of rules and of faults are counted.

use crate::fault::Fault;
use crate::scenario::{Call, Scenario, Step, Usage, fill, quoted};
use crate::turn::{Client, Kind, Turn};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// Conversations whose running exchange is remembered.
const CONVERSATIONS_MAX: usize = 1000;

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub parts: Vec<Part>,
    pub stop: Option<String>,
    pub usage: Usage,
    pub headers: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(String),
    Call { name: String, input: Value },
    DelayMs(u64),
    Hold(String),
}

impl Part {
    /// Whether a client sees it.
    pub fn says(&self) -> bool {
        matches!(self, Part::Text(_) | Part::Call { .. })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Answer(Answer),
    Fault(Fault),
}

/// What a request was answered by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    Rule(String),
    Fault(crate::FaultKind),
    /// No rule: the built-in answer to tool results, compactions and the client's own business.
    Default,
    /// A prompt that no rule is for, or a rule that could not be used: the reason.
    Nothing(String),
}

#[derive(Debug, Default)]
pub struct Director {
    scenario: Scenario,
    /// How often each rule was used.
    uses: Vec<u32>,
    /// How often the faults within rules were used, by rule, round and step.
    rule_faults: HashMap<(usize, usize, usize), u32>,
    /// The rule whose exchange a conversation is in.
    running: HashMap<String, usize>,
    faults: Vec<Fault>,
    usage: Option<Usage>,
}

impl Director {
    pub fn new(scenario: Scenario) -> Director {
        let uses = vec![0; scenario.rules.len()];
        Director { scenario, uses, ..Director::default() }
    }

    pub fn add_fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    pub fn clear_faults(&mut self) {
        self.faults.clear();
    }

    /// Over all that the scenario says, until it is taken back.
    pub fn set_usage(&mut self, usage: Option<Usage>) {
        self.usage = usage;
    }

    pub fn reply(&mut self, turn: &Turn) -> (Reply, By) {
        if turn.kind == Kind::Side {
            let answer = Answer { headers: BTreeMap::new(), ..self.text(side(turn)) };
            return (Reply::Answer(answer), By::Default);
        }
        if let Some(fault) = self.take_fault(turn) {
            let by = By::Fault(fault.kind);
            return (Reply::Fault(fault), by);
        }
        let Some(rule) = self.rule(turn) else { return self.built_in(turn) };
        if let Some(fault) = self.take_rule_fault(rule, turn) {
            let by = By::Fault(fault.kind);
            return (Reply::Fault(fault), by);
        }
        // What follows in an exchange is the same use.
        if self.scenario.rules[rule].when.on() == turn.kind {
            self.uses[rule] += 1;
        }
        self.play(rule, turn)
    }

    fn take_fault(&mut self, turn: &Turn) -> Option<Fault> {
        let at = self.faults.iter().position(|fault| fault.hits(turn))?;
        let fault = self.faults[at].clone();
        match &mut self.faults[at].times {
            Some(1) => drop(self.faults.remove(at)),
            Some(times) => *times -= 1,
            None => {}
        }
        Some(fault)
    }

    /// The rule for this turn, or the one whose exchange it belongs to.
    fn rule(&mut self, turn: &Turn) -> Option<usize> {
        let rules = &self.scenario.rules;
        let left = |at: usize| rules[at].times.is_none_or(|times| self.uses[at] < times);
        let found = (0..rules.len()).find(|at| left(*at) && rules[*at].when.holds(turn));
        if let Some(at) = found {
            if turn.kind == Kind::Prompt {
                if self.running.len() >= CONVERSATIONS_MAX {
                    self.running.clear();
                }
                self.running.insert(turn.conversation.clone(), at);
            }
            return found;
        }
        if turn.kind != Kind::ToolResult {
            return None;
        }
        // A conversation that began elsewhere, such as with a server before this one, is known by its prompt.
        let known = self.running.get(&turn.conversation).copied();
        known.or_else(|| rules.iter().position(|rule| rule.when.began(turn)))
    }

    fn take_rule_fault(&mut self, rule: usize, turn: &Turn) -> Option<Fault> {
        let steps = self.steps(rule, turn);
        let faults: Vec<(usize, Fault)> = steps
            .iter()
            .enumerate()
            .filter_map(|(n, step)| match step {
                Step::Fault(fault) => Some((n, fault.clone())),
                _ => None,
            })
            .collect();
        for (step, fault) in faults {
            let used = self.rule_faults.entry((rule, turn.round, step)).or_default();
            if fault.times.is_some_and(|times| *used < times) {
                *used += 1;
                return Some(fault);
            }
        }
        None
    }

    /// A rule for tool results has one answer, whatever went before.
    fn steps(&self, rule: usize, turn: &Turn) -> &[Step] {
        let rule = &self.scenario.rules[rule];
        rule.answer(if rule.when.on() == Kind::Prompt { turn.round } else { 0 })
    }

    fn play(&self, rule: usize, turn: &Turn) -> (Reply, By) {
        let name = &self.scenario.rules[rule].name;
        let values = self.scenario.values(turn);
        let mut answer = Answer { parts: Vec::new(), ..self.text(String::new()) };
        for step in self.steps(rule, turn) {
            let text = |text: &str| -> Result<String, String> {
                self.known(text, &values).map(|()| fill(text, &values, str::to_owned))
            };
            let part = match step {
                Step::Text(said) => text(said).map(|said| vec![Part::Text(said)]),
                Step::Bash(command) => self.bash(command, turn, &values).map(|part| vec![part]),
                Step::Tool(tool) => self.tool(tool, &values).map(|part| vec![part]),
                Step::Calls(calls) => calls
                    .iter()
                    .map(|call| match call {
                        Call::Bash(command) => self.bash(command, turn, &values),
                        Call::Tool(tool) => self.tool(tool, &values),
                    })
                    .collect(),
                Step::DelayMs(ms) => Ok(vec![Part::DelayMs(*ms)]),
                Step::Hold(name) => Ok(vec![Part::Hold(name.clone())]),
                Step::Stop(reason) => {
                    answer.stop = Some(reason.clone());
                    continue;
                }
                Step::Usage(usage) => {
                    answer.usage = self.usage.unwrap_or(*usage);
                    continue;
                }
                Step::Fault(_) => continue,
            };
            match part {
                Ok(parts) => answer.parts.extend(parts),
                Err(why) => {
                    let why = format!("rule {name:?}: {why}");
                    return (Reply::Answer(self.text(why.clone())), By::Nothing(why));
                }
            }
        }
        if !answer.parts.iter().any(Part::says) {
            answer.parts.push(Part::Text("Done.".into()));
        }
        (Reply::Answer(answer), By::Rule(name.clone()))
    }

    fn known(&self, text: &str, values: &BTreeMap<&str, String>) -> Result<(), String> {
        match self.scenario.missing(text, values) {
            None => Ok(()),
            Some(name) => Err(format!("nothing that was said has a value for {{{name}}}")),
        }
    }

    fn bash(&self, command: &str, turn: &Turn, values: &BTreeMap<&str, String>) -> Result<Part, String> {
        self.known(command, values)?;
        let command = fill(command, values, quoted);
        let offered = |name: &str| turn.tools.iter().any(|tool| tool == name);
        let (name, input) = match turn.client {
            Client::Claude => ("Bash", json!({ "command": command, "description": "A scripted step" })),
            Client::Codex if offered("exec_command") => ("exec_command", json!({ "cmd": command })),
            Client::Codex if offered("shell_command") => ("shell_command", json!({ "command": command })),
            Client::Codex => ("shell", json!({ "command": ["bash", "-lc", command] })),
        };
        Ok(Part::Call { name: name.into(), input })
    }

    fn tool(&self, tool: &crate::scenario::Tool, values: &BTreeMap<&str, String>) -> Result<Part, String> {
        let input = self.filled(&tool.input, values)?;
        Ok(Part::Call { name: tool.name.clone(), input })
    }

    fn filled(&self, value: &Value, values: &BTreeMap<&str, String>) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => {
                self.known(text, values)?;
                Value::String(fill(text, values, str::to_owned))
            }
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.filled(item, values)).collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, item)| Ok((key.clone(), self.filled(item, values)?)));
                Value::Object(fields.collect::<Result<_, String>>()?)
            }
            other => other.clone(),
        })
    }

    fn built_in(&self, turn: &Turn) -> (Reply, By) {
        let (text, by) = match turn.kind {
            Kind::Prompt => {
                let why = "no rule is for this prompt".to_owned();
                (why.clone(), By::Nothing(why))
            }
            Kind::Compact => {
                let summary = "<analysis>Scripted.</analysis><summary>A scripted summary.</summary>";
                (summary.to_owned(), By::Default)
            }
            Kind::ToolResult | Kind::Side => ("Done.".to_owned(), By::Default),
        };
        (Reply::Answer(self.text(text)), by)
    }

    fn text(&self, text: String) -> Answer {
        Answer {
            parts: vec![Part::Text(text)],
            stop: None,
            usage: self.usage.unwrap_or(self.scenario.usage),
            headers: self.scenario.headers.clone(),
        }
    }
}

/// Titles are asked for as an object; whatever else there is takes a word.
fn side(turn: &Turn) -> String {
    let asks = |text: &str| text.to_lowercase().contains("title");
    if asks(&turn.system) || asks(turn.prompt()) {
        r#"{"title": "Scripted work"}"#.into()
    } else {
        "ok".into()
    }
}

#[cfg(test)]
#[path = "director_tests.rs"]
mod tests;
