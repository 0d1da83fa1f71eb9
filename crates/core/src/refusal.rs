//! Why an agent will not work on an issue, if its reason is one that the factory can act upon. An agent says so
//! with `PHASE:failed` and a reason that begins with one of the words below.

use crate::deps;
use crate::ids::IssueNumber;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Other issues come first: `blocked_by #12`, `unmet_dependency #12, #13`.
    Unmet(Vec<IssueNumber>),
    /// It is too much, or too little is specified: `too_large`, `underspecified`.
    Unclear,
    /// There is nothing left to do: `already_done`.
    Done,
}

impl Refusal {
    /// `None`: it is an ordinary failure.
    pub fn read(reason: &str) -> Option<Refusal> {
        let reason = reason.trim_start();
        let end = reason.find(|c: char| !c.is_ascii_alphabetic() && c != '_' && c != '-');
        let word = reason[..end.unwrap_or(reason.len())].to_ascii_lowercase().replace('-', "_");
        match word.as_str() {
            "blocked_by" | "unmet_dependency" => {
                let rest = reason[word.len()..].trim_start_matches([':', ' ']);
                let rest = rest.strip_prefix("blocked_by").unwrap_or(rest);
                let numbers = deps::parse(&format!("blocked by {}", rest.lines().next().unwrap_or("")));
                (!numbers.is_empty()).then_some(Refusal::Unmet(numbers))
            }
            "too_large" | "underspecified" => Some(Refusal::Unclear),
            "already_done" => Some(Refusal::Done),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_agreed_words_at_the_beginning_are_a_refusal() {
        let check =
            |reason: &str, expect: Option<Refusal>| assert_eq!(Refusal::read(reason), expect, "{reason:?}");
        let unmet = |numbers: &[u64]| Some(Refusal::Unmet(numbers.iter().map(|n| IssueNumber(*n)).collect()));
        check("blocked_by #12", unmet(&[12]));
        check("unmet_dependency: #3, #2 and #3\nsee #9", unmet(&[2, 3]));
        check("unmet_dependency blocked_by #4", unmet(&[4]));
        check(" Blocked-by: #5", unmet(&[5]));
        check("blocked_by the weather", None);
        check("too_large: three features in one", Some(Refusal::Unclear));
        check("underspecified", Some(Refusal::Unclear));
        check("already_done by #7", Some(Refusal::Done));
        check("it is already_done", None);
        check("already_doneish", None);
        check("", None);
    }
}
