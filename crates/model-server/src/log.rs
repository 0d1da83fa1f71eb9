//! What was asked, for tests to look at. Bounded, and without the values of credentials.

use crate::director::By;
use crate::turn::{Client, Kind, Turn};
use serde::Serialize;
use std::collections::VecDeque;

/// Requests that are kept; the oldest go first.
const REQUESTS_MAX: usize = 1000;
/// Characters of each text. The longest prompts that are typed in tests are shorter.
const TEXT_CHARS_MAX: usize = 256 * 1024;
/// Earlier prompts that are kept of a request, and characters of each.
const BEFORE_MAX: usize = 100;
const LINE_CHARS_MAX: usize = 200;

/// One request for an answer.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    /// From 1, in the order of their coming.
    pub number: u64,
    pub client: Client,
    pub kind: Kind,
    pub conversation: String,
    pub model: String,
    /// The newest prompt.
    pub prompt: String,
    /// The first lines of those before it, in this very request: what the client remembers.
    pub before: Vec<String>,
    pub tool_result: String,
    pub system: String,
    pub round: usize,
    pub tools: Vec<String>,
    /// Those that can hold a credential have no value.
    pub headers: Vec<(String, String)>,
    pub by: By,
}

#[derive(Debug, Default)]
pub struct Log {
    asked: VecDeque<Asked>,
    count: u64,
    /// Requests for something else than an answer: method and path.
    others: VecDeque<String>,
}

impl Log {
    pub fn push(&mut self, turn: &Turn, headers: &[(String, String)], by: By) {
        self.count += 1;
        if self.asked.len() == REQUESTS_MAX {
            self.asked.pop_front();
        }
        self.asked.push_back(Asked {
            number: self.count,
            client: turn.client,
            kind: turn.kind,
            conversation: turn.conversation.clone(),
            model: turn.model.clone(),
            prompt: bounded(turn.prompt()),
            before: before(&turn.prompts),
            tool_result: bounded(&turn.tool_result),
            system: bounded(&turn.system),
            round: turn.round,
            tools: turn.tools.clone(),
            headers: headers.iter().map(|(name, value)| (name.clone(), redacted(name, value))).collect(),
            by,
        });
    }

    pub fn push_other(&mut self, method: &str, path: &str) {
        if self.others.len() == REQUESTS_MAX {
            self.others.pop_front();
        }
        self.others.push_back(bounded(&format!("{method} {path}")));
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.iter().cloned().collect()
    }

    pub fn others(&self) -> Vec<String> {
        self.others.iter().cloned().collect()
    }
}

fn before(prompts: &[String]) -> Vec<String> {
    let earlier = prompts.split_last().map_or(&[][..], |(_, earlier)| earlier);
    let newest = earlier.iter().rev().take(BEFORE_MAX);
    let lines = newest.map(|prompt| prompt.lines().next().unwrap_or_default());
    let mut lines: Vec<String> = lines.map(|line| line.chars().take(LINE_CHARS_MAX).collect()).collect();
    lines.reverse();
    lines
}

fn bounded(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

fn redacted(name: &str, value: &str) -> String {
    let secret = ["auth", "key", "token", "cookie", "secret"].iter().any(|word| name.contains(word));
    if secret { "***".into() } else { bounded(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(prompt: String) -> Turn {
        Turn {
            client: Client::Codex,
            kind: Kind::Prompt,
            conversation: String::new(),
            model: String::new(),
            prompts: vec![prompt],
            tool_result: String::new(),
            system: String::new(),
            cwd: None,
            round: 0,
            tools: Vec::new(),
            stream: true,
        }
    }

    #[test]
    fn credentials_are_not_kept() {
        let header = |name: &str| (name.to_owned(), "value".to_owned());
        let mut log = Log::default();
        let headers = [header("authorization"), header("x-api-key"), header("user-agent")];
        log.push(&turn("a".into()), &headers, By::Default);
        let values: Vec<String> = log.asked()[0].headers.iter().map(|(_, value)| value.clone()).collect();
        assert_eq!(values, ["***", "***", "value"]);
    }

    #[test]
    fn what_was_said_before_is_kept_in_short() {
        let mut log = Log::default();
        let prompts = vec!["first\nand more".to_owned(), "x".repeat(1000), "newest".to_owned()];
        log.push(&Turn { prompts, ..turn(String::new()) }, &[], By::Default);
        let asked = &log.asked()[0];
        assert_eq!(asked.before, ["first".to_owned(), "x".repeat(LINE_CHARS_MAX)]);
        assert_eq!(asked.prompt, "newest");
    }

    #[test]
    fn the_log_is_bounded() {
        let mut log = Log::default();
        for n in 0..=REQUESTS_MAX {
            log.push(&turn(n.to_string()), &[], By::Default);
            log.push_other("GET", "/");
        }
        assert_eq!((log.asked().len(), log.others().len()), (REQUESTS_MAX, REQUESTS_MAX));
        assert_eq!((log.asked()[0].number, log.asked()[0].prompt.as_str()), (2, "1"));
        log.push(&turn("x".repeat(TEXT_CHARS_MAX + 1)), &[], By::Default);
        assert_eq!(log.asked().last().unwrap().prompt.len(), TEXT_CHARS_MAX);
    }
}
