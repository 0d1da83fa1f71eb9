//! What is out of order in a backlog, found without an agent: what the gardener is told, and people with
//! `shopfloor groom`.
//!
//! Invariants:
//! - Pure and bounded: what it finds follows from the issues and the time alone, and its cost grows with the size of the
//!   backlog and not with its square.
//! - A finding has a key that stays the same until what it is about changes: what was judged once is not found anew.

mod alike;
pub mod answer;
pub mod decision;
mod report;
#[cfg(test)]
mod tests;

pub use report::{Report, findings_in, judged_in, line};

use crate::circles::{Circles, Graph};
use crate::digest::Digest;
use crate::hints;
use crate::ids::IssueNumber;
use crate::label::{ACTIONED, Label, UNREVIEWED, VISION, WATCHED};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// From when on something is worth a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// A text with fewer characters, and without a checkbox, is too short.
    pub short_chars: usize,
    /// A text with more words, more boxes to tick or more files named is too large.
    pub large_words: usize,
    pub large_checks: usize,
    pub large_files: usize,
    /// How long nothing has to happen to an issue.
    pub stale: Duration,
    /// How much of two texts has to be the same.
    pub alike_percent: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            short_chars: 100,
            large_words: 800,
            large_checks: 12,
            large_files: 10,
            stale: Duration::from_secs(14 * 24 * 3600),
            alike_percent: 70,
        }
    }
}

/// An open issue, as far as it matters here.
#[derive(Clone, Debug)]
pub struct Look<'a> {
    pub number: IssueNumber,
    pub title: &'a str,
    pub body: &'a str,
    pub labels: BTreeSet<&'a str>,
    pub deps: Vec<IssueNumber>,
    pub updated_at: Time,
    /// A job carries it.
    pub at_work: bool,
}

impl Look<'_> {
    fn has(&self, label: Label) -> bool {
        self.labels.contains(label.as_str())
    }

    /// Whether it is no work for a developer, and need not say what is to be done.
    fn is_no_task(&self) -> bool {
        [VISION, UNREVIEWED, WATCHED, ACTIONED].iter().any(|label| self.labels.contains(label))
    }

    fn is_worked_on(&self) -> bool {
        self.at_work || self.has(Label::InProgress)
    }

    /// Whether somebody will work on it without being asked.
    fn is_wanted(&self) -> bool {
        self.is_worked_on() || self.has(Label::Backlog) || self.has(Label::Action)
    }

    /// Tells its text from any other.
    fn revision(&self) -> u64 {
        Digest::new().field(self.title.as_bytes()).field(self.body.as_bytes()).finish()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Issues wait for one another.
    Circle,
    /// It is blocked, and what it waited for is closed.
    ReasonGone,
    /// It is blocked, and its text names nothing open that it waits for.
    Blocked,
    /// It is to be worked on, and waits for something that nobody works on.
    WaitsForNobody,
    /// It is like an older one.
    Duplicate,
    TooLarge,
    TooShort,
    NoCriteria,
    Stale,
}

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Circle,
        Kind::ReasonGone,
        Kind::Blocked,
        Kind::WaitsForNobody,
        Kind::Duplicate,
        Kind::TooLarge,
        Kind::TooShort,
        Kind::NoCriteria,
        Kind::Stale,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Circle => "circle",
            Kind::ReasonGone => "reason_gone",
            Kind::Blocked => "blocked",
            Kind::WaitsForNobody => "waits_for_nobody",
            Kind::Duplicate => "duplicate",
            Kind::TooLarge => "too_large",
            Kind::TooShort => "too_short",
            Kind::NoCriteria => "no_criteria",
            Kind::Stale => "stale",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: Kind,
    pub issue: IssueNumber,
    pub title: String,
    /// The issues that it is like, or waits for.
    pub others: Vec<IssueNumber>,
    /// How much of what; empty if the kind says it all.
    pub measure: String,
    /// The same for as long as nothing of it changes.
    pub key: u64,
}

/// All that is out of order: the worst kind first, and the oldest issue of a kind.
pub fn findings(issues: &[Look<'_>], limits: &Limits, now: Time) -> Vec<Finding> {
    let known: BTreeMap<IssueNumber, &Look<'_>> = issues.iter().map(|issue| (issue.number, issue)).collect();
    let look = Looker { known, limits, now };
    let mut found = look.circles();
    let idle: Vec<&Look<'_>> = issues.iter().filter(|issue| !issue.is_worked_on()).collect();
    for (issue, others) in alike::of(&idle, limits.alike_percent) {
        found.extend(look.finding(Kind::Duplicate, issue, others, String::new()));
    }
    for issue in idle {
        look.at(issue, &mut found);
    }
    found.sort_by_key(|finding| (finding.kind, finding.issue));
    found
}

struct Looker<'a, 'l> {
    known: BTreeMap<IssueNumber, &'l Look<'a>>,
    limits: &'l Limits,
    now: Time,
}

impl Looker<'_, '_> {
    fn finding(
        &self,
        kind: Kind,
        issue: IssueNumber,
        others: Vec<IssueNumber>,
        measure: String,
    ) -> Option<Finding> {
        let look = self.known.get(&issue)?;
        let mut digest = Digest::new().field(kind.name().as_bytes()).field(&issue.0.to_le_bytes());
        for number in [issue].iter().chain(&others) {
            let revision = self.known.get(number).map_or(0, |look| look.revision());
            digest = digest.field(&number.0.to_le_bytes()).field(&revision.to_le_bytes());
        }
        let key = digest.finish();
        Some(Finding { kind, issue, title: look.title.to_owned(), others, measure, key })
    }

    fn circles(&self) -> Vec<Finding> {
        let open: Graph<'_> =
            self.known.iter().map(|(number, look)| (*number, look.deps.as_slice())).collect();
        let circles = Circles::among(open);
        let found = circles.firsts().into_iter().filter_map(|first| {
            let path = circles.through(first)?;
            self.finding(Kind::Circle, first, path.into_iter().skip(1).collect(), String::new())
        });
        found.collect()
    }

    /// One issue by itself, and what it waits for.
    fn at(&self, issue: &Look<'_>, found: &mut Vec<Finding>) {
        let mut add = |kind, others: Vec<IssueNumber>, measure: String| {
            found.extend(self.finding(kind, issue.number, others, measure));
        };
        let open: Vec<&&Look<'_>> = issue.deps.iter().filter_map(|dep| self.known.get(dep)).collect();
        if issue.has(Label::Blocked) {
            match (open.is_empty(), issue.deps.is_empty()) {
                (true, false) => add(Kind::ReasonGone, issue.deps.clone(), String::new()),
                (true, true) => add(Kind::Blocked, vec![], String::new()),
                (false, _) => {}
            }
        }
        if issue.has(Label::Backlog) {
            let nobodys = open.iter().filter(|dep| !dep.is_wanted()).map(|dep| dep.number);
            let nobodys: Vec<IssueNumber> = nobodys.collect();
            if !nobodys.is_empty() {
                add(Kind::WaitsForNobody, nobodys, String::new());
            }
        }
        if issue.is_no_task() {
            return;
        }
        let checks = checkboxes(issue.body);
        if let Some(measure) = self.too_large(issue, checks) {
            add(Kind::TooLarge, vec![], measure);
        }
        // That is what the label says already.
        if !issue.has(Label::Underspecified) {
            let chars = issue.body.trim().chars().count();
            if checks == 0 && chars < self.limits.short_chars {
                add(Kind::TooShort, vec![], format!("{chars} characters"));
            } else if checks == 0 && !names_criteria(issue.body) {
                add(Kind::NoCriteria, vec![], String::new());
            }
        }
        let idle = self.now.since(issue.updated_at);
        if idle >= self.limits.stale && !issue.has(Label::Blocked) {
            add(Kind::Stale, vec![], format!("{} days", idle.as_secs() / (24 * 3600)));
        }
    }

    fn too_large(&self, issue: &Look<'_>, checks: usize) -> Option<String> {
        let words = issue.body.split_whitespace().count();
        let files = hints::of_issue(issue.body).paths.len();
        let over = [
            (words, self.limits.large_words, "words"),
            (checks, self.limits.large_checks, "boxes"),
            (files, self.limits.large_files, "files"),
        ];
        let over: Vec<String> =
            over.iter().filter(|(is, max, _)| is > max).map(|(is, _, what)| format!("{is} {what}")).collect();
        (!over.is_empty()).then(|| over.join(", "))
    }
}

/// Boxes of a checklist, ticked or not.
fn checkboxes(body: &str) -> usize {
    let is_box = |line: &&str| {
        let item = line.trim_start().strip_prefix(['-', '*', '+']).map(str::trim_start);
        item.is_some_and(|item| ["[ ]", "[x]", "[X]"].iter().any(|mark| item.starts_with(mark)))
    };
    body.lines().filter(is_box).count()
}

/// How texts say when something is done.
const CRITERIA: [&str; 7] =
    ["acceptance", "criteria", "definition of done", "done when", "done if", "expected", "should then"];

fn names_criteria(body: &str) -> bool {
    let body = body.to_lowercase();
    CRITERIA.iter().any(|words| body.contains(words))
}
