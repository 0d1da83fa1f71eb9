//! What is said of the merge queue, the branches work lands on, and the user's own checkout.

use super::{checks, files_in_words, reasons, span};
use crate::effect::CiReport;
use crate::event::BranchAsk;
use crate::ids::{Assignment, EntryId, Sha, Target};
use crate::planner::TrialId;
use crate::state::{LostPrimary, Parked};
use crate::step::{Hindrance, NotReviewed};
use std::time::Duration;

// ---- entries -------------------------------------------------------------------------------------

pub fn queued(entry: EntryId, head: &Sha) -> String {
    format!("entry {entry}, {}", head.short())
}

pub fn queued_by_person(entry: EntryId, ask: &BranchAsk) -> String {
    let approved = ask.approved_by.as_ref().map(|who| format!(", approved by {who}")).unwrap_or_default();
    format!("{}, queued by {}{approved}", queued(entry, &ask.head), ask.by)
}

pub fn moved_after_approval(entry: EntryId, head: Option<&Sha>) -> String {
    format!("entry {entry}: {} after its approval", reasons::branch_moved(head))
}

/// `again` is the command that queues it.
pub fn moved_by_person(entry: EntryId, head: Option<&Sha>, again: &str) -> String {
    format!("{}; `{again}` queues it as it is then", moved_after_approval(entry, head))
}

pub fn conflicts(onto: &str, with: &Sha, files: &[String], again: &str) -> String {
    format!(
        "conflicts with {onto} at {} in {}: merge that into the branch, push it, and `{again}` again",
        with.short(),
        files.join(", ")
    )
}

pub fn left_out(entry: EntryId, commits: u32) -> String {
    format!(
        "entry {entry}: its branch was started on {commits} commits that were taken off the primary branch; they do not land with it"
    )
}

pub fn lands_after(branch: &str) -> String {
    format!("it lands after {branch}")
}

pub fn flaky(trial: TrialId) -> String {
    format!("trial {trial} was red, then green")
}

// ---- what a branch cannot do ---------------------------------------------------------------------

pub fn hindrance(hindrance: &Hindrance) -> String {
    match hindrance {
        Hindrance::Primary => "work lands on it: it is not merged itself".to_owned(),
        Hindrance::Job(assignment) => carried_by(*assignment),
        Hindrance::Landing => "an earlier head of it is being published".to_owned(),
        Hindrance::NoChecks => no_checks().to_owned(),
        Hindrance::NotApproved(head) => not_approved(head),
        Hindrance::NoPersonsWord(head, files) => persons_word_missing(head, files),
    }
}

/// `files`: those that need it, if they are known.
pub fn persons_word_missing(head: &Sha, files: &[String]) -> String {
    let what = match files {
        [] => "what it changes was not looked at".to_owned(),
        files => format!("it changes {}", files_in_words(files)),
    };
    format!("no person has approved its head {}, and {what}", head.short())
}

fn carried_by(assignment: Assignment) -> String {
    format!("the job of {assignment} carries it")
}

pub fn no_checks() -> &'static str {
    "the project has no checks configured, and does not say that it wants none"
}

pub fn not_approved(head: &Sha) -> String {
    format!("its head {} is not approved", head.short())
}

pub fn not_reviewed(why: &NotReviewed) -> String {
    match why {
        NotReviewed::Never => "the project wants no agents' reviews of people's changes".to_owned(),
        NotReviewed::NoReviewer => "the project has no reviewing agent".to_owned(),
        NotReviewed::Job(assignment) => format!("{}, and sees to its review", carried_by(*assignment)),
    }
}

pub fn no_commits() -> &'static str {
    "it has no commits yet"
}

pub fn no_pull() -> &'static str {
    "it has no pull request yet"
}

pub fn not_passed(head: &Sha) -> String {
    format!("its head {} has not passed the checks", head.short())
}

pub fn objected(who: &str) -> String {
    format!("{who} asked for changes, and has not approved")
}

pub fn is_merged() -> &'static str {
    "it is merged"
}

pub fn issue_closed() -> &'static str {
    "its issue is closed"
}

/// In a state from which nothing is queued.
pub fn is_in(state: &str) -> String {
    format!("it is {state}")
}

pub fn too_many_tries(live: usize) -> String {
    format!("{live} branches are being tried already")
}

// ---- the queue -----------------------------------------------------------------------------------

/// `why` nothing lands; `None`: it continues. A target's queue is named by its branch.
pub fn pause(target: Option<&Target>, why: Option<&str>) -> String {
    let of = target.map(|target| format!("of {}: ", target.branch())).unwrap_or_default();
    let text = why.map_or_else(|| "continues".to_owned(), |why| format!("paused: {why}"));
    format!("{of}{text}")
}

pub fn primary_accepted(branch: &str) -> String {
    format!("continues from wherever {branch} is now, as a person says")
}

// ---- the branch work lands on --------------------------------------------------------------------

pub fn primary_moved(branch: &str, head: &Sha, by: Option<&str>) -> String {
    format!("{} moved {branch} to {}", by.unwrap_or("somebody"), head.short())
}

pub fn primary_in_order(branch: &str, head: &Sha) -> String {
    format!("{branch} is at {} and in order again", head.short())
}

/// `branch` is `target` in words.
pub fn primary_lost(lost: &LostPrimary, target: Option<&Target>, branch: &str) -> String {
    let known = lost.known.as_ref().map(Sha::short);
    match (&lost.found, known) {
        (Some(found), Some(known)) if lost.by_nobody => format!(
            "{branch} was moved from {known} to {}, not by the merge queue and by no push of a person that the hub has on record: look at `git log {known}..{}`, then accept it (`shopfloor merge-queue accept`) or put it back",
            found.short(),
            found.short()
        ),
        (Some(found), known) => format!(
            "{branch} was rewound or rewritten: it is at {}, without {}",
            found.short(),
            known.unwrap_or_default()
        ),
        (None, Some(known)) => format!("{branch} was deleted; it was at {known}"),
        (None, None) => match target {
            None => "origin has no primary branch".to_owned(),
            Some(_) => format!("origin has no branch {branch}"),
        },
    }
}

pub fn waits_for_base(head: &Sha, branch: &str, parked: &Parked) -> String {
    let on = parked.on.as_ref().map_or_else(String::new, |on| format!(" ({on})"));
    format!(
        "{} is red, and so is the commit of {branch} it stands on{on}: it waits until that is fixed",
        head.short()
    )
}

pub fn base_fixed(branch: &str, base: &Sha, head: &Sha) -> String {
    format!("{branch} is fixed at {}: {} continues", base.short(), head.short())
}

// ---- the user's checkout -------------------------------------------------------------------------

fn rebase(primary: &str) -> String {
    format!("run `git pull --rebase shopfloor {primary}` in your checkout, and they land then")
}

pub fn checkout_taken(head: &Sha) -> String {
    format!("your commits up to {} have landed", head.short())
}

pub fn checkout_queued(primary: &str, ask: &BranchAsk) -> String {
    format!(
        "your {primary} has commits of its own, {}, which go through the merge queue as {}",
        ask.head.short(),
        ask.branch
    )
}

pub fn checkout_not_queued(primary: &str, why: &Hindrance) -> String {
    format!("your {primary} has commits of its own that cannot be queued ({why}); {}", rebase(primary))
}

pub fn checkout_not_merged(primary: &str, branch: &str) -> String {
    format!("your own commits on {primary} could not be merged as {branch}; {}", rebase(primary))
}

// ---- escalations ---------------------------------------------------------------------------------

pub fn too_late_to_take_out(why: Option<&str>) -> String {
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    format!("not taken out of the merge queue{why}: its publication is under way")
}

pub fn not_queued(head: &Sha) -> String {
    format!("{} is not queued: it is not approved", head.short())
}

pub fn waits_long(since: Duration) -> String {
    format!("it has waited in the merge queue for {} min", since.as_secs() / 60)
}

pub fn waits_long_for(waited: Duration, branch: &str, job: Option<Assignment>) -> String {
    let who = match job {
        Some(assignment) => format!("which the job of {assignment} works on"),
        None => "which is queued".to_owned(),
    };
    format!("it has waited for {} until {branch} lands, {who}", span(waited))
}

/// `why` names what it lands after; `again` is the command that queues it.
pub fn nobody_works_on(why: &str, persons: bool, again: &str) -> String {
    let next = match persons {
        // What a branch names is looked up when it is queued.
        true => format!("queue that, or delete it and `{again}`"),
        false => format!("queue that; `{again}` does not wait for it"),
    };
    format!("it lands after {why}: {next}")
}

pub fn checks_cannot_run(times: u32, pause: Duration) -> String {
    format!(
        "the merge queue stands still: its checks cannot run, whatever is in them (found {times} times in a row); the next try is in {} s",
        pause.as_secs()
    )
}

pub fn stands_still(lost: &str) -> String {
    format!("{lost}; the merge queue stands still until that is put right")
}

pub fn base_fails(branch: &str, head: &Sha, report: &CiReport) -> String {
    format!(
        "{branch} itself fails at {}: {}; what fails on top of it waits until it is fixed",
        head.short(),
        checks::describe(report)
    )
}

pub fn still_waits_for_base(branch: &str) -> String {
    format!("it still waits for {branch}, on which it stands, to be fixed or known to be green")
}

pub fn no_verdict(tested: &[&str]) -> String {
    format!("no verdict on each of {} is on record", tested.join(", "))
}

pub fn landed_incomplete(head: &Sha, commit: &Sha) -> String {
    format!("not every change of {} is in {}, which it landed as: look at both", head.short(), commit.short())
}

/// The project's own command for an entry's end did not work.
pub fn command_failed(name: &str, entry: EntryId, trouble: &str, log: &str) -> String {
    let log = if log.is_empty() { String::new() } else { format!("; what it printed: {log}") };
    format!("the command {name} for entry {entry}: {trouble}{log}")
}
