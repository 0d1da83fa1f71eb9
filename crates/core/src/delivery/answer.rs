//! A person's answer to a client's dialog, as the keys that give it.
//!
//! Clients accept a digit for an option at once, or an arrow and Enter if options have no numbers. A row that
//! accepts text takes digits too, as text: with the cursor there, only arrows choose. Boxes are ticked by their
//! digits; the list is left to the right, or downwards from the row that accepts text.
//!
//! Measured on Claude Code 2.1.325 (permissions, AskUserQuestion with one, several and ticked answers,
//! plans) and Codex 0.166.0 (approvals).

use crate::runtime::{DialogOption, DialogView, Glob};
use crate::text::one_line;

/// The longest text that is typed into a dialog.
const TEXT_CHARS_MAX: usize = 2_000;
/// The largest number that is one key.
const DIGITS_MAX: u32 = 9;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Press {
    /// As tmux names it.
    Key(String),
    /// Pasted, without an Enter.
    Text(String),
}

fn key(name: impl Into<String>) -> Press {
    Press::Key(name.into())
}

/// What the option's box says, if it has one; and the label without it.
fn boxed(option: &DialogOption) -> (Option<bool>, &str) {
    let label = option.label.as_str();
    let ticked = ["[✔]", "[✓]", "[x]"].iter().find_map(|mark| label.strip_prefix(mark));
    match (label.strip_prefix("[ ]"), ticked) {
        (Some(rest), _) => (Some(false), rest.trim()),
        (_, Some(rest)) => (Some(true), rest.trim()),
        _ => (None, label),
    }
}

/// A dialog, with what is known of its client's dialogs.
struct Menu<'d> {
    view: &'d DialogView,
    free: &'d [Glob],
}

impl Menu<'_> {
    fn is_free(&self, option: &DialogOption) -> bool {
        self.free.iter().any(|glob| glob.matches(boxed(option).1))
    }

    fn place(&self, is: impl Fn(&DialogOption) -> bool) -> Option<usize> {
        self.view.options.iter().position(is)
    }

    /// Whether the cursor is in the row that accepts text: its label may be half a text by now, so the row is
    /// recognised by matching no other.
    fn writes(&self) -> bool {
        self.view.options.iter().any(|option| option.selected && self.is_free(option))
    }

    fn arrows(&self, to: usize) -> Vec<Press> {
        let from = self.place(|option| option.selected).unwrap_or(0);
        let name = if to < from { "Up" } else { "Down" };
        vec![key(name); to.abs_diff(from)]
    }

    fn pick(&self, number: u32) -> Vec<Press> {
        let Some(at) = self.place(|option| option.number == number) else { return Vec::new() };
        if self.view.numbered && number <= DIGITS_MAX && !self.writes() {
            return vec![key(number.to_string())];
        }
        let mut presses = self.arrows(at);
        presses.push(key("Enter"));
        presses
    }

    fn tick(&self, wanted: &[u32]) -> Vec<Press> {
        if !self.view.numbered {
            return self.tick_by_cursor(wanted);
        }
        let mut presses = if self.writes() { vec![key("Up")] } else { Vec::new() };
        for option in &self.view.options {
            let now = boxed(option).0.filter(|_| !self.is_free(option));
            if now.is_some_and(|now| now != wanted.contains(&option.number)) {
                presses.push(key(option.number.to_string()));
            }
        }
        presses.push(key("Right"));
        presses
    }

    /// Boxes without numbers: the cursor moves from one to the next, and then to the row that submits them.
    fn tick_by_cursor(&self, wanted: &[u32]) -> Vec<Press> {
        let mut presses = Vec::new();
        let mut from = self.place(|option| option.selected).unwrap_or(0);
        let mut go = |to: usize, then: &str| {
            let name = if to < from { "Up" } else { "Down" };
            presses.extend(vec![key(name); to.abs_diff(from)]);
            presses.push(key(then));
            from = to;
        };
        for (at, option) in self.view.options.iter().enumerate() {
            if boxed(option).0.is_some_and(|now| now != wanted.contains(&option.number)) {
                go(at, "Space");
            }
        }
        go(self.view.options.len().saturating_sub(1), "Enter");
        presses
    }

    fn write(&self, text: &str) -> Option<Vec<Press>> {
        let at = self.place(|option| self.is_free(option))?;
        let option = &self.view.options[at];
        let text = Press::Text(one_line(text, TEXT_CHARS_MAX));
        let boxes = boxed(option).0.is_some();
        let mut presses = match self.view.numbered && !boxes && !self.writes() {
            true => vec![key(option.number.to_string())],
            false => self.arrows(at),
        };
        presses.push(text);
        presses.extend(boxes.then(|| key("Down")));
        presses.push(key("Enter"));
        Some(presses)
    }

    fn choices(&self) -> String {
        let shown = |o: &DialogOption| format!("{}. {}", o.number, one_line(boxed(o).1, 60));
        self.view.options.iter().filter(|o| !self.is_free(o)).map(shown).collect::<Vec<_>>().join(", ")
    }
}

/// The keys that answer a dialog: by an option's number or label, by several numbers if boxes are to be ticked (or
/// `none`), or by a text if it accepts one. `free` are the labels of rows that accept text. An error says what can
/// be answered instead.
pub fn plan(view: &DialogView, free: &[Glob], said: &str) -> Result<Vec<Press>, String> {
    let menu = Menu { view, free };
    let said = said.trim();
    if view.options.is_empty() {
        return Err("its options cannot be read; answer it in its terminal".into());
    }
    let known = |number: u32| view.options.iter().find(|option| option.number == number);
    let numbers: Vec<u32> = said
        .split([',', ' '])
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().ok().filter(|number| known(*number).is_some()))
        .collect::<Option<_>>()
        .unwrap_or_default();
    let by_label = || view.options.iter().find(|option| boxed(option).1.eq_ignore_ascii_case(said));
    let numbers = match numbers.is_empty() {
        true => by_label().map(|option| vec![option.number]).unwrap_or_default(),
        false => numbers,
    };
    let options: Vec<&DialogOption> = numbers.iter().filter_map(|number| known(*number)).collect();
    let boxes = view.options.iter().any(|option| boxed(option).0.is_some());
    if boxes && options.is_empty() && said.eq_ignore_ascii_case("none") {
        return Ok(menu.tick(&[]));
    }
    if options.iter().any(|option| menu.is_free(option)) {
        return Err("for that option say the text itself".into());
    }
    match options.as_slice() {
        [] => menu
            .write(said)
            .filter(|_| !said.is_empty())
            .ok_or_else(|| format!("it takes one of: {}", menu.choices())),
        all if all.iter().all(|option| boxed(option).0.is_some()) => Ok(menu.tick(&numbers)),
        [one] => Ok(menu.pick(one.number)),
        _ => Err(format!("it takes one of: {}", menu.choices())),
    }
}

/// If a dialog only asks to submit what was answered before: the keys for the option that does.
pub fn submits(view: &DialogView, submit: &[Glob]) -> Option<Vec<Press>> {
    let first = view.options.first()?;
    let all_answered = !view.text.contains("not answered");
    let menu = Menu { view, free: &[] };
    (all_answered && submit.iter().any(|glob| glob.matches(&first.label))).then(|| menu.pick(first.number))
}

/// The text without the marks for answered and ticked.
fn unmarked(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '☐' | '☒' | '☑' | '✔' | '✓')).collect()
}

/// Whether two views show the same dialog, even if somebody has ticked a box, or typed into the row that accepts
/// text.
pub fn is_same_dialog(a: &DialogView, b: &DialogView) -> bool {
    let other = a.options.iter().zip(&b.options).filter(|(a, b)| boxed(a).1 != boxed(b).1).count();
    a.fingerprint == b.fingerprint
        || (unmarked(&a.text) == unmarked(&b.text) && a.options.len() == b.options.len() && other <= 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(labels: &[&str], selected: usize, numbered: bool) -> DialogView {
        let option = |(at, label): (usize, &&str)| DialogOption {
            number: at as u32 + 1,
            label: (*label).to_owned(),
            description: String::new(),
            selected: at == selected,
        };
        DialogView {
            text: "Which?".into(),
            options: labels.iter().enumerate().map(option).collect(),
            numbered,
            fingerprint: labels.join("|"),
            ..DialogView::default()
        }
    }

    fn keys(view: &DialogView, said: &str) -> Result<String, String> {
        let free = [Glob::try_from("Type something*".to_owned()).expect("a glob")];
        let shown = |press: Press| match press {
            Press::Key(key) => key,
            Press::Text(text) => format!("«{text}»"),
        };
        plan(view, &free, said).map(|all| all.into_iter().map(shown).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn options_are_chosen_by_number_label_or_arrows() {
        let yes_no = view(&["Yes", "No"], 1, false);
        assert_eq!(keys(&yes_no, "1").unwrap(), "Up Enter");
        assert_eq!(keys(&yes_no, " no ").unwrap(), "Enter");
        assert_eq!(keys(&yes_no, "maybe").unwrap_err(), "it takes one of: 1. Yes, 2. No");
        assert_eq!(keys(&yes_no, "1 2").unwrap_err(), "it takes one of: 1. Yes, 2. No");
        let ask = view(&["North", "South", "Type something.", "Chat about this"], 0, true);
        assert_eq!(keys(&ask, "2").unwrap(), "2");
        assert_eq!(keys(&ask, "south").unwrap(), "2");
        assert_eq!(keys(&ask, "to the\neast").unwrap(), "3 «to the east» Enter");
        assert!(keys(&ask, "3").is_err() && keys(&ask, "").is_err());
        // A digit would be text there.
        let writes = view(&["North", "South", "Type something.", "Chat about this"], 2, true);
        assert_eq!(keys(&writes, "1").unwrap(), "Up Up Enter");
        assert_eq!(keys(&writes, "east").unwrap(), "«east» Enter");
        assert!(keys(&DialogView::default(), "x").is_err());
    }

    #[test]
    fn boxes_are_ticked_and_left() {
        let boxes =
            view(&["[ ] Apple", "[✔] Pear", "[ ] Plum", "[ ] Type something", "Chat about this"], 0, true);
        assert_eq!(keys(&boxes, "1,3").unwrap(), "1 2 3 Right");
        assert_eq!(keys(&boxes, "pear").unwrap(), "Right");
        assert_eq!(keys(&boxes, "5").unwrap(), "5");
        assert_eq!(keys(&boxes, "a kiwi").unwrap(), "Down Down Down «a kiwi» Down Enter");
        assert_eq!(keys(&boxes, "none").unwrap(), "2 Right");
        let plain = view(&["[✔] theirs", "[ ] other", "[✔] third", "Enable selected"], 1, false);
        assert_eq!(keys(&plain, "2").unwrap(), "Up Space Down Space Down Space Down Enter");
        assert_eq!(keys(&plain, "1,3").unwrap(), "Down Down Enter");
        assert_eq!(keys(&plain, "4").unwrap(), "Down Down Enter");
    }

    #[test]
    fn what_was_answered_is_sent_unless_something_is_missing() {
        let submit = [Glob::try_from("Submit answers".to_owned()).expect("a glob")];
        let mut page = view(&["Submit answers", "Cancel"], 0, true);
        assert_eq!(submits(&page, &submit), Some(vec![key("1")]));
        page.text = "⚠ You have not answered all questions".into();
        assert_eq!(submits(&page, &submit), None);
        assert_eq!(submits(&view(&["Yes", "No"], 0, true), &submit), None);
    }

    #[test]
    fn a_dialog_that_somebody_types_into_is_still_the_same() {
        let ask = view(&["North", "South", "Type something."], 0, true);
        let typed = view(&["North", "South", "ea"], 2, true);
        assert!(is_same_dialog(&ask, &typed));
        assert!(!is_same_dialog(&ask, &view(&["East", "West", "Type something."], 0, true)));
    }
}
