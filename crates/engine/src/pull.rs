//! What the factory's own pull requests and reviews say.

use shopfloor_core::effect::Review;
use shopfloor_core::forge::Issue;
use shopfloor_core::ids::{Assignment, IssueNumber, Sha};
use shopfloor_core::text;

const TITLE_CHARS_MAX: usize = 300;
/// How much of an issue its pull request repeats.
const SUMMARY_BYTES_MAX: usize = 2_000;
/// A forge accepts a megabyte; the note about a cut and the watermark need room too.
const REVIEW_BYTES_MAX: usize = 1024 * 1024 - 500;

/// The issue's title and number, as the commit of a merge would name it.
pub fn title(issue: &Issue) -> String {
    let suffix = format!(" (#{})", issue.number);
    format!("{}{suffix}", text::one_line(&issue.title, TITLE_CHARS_MAX - suffix.chars().count()))
}

/// What the issue is about, which issue it is for, and a mark of who made it.
pub fn body(issue: &str, number: IssueNumber) -> String {
    let issue = text::neutralise(issue);
    let first = issue.split("\n\n").map(str::trim).find(|part| !part.is_empty() && !part.starts_with('#'));
    let summary =
        first.map(|part| format!("{}\n\n", text::head(part, SUMMARY_BYTES_MAX))).unwrap_or_default();
    format!("{summary}Fixes #{number}\n\n<!-- shopfloor: issue {number} -->")
}

/// The title of a pull request that is for no issue.
pub fn own_title(title: &str) -> String {
    text::one_line(title, TITLE_CHARS_MAX)
}

/// What made a pull request that is for no issue.
pub fn body_of_run(assignment: Assignment) -> String {
    format!("Made by {assignment} of a formula.\n\n<!-- shopfloor: {assignment} -->")
}

/// A reviewing agent's words. The watermark says which commit they are about, wherever the text is copied to.
pub fn review(review: &Review, head: &Sha) -> String {
    let said: Vec<&str> = [&review.reason, &review.markdown]
        .map(|part| part.trim())
        .into_iter()
        .filter(|p| !p.is_empty())
        .collect();
    format!("{}\n\n<!-- reviewed: {head} -->", text::head(&said.join("\n\n"), REVIEW_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::effect::Verdict;

    #[test]
    fn a_pull_request_says_what_its_issue_is_about() {
        let number = IssueNumber(1);
        let said = body("## What\n\nIt panics.\n\n## Steps\n\n1. Parse", number);
        assert_eq!(said, "It panics.\n\nFixes #1\n\n<!-- shopfloor: issue 1 -->");
        assert_eq!(body("", number), "Fixes #1\n\n<!-- shopfloor: issue 1 -->");
    }

    #[test]
    fn a_review_says_which_commit_it_is_of_however_long_it_is() {
        let head: Sha = "a".repeat(40).parse().unwrap();
        let said = |markdown: &str| {
            let (reason, markdown) = ("Good".into(), markdown.to_owned());
            review(&Review { verdict: Verdict::Approve, reason, markdown, follow_ups: vec![] }, &head)
        };
        assert_eq!(said("Fine."), format!("Good\n\nFine.\n\n<!-- reviewed: {head} -->"));
        let long = said(&"z".repeat(2 * 1024 * 1024));
        assert!(long.len() < 1024 * 1024 && long.ends_with(&format!("<!-- reviewed: {head} -->")));
    }
}
