//! What grooming says: findings, the questions of gardeners, and what becomes of issues.

use super::first_line::FirstLine;
use crate::groom::Kind;
use crate::groom::answer::{Question, letter};
use crate::ids::{ActId, IssueNumber, QuestionId};
use crate::state::{Asks, Dust};
use crate::text::{head, one_line};
use std::fmt::Write;

const BUNDLE_BYTES_MAX: usize = 24 * 1024;

/// The heading of findings.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Circle => "Issues that wait for one another",
        Kind::ReasonGone => "Blocked, and what they waited for is closed",
        Kind::Blocked => "Blocked, and their text names nothing open that they wait for",
        Kind::WaitsForNobody => "To be worked on, but they wait for issues that nobody works on",
        Kind::Duplicate => "Much like an older issue",
        Kind::TooLarge => "Large",
        Kind::TooShort => "Short, without anything to tick",
        Kind::NoCriteria => "Without a word on when they are done",
        Kind::Stale => "Nothing has happened to them for long",
    }
}

/// Before the other issues of a finding.
pub fn others(kind: Kind) -> &'static str {
    match kind {
        Kind::Circle => "waits in a circle with",
        Kind::ReasonGone => "waited for",
        Kind::WaitsForNobody => "waits for",
        Kind::Duplicate => "is like",
        _ => "see",
    }
}

pub fn more(more: usize) -> String {
    format!("There are {more} findings more, for the next time.")
}

pub fn decided() -> &'static str {
    "What people decided:"
}

/// `shopfloor groom` found nothing.
pub fn nothing(judged: usize) -> String {
    match judged {
        0 => "nothing is out of order".to_owned(),
        judged => {
            format!("nothing new is out of order; {judged} findings were judged before (--all shows them)")
        }
    }
}

/// How a gardener's answer is written.
pub fn grammar() -> &'static str {
    "Write your answer to the file named by $SHOPFLOOR_RESULT_FILE, and nothing else into it. The factory reads it strictly when you say that the step is done, and then does what it says; if a line is wrong, it does nothing and tells you which. These lines can be in it:

````text
ACTION: edit #5 title \"A better title\"
ACTION: edit #5 body
```
The whole new text. `title \"…\" body` changes both.
```
ACTION: label #5 +underspecified -tech-debt
ACTION: split #5
PART: \"The first part\"
```
Its whole text.
```
PART: \"The second part\"
```
Its whole text.
```
ACTION: close #5 duplicate of #3
ACTION: link #5 depends on #3
DUST: {\"issue\": 5, \"group\": \"docs\", \"title\": \"A typo\", \"reason\": \"too small for a change of its own\"}
ESCALATE
1. #7 Is the old protocol still needed?
   a) keep it
   b) drop it => ACTION: close #7 duplicate of #3
2. #8 May it be worked on again?
   a) yes => ACTION: label #8 -blocked +backlog
   b) no
CLEAN
````

DUST is for what is too small to be worked on by itself: three issues of a group become one. ESCALATE is for what only people can decide: number the questions from 1, each about one issue, with two to six options; after `=>` stands what the factory does if a person chooses that option (label, close, link, or edit with a title), whether your role may or not. CLEAN, alone, means that nothing has to be done. Do not touch issues that are being worked on. What you change is kept, and people can undo it."
}

// ---- dust ----------------------------------------------------------------------------------------

pub fn bundle_title(group: &str, count: usize) -> String {
    format!("Small things: {} ({count} issues)", one_line(group, 60))
}

pub fn bundle(parts: &[Dust]) -> String {
    let mut out = "Issues that are too small to be worked on one by one:\n\n".to_owned();
    for dust in parts {
        let (title, reason) = (one_line(&dust.title, 200), one_line(&dust.reason, 500));
        let _ = writeln!(out, "- [ ] #{} {title}: {reason}", dust.issue);
    }
    out.push_str("\nEach says in full what it is about, and was closed in favour of this one.\n");
    head(&out, BUNDLE_BYTES_MAX)
}

/// On an issue that went into a bundle, was split, or says what another does.
pub fn became(parts: &[IssueNumber]) -> String {
    format!("Continued in {}.", super::issues(parts, ", "))
}

pub fn duplicate_of(issue: IssueNumber) -> String {
    format!("A duplicate of #{issue}.")
}

pub fn part_of(issue: IssueNumber, body: &str) -> String {
    format!("{}\n\nA part of #{issue}.", body.trim_end())
}

pub fn undone(act: ActId, what: &str, by: &str) -> String {
    format!("Undone by {}: {what} (act {act}).", one_line(by, 80))
}

// ---- questions -----------------------------------------------------------------------------------

/// For the journal.
pub fn asks(id: QuestionId, parts: usize) -> String {
    let parts = super::count(parts as u32, "thing");
    format!("the gardener asks people to decide {parts}: `shopfloor questions` shows q{id}")
}

pub fn asked(id: QuestionId) -> String {
    format!("what the gardener asks in q{id}")
}

/// One question of many parts, as people see it.
pub fn question(parts: &[Asks]) -> String {
    let mut out = String::new();
    for (number, part) in (1..).zip(parts).filter(|(_, part)| part.chosen.is_none()) {
        let _ = writeln!(out, "{number}. {}", of_part(&part.question));
    }
    let _ = write!(
        out,
        "Answer with a number and a letter each, such as `1a 2b`; what you leave out stays open."
    );
    out
}

fn of_part(question: &Question) -> String {
    let mut out = format!("#{} {}", question.issue, question.text);
    for (at, option) in question.options.iter().enumerate() {
        let _ = write!(out, "\n   {}) {}", letter(at), option.text);
        if let Some(act) = &option.act {
            let _ = write!(out, " [the factory then does: {}]", super::notes::act(act));
        }
    }
    out
}

/// On the issue.
pub fn decision(id: QuestionId, part: usize, question: &str, letter: char, option: &str) -> String {
    format!(
        "{} (q{id}, {part})\n\nDecided by a person: {letter}) {}",
        one_line(question, 500),
        one_line(option, 500)
    )
}

/// For the gardener, and the journal.
pub fn decided_so(issue: IssueNumber, question: &str, letter: char, option: &str) -> String {
    format!("#{issue} {}: {letter}) {}", one_line(question, 300), one_line(option, 300))
}

/// The gardener is told at work.
pub fn told(decided: &str) -> String {
    FirstLine::Answer(decided.to_owned()).to_string()
}
