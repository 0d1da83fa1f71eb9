//! Messages to agents. Each begins with a [`FirstLine`] and says what to do.

use super::checks::describe;
use super::{FirstLine, span};
use crate::effect::{CiReport, CiVerdict, Verdict};
use crate::guard::{Ask, Rule};
use crate::ids::{IssueNumber, PrNumber, Sha, StepId};
use crate::state::Run;
use crate::text::fence;
use std::time::Duration;

const READY: &str = "Signal awaiting_review when it is ready for review.";

fn message(first: FirstLine, text: &str) -> String {
    format!("{first}\n{text}")
}

/// What others wrote, at the end of a message: between fences that it cannot close, so that nothing in it reads as a
/// word of the factory.
fn quoted(text: &str) -> String {
    let (text, fence) = (text.trim_end(), fence(text));
    if text.is_empty() { String::new() } else { format!("\n\n{fence}\n{text}\n{fence}") }
}

// ---- checks --------------------------------------------------------------------------------------

pub fn ci_passed(head: &Sha) -> String {
    message(FirstLine::CiPassed, &format!("Commit {head} is green. {READY}"))
}

/// The project checks nothing before the merge.
pub fn ci_left_to_the_merge(head: &Sha) -> String {
    let text = format!(
        "No checks ran on commit {head} itself: this project runs them as part of the merge, on top of the primary branch. You are told if they fail there. {READY}"
    );
    message(FirstLine::CiPassed, &text)
}

/// What it stands on was red, and is fixed at `base`.
pub fn ci_left_to_the_merge_on(head: &Sha, branch: &str, base: &Sha) -> String {
    let text = format!(
        "Commit {head} is not judged by itself: it stands on a commit of {branch} that fails the checks, too. That is fixed at {base}, and your change is checked on top of that as part of the merge. You are told if it fails there. {READY}"
    );
    message(FirstLine::CiPassed, &text)
}

pub fn ci_failed(report: &CiReport, commit: &Sha, runs: u32) -> String {
    let first = match report.verdict {
        CiVerdict::TimedOut => FirstLine::CiTimeout,
        _ => FirstLine::CiFailed,
    };
    let again = match runs {
        0 | 1 => String::new(),
        2 => ", and again when it ran a second time".to_owned(),
        n => format!(", in each of {n} runs of this commit"),
    };
    let text = format!(
        "Commit {commit}: {}{again}. Fix it, commit and signal awaiting_ci again.\nThe whole log: {}{}",
        describe(report),
        report.log,
        quoted(&report.excerpt)
    );
    message(first, &text)
}

pub fn branch_not_pushed(branch: &str, why: &str) -> String {
    let text = format!(
        "The branch {branch} could not be pushed, so nothing was checked: {why}\nFix that and signal awaiting_ci again."
    );
    message(FirstLine::CiFailed, &text)
}

pub fn nothing_to_check(branch: &str, dirty: u32) -> String {
    let loose = match dirty {
        0 => String::new(),
        1 => " 1 changed file is not committed.".to_owned(),
        n => format!(" {n} changed files are not committed."),
    };
    let text = format!(
        "The branch {branch} has no commits beyond the primary branch, so there is nothing to check.{loose} Commit your work and signal awaiting_ci again."
    );
    message(FirstLine::CiFailed, &text)
}

pub fn ci_waits(head: &Sha, reason: &str, branch: &str, on: Option<&Sha>) -> String {
    let on = on.map_or_else(String::new, |on| format!(" ({on})"));
    let text = format!(
        "Commit {head} failed the checks twice ({reason}), and so did the commit of {branch} it stands on{on}. This is not held against you: wait until {branch} is fixed, then your work continues by itself. Only if your issue is to fix {branch}: carry on, commit and signal awaiting_ci again."
    );
    message(FirstLine::CiWaits, &text)
}

// ---- the merge queue -----------------------------------------------------------------------------

pub fn merge_failed(branch: &str, on: &Sha, reason: &str, report: Option<&CiReport>) -> String {
    let (log, excerpt) = report.map_or(("", ""), |r| (&r.log, &r.excerpt));
    let next = match report.is_some_and(|r| r.at.is_some()) {
        false => {
            format!("Merge {branch} into yours (do not rebase), fix it, commit and signal awaiting_ci again.")
        }
        // A later commit does not mend an earlier one, and what is pushed stays.
        true => "This project lands every commit of a branch, and each has to pass; you cannot change what you pushed. Signal needs_human, and say that the branch has to be squashed into one commit, or merged another way.".to_owned(),
    };
    let text = format!(
        "On top of {branch} (at {on}) your change fails, and failed again on a second try: {reason}. {next}\nThe whole log: {log}{}",
        quoted(excerpt)
    );
    message(FirstLine::MergeFailed, &text)
}

/// At the end of a message that a check of the base might have made needless.
pub fn base_unknown(why: &str) -> String {
    format!("\n\nWhether the primary branch itself passes is not known ({why}).")
}

pub fn merge_conflict(onto: &str, with: &Sha, files: &[String], hunks: &str) -> String {
    let list = files.iter().take(100).map(|f| format!("- {f}")).collect::<Vec<_>>().join("\n");
    let shown = match hunks.is_empty() {
        true => String::new(),
        false => format!("\n\nWhere they conflict:{}", quoted(hunks)),
    };
    let text = format!(
        "Your branch conflicts with {onto} at {with} in these files:\n{list}\nMerge that commit into your branch (do not rebase: what you pushed stays), resolve the conflicts, commit and signal awaiting_ci again.{shown}"
    );
    message(FirstLine::MergeConflict, &text)
}

pub fn in_merge_queue() -> String {
    message(
        FirstLine::NotMerged,
        "It is in the merge queue, which merges it. Wait: there is nothing left for you to do.",
    )
}

pub fn not_merged() -> String {
    message(
        FirstLine::NotMerged,
        "Your work is not in the primary branch. Commit it, then signal awaiting_ci; after \"CI passed\" signal awaiting_review. The merge queue merges an approved change.",
    )
}

// ---- reviews -------------------------------------------------------------------------------------

/// What stands for a review's text where it is not at hand.
pub fn review_is_on(pr: PrNumber) -> String {
    format!("Its text: `shopfloor pr show {pr}`.")
}

pub fn no_review_needed() -> String {
    message(
        FirstLine::Review(Verdict::Approve),
        "This project merges without a review. The merge queue takes over; signal done.",
    )
}

/// `of` is the commit that was reviewed, `head` what the branch is at.
pub fn approved(author: &str, of: &Sha, head: &Sha, review: &str) -> String {
    let same = match of == head {
        true => String::new(),
        false => format!("; commit {head} makes the same change"),
    };
    let text = format!(
        "{author} approved commit {of}{same}. The merge queue takes over; signal done.{}",
        quoted(review)
    );
    message(FirstLine::Review(Verdict::Approve), &text)
}

pub fn refused(verdict: Verdict, author: &str, head: &Sha, review: &str) -> String {
    let ask = match verdict {
        Verdict::Discuss => {
            "The reviewer wants to discuss something before deciding. Answer with a change, or with your reasons where the code's readers find them"
        }
        Verdict::Approve | Verdict::RequestChanges => "Address this",
    };
    let text = format!(
        "{author} reviewed commit {head}. {ask}, commit and signal awaiting_review again. If a person has to decide, signal needs_human.{}",
        quoted(review)
    );
    message(FirstLine::Review(verdict), &text)
}

/// The agent asks for a review of what was refused.
pub fn refused_already(verdict: Verdict, author: &str, head: &Sha, review: &str) -> String {
    let text = format!(
        "Nothing has changed since {author} reviewed commit {head}. Address the review, commit and signal awaiting_review again.{}",
        quoted(review)
    );
    message(FirstLine::Review(verdict), &text)
}

pub fn no_review(head: &Sha, within: Duration) -> String {
    let text = format!(
        "Nobody has reviewed commit {head} in {}. People were told. Wait: there is nothing for you to do.",
        span(within)
    );
    message(FirstLine::NoReview, &text)
}

// ---- reviewers -----------------------------------------------------------------------------------

pub fn review_again(before: &str, head: &Sha, diff: &str) -> String {
    let fence = fence(diff);
    let text = format!(
        "The branch has moved from {before}, which you reviewed, to commit {head}. Your worktree is there now. Check whether your findings are dealt with, and review what is new. Then write a new JSON object to the file named by $SHOPFLOOR_RESULT_FILE, as you were told at the start, with \"commit\": \"{head}\" in it, and run `shopfloor phase done`.\n\nWhat changed since (`git diff {before} {head}`):\n\n{fence}diff\n{}\n{fence}",
        diff.trim_end()
    );
    message(FirstLine::ReviewAgain, &text)
}

pub fn result_unusable(why: &str) -> String {
    let text = format!(
        "Your review cannot be used: {why}. Write the JSON object to the file named by $SHOPFLOOR_RESULT_FILE again, as you were told at the start, and run `shopfloor phase done`."
    );
    message(FirstLine::ResultUnusable, &text)
}

pub fn result_missing() -> String {
    message(
        FirstLine::ResultMissing,
        "You stopped without a review. Write your verdict as JSON to the file named by $SHOPFLOOR_RESULT_FILE, then run `shopfloor phase done`.",
    )
}

// ---- phases and turns ----------------------------------------------------------------------------

pub fn phase_not_understood(line: &str) -> String {
    let text = format!(
        "The phase file's first line is {line:?}. Write PHASE:awaiting_ci, PHASE:awaiting_review, PHASE:needs_human, PHASE:done or PHASE:failed."
    );
    message(FirstLine::PhaseNotUnderstood, &text)
}

pub fn phase_missing() -> String {
    message(
        FirstLine::PhaseMissing,
        "You stopped without saying where you are. Commit your work, then signal a phase: awaiting_ci, awaiting_review, needs_human, done or failed. If you are not finished, carry on.",
    )
}

/// It asked in its chat.
pub fn nobody_reads_the_chat() -> String {
    message(
        FirstLine::PhaseMissing,
        "You ended your turn with a question, but nobody reads this chat. If a person has to decide, run `shopfloor phase needs_human --detail \"the question\"` and end your turn: the answer comes as your next prompt. Otherwise decide yourself and carry on; commit your work, then signal a phase: awaiting_ci, awaiting_review, done or failed.",
    )
}

pub fn carry_on() -> String {
    message(
        FirstLine::Continue,
        "Your last turn was cut off by an error that was not yours. Continue where you were.",
    )
}

pub fn answer(text: &str) -> String {
    FirstLine::Answer(text.to_owned()).to_string()
}

pub fn default_answer(default: &str) -> String {
    message(FirstLine::Answer(default.to_owned()), "Nobody answered in time: this is the default you named.")
}

// ---- what people changed -------------------------------------------------------------------------

pub fn issue_edited(issue: IssueNumber) -> String {
    let text = format!(
        "Somebody changed the text of issue #{issue}. Read it again (`shopfloor issue show {issue}`) and check that your work still fits."
    );
    message(FirstLine::IssueEdited, &text)
}

pub fn branch_moved(head: &Sha) -> String {
    let text = format!(
        "Somebody pushed {head} to your branch. That commit is checked and reviewed now. If it was not you, fetch and merge it before you change anything."
    );
    message(FirstLine::BranchMoved, &text)
}

// ---- the guard -----------------------------------------------------------------------------------

/// A command that the guard cannot look at.
pub fn command_unreadable() -> &'static str {
    "This call cannot be read, so nobody can tell what it does, and it is not run. Say it in a simpler form, as plain text without deeply nested values. (shopfloor: unreadable)"
}

pub fn command_too_large() -> &'static str {
    "This call is larger than 4 MiB, too large to be looked at, and is not run. Write large content to a file in several steps, and keep commands short. (shopfloor: too-large)"
}

/// Why a command is not run.
pub fn command_refused(rule: Rule, ask: &Ask<'_>) -> String {
    let (branch, primary) = (ask.branch, ask.primary);
    let push = format!("Push your own branch ({branch}) and signal awaiting_ci");
    let text = match rule {
        Rule::ForcePush => format!(
            "Force pushes are not allowed: they can destroy work. {push}. If a push is rejected, `git fetch origin` \
             and merge or rebase onto origin/{branch}, then push without force"
        ),
        Rule::PushPrimary => {
            format!("Only the merge queue moves {primary}: it merges what passed. {push}")
        }
        Rule::PushOther => format!("You may push your own branch only. {push}"),
        Rule::DeleteBranch => {
            format!(
                "Agents do not delete branches on the remote: the factory removes {branch} after its merge"
            )
        }
        Rule::CheckoutPrimary => format!(
            "Stay on your branch ({branch}): nobody works on {primary}. To see or take its files use `git show \
             {primary}:FILE`, `git diff {primary}` or `git checkout {primary} -- FILE`"
        ),
        Rule::MovePrimary => {
            format!("Only the merge queue moves {primary}. Commit to your own branch ({branch})")
        }
        Rule::Merge => format!(
            "The merge queue merges. {push}; into your own branch you may merge {primary} and nothing else"
        ),
        Rule::DeleteOutside => format!(
            "Delete nothing outside your worktree ({}){}. If the path is inside, write it out: a variable or \
             `~` that is not known here counts as outside",
            ask.worktree,
            ask.scratch
                .map(|scratch| format!(" and your scratch folder ({scratch}, $TMPDIR)"))
                .unwrap_or_default(),
        ),
        Rule::DeleteGit => {
            "Do not delete the worktree itself or its .git: your work is found through them. Delete \
             single files instead, or undo changes with `git restore`"
                .to_owned()
        }
    };
    format!("{text}. (shopfloor: {})", rule.as_str())
}

// ---- runs of formulas ----------------------------------------------------------------------------

fn open_steps(run: &Run) -> String {
    run.steps_to_do().map(|step| format!("`{}`", step.id)).collect::<Vec<_>>().join(", ")
}

/// A command that the agent waited for has ended well.
pub fn step_ran(step: &StepId, run: &Run) -> String {
    let output = run.step(step).map(|(_, _, record)| record.output.as_str()).unwrap_or_default();
    let text = format!("Step `{step}` is done. Next: {}.{}", open_steps(run), quoted(output));
    message(FirstLine::StepsReady, &text)
}

/// A command was the last step, or a verifier has had its say.
pub fn steps_are_over(step: &StepId) -> String {
    let text = format!(
        "Step `{step}` is done, and it was the last one. Commit what belongs on the branch, then signal done with `shopfloor phase done`."
    );
    message(FirstLine::StepsOver, &text)
}

/// Its run is through, and it has left files that are in no commit.
pub fn not_committed(branch: &str, dirty: u32) -> String {
    let files = if dirty == 1 { "1 changed file is" } else { &format!("{dirty} changed files are") };
    let text = format!(
        "Every step is over, but {files} not committed, and nothing is on {branch}. Commit what is to land, undo what is not, and signal done again. What is left uncommitted is kept for a person and lands nowhere."
    );
    message(FirstLine::StepsOver, &text)
}

pub fn steps_are_open(run: &Run) -> String {
    let open = match open_steps(run) {
        open if open.is_empty() => "the factory is running a command".to_owned(),
        open => format!("{open} can be done now"),
    };
    let text = format!(
        "Not every step of the run is over: {open}. Say `shopfloor step done ID` for each that is done, or `shopfloor step skip ID --reason …`; `shopfloor step list` shows them. If you cannot continue, signal failed and say why."
    );
    message(FirstLine::StepsOpen, &text)
}

pub fn step_not_verified(step: &StepId, why: &str) -> String {
    let text = format!(
        "You said that step `{step}` is done, but the check of it disagrees. Do what is missing, and say `shopfloor step done {step}` again.{}",
        quoted(why)
    );
    message(FirstLine::StepNotVerified, &text)
}
