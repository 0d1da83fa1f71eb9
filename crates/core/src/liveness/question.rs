//! Whether the last words of a turn are a question: an agent that asks in its chat waits for somebody
//! who is not there. Agents write these words: they are neutralised and bounded here.

use crate::text::{head, neutralise, tail};

/// How much of a message is read, from its end; and how much of its question is kept.
const READ_BYTES_MAX: usize = 4096;
const QUESTION_BYTES_MAX: usize = 1000;

/// The question that a message ends with, including the choices if they are listed below it.
pub fn question_at_end(message: &str) -> Option<String> {
    let text = neutralise(&tail(message.trim_end(), READ_BYTES_MAX));
    let rows: Vec<&str> = text.lines().map(str::trim).collect();
    let listed = rows.iter().rev().take_while(|row| row.is_empty() || is_item(row)).count();
    let asks_at = |at: usize| rows.get(at).is_some_and(|row| asks(row));
    let last = rows.len().checked_sub(1)?;
    let at = if asks_at(last) { last } else { last.checked_sub(listed).filter(|at| asks_at(*at))? };
    let first = rows[..at].iter().rposition(|row| row.is_empty()).map_or(0, |blank| blank + 1);
    let question: Vec<&str> = rows[first..].iter().copied().filter(|row| !row.is_empty()).collect();
    Some(head(&question.join("\n"), QUESTION_BYTES_MAX))
}

/// Markup and brackets may follow the question mark.
fn asks(row: &str) -> bool {
    row.trim_end_matches(['*', '_', '`', ')', '"', '”', '»', ' ']).ends_with(['?', '？'])
}

/// `- this`, `2. that`, `b) or that`
fn is_item(row: &str) -> bool {
    let row = row.trim_start_matches('*');
    let mark = row.split_whitespace().next().unwrap_or_default();
    let counts = |mark: &str| {
        let one = mark.chars().count() == 1 && mark.chars().all(char::is_alphabetic);
        one || (!mark.is_empty() && mark.len() <= 2 && mark.bytes().all(|b| b.is_ascii_digit()))
    };
    matches!(mark, "-" | "•" | "+") || mark.strip_suffix(['.', ')', ':']).is_some_and(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_at_the_end_is_found_with_its_choices() {
        for (message, question) in [
            ("Done.\n\nShall I go on with A or B?", "Shall I go on with A or B?"),
            ("I looked.\nIs **this** right?**  \n", "I looked.\nIs **this** right?**"),
            ("Which one?\n\n1. A\n2. B", "Which one?\n1. A\n2. B"),
            ("It is so.\n\nWhich one?\n- A\n- B\n", "Which one?\n- A\n- B"),
            ("Which?\nA) left\nB) right", "Which?\nA) left\nB) right"),
            ("(Or is it not?)", "(Or is it not?)"),
        ] {
            assert_eq!(question_at_end(message).as_deref(), Some(question), "{message}");
        }
        for other in ["", "Done.", "Why? Because.", "Is it?\n\nYes.", "What I did:\n1. A\n2. B", "- A\n- B"] {
            assert_eq!(question_at_end(other), None, "{other}");
        }
    }

    #[test]
    fn it_is_neutral_and_bounded() {
        let long = format!("{} \u{1b}[31mred\u{202e}?", "word ".repeat(5_000));
        let question = question_at_end(&long).expect("it asks");
        assert!(question.len() <= QUESTION_BYTES_MAX + 100 && !question.contains(['\u{1b}', '\u{202e}']));
    }
}
