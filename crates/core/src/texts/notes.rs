//! Notes on jobs and sessions: what the journal, `shopfloor events` and `explain` say of them.

use super::{reasons, span};
use crate::act::{Act, Refusal};
use crate::effect::Verdict;
use crate::ids::{
    Epoch, FormulaName, IssueNumber, JobId, MessageId, PrNumber, Role, RunNumber, ScheduleName, Sha, StepId,
    Target,
};
use crate::liveness::State;
use crate::phase::Phase;
use crate::recipe::Flaw;
use crate::state::{RunResult, SeenReview, StepRecord, Try, TryState};
use crate::text::one_line;
use std::time::Duration;

// ---- jobs ----------------------------------------------------------------------------------------

pub fn claimed(job: JobId, pr: Option<PrNumber>, target: Option<&Target>) -> String {
    let pr = pr.map(|pr| format!(", continues pull request #{pr}")).unwrap_or_default();
    let lands = target.map(|t| format!(", to land on {}", t.branch())).unwrap_or_default();
    format!("claimed as job {job}{pr}{lands}")
}

pub fn ended(end: &str, reason: &str) -> String {
    format!("{end}: {reason}")
}

pub fn merged_by_person(head: &Sha) -> String {
    format!("{head}, merged by hand")
}

pub fn found_changed(repository: &str, what: &str) -> String {
    format!(
        "{repository}: {what}; it was put right (its folder not-ours has what did not belong there). Whatever runs as this user can write there, and nothing says what did"
    )
}

pub fn issue_edited() -> &'static str {
    "its text was changed while it is worked on"
}

pub fn branch_changed(head: Option<&Sha>) -> String {
    format!("{} by hand: it is looked at again", reasons::branch_moved(head))
}

pub fn worktree_removed(role: Role, rescue: &str) -> String {
    format!("the {role} worktree was kept long enough and is removed; what it held is at {rescue}")
}

pub fn setup_failed(why: &str) -> String {
    format!("its setup failed: {why}")
}

// ---- sessions ------------------------------------------------------------------------------------

pub fn registered(agent: &str, epoch: Epoch) -> String {
    format!("{agent}, session {epoch}")
}

/// What a session is in, or what is wrong with it.
pub fn session(epoch: Epoch, what: &str) -> String {
    format!("session {epoch}: {what}")
}

pub fn session_state(epoch: Epoch, state: &State) -> String {
    session(epoch, &state.to_string())
}

pub fn session_stopped(role: Role, epoch: Epoch, how: &str) -> String {
    format!("{role} session {epoch}: {how}")
}

pub fn session_ended(epoch: Epoch) -> String {
    format!("session {epoch} ended")
}

pub fn successor(epoch: Epoch, of: Epoch) -> String {
    format!("session {epoch} takes over from session {of}")
}

pub fn context_full(epoch: Epoch) -> String {
    session(epoch, "its context is full; a successor takes over")
}

// ---- signals that came too late ------------------------------------------------------------------

pub fn stale_phase(phase: Phase) -> String {
    format!("phase {phase} of a session that is not the current one")
}

pub fn reviewer_signalled(phase: Phase) -> String {
    format!("a reviewer signalled {phase}")
}

pub fn stale_answer() -> &'static str {
    "an answer came, but that question is not open"
}

pub fn message_of_another(epoch: Epoch, message: MessageId) -> String {
    format!("session {epoch} took message {message}, which is not its own")
}

pub fn review_of_another(epoch: Epoch) -> String {
    format!("the review of session {epoch} is of another commit")
}

pub fn review_too_late(epoch: Epoch) -> String {
    format!("nobody waits for the review of session {epoch} any more")
}

pub fn cannot_merge(why: &str) -> String {
    format!("a person asked to merge it, but {why}")
}

pub fn cannot_merge_branch(branch: &str, why: &str) -> String {
    format!("a person asked to merge {branch}, but {why}")
}

pub fn cannot_try(branch: &str, why: &str) -> String {
    format!("a person asked to try {branch}, but {why}")
}

pub fn run_put_off(schedule: &ScheduleName, why: &str) -> String {
    format!("schedule {schedule} is due, but put off: {why}")
}

pub fn run_passed_over(schedule: &ScheduleName, why: &str) -> String {
    format!("schedule {schedule} was due, but passed over: {why}")
}

pub fn schedule_failed(schedule: &ScheduleName, why: &str) -> String {
    format!("schedule {schedule} is due, but cannot be run: {why}")
}

pub fn schedule_paused(schedule: &ScheduleName, by: &str) -> String {
    format!("schedule {schedule} was paused by {by}")
}

pub fn schedule_resumed(schedule: &ScheduleName, by: &str) -> String {
    format!("schedule {schedule} was resumed by {by}")
}

pub fn run_asked(run: RunNumber, formula: &FormulaName, by: &str) -> String {
    format!("run {run} of {formula} was asked for by {by}")
}

pub fn run_begun(run: RunNumber, formula: &FormulaName, job: JobId) -> String {
    format!("run {run} of {formula} began, as job {job}")
}

pub fn step_is(run: RunNumber, step: &StepId, record: &StepRecord) -> String {
    let note = one_line(&record.note, 200);
    let note = if note.is_empty() { note } else { format!(": {note}") };
    format!("run {run}: step {step} is {}{note}", record.state.name())
}

pub fn action_not_waited_for() -> &'static str {
    "what its issue asks for was read, but is no longer waited for"
}

pub fn step_not_waited_for(step: &StepId) -> String {
    format!("the command of step {step} ended, but is no longer waited for")
}

pub fn run_asked_again(formula: &FormulaName, run: RunNumber) -> String {
    format!("{formula} was asked for again, but its run {run} is still under way")
}

pub fn no_recipe(formula: &FormulaName, flaw: &Flaw) -> String {
    format!("{formula} cannot be carried out: {flaw}")
}

pub fn run_ended(run: RunNumber, formula: &FormulaName, result: RunResult, reason: &str) -> String {
    let result = result.name();
    match reason {
        "" => format!("run {run} of {formula} ended: {result}"),
        reason => format!("run {run} of {formula} ended: {result} ({reason})"),
    }
}

pub fn cannot_review(pr: PrNumber, why: &str) -> String {
    format!("a person asked for a review of pull request #{pr}, but {why}")
}

// ---- messages ------------------------------------------------------------------------------------

pub fn first_prompt() -> &'static str {
    "the first prompt"
}

pub fn undelivered(first_line: &str, why: &str) -> String {
    format!("{first_line}: {why}")
}

pub fn queued() -> &'static str {
    "it was queued"
}

pub fn taken_without_phase(epoch: Epoch) -> String {
    format!("session {epoch} took it and ended without a phase")
}

// ---- held ----------------------------------------------------------------------------------------

pub fn person_types(epoch: Epoch) -> String {
    format!("a person types in session {epoch}: nothing is typed, judged or ended there")
}

pub fn session_continues(epoch: Epoch, why: &str) -> String {
    format!("session {epoch} continues: {why}")
}

pub fn person_left() -> &'static str {
    "the person left"
}

pub fn person_typed_nothing() -> &'static str {
    "the person has typed nothing for a while"
}

pub fn was_handed_back() -> &'static str {
    "it was handed back"
}

pub fn taken() -> &'static str {
    "a person took it: its agent is left alone until it is handed back"
}

pub fn handed_back() -> &'static str {
    "a person handed it back"
}

pub fn paused(why: &str) -> String {
    format!("its agents are paused: {why}")
}

pub fn resumed() -> &'static str {
    "its agents continue"
}

// ---- reviews -------------------------------------------------------------------------------------

pub fn review(review: &SeenReview) -> String {
    format!("{} by {} of {}", review.verdict.as_str(), review.author, review.head.short())
}

pub fn review_of_pull(pr: PrNumber, review: &str) -> String {
    format!("pull request #{pr}: {review}")
}

pub fn approval_holds(review: &SeenReview, head: &Sha) -> String {
    let SeenReview { author, head: of, .. } = review;
    format!("the approval of {} by {author} holds for {}: the change is the same", of.short(), head.short())
}

pub fn pull_review_started(job: JobId, pr: PrNumber, branch: &str, head: &Sha) -> String {
    format!("job {job}: a review of pull request #{pr}, {branch} at {}", head.short())
}

/// How a job that only reviews ended; without a verdict, it was reviewed before.
pub fn reviewed(verdict: Option<Verdict>, head: &Sha) -> String {
    let verdict = verdict.map(|verdict| format!("{} ", verdict.as_str())).unwrap_or_default();
    format!("{verdict}of {}", head.short())
}

// ---- tries ---------------------------------------------------------------------------------------

pub fn tried(row: &Try) -> String {
    let said = match &row.state {
        TryState::Red { reason, .. } | TryState::Unknown { reason, .. } => format!(": {reason}"),
        TryState::Conflicted { files, .. } => format!(": {}", files.join(", ")),
        _ => String::new(),
    };
    format!(
        "{}: tried at {} on top of {}: {}{}",
        row.branch,
        row.head.short(),
        row.base.short(),
        row.state.name(),
        one_line(&said, 300)
    )
}

pub fn tried_branch_gone() -> &'static str {
    "the branch was moved, and what it was is gone"
}

pub fn tried_base_gone() -> &'static str {
    "what it should be tried on is gone"
}

pub fn try_not_wanted() -> &'static str {
    "a person did not want to know any more"
}

// ---- what fails and is tried again ---------------------------------------------------------------

pub fn trouble(what: &str, why: &str) -> String {
    format!("{what} fails and is tried again: {why}")
}

pub fn trouble_over(what: &str, lasted: Duration) -> String {
    format!("{what}: over after {}", span(lasted))
}

// ---- what agents have done -----------------------------------------------------------------------

pub fn act(act: &Act) -> String {
    let labels = |names: &[String]| one_line(&names.join(", "), 200);
    match act {
        Act::CreateIssue { title, labels: none, .. } if none.is_empty() => {
            format!("an issue {:?}", one_line(title, 120))
        }
        Act::CreateIssue { title, labels: put, .. } => {
            format!("an issue {:?} with {}", one_line(title, 120), labels(put))
        }
        Act::Comment { issue, .. } => format!("a comment on #{issue}"),
        Act::Label { issue, add, remove } => {
            let add = (!add.is_empty()).then(|| format!("with {}", labels(add)));
            let remove = (!remove.is_empty()).then(|| format!("without {}", labels(remove)));
            let both: Vec<String> = [add, remove].into_iter().flatten().collect();
            format!("#{issue} {}", both.join(", "))
        }
        Act::Close { issue } => format!("#{issue} closed"),
    }
}

pub fn question() -> &'static str {
    "to ask a question"
}

pub fn act_wanted(role: Role, epoch: Epoch, what: &str) -> String {
    format!("the {role} agent, session {epoch}, wants {what}")
}

pub fn act_refused(role: Role, epoch: Epoch, what: &str, why: &Refusal) -> String {
    format!("the {role} agent, session {epoch}, wanted {what}: {}", reasons::act_refused(why))
}

pub fn act_done(role: Role, what: &str, issue: IssueNumber) -> String {
    format!("done for the {role} agent on #{issue}: {what}")
}

pub fn act_failed(role: Role, what: &str, why: &str) -> String {
    format!("the {role} agent wanted {what}, which cannot be done: {}", one_line(why, 300))
}
