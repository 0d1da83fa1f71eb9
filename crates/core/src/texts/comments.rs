//! Comments on issues and pull requests.

use super::{files_in_words, span};
use crate::effect::{EntryEnd, Telling};
use crate::ids::{ActId, Assignment, Epoch, IssueNumber, JobId, PrNumber, QuestionId, Role, Sha};
use crate::label::Label;
use crate::state::{Asked, Run, StoodOn};
use crate::text::{fence, head, neutralise, one_line};
use std::time::Duration;

/// The text of an issue that a review suggests.
pub fn follow_up(body: &str, pr: PrNumber) -> String {
    format!("{body}\n\nFound while reviewing pull request #{pr}, which did not cause it.")
}

/// The text of an issue that an agent made. Whatever the agent wrote, the last line is the factory's.
pub fn by_agent(body: &str, role: Role, assignment: Assignment, act: ActId) -> String {
    format!("{}\n\n<!-- shopfloor: made by the {role} agent of {assignment}, act {act} -->", body.trim_end())
        .trim_start()
        .to_owned()
}

fn review_it(pr: PrNumber) -> String {
    format!("`shopfloor pr review {pr} --approve` or `--request-changes`")
}

// ---- questions -----------------------------------------------------------------------------------

/// `within` is how long the agent waits for the answer.
pub fn question(question: &str, asked: &Asked, within: Option<Duration>) -> String {
    let mut body = format!("This waits for a person:\n\n{question}\n\n");
    for (number, option) in (1..).zip(&asked.options) {
        body.push_str(&format!("{number}. {option}\n"));
    }
    if let Some(within) = within {
        let minutes = within.as_secs().div_ceil(60);
        body.push_str(&match &asked.default {
            Some(default) => {
                format!("\nWithout an answer in {minutes} min the agent continues with: {default}\n")
            }
            None => format!("\nIt needs the answer in {minutes} min.\n"),
        });
    }
    body.push_str(&format!("\nAnswer with `shopfloor answer q{} \"…\"`.", asked.id));
    body
}

pub fn answered(question: QuestionId, answer: &str) -> String {
    format!("Answer to question q{question}: {answer}")
}

pub fn default_taken(default: &str) -> String {
    format!("Nobody answered in time, so the agent continues with its default: {default}")
}

// ---- the end of a job ----------------------------------------------------------------------------

/// What is left of a job that ended without a merge.
pub struct Ended<'a> {
    pub job: JobId,
    pub issue: IssueNumber,
    pub end: &'a str,
    pub reason: &'a str,
    pub rescue: Option<&'a str>,
    /// With its branch.
    pub worktree: Option<(&'a str, &'a str)>,
    pub output: &'a str,
    pub session: Option<Epoch>,
    /// The label that asks for it again.
    pub asked_by: Label,
    pub next: Next,
}

/// What becomes of its issue.
pub enum Next {
    /// It says so itself.
    Nothing,
    TriedAgain,
    /// Once this label is off.
    Waits(Label),
}

pub fn job_ended(ended: &Ended<'_>) -> String {
    let Ended { job, issue, end, reason, rescue, worktree, output, session, asked_by, next } = ended;
    let mut body = format!("Job {job} ended {end}: {reason}\n");
    if let Some(rescue) = rescue {
        body.push_str(&format!("\nThe work is kept at `{rescue}`.\n"));
    }
    if let Some((worktree, branch)) = worktree {
        body.push_str(&format!("\nThe worktree is kept at `{worktree}`, branch `{branch}`.\n"));
    }
    if !output.is_empty() {
        let fence = fence(output);
        let whose = if session.is_some() { "session" } else { "setup" };
        body.push_str(&format!("\nThe {whose}'s last output:\n\n{fence}text\n{output}\n{fence}\n"));
    }
    if let Some(session) = session {
        body.push_str(&format!(
            "\nTo reproduce it: give `sessions/e{session}/prompt.md` (in the floor's home) to the agent in that worktree. `shopfloor explain {issue}` tells how it came to this.\n"
        ));
    }
    match next {
        Next::Nothing => {}
        Next::TriedAgain => body.push_str("\nIt is tried again: `on_failed` in [limits] says so.\n"),
        Next::Waits(label) => {
            body.push_str(&format!("\nTo try again: remove the label `{label}` and add `{asked_by}`.\n"));
        }
    }
    body
}

const NOTE_BYTES_MAX: usize = 4 * 1024;

/// What an action came to, in the words of those who carried it out.
pub fn action_done(run: &Run, reason: &str) -> String {
    let formula = &run.recipe.formula;
    let mut body = format!("Run {} of the formula `{formula}` is through.\n", run.number);
    if !reason.is_empty() {
        body.push_str(&format!("\n{}\n", neutralise(reason)));
    }
    for (step, record) in run.steps().filter(|(_, record)| !record.note.trim().is_empty()) {
        let note = head(&neutralise(record.note.trim()), NOTE_BYTES_MAX);
        let fence = fence(&note);
        body.push_str(&format!(
            "\nStep `{}`, {}:\n\n{fence}text\n{note}\n{fence}\n",
            step.id,
            record.state.name()
        ));
    }
    body
}

pub fn not_started(trouble: &str) -> String {
    format!("This issue is not started: {trouble}. Edit the text that says so.")
}

// ---- reviews -------------------------------------------------------------------------------------

pub fn no_review(pr: PrNumber, head: &Sha, within: Duration) -> String {
    format!(
        "Pull request #{pr} waits for a review: nobody has reviewed {} in {}. Review it with {}.",
        head.short(),
        span(within),
        review_it(pr)
    )
}

pub fn persons_word(pr: PrNumber, head: &Sha, files: &[String]) -> String {
    format!(
        "{} changes what runs, or says what may run: {}. It lands only if a person approves it, whoever else has: {}.",
        head.short(),
        files_in_words(files),
        review_it(pr)
    )
}

pub fn no_usable_review(pr: PrNumber, why: &str) -> String {
    format!(
        "No reviewer gave a usable review of pull request #{pr} ({why}). Review it with {}.",
        review_it(pr)
    )
}

/// On a person's own pull request.
pub fn no_usable_pull_review(pr: PrNumber, head: Option<&Sha>, why: &str) -> String {
    let head = head.map_or("", Sha::short);
    format!(
        "No agent gave a usable review of {head}: {why}. `shopfloor pr review {pr} --ask` asks for another."
    )
}

/// An agent approves what a person objected to.
pub fn objection_stands(pr: PrNumber, head: &Sha, who: &str, objected: &Sha) -> String {
    format!(
        "The reviewer approves pull request #{pr} at {}. {who} asked for changes to {}, so it waits: review it with {}.",
        head.short(),
        objected.short(),
        review_it(pr)
    )
}

// ---- the merge queue -----------------------------------------------------------------------------

/// How a person's branch ended.
pub fn entry_ended(telling: &Telling) -> String {
    let Telling { end, branch, commit, reason, base, behind, run, log, by, author, .. } = telling;
    let first = match end {
        EntryEnd::Landed => {
            let commit = commit.as_ref().map(Sha::to_string).unwrap_or_default();
            format!("Landed on {} as {commit}.", telling.target)
        }
        EntryEnd::Failed => format!("Did not land: {reason}."),
        EntryEnd::Conflicted => format!("Did not land: it {reason}."),
    };
    let stood_on = StoodOn { base: base.clone(), behind: behind.clone(), run: *run, log: log.clone() };
    let stood_on = tried_on(&stood_on);
    let stood_on = if stood_on.is_empty() { String::new() } else { format!("\n\nTried {stood_on}.") };
    let next = match end {
        EntryEnd::Landed => String::new(),
        _ => format!("\n\nFix it, push it, and run `shopfloor merge-queue retry {branch}`."),
    };
    let author = author.as_ref().filter(|author| *author != by);
    let author = author.map(|author| format!("; its newest commit is by {author}")).unwrap_or_default();
    format!("{first}{stood_on}{next}\n\nQueued by {by}{author}.")
}

/// In a line: on top of what, in which run, and where its log is.
pub fn tried_on(stood_on: &StoodOn) -> String {
    let StoodOn { base, behind, run, log } = stood_on;
    let on = base.as_ref().map(|base| format!("on top of {}", base.short()));
    let with = match behind.is_empty() {
        true => None,
        false => Some(format!("with {}", one_line(&behind.join(", "), 200))),
    };
    let run = run.map(|run| format!("CI run {run}"));
    let log = Some(log).filter(|log| !log.is_empty()).map(|log| format!("the log: {log}"));
    [on, with, run, log].into_iter().flatten().collect::<Vec<_>>().join(", ")
}
