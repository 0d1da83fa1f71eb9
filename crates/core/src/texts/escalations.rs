//! What people are told because a job, an issue or a project does not get on. The merge queue's are in [`super::queue`].

use super::{files_in_words, issues, span};
use crate::ids::{IssueNumber, PrNumber, Sha};
use std::time::Duration;

pub fn agent_waits() -> &'static str {
    "the agent still waits"
}

pub fn takes_long(state: &str) -> String {
    format!("{state} takes longer than expected")
}

pub fn background_work(within: Duration, what: &str) -> String {
    format!("the agent has waited for its own background work for {}: {what}", span(within))
}

pub fn nothing_moves() -> &'static str {
    "the agent is alive, but nothing has moved for a long time"
}

pub fn ends_later(reason: &str) -> String {
    format!("not ended ({reason}): its publication is under way")
}

// ---- reviews -------------------------------------------------------------------------------------

pub fn no_review(head: &Sha, within: Duration) -> String {
    format!("no review of {} in {}", head.short(), span(within))
}

pub fn persons_word(head: &Sha, files: &[String]) -> String {
    format!("{} waits for a person's approval: it changes {}", head.short(), files_in_words(files))
}

pub fn person_has_to_review(why: &str) -> String {
    format!("{why}; a person has to review")
}

pub fn no_pull_review(pr: PrNumber, why: &str) -> String {
    format!("no review of pull request #{pr}: {why}")
}

pub fn refused_while_published() -> &'static str {
    "a review asked for changes while the change was being published"
}

pub fn objection_stands(head: &Sha, who: &str) -> String {
    format!("{} is approved, but {who} asked for changes before", head.short())
}

// ---- issues and projects -------------------------------------------------------------------------

pub fn waits_for_unknown(numbers: &[IssueNumber]) -> String {
    format!("it waits for {}, and there is no such issue", issues(numbers, ", "))
}

pub fn waits_for_itself(path: &[IssueNumber]) -> String {
    format!("it waits for itself: {}", issues(path, " -> "))
}

pub fn nothing_is_started(why: &str) -> String {
    format!("nothing new is started: {why}")
}

pub fn bug_in_scheduling(why: &str) -> String {
    format!("a bug keeps issues from being started: {why}")
}

pub fn bug_with_event(what: &str, why: &str) -> String {
    format!("a bug: {what} could not be handled and is left out ({why}); `shopfloor events` shows all of it")
}

pub fn fails_for_hours(what: &str, lasted: Duration, why: &str) -> String {
    format!("{what} has failed for {} and is still being tried; fix what is in its way: {why}", span(lasted))
}
