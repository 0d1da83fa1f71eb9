//! Sentences that more than one view uses. What only one view says is in its own function: [`crate::view`]'s
//! `why`, `waits_for`, `what`.

use shopfloor_core::ids::Assignment;
use shopfloor_core::label::Label;

pub fn label_missing(label: Label) -> String {
    format!("label {label} is missing")
}

pub fn no_actions() -> &'static str {
    "nobody carries out actions: `shopfloor agents enable action`"
}

pub fn label_set(label: Label) -> String {
    format!("label {label} is set")
}

/// `roles` in words.
pub fn outage(roles: &str, why: &str) -> String {
    format!(
        "The {roles} agents cannot work: {why}. Fix it: that is noticed, and any answer tries again at once."
    )
}

/// The same, with a dialog that may end it.
pub fn outage_at_login(roles: &str, why: &str, dialog: &str) -> String {
    format!(
        "The {roles} agents cannot work: {why}. Choose here, or fix it elsewhere; any other answer tries again.\n{dialog}"
    )
}

pub fn primary_to_be_fixed() -> &'static str {
    "the primary branch, which fails the checks, to be fixed"
}

pub fn next_try(what: &str, at: &str) -> String {
    format!("{what}; the next try is at {at}")
}

/// Where to look for more about a job.
pub fn how_far(assignment: Assignment) -> String {
    match assignment {
        Assignment::Run(run) => format!("`shopfloor run show {run}` says how far along it is"),
        other => format!("`shopfloor explain {}` says how far along it is", other.tag()),
    }
}

pub fn process_runs() -> &'static str {
    "its process runs"
}

pub fn process_unknown() -> &'static str {
    "its process cannot be looked at"
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::ids::{IssueNumber, RunNumber};

    #[test]
    fn sentences_of_several_views() {
        let all = [
            label_missing(Label::Backlog),
            label_set(Label::Blocked),
            outage("dev and review", "claude is not installed"),
            outage_at_login("dev", "not logged in", "How do you want to log in?"),
            primary_to_be_fixed().to_owned(),
            next_try("the checks, which could not run", "14:05"),
            how_far(Assignment::Issue(IssueNumber(3))),
            how_far(Assignment::Run(RunNumber(4))),
            process_runs().to_owned(),
            process_unknown().to_owned(),
        ];
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!("desk", all.join("\n\n"));
        });
    }
}
