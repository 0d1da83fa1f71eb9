//! Reads a screen by a runtime's rules. A reading is the weakest kind of evidence: it may take a claim away (a
//! dialog is up, the turn was broken off) but never adds one. That nothing is recognised is an answer too, and not
//! "ready".

use super::RuntimeSpec;
use super::dialog::{self, DialogView};
use super::reset::parse_reset;
use super::rule::{DialogKind, Meaning, Rule, Where};
use super::statusline::{self, Statusline};
use crate::text::one_line;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much of a row, and of a draft, is kept.
const EXCERPT_CHARS_MAX: usize = 160;
/// How many rows are looked at, from the bottom.
const ROWS_MAX: usize = 500;

/// What the composer, where a person types, holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "composer", content = "text", rename_all = "snake_case")]
pub enum Composer {
    /// No composer is seen: nothing may be typed.
    #[default]
    None,
    Empty,
    /// A text that was typed and not sent, as far as it can be seen; its author is unknown.
    Draft(String),
    /// A client's stand-in for a long paste.
    Pasted(String),
}

impl Composer {
    pub fn as_str(&self) -> &'static str {
        match self {
            Composer::None => "none",
            Composer::Empty => "empty",
            Composer::Draft(_) => "draft",
            Composer::Pasted(_) => "pasted",
        }
    }
}

/// What one rule found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub rule: String,
    pub meaning: Meaning,
    /// The row it was found on; for people.
    pub row: String,
    /// For `limited`, when the limit ends, if that could be read.
    pub until: Option<Time>,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by rule {}: {:?}", self.meaning, self.rule, self.row.trim())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The first rule that holds. None: the screen is not understood.
    pub claim: Option<Claim>,
    /// Reported besides the claim.
    pub context_low: bool,
    pub composer: Composer,
    pub statusline: Option<Statusline>,
    /// What the dialog says, if one is up.
    #[serde(default)]
    pub dialog: Option<DialogView>,
}

impl Reading {
    pub fn meaning(&self) -> Option<Meaning> {
        self.claim.as_ref().map(|claim| claim.meaning)
    }
}

/// Reads a screen. `utc_offset` is the machine's, in minutes, for times without a zone.
pub fn read(spec: &RuntimeSpec, screen: &str, now: Time, utc_offset: i32) -> Reading {
    // Clients mix in hard spaces where nobody sees them.
    let screen = screen.replace('\u{a0}', " ");
    let all: Vec<&str> = screen.lines().map(str::trim_end).collect();
    let all = &all[all.len().saturating_sub(ROWS_MAX)..];
    let rows: Vec<&str> = all.iter().copied().filter(|row| !row.is_empty()).collect();
    if let Some(row) = rows.last().filter(|row| row.starts_with("Pane is dead")) {
        return Reading { claim: Some(claim("tmux", Meaning::Dead, row)), ..Reading::default() };
    }
    let composer_at = composer_row(spec, all);
    let turn = last_turn(spec, all, composer_at);
    let above = &all[..composer_at.unwrap_or(all.len())];
    let end: Vec<&str> = above
        .iter()
        .rev()
        .copied()
        .find(|row| row.starts_with(|c| c != ' ') && !is_frame(row))
        .into_iter()
        .collect();
    let region = |place: Where| -> &[&str] {
        match place {
            Where::Screen => &rows,
            Where::LastLines(count) => &rows[rows.len().saturating_sub(count)..],
            Where::LastTurn => &turn,
            Where::TurnEnd => end.as_slice(),
            Where::Title => &[],
        }
    };
    let mut reading = Reading { statusline: statusline::last_of(&rows), ..Reading::default() };
    for rule in &spec.screen.rules {
        let rows = region(rule.place);
        // The composer alone is a row of its own, and says "ready" if no other rule says more.
        let Some(row) = rule.holds(rows) else { continue };
        if rule.meaning == Meaning::ContextLow {
            reading.context_low = true;
        } else if reading.claim.is_none() {
            let until = reset_time(rule, rows, now, utc_offset);
            reading.claim = Some(Claim { until, ..claim(&rule.name, rule.meaning, row) });
        }
    }
    if reading.meaning().is_some_and(Meaning::is_dialog) {
        reading.dialog = dialog::view(all);
    } else if may_ask(spec, &reading) && composer_at.is_none_or(|at| is_menu(spec, all, at)) {
        reading.dialog = dialog::unknown(all);
        let asks = |view: &DialogView| claim("asks", Meaning::Dialog(DialogKind::Asks), &view.summary());
        reading.claim = reading.dialog.as_ref().map(asks).or(reading.claim);
    }
    // A menu's cursor looks like a composer's: with a dialog up there is no composer.
    let dialog = reading.meaning().is_some_and(Meaning::is_dialog);
    if let Some(at) = composer_at.filter(|_| !dialog) {
        reading.composer = composer(spec, all, at);
        if reading.claim.is_none() {
            reading.claim = Some(claim("composer", Meaning::Ready, all[at]));
        }
    }
    reading
}

/// Whether what is typed goes into the composer: the cursor is in its rows, and right behind the mark if it is
/// empty. In a history search, a menu or a shell mode it does not. `cursor` is column and row, from 0. For a
/// runtime whose client leaves its cursor anywhere, nothing is known, and true is returned.
pub fn is_typed_into(spec: &RuntimeSpec, screen: &str, cursor: (usize, usize)) -> bool {
    if !spec.screen.cursor {
        return true;
    }
    let screen = screen.replace('\u{a0}', " ");
    let rows: Vec<&str> = screen.lines().map(str::trim_end).collect();
    let Some(at) = composer_row(spec, &rows) else { return false };
    let (column, row) = cursor;
    // A text may have blank rows of its own: it ends at the frame, or at the last blank row above the footer.
    let framed = rows[at + 1..].iter().position(|row| is_frame(row)).map(|below| at + 1 + below);
    let used = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
    let footer = || rows[..used].iter().rposition(|row| row.is_empty()).filter(|empty| *empty > at);
    let end = framed.or_else(footer).unwrap_or(used);
    match composer(spec, &rows, at) {
        Composer::Empty => row == at && column == mark_width(spec),
        _ => (at..end.max(at + 1)).contains(&row),
    }
}

/// The width of the mark and the space after it.
fn mark_width(spec: &RuntimeSpec) -> usize {
    spec.screen.prompt.as_deref().map_or(0, |mark| mark.chars().count() + 1)
}

/// Reads a terminal's title by the rules for titles.
pub fn read_title(spec: &RuntimeSpec, title: &str) -> Option<Claim> {
    let title = title.trim();
    let mut rules = spec.screen.rules.iter().filter(|rule| rule.place == Where::Title);
    rules.find_map(|rule| rule.holds(&[title]).map(|row| claim(&rule.name, rule.meaning, row)))
}

fn claim(rule: &str, meaning: Meaning, row: &str) -> Claim {
    Claim { rule: rule.to_owned(), meaning, row: one_line(row, EXCERPT_CHARS_MAX), until: None }
}

fn reset_time(rule: &Rule, rows: &[&str], now: Time, utc_offset: i32) -> Option<Time> {
    if rule.reset.is_empty() {
        return None;
    }
    // Clients wrap where they like, so the rows are read as one text.
    let text = rows.iter().map(|row| row.trim()).collect::<Vec<_>>().join(" ");
    rule.reset.iter().find_map(|reset| {
        let at = text.rfind(&reset.after)? + reset.after.len();
        parse_reset(&text[at..], reset.form, now, utc_offset)
    })
}

/// The composer is the lowest row that begins with the prompt's mark and, in a runtime that frames it, is right
/// below a rule.
fn composer_row(spec: &RuntimeSpec, rows: &[&str]) -> Option<usize> {
    let mark = spec.screen.prompt.as_deref()?;
    rows.iter().enumerate().rev().find_map(|(at, row)| {
        let framed = || at > 0 && is_frame(rows[at - 1]);
        (row.starts_with(mark) && (!spec.screen.framed || framed())).then_some(at)
    })
}

/// Whether what the rules found leaves room for a dialog that they do not know: they found nothing, or how an
/// earlier turn ended. If a runtime has no rules, its screen means nothing to us.
fn may_ask(spec: &RuntimeSpec, reading: &Reading) -> bool {
    let past = matches!(reading.meaning(), None | Some(Meaning::Done | Meaning::Interrupted));
    past && !spec.screen.rules.is_empty()
}

/// Whether what looks like a composer is a menu's cursor: a numbered row next to another.
fn is_menu(spec: &RuntimeSpec, rows: &[&str], at: usize) -> bool {
    let mark = spec.screen.prompt.as_deref().unwrap_or_default();
    let number = |row: &str| row.trim_start().split_once(". ").and_then(|(n, _)| n.parse::<u32>().ok());
    let Some(own) = number(&rows[at][mark.len()..]) else { return false };
    let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|i| rows.get(i));
    beside.filter_map(|row| number(row)).any(|other| other.abs_diff(own) == 1)
}

fn is_frame(row: &str) -> bool {
    row.starts_with("──")
}

/// The rows after the last prompt that was sent, up to the composer.
fn last_turn<'r>(spec: &RuntimeSpec, rows: &[&'r str], composer: Option<usize>) -> Vec<&'r str> {
    let end = composer.unwrap_or(rows.len());
    let sent = |row: &&str| spec.screen.prompt.as_deref().is_some_and(|mark| row.starts_with(mark));
    let start = rows[..end].iter().rposition(sent).map_or(0, |at| at + 1);
    // The notices between the composer and the footer belong to the present, too.
    let below = composer.map_or(&[][..], |at| &rows[at + 1..]);
    rows[start..end].iter().chain(below).copied().filter(|row| !row.is_empty() && !is_frame(row)).collect()
}

fn composer(spec: &RuntimeSpec, rows: &[&str], at: usize) -> Composer {
    let mark = spec.screen.prompt.as_deref().unwrap_or_default();
    let clean = |row: &str| row.trim().to_owned();
    let first = clean(&rows[at][mark.len()..]);
    let rest =
        rows[at + 1..].iter().take_while(|row| !row.is_empty() && !is_frame(row)).map(|row| clean(row));
    let text = std::iter::once(first.clone()).chain(rest).collect::<Vec<_>>().join("\n");
    let text = text.trim();
    if text.is_empty() || spec.screen.placeholders.iter().any(|glob| glob.matches(&first)) {
        return Composer::Empty;
    }
    let shown: String = text.chars().take(EXCERPT_CHARS_MAX).collect();
    if spec.screen.pasted.iter().any(|glob| glob.matches(&first)) {
        Composer::Pasted(shown)
    } else {
        Composer::Draft(shown)
    }
}
