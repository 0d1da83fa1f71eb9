//! What a dialog on a screen says: its text, its options, and how the very same dialog is recognised again.
//! Anything in it may have been written by an agent: it is neutralised and bounded here.
//!
//! Clients draw menus alike: one option per row, a cursor before the one that Enter takes, usually a number before
//! each. That is enough to read a dialog that no rule knows.

use crate::digest::Digest;
use crate::text::one_line;
use serde::{Deserialize, Serialize};

/// Limits: rows of a dialog's text, from its options upwards; characters of a row; options.
const TEXT_ROWS_MAX: usize = 40;
const ROW_CHARS_MAX: usize = 240;
const OPTIONS_MAX: usize = 16;
/// How many rows there may be between the last option and the end of the screen.
const FOOTER_ROWS_MAX: usize = 4;
/// Marks before the option that Enter takes.
const CURSORS: [char; 5] = ['❯', '›', '▶', '>', '→'];

/// A dialog as a person reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialogView {
    /// Its first row.
    pub title: String,
    /// All of its text above the options, one row per line, including the title.
    pub text: String,
    /// Empty: it accepts text, or is not understood any further.
    #[serde(default)]
    pub options: Vec<DialogOption>,
    /// Whether the client shows the options' numbers, so that a digit chooses one. Else only the
    /// cursor does.
    #[serde(default)]
    pub numbered: bool,
    /// The same for the same dialog, wherever its cursor is; different for any other.
    pub fingerprint: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialogOption {
    /// As shown; otherwise its position, from 1.
    pub number: u32,
    pub label: String,
    #[serde(default)]
    pub description: String,
    /// The cursor is on it.
    #[serde(default)]
    pub selected: bool,
}

impl DialogView {
    /// The text as one line, for lists.
    pub fn summary(&self) -> String {
        let asks = self.text.lines().rfind(|row| row.trim_end().ends_with('?'));
        // A question with something after it.
        let within = || self.text.lines().rev().find_map(|row| row.find("? ").map(|at| &row[..=at]));
        one_line(asks.or_else(within).unwrap_or(&self.title), ROW_CHARS_MAX)
    }

    fn sealed(mut self) -> DialogView {
        let mut digest = Digest::new().field(self.text.as_bytes());
        for option in &self.options {
            digest = digest.field(unchecked(&option.label).as_bytes());
        }
        self.fingerprint = format!("{:016x}", digest.finish());
        self
    }
}

/// A label without its check mark: ticking it does not make it a different dialog.
fn unchecked(label: &str) -> &str {
    label.trim_start_matches(['☐', '☑', '☒', '✔', '✓', '[', ']', 'x', ' '])
}

/// An option's row, in parts.
struct Row<'r> {
    /// Where the label begins, in characters.
    column: usize,
    cursor: bool,
    number: Option<u32>,
    label: &'r str,
}

fn row(text: &str) -> Row<'_> {
    let mut rest = text.trim_start();
    let cursor = rest.starts_with(CURSORS) && rest.chars().nth(1).is_some_and(|c| c == ' ');
    if cursor {
        rest = rest[rest.chars().next().map_or(0, char::len_utf8)..].trim_start();
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = (1..=2)
        .contains(&digits)
        .then(|| rest[digits..].strip_prefix(". ").or_else(|| rest[digits..].strip_prefix(") ")))
        .flatten()
        .and_then(|label| Some((rest[..digits].parse().ok()?, label.trim_start())));
    let label = number.map_or(rest, |(_, label)| label);
    let column = text.chars().count() - label.chars().count();
    Row { column, cursor, number: number.map(|(number, _)| number), label: label.trim_end() }
}

/// Rows that only separate.
fn is_rule(row: &str) -> bool {
    let row = row.trim();
    row.chars().count() > 1 && row.chars().all(|c| matches!(c, '─' | '╌' | '▔' | '═' | '━' | '-'))
}

/// Rows of a picture, which may move: a picture is not part of the question.
fn is_picture(row: &str) -> bool {
    let drawn = |c: char| matches!(c, '\u{2580}'..='\u{259f}' | '\u{2800}'..='\u{28ff}');
    row.contains(drawn) && row.chars().all(|c| c == ' ' || drawn(c))
}

/// Where the options begin and what they are, with the rows they occupy.
struct Menu {
    first: usize,
    last: usize,
    options: Vec<DialogOption>,
    numbered: bool,
}

/// The lowest menu with numbers that count up from 1: the rows between them are descriptions.
fn numbered_menu(rows: &[&str]) -> Option<Menu> {
    let last = rows.iter().rposition(|r| row(r).number.is_some_and(|n| n > 1))?;
    let mut first = last;
    let mut expect = row(rows[last]).number?;
    for at in (0..=last).rev() {
        match row(rows[at]).number {
            Some(number) if number == expect => {
                first = at;
                expect -= 1;
                if expect == 0 {
                    break;
                }
            }
            _ if last - at > OPTIONS_MAX * 4 => return None,
            _ => {}
        }
    }
    if expect > 0 {
        return None;
    }
    let mut options: Vec<DialogOption> = Vec::new();
    for text in &rows[first..=last] {
        let row = row(text);
        let next = options.last().map_or(1, |o| o.number + 1);
        if let Some(number) = row.number.filter(|number| *number == next) {
            options.push(option(number, row.label, row.cursor));
        } else if let Some(option) = options.last_mut().filter(|_| !text.is_empty() && !is_rule(text)) {
            option.description = one_line(&format!("{} {}", option.description, row.label), ROW_CHARS_MAX);
        }
    }
    options.truncate(OPTIONS_MAX);
    Some(Menu { first, last, options, numbered: true })
}

/// Boxes to tick, one per row, and the row below that submits them. The cursor is on one of these.
fn boxes_menu(rows: &[&str]) -> Option<Menu> {
    let at = rows.iter().rposition(|r| row(r).cursor)?;
    let has_box = |text: &&&str| is_box(row(text).label);
    let last_box = [at, at.checked_sub(1)?].into_iter().find(|i| is_box(row(rows[*i]).label))?;
    let above = rows[..last_box].iter().rev().take_while(has_box).count();
    let below = rows[last_box + 1..].iter().take_while(has_box).count();
    let (first, last) = (last_box - above, last_box + below + 1);
    let sends = rows.get(last).filter(|text| !text.trim().is_empty() && !is_rule(text));
    if sends.is_none() || last - first >= OPTIONS_MAX {
        return None;
    }
    let shown = rows[first..=last].iter().map(|text| row(text)).enumerate();
    let options = shown.map(|(i, row)| option(i as u32 + 1, row.label, row.cursor)).collect();
    Some(Menu { first, last, options, numbered: false })
}

fn is_box(label: &str) -> bool {
    ["[ ]", "[✔]", "[✓]", "[x]"].iter().any(|mark| label.starts_with(mark))
}

/// Options without numbers: the cursor's row, and the rows directly above and below it whose text begins in the
/// same column.
fn plain_menu(rows: &[&str]) -> Option<Menu> {
    if let Some(boxes) = boxes_menu(rows) {
        return Some(boxes);
    }
    let at = rows.iter().rposition(|r| row(r).cursor)?;
    let column = row(rows[at]).column;
    let belongs = |text: &&&str| !text.trim().is_empty() && !is_rule(text) && row(text).column == column;
    let above = rows[..at].iter().rev().take_while(belongs).count();
    let below = rows[at + 1..].iter().take_while(belongs).count();
    if above + below == 0 || above + below >= OPTIONS_MAX {
        return None;
    }
    let (first, last) = (at - above, at + below);
    let shown = rows[first..=last].iter().map(|text| row(text)).enumerate();
    let options = shown.map(|(i, row)| option(i as u32 + 1, row.label, row.cursor)).collect();
    Some(Menu { first, last, options, numbered: false })
}

fn option(number: u32, label: &str, selected: bool) -> DialogOption {
    DialogOption { number, label: one_line(label, ROW_CHARS_MAX), description: String::new(), selected }
}

/// What is above `end`, up to a rule across the screen, or to what a turn said before. A rule right below a dashed
/// one, which ends what a dialog quotes, is part of the dialog.
fn text_above(rows: &[&str], end: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (at, text) in rows[..end].iter().enumerate().rev() {
        let quotes = || rows[..at].iter().rfind(|row| !row.is_empty()).is_some_and(|r| r.starts_with("╌╌"));
        let across = (text.starts_with("──") || text.starts_with("▔▔")) && !quotes();
        let of_the_turn = text.starts_with(['●', '•', '❯', '›', '⎿', '✻', '■']);
        if found.len() == TEXT_ROWS_MAX || ((across || of_the_turn) && !found.is_empty()) {
            break;
        }
        let shown = one_line(text, ROW_CHARS_MAX);
        if !shown.is_empty() && !is_rule(text) && !is_picture(text) && !of_the_turn {
            found.push(shown);
        }
    }
    found.reverse();
    found
}

/// The dialog on these rows, which some rule says are one; `None` if there is no text at all.
pub(super) fn view(rows: &[&str]) -> Option<DialogView> {
    let menu = numbered_menu(rows).filter(|m| in_reach(rows, m)).or_else(|| plain_menu(rows));
    let end = menu.as_ref().map_or(rows.len(), |menu| menu.first);
    let text = text_above(rows, end);
    let title = text.first()?.clone();
    let (options, numbered) = menu.map_or((Vec::new(), false), |menu| (menu.options, menu.numbered));
    let text = text.join("\n");
    Some(DialogView { title, text, options, numbered, fingerprint: String::new() }.sealed())
}

/// Whether a menu is at the end of the screen: one further up was answered long ago.
fn in_reach(rows: &[&str], menu: &Menu) -> bool {
    rows[menu.last + 1..].iter().filter(|row| !row.trim().is_empty()).count() <= FOOTER_ROWS_MAX
}

/// A dialog that no rule knows: a menu at the end of the screen, or a last row that asks. Only for a
/// screen without a composer, or whose composer is the menu's cursor.
pub(super) fn unknown(rows: &[&str]) -> Option<DialogView> {
    let menu = numbered_menu(rows).filter(|menu| in_reach(rows, menu));
    let cursor = || plain_menu(rows).filter(|menu| in_reach(rows, menu));
    let asks = || {
        let last = rows.iter().rfind(|row| !row.trim().is_empty())?.trim_end();
        let lower = last.to_lowercase();
        let choice = ["[y/n]", "(y/n)", "(yes/no)", "[yes/no]"].iter().any(|mark| lower.contains(mark));
        (choice || last.ends_with('?')).then_some(())
    };
    if menu.is_some() || cursor().is_some() || asks().is_some() { view(rows) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<&str> {
        text.lines().map(str::trim_end).collect()
    }

    fn labels(view: &DialogView) -> Vec<(u32, &str, bool)> {
        view.options.iter().map(|o| (o.number, o.label.as_str(), o.selected)).collect()
    }

    #[test]
    fn a_menu_with_numbers_and_descriptions() {
        let screen = "● said before\n──────────\n ☐ Way\n\nWhich way?\n\n❯ 1. A\n     short\n  2. B\n     long\n──────────\n  3. Chat about this\n\nEnter to select · Esc to cancel";
        let first = view(&rows(screen)).unwrap();
        assert_eq!((first.title.as_str(), first.text.as_str()), ("☐ Way", "☐ Way\nWhich way?"));
        assert_eq!(first.summary(), "Which way?");
        assert_eq!(labels(&first), [(1, "A", true), (2, "B", false), (3, "Chat about this", false)]);
        assert_eq!((first.options[0].description.as_str(), first.numbered), ("short", true));
        // Moving the cursor does not make it a different dialog; another question does.
        let moved = screen.replace("❯ 1. A", "  1. A").replace("  2. B", "❯ 2. B");
        assert_eq!(view(&rows(&moved)).unwrap().fingerprint, first.fingerprint);
        let other = screen.replace("Which way?", "Which other way?");
        assert_ne!(view(&rows(&other)).unwrap().fingerprint, first.fingerprint);
    }

    #[test]
    fn a_picture_that_moves_makes_no_other_dialog() {
        let screen = |picture: &str| {
            format!("{picture}\n\n  Welcome\n\n  Choose.\n\n> 1. Sign in\n  2. Use a key\n\n  Press enter")
        };
        let first = screen("   ⣀⣤⣤⡀\n ⣠⣶⣿⣿ ⣿⣤");
        let first = view(&rows(&first)).unwrap();
        assert_eq!((first.title.as_str(), first.text.as_str()), ("Welcome", "Welcome\nChoose."));
        let next = screen("  ⢀⣀⣤⣤⣀⡀\n ⢀⣴⣾⣿⣿\n ▀▄█");
        assert_eq!(view(&rows(&next)).unwrap().fingerprint, first.fingerprint);
        // What an agent wants to run is not a picture.
        let code = screen("  }\n  ⣿ && rm x");
        assert_ne!(view(&rows(&code)).unwrap().fingerprint, first.fingerprint);
    }

    #[test]
    fn a_menu_without_numbers_is_the_rows_beside_the_cursor() {
        let screen = "──────────\n  Detected a key\n\n  KEY: x\n\n  Use this key?\n\n    Yes\n  ❯ No (recommended)\n\n  Enter to confirm";
        let view = view(&rows(screen)).unwrap();
        assert_eq!(labels(&view), [(1, "Yes", false), (2, "No (recommended)", true)]);
        assert_eq!((view.summary().as_str(), view.numbered), ("Use this key?", false));
    }

    #[test]
    fn what_is_shown_is_bounded_and_neutral() {
        let long = format!("{}\nMay I \u{1b}[31mrun\u{202e} it?\n> 1. Yes\n  2. No\n", "word ".repeat(500));
        let view = unknown(&rows(&long)).unwrap();
        assert!(view.text.len() < 4_000 && !view.text.contains(['\u{1b}', '\u{202e}']), "{}", view.text);
        assert_eq!(view.summary(), "May I run it?");
    }

    #[test]
    fn a_dialog_that_no_rule_knows() {
        for asks in [
            "Bash command\n  rm -rf build\nDo you want to proceed?\n> 1. Yes\n  2. No",
            "Apply the change?\n  1) yes\n  2) no\nChoose:",
            "Overwrite notes.txt? [y/N]",
            "  Pick a theme\n  ❯ Dark\n    Light",
        ] {
            assert!(unknown(&rows(asks)).is_some(), "{asks}");
        }
        for not in [
            "compiling…\nstill compiling",
            "",
            "1. first\n2. second\n\nthat was the list\nand\nmuch\nmore\nfollows",
            "  ❯ one row is no menu",
            "2. begins late\n3. no menu",
        ] {
            assert!(unknown(&rows(not)).is_none(), "{not}");
        }
    }
}
