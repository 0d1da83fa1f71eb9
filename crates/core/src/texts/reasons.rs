//! Why something ended, was refused or has to wait: of jobs, sessions, reviewers, entries of the merge queue. They stand
//! after a colon, and are kept: on jobs and entries, in the journal, in comments.

use super::{checks, count, issues, span};
use crate::act::Refusal;
use crate::effect::{Action, CiReport, Outcome};
use crate::ids::{IssueNumber, RunNumber, ScheduleName, Sha, StepId};
use crate::label::Label;
use crate::runtime::ErrorKind;
use crate::state::{RunResult, StoodOn};
use crate::step::NotAStep;
use crate::text::one_line;
use std::time::Duration;

// ---- what people did -----------------------------------------------------------------------------

pub fn cancelled() -> &'static str {
    "cancelled by a person"
}

pub fn issue_closed() -> &'static str {
    "the issue was closed"
}

pub fn pull_closed() -> &'static str {
    "the pull request was closed"
}

pub fn label_set(label: Label) -> String {
    format!("a person set the label `{label}`")
}

pub fn label_removed(label: Label) -> String {
    format!("a person removed the label `{label}`")
}

pub fn changes_requested() -> &'static str {
    "a review asked for changes"
}

pub fn taken_out() -> &'static str {
    "taken out of the merge queue by a person"
}

pub fn newer_head_queued() -> &'static str {
    "a newer head of it was queued"
}

pub fn queued_for_another() -> &'static str {
    "it was queued for another branch"
}

pub fn branch_moved(head: Option<&Sha>) -> String {
    format!("the branch was {}", deleted_or_moved(head))
}

/// What became of a branch.
fn deleted_or_moved(head: Option<&Sha>) -> String {
    head.map_or_else(|| "deleted".to_owned(), |head| format!("moved to {}", head.short()))
}

pub fn continued_by(issue: IssueNumber) -> String {
    format!("the job of issue #{issue} continues it")
}

// ---- what an agent said --------------------------------------------------------------------------

pub fn none_given() -> &'static str {
    "no reason given"
}

/// What only people do was asked for by something that the floor started.
pub fn needs_a_person(by: &str, asked: &str) -> String {
    format!("{by} asked for what needs a person, and was refused: {asked}")
}

/// An agent asked for what it is not to have done.
pub fn act_refused(why: &Refusal) -> String {
    match why {
        Refusal::Over => "this session is over".to_owned(),
        Refusal::Lacks(role, capability) => format!("the role {role} may not {}", capability.means()),
        Refusal::Label(role, label) => {
            format!("the role {role} may not put on or take off the label {:?}", one_line(label, 80))
        }
        Refusal::Closes(role, issue) => format!("the role {role} may not close issues like #{issue}"),
        Refusal::Issues(max) => format!("no more than {} may be added or begun here", count(*max, "issue")),
        Refusal::NoReason(issue) => {
            format!("#{issue} is a prediction: say in a comment on it first why nothing follows")
        }
        Refusal::Changes(max) => {
            format!("no more than {} may be made to issues here", count(*max, "change"))
        }
        Refusal::Like(Some(issue), title) => {
            format!("issue #{issue} is like it, and open: {:?}", one_line(title, 200))
        }
        Refusal::Like(None, title) => {
            format!("an issue like it is being made: {:?}", one_line(title, 200))
        }
        Refusal::Asks(question) => format!("its question q{question} is still open"),
        Refusal::Questions(max) => format!("no more than {} may be asked here", count(*max, "question")),
        Refusal::Requests(max) => {
            format!("no more than {} may be made to the vault here", count(*max, "request"))
        }
        Refusal::Empty => "its text is empty".to_owned(),
        Refusal::TooLong(max) => format!("its text has more than {max} bytes, or it has too many labels"),
    }
}

pub fn none_known() -> &'static str {
    "no reason is known"
}

pub fn gave_up(why: &str) -> String {
    format!("the agent gave up: {why}")
}

pub fn reviewer_gave_up(why: &str) -> String {
    format!("the reviewer gave up: {why}")
}

pub fn cannot_do_it(why: &str) -> String {
    format!("the agent cannot do it as it is: {why}")
}

pub fn waits_for_what_is_closed(why: &str) -> String {
    format!("the agent waits for what is not open: {why}")
}

pub fn waits_for(waits: &[IssueNumber], why: &str) -> String {
    format!("it waits for {}, as the agent found: {why}", issues(waits, ", "))
}

fn in_brackets(said: Option<&str>) -> String {
    said.map(|said| format!(" ({said})")).unwrap_or_default()
}

pub fn done_already(said: Option<&str>) -> String {
    format!("the agent found it done already{}, and changed nothing", in_brackets(said))
}

pub fn done_already_to_close(said: Option<&str>) -> String {
    format!("{}: close the issue if that is so", done_already(said))
}

pub fn done_already_but_changed(said: Option<&str>, ahead: u32, dirty: u32) -> String {
    format!(
        "the agent says that the issue is done already{}, but its branch has {} and {} of its own",
        in_brackets(said),
        count(ahead, "commit"),
        count(dirty, "changed file")
    )
}

pub fn asks_too_much(max: u32, last: &str) -> String {
    format!("the agent asked {max} questions; the last: {last}")
}

// ---- what an agent did not do --------------------------------------------------------------------

/// After it was told so as often as it may be.
pub fn after_reminders(what: &str, reminders: u32) -> String {
    format!("{what}, after {}", count(reminders, "reminder"))
}

pub fn branch_not_pushed() -> &'static str {
    "the agent's branch cannot be pushed"
}

pub fn branch_empty() -> &'static str {
    "the agent signals, but its branch is empty"
}

pub fn asks_for_needless_checks() -> &'static str {
    "the agent keeps asking for checks of a commit that needs none"
}

pub fn asks_for_needless_review() -> &'static str {
    "the agent keeps asking for a review of what was reviewed"
}

pub fn done_but_not_merged() -> &'static str {
    "the agent says it is done, but nothing is merged"
}

pub fn no_such_phase() -> &'static str {
    "the agent writes a phase that does not exist"
}

pub fn no_phase() -> &'static str {
    "the agent stopped without a phase"
}

/// `how` its program ended.
pub fn ended_without_phase(how: &str) -> String {
    format!("the agent stopped ({how}) without a phase")
}

pub fn silent(within: Duration) -> String {
    format!("no sign of the agent for {}", span(within))
}

pub fn frozen() -> &'static str {
    "the client is frozen"
}

pub fn message_not_taken(first_line: &str, why: &str) -> String {
    format!("the agent did not take the message {first_line:?} in time: {why}")
}

pub fn time_is_over() -> &'static str {
    "its time is over"
}

pub fn after_successors(why: &str, tried: u32) -> String {
    format!(
        "{why}; {} tried",
        if tried == 1 { "1 successor was".into() } else { format!("{tried} successors were") }
    )
}

pub fn context_full(times: u32) -> String {
    format!("the agent's context was full {times} times")
}

// ---- what an agent could not do ------------------------------------------------------------------

pub fn setup_failed(times: u32, why: &str) -> String {
    format!("the setup of its worktree failed {times} times: {why}")
}

pub fn reviewer_cannot_work(why: &str) -> String {
    format!("the reviewer cannot work: {why}")
}

pub fn after_attempts(why: &str, attempts: u32) -> String {
    format!("{why}, after {}", count(attempts, "attempt"))
}

/// A program that does not even begin. `says` is the end of what it printed.
pub fn ends_at_once(client: bool, how: &str, says: &str) -> String {
    let what = if client { "the client" } else { "the command" };
    format!("{what} ends as soon as it is started ({how}); it says: {says}")
}

pub fn killed() -> &'static str {
    "killed"
}

pub fn exit(status: i32) -> String {
    format!("exit {status}")
}

/// What a client's error means.
pub fn client_error(error: ErrorKind) -> &'static str {
    match error {
        ErrorKind::Auth => "its client is not logged in, or its key is not accepted",
        ErrorKind::Billing => "its account has no credit",
        ErrorKind::ModelNotFound => "its model does not exist or is not allowed (`model` in shopfloor.toml)",
        ErrorKind::InvalidRequest => "its request was refused as invalid",
        ErrorKind::Root => "its client refuses to run as root without a sandbox",
        ErrorKind::NoConversation => "its client does not find the conversation to resume",
        ErrorKind::RateLimit => "a limit is reached",
        ErrorKind::Overloaded => "the model's servers are overloaded",
        ErrorKind::Server => "the model's servers have an error",
        ErrorKind::ContextFull => "its context is full",
        ErrorKind::Connection => "the model cannot be reached",
        ErrorKind::Compaction => "its context could not be compacted",
        ErrorKind::Unknown => "its client reports an unknown error",
    }
}

/// An effect that will never work.
/// The program answered an action with what cannot come of it.
pub fn wrong_outcome(outcome: &Outcome) -> String {
    format!("a bug in shopfloor: the answer does not fit: {}", one_line(&format!("{outcome:?}"), 200))
}

pub fn wrong_links(links: usize, entries: usize) -> String {
    format!("a bug in shopfloor: a chain of {entries} entries came back with {links} links")
}

pub fn impossible(action: &Action, why: &str) -> String {
    format!("{} failed: {why}", action.name().replace('_', " "))
}

// ---- checks --------------------------------------------------------------------------------------

pub fn checks_cannot_run(why: &str) -> String {
    format!("the checks cannot run: {why}")
}

pub fn only_its_checks_cannot_run(why: &str) -> String {
    format!("its checks cannot run, but those of others can: {why}")
}

pub fn no_checks() -> &'static str {
    "the project has no checks configured: add [ci] steps to shopfloor.toml, or say no_checks = true"
}

pub fn checked_too_often(max: u32) -> String {
    format!("it is not done after {max} runs of the checks")
}

pub fn failed_too_often(times: u32, reason: &str) -> String {
    format!("CI failed {times} times: {reason}")
}

/// Of a person's branch, whose pull request says no more.
pub fn head_fails(said: &str, report: &CiReport) -> String {
    let log = if report.log.is_empty() { String::new() } else { format!("; the log: {}", report.log) };
    format!("its head does not pass the checks: {said}{log}")
}

/// Of an entry, on top of others.
pub fn trial_failed(report: Option<&CiReport>, stood_on: Option<&StoodOn>) -> String {
    let said = report.map_or_else(|| checks::failed().into(), checks::describe);
    format!("{said} ({})", stood_on.map(StoodOn::tell).unwrap_or_default())
}

// ---- reviews -------------------------------------------------------------------------------------

pub fn reviewed_too_often(max: u32) -> String {
    format!("{max} rounds of review did not end in an approval")
}

pub fn reviewer_left_nothing(within: Duration) -> String {
    format!("the reviewer left no review for {}, or did not run `shopfloor phase done`", span(within))
}

pub fn reviewer_stopped(how: &str, says: &str) -> String {
    format!("the reviewer stopped ({how}) without a review; it says: {says}")
}

pub fn reviewer_idle(reminders: u32) -> String {
    after_reminders("the reviewer stopped without a review", reminders)
}

pub fn review_unusable(why: &str) -> String {
    format!("the review cannot be used: {why}")
}

// ---- the merge queue -----------------------------------------------------------------------------

pub fn after_rounds(what: &str, rounds: u32) -> String {
    format!("{what}, after {}", count(rounds, "round"))
}

pub fn keeps_moving() -> &'static str {
    "the branch keeps moving after its approval"
}

pub fn keeps_conflicting() -> &'static str {
    "the change keeps conflicting with the primary branch"
}

pub fn keeps_failing() -> &'static str {
    "the change keeps failing on top of the primary branch"
}

pub fn conflicts(files: &[String]) -> String {
    format!("conflicts in {}", files.join(", "))
}

// ---- runs of formulas ----------------------------------------------------------------------------

/// Of a step that was under way.
pub fn run_ended_meanwhile(result: RunResult) -> &'static str {
    match result {
        RunResult::TimedOut => "stopped: the run took too long",
        RunResult::Cancelled => "stopped: the run was cancelled",
        RunResult::Done | RunResult::NothingToDo | RunResult::Failed => "stopped: the run ended",
    }
}

pub fn run_took_too_long(lifetime: Duration) -> String {
    format!("it did not finish within {}", span(lifetime))
}

pub fn run_is_stuck() -> &'static str {
    "a bug in shopfloor: its steps wait for something that never ends"
}

/// Of a schedule's time at which the floor was down.
pub fn missed() -> &'static str {
    "the floor was down at that time"
}

pub fn run_under_way(run: RunNumber) -> String {
    format!("run {run} of the same formula is still under way")
}

/// Who asks for a run that is due.
pub fn by_schedule(schedule: &ScheduleName) -> String {
    format!("schedule {schedule}")
}

pub fn by_issue(issue: IssueNumber) -> String {
    format!("issue #{issue}")
}

pub fn not_committed(dirty: u32) -> String {
    let files = if dirty == 1 { "1 changed file was" } else { &format!("{dirty} changed files were") };
    format!("{files} not committed: nothing landed, and the rescue ref of its worktree keeps them")
}

pub fn nothing_unexplained() -> &'static str {
    "nothing was found that the factory cannot explain or mend by itself"
}

pub fn nothing_to_do() -> &'static str {
    "nothing to do"
}

pub fn step_found_nothing(step: &StepId) -> String {
    format!("step {step} found nothing to do")
}

pub fn step_failed(step: &StepId, how: &str) -> String {
    format!("step {step} failed: {}", one_line(how, 300))
}

pub fn step_never_verified(step: &StepId, times: u32, why: &str) -> String {
    format!("step {step} was reported done {times} times, but is not: {}", one_line(why, 300))
}

pub fn steps_are_open() -> &'static str {
    "the agent stopped although steps are open"
}

pub fn not_a_step(why: &NotAStep) -> String {
    let list = |ids: &[StepId]| ids.iter().map(StepId::as_str).collect::<Vec<_>>().join(", ");
    match why {
        NotAStep::NoRun => "this session carries out no run".to_owned(),
        NotAStep::Unknown(step) => format!("there is no step `{step}` in this run"),
        NotAStep::Ours(step) => format!("step `{step}` is a command, which the factory runs itself"),
        NotAStep::Over(step, how) => format!("step `{step}` is {how} already"),
        NotAStep::Needs(step, missing) => format!("step `{step}` needs {} first", list(missing)),
        NotAStep::BeingVerified(step) => format!("step `{step}` is being verified"),
    }
}
