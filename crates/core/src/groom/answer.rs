//! The answer of a gardener, as it writes it: a line for each thing that is to be done, read strictly. A mistake is told
//! with its line, and then nothing of the answer is taken.
//!
//! ```text
//! ACTION: edit #5 title "Login times out after an hour" body
//! (a fenced block: the new text)
//! ACTION: label #5 +underspecified -tech-debt
//! ACTION: split #5
//! PART: "The first half"
//! (a fenced block: its text)
//! ACTION: close #5 duplicate of #3
//! ACTION: link #5 depends on #3
//! DUST: {"issue": 5, "group": "docs", "title": "A typo", "reason": "too small for a change of its own"}
//! ESCALATE
//! 1. #7 Is the old protocol still needed?
//!    a) keep it
//!    b) drop it => ACTION: close #7 duplicate of #3
//! CLEAN
//! ```

use crate::act::{Act, Part, TEXT_BYTES_MAX, TITLE_CHARS_MAX, plain};
use crate::ids::IssueNumber;
use crate::text::{neutralise, one_line};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// More of each is nobody's answer.
pub const ANSWER_BYTES_MAX: usize = 256 * 1024;
const ACTS_MAX: usize = 50;
const PARTS_MAX: usize = 10;
const DUST_MAX: usize = 50;
const QUESTIONS_MAX: usize = 9;
const OPTIONS_MAX: usize = 6;
const OPTION_LABELS_MAX: usize = 3;
const LINE_CHARS_MAX: usize = 500;
const GROUP_CHARS_MAX: usize = 40;
/// Between an option and what the factory does if it is chosen.
const DOES: &str = "=> ACTION:";

/// What is to become of issues. All of it empty: nothing has to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    pub acts: Vec<Planned>,
    pub dust: Vec<Speck>,
    pub questions: Vec<Question>,
}

/// An act, and the line that asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    pub line: u32,
    pub act: Act,
}

/// An issue that is too small to be worked on by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speck {
    pub line: u32,
    pub issue: IssueNumber,
    pub group: String,
    pub title: String,
    pub reason: String,
}

/// Something that only people can decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub line: u32,
    pub issue: IssueNumber,
    pub text: String,
    pub options: Vec<Choice>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub text: String,
    /// What the factory does if it is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<Act>,
}

/// Why an answer cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mistake {
    /// 0: it is no line's.
    pub line: u32,
    pub what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.what),
            line => write!(f, "line {line}: {}", self.what),
        }
    }
}

type Read<T> = Result<T, String>;

/// Reads an answer.
pub fn parse(text: &str) -> Result<Answer, Mistake> {
    if text.len() > ANSWER_BYTES_MAX {
        return Err(Mistake { line: 0, what: format!("it has more than {ANSWER_BYTES_MAX} bytes") });
    }
    let mut reader = Reader { lines: text.lines().collect(), at: 0 };
    let (mut answer, mut clean) = (Answer::default(), false);
    while let Some(line) = reader.next() {
        let number = reader.at as u32;
        let read = reader.statement(line, number, &mut answer, &mut clean);
        read.map_err(|what| Mistake { line: reader.at.max(1) as u32, what })?;
    }
    let is_empty = answer == Answer::default();
    match (clean, is_empty) {
        (true, false) => {
            Err(Mistake { line: 0, what: "CLEAN means that nothing has to be done: leave it out".into() })
        }
        (false, true) => {
            Err(Mistake { line: 0, what: "it says nothing: write CLEAN if nothing has to be done".into() })
        }
        _ => contradiction(&answer).map_or(Ok(answer), Err),
    }
}

struct Reader<'t> {
    lines: Vec<&'t str>,
    /// How many were read: the number of the last one.
    at: usize,
}

impl<'t> Reader<'t> {
    /// The next line that is not empty, without what surrounds it.
    fn next(&mut self) -> Option<&'t str> {
        while let Some(line) = self.lines.get(self.at) {
            self.at += 1;
            if !line.trim().is_empty() {
                return Some(line.trim());
            }
        }
        None
    }

    fn peek(&self) -> Option<&'t str> {
        self.lines[self.at..].iter().map(|line| line.trim()).find(|line| !line.is_empty())
    }

    fn statement(&mut self, line: &str, number: u32, answer: &mut Answer, clean: &mut bool) -> Read<()> {
        if line == "CLEAN" {
            *clean = true;
        } else if line == "ESCALATE" {
            self.questions(&mut answer.questions)?;
        } else if let Some(rest) = line.strip_prefix("ACTION:") {
            answer.acts.push(Planned { line: number, act: self.act(rest.trim())? });
            at_most(answer.acts.len(), ACTS_MAX, "actions")?;
        } else if let Some(rest) = line.strip_prefix("DUST:") {
            answer.dust.push(speck(rest.trim(), number)?);
            at_most(answer.dust.len(), DUST_MAX, "lines of DUST")?;
        } else {
            return Err(format!(
                "{:?} is none of `ACTION: …`, `DUST: {{…}}`, `ESCALATE`, `CLEAN`",
                one_line(line, 60)
            ));
        }
        Ok(())
    }

    fn act(&mut self, text: &str) -> Read<Act> {
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim();
        match verb {
            "edit" => {
                let (issue, rest) = issue(rest)?;
                let (title, rest) = title_of(rest)?;
                let body = match rest {
                    "" => None,
                    "body" => Some(self.block()?),
                    other => {
                        return Err(format!("{:?} is not understood after `edit #N`", one_line(other, 60)));
                    }
                };
                match (&title, &body) {
                    (None, None) => Err("say `title \"…\"`, or `body` and the text in a fenced block".into()),
                    _ => Ok(Act::Edit { issue, title, body }),
                }
            }
            "split" => {
                let (issue, rest) = issue(rest)?;
                nothing_more(rest)?;
                let parts = self.parts()?;
                Ok(Act::Split { issue, parts })
            }
            _ => one_line_act(verb, rest),
        }
    }

    fn parts(&mut self) -> Read<Vec<Part>> {
        let mut parts = Vec::new();
        while let Some(line) = self.peek().and_then(|line| line.strip_prefix("PART:")) {
            self.next();
            let (title, rest) = quoted(line.trim())?;
            nothing_more(rest)?;
            parts.push(Part { title: title_fits(title)?, body: self.block()? });
            at_most(parts.len(), PARTS_MAX, "parts")?;
        }
        match parts.len() {
            0 | 1 => {
                Err("an issue is split into two parts or more: `PART: \"title\"` and a fenced block".into())
            }
            _ => Ok(parts),
        }
    }

    /// The text between two fences.
    fn block(&mut self) -> Read<String> {
        let expected = "a fenced block is expected here: ``` in a line of its own, the text, ``` again";
        let open = self.next().ok_or(expected)?;
        let fence: String = open.chars().take_while(|c| *c == '`').collect();
        if fence.len() < 3 || open[fence.len()..].contains('`') {
            return Err(expected.to_owned());
        }
        let mut text: Vec<&str> = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            self.at += 1;
            if line.trim() == fence {
                let text = text.join("\n");
                return match (text.trim().is_empty(), text.len() > TEXT_BYTES_MAX) {
                    (true, _) => Err("the block is empty".to_owned()),
                    (_, true) => Err(format!("the block has more than {TEXT_BYTES_MAX} bytes")),
                    _ => Ok(text),
                };
            }
            text.push(line);
        }
        Err(format!("the block is not closed with {fence}"))
    }

    fn questions(&mut self, questions: &mut Vec<Question>) -> Read<()> {
        let before = questions.len();
        while let Some(text) =
            self.peek().and_then(|line| line.strip_prefix(&format!("{}.", questions.len() + 1)))
        {
            self.next();
            let line = self.at as u32;
            let (issue, text) = issue(text.trim())?;
            let text = said(text.trim_start_matches([':', ' ']))?;
            let options = self.options()?;
            questions.push(Question { line, issue, text, options });
            at_most(questions.len(), QUESTIONS_MAX, "questions")?;
        }
        match questions.len() - before {
            0 => Err("after ESCALATE comes `1. #N the question`, and its options as `a) …`".into()),
            _ => Ok(()),
        }
    }

    fn options(&mut self) -> Read<Vec<Choice>> {
        let mut options: Vec<Choice> = Vec::new();
        while let Some(text) = self.peek().and_then(|line| {
            let letter = letter(options.len());
            line.strip_prefix(letter)?.strip_prefix(')')
        }) {
            self.next();
            let (text, act) = match text.split_once(DOES) {
                None => (text, None),
                Some((text, act)) => {
                    let (verb, rest) = act.trim().split_once(' ').unwrap_or((act.trim(), ""));
                    let act = one_line_act(verb, rest.trim())?;
                    // A person sees all of them.
                    at_most(act.labels().count(), OPTION_LABELS_MAX, "labels")?;
                    (text, Some(act))
                }
            };
            options.push(Choice { text: said(text.trim())?, act });
            at_most(options.len(), OPTIONS_MAX, "options")?;
        }
        match options.len() {
            0 | 1 => Err("a question has two options or more, as `a) …` and `b) …`".into()),
            _ => Ok(options),
        }
    }
}

/// The letter of an option.
pub fn letter(at: usize) -> char {
    char::from(b'a' + at.min(25) as u8)
}

/// What needs no more than its line.
fn one_line_act(verb: &str, rest: &str) -> Read<Act> {
    let pair = |words: &str| -> Read<(IssueNumber, IssueNumber)> {
        let (one, rest) = issue(rest)?;
        let rest = rest.strip_prefix(words).ok_or(format!("`{verb} #N {words} #M` is expected"))?;
        let (other, rest) = issue(rest.trim())?;
        nothing_more(rest)?;
        Ok((one, other))
    };
    match verb {
        "label" => {
            let (issue, rest) = issue(rest)?;
            let (mut add, mut remove) = (Vec::new(), Vec::new());
            for word in rest.split_whitespace() {
                match (word.strip_prefix('+'), word.strip_prefix('-')) {
                    (Some(label), _) if !label.is_empty() => add.push(label.to_owned()),
                    (_, Some(label)) if !label.is_empty() => remove.push(label.to_owned()),
                    _ => return Err(format!("{:?} is neither `+label` nor `-label`", one_line(word, 60))),
                }
            }
            match add.is_empty() && remove.is_empty() {
                true => Err("say which labels: `label #N +one -other`".into()),
                false => Ok(Act::Label { issue, add, remove }),
            }
        }
        "close" => pair("duplicate of").map(|(issue, of)| Act::CloseAs { issue, of }),
        "link" => pair("depends on").map(|(issue, on)| Act::Link { issue, on }),
        "edit" => {
            let (issue, rest) = issue(rest)?;
            let (title, rest) = title_of(rest)?;
            nothing_more(rest)?;
            match title {
                Some(title) => Ok(Act::Edit { issue, title: Some(title), body: None }),
                None => Err("here only `edit #N title \"…\"` can be said".into()),
            }
        }
        other => Err(format!(
            "{:?} is no action: there are edit, label, split, close … duplicate of, link … depends on",
            one_line(other, 40)
        )),
    }
}

fn at_most(many: usize, max: usize, what: &str) -> Read<()> {
    if many > max { Err(format!("these are more than {max} {what}")) } else { Ok(()) }
}

fn nothing_more(rest: &str) -> Read<()> {
    match rest {
        "" => Ok(()),
        rest => Err(format!("{:?} is not understood here", one_line(rest, 60))),
    }
}

/// `#N` at the beginning, and the rest.
fn issue(text: &str) -> Read<(IssueNumber, &str)> {
    let expected = || format!("an issue is expected, as #N, and not {:?}", one_line(text, 40));
    let digits = text.strip_prefix('#').ok_or_else(expected)?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let number = digits[..end].parse().ok().filter(|number| *number > 0).ok_or_else(expected)?;
    Ok((IssueNumber(number), digits[end..].trim()))
}

fn title_of(text: &str) -> Read<(Option<String>, &str)> {
    match text.strip_prefix("title ") {
        None => Ok((None, text)),
        Some(rest) => {
            let (title, rest) = quoted(rest.trim())?;
            Ok((Some(title_fits(title)?), rest))
        }
    }
}

fn title_fits(title: &str) -> Read<String> {
    let title = one_line(title, TITLE_CHARS_MAX + 1);
    match title.chars().count() {
        0 => Err("the title is empty".into()),
        many if many > TITLE_CHARS_MAX => {
            Err(format!("the title has more than {TITLE_CHARS_MAX} characters"))
        }
        _ => Ok(title),
    }
}

/// What is between the first quote and the last, and what follows.
fn quoted(text: &str) -> Read<(&str, &str)> {
    let inside = text.strip_prefix('"').and_then(|rest| rest.rsplit_once('"'));
    let (inside, rest) =
        inside.ok_or_else(|| format!("a title in quotes is expected, not {:?}", one_line(text, 40)))?;
    Ok((inside, rest.trim()))
}

/// What people are told: one line, and not empty.
fn said(text: &str) -> Read<String> {
    let text = plain(&one_line(text, LINE_CHARS_MAX + 1));
    match text.chars().count() {
        0 => Err("its text is empty".into()),
        many if many > LINE_CHARS_MAX => Err(format!("it has more than {LINE_CHARS_MAX} characters")),
        _ => Ok(text),
    }
}

fn speck(json: &str, line: u32) -> Read<Speck> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Dust {
        issue: u64,
        group: String,
        title: String,
        reason: String,
    }
    let dust: Dust = serde_json::from_str(json)
        .map_err(|e| format!("a JSON object with issue, group, title and reason is expected: {e}"))?;
    let group = one_line(&neutralise(&dust.group), GROUP_CHARS_MAX + 1).to_lowercase();
    if group.is_empty() || group.chars().count() > GROUP_CHARS_MAX {
        return Err(format!("`group` has 1 to {GROUP_CHARS_MAX} characters"));
    }
    Ok(Speck {
        line,
        issue: IssueNumber(dust.issue),
        group,
        title: title_fits(&dust.title)?,
        reason: said(&dust.reason)?,
    })
}

/// Two things that cannot both be done.
fn contradiction(answer: &Answer) -> Option<Mistake> {
    let mut gone: BTreeMap<IssueNumber, u32> = BTreeMap::new();
    let ends = |act: &Act| match act {
        Act::CloseAs { issue, .. } | Act::Split { issue, .. } => Some(*issue),
        _ => None,
    };
    for planned in &answer.acts {
        if let Some(issue) = ends(&planned.act)
            && gone.insert(issue, planned.line).is_some()
        {
            let what = format!("#{issue} is closed or split twice");
            return Some(Mistake { line: planned.line, what });
        }
    }
    let named = |act: &Act| -> Vec<IssueNumber> {
        match act {
            Act::CloseAs { of, .. } => vec![*of],
            Act::Link { issue, on } => vec![*issue, *on],
            Act::Edit { issue, .. } | Act::Label { issue, .. } => vec![*issue],
            _ => vec![],
        }
    };
    let acts =
        answer.acts.iter().flat_map(|planned| named(&planned.act).into_iter().map(|n| (planned.line, n)));
    let dust = answer.dust.iter().map(|speck| (speck.line, speck.issue));
    let asked = answer.questions.iter().map(|question| (question.line, question.issue));
    acts.chain(dust).chain(asked).find_map(|(line, issue)| {
        let other = gone.get(&issue)?;
        Some(Mistake { line, what: format!("#{issue} is closed or split by line {other}") })
    })
}
