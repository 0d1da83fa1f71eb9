//! What an agent is told at its start: a template with the issue and the work so far filled in, within a
//! budget. Everything from outside is neutralised and stands between markers that say so.

mod task;
mod texts;

pub use texts::sealed;

#[cfg(test)]
mod tests;

use super::templates::Templates;
use shopfloor_core::effect::StartSession;
use shopfloor_core::ids::{Assignment, IssueNumber};
use shopfloor_core::runtime::DeliveryMode;
use shopfloor_core::state::Rework;
use shopfloor_core::text::{fence, head};
use shopfloor_engine::ports::{Briefing, Earlier};
use std::fmt::Write;
use std::path::Path;

/// All parts from outside together: about 24,000 tokens, far from any client's limit.
const PROMPT_BYTES_MAX: usize = 96 * 1024;
/// Each of them is cut to its size.
const BODY_BYTES_MAX: usize = 32 * 1024;
const COMMENTS_BYTES_MAX: usize = 8 * 1024;
const WORK_BYTES_MAX: usize = 16 * 1024;
const REVIEWS_BYTES_MAX: usize = 8 * 1024;
const NOTES_BYTES_MAX: usize = 4 * 1024;

/// How much of a prompt is typed at most. Longer pastes arrive too, but no client shows all of them.
const TYPED_BYTES_MAX: usize = 20 * 1024;
/// Where the protocol begins in a prompt.
const PROTOCOL: &str = "## How to work\n";

/// A prompt: what is to be done, and how to work with the factory.
pub struct Prompt {
    task: String,
    protocol: String,
}

impl Prompt {
    pub fn whole(&self) -> String {
        format!("{}{}", self.task, self.protocol)
    }
}

/// The same input gives the same prompt: nothing here looks at a clock or the world. The error says which
/// template cannot be used, and why.
pub fn render(
    start: &StartSession,
    briefing: &Briefing,
    primary: &str,
    delivery: DeliveryMode,
    templates: &Templates,
) -> Result<Prompt, String> {
    let mut room = PROMPT_BYTES_MAX;
    // What has to be acted on goes before everything else.
    let unread = unread(start, &mut room);
    let number = start.assignment.number();
    let of_people = briefing.pull.as_ref().filter(|_| matches!(start.assignment, Assignment::Pull(_)));
    let issue_text = match (of_people, number) {
        (Some(pull), _) => pull_text(pull, briefing, &mut room),
        (None, Some(number)) => issue_text(number, briefing, &mut room),
        (None, None) => String::new(),
    };
    let task = start.task.as_deref().map(|task| task::task(task, briefing, &mut room)).unwrap_or_default();
    let change = change(start, briefing, &mut room);
    let resume = format!("{}{}", hazards(briefing), resume(start, briefing, &unread, &mut room));
    let issue = of_people.map_or(number, |pull| pull.text.issue);
    let issue = issue.map_or_else(|| "none".to_owned(), |issue| issue.to_string());
    let pr = start.pr.unwrap_or_default().to_string();
    let title = of_people.map_or(&briefing.issue.title, |pull| &pull.text.title);
    let run = start.task.as_ref().map(|task| task.run.to_string()).unwrap_or_default();
    let formula = start.task.as_ref().map_or("", |task| task.formula.as_str());
    let values = [
        ("project", start.project.as_str()),
        ("issue", issue.as_str()),
        ("title", title.as_str()),
        ("branch", start.branch.as_str()),
        ("primary", primary),
        ("pr", pr.as_str()),
        ("head", start.head.as_ref().map_or("HEAD", |head| head.as_str())),
        ("issue_text", issue_text.as_str()),
        ("run", run.as_str()),
        ("formula", formula),
        ("task", task.as_str()),
        ("resume", resume.as_str()),
        ("change", change.as_str()),
    ];
    let part = if of_people.is_some() { "-people" } else { "" };
    let task = templates.fill((start.role, start.task.is_some()), part, &values)?;
    Ok(Prompt { task, protocol: protocol(start, primary, delivery, templates)? })
}

/// The prompt as it is typed: within the budget, and with the whole protocol. A note says where to find what
/// was left out.
pub fn to_type(prompt: &str, file: &Path) -> String {
    if prompt.len() <= TYPED_BYTES_MAX {
        return prompt.to_owned();
    }
    let (task, protocol) = match prompt.rfind(PROTOCOL) {
        Some(at) => prompt.split_at(at),
        None => (prompt, ""),
    };
    let note = texts::cut(file);
    let room = TYPED_BYTES_MAX.saturating_sub(protocol.len() + note.len());
    format!("{}{note}{protocol}", head(task, room))
}

/// What is amiss in the worktree, if anything is.
fn hazards(briefing: &Briefing) -> String {
    if briefing.notes.is_empty() {
        return String::new();
    }
    let notes = briefing.notes.iter().map(|note| format!("- {note}\n")).collect::<String>();
    texts::worktree_first(&head(&notes, NOTES_BYTES_MAX))
}

/// What an agent is told about a pull request that is open, or was given up.
fn earlier(start: &StartSession, briefing: &Briefing, room: &mut usize) -> String {
    let Some(pull) = &briefing.pull else { return String::new() };
    let mut out = match pull.open {
        true => texts::continue_pull(pull, &start.branch),
        false => texts::earlier_attempt(pull),
    };
    part(&mut out, room, "Its title", &pull.text.title, NOTES_BYTES_MAX);
    part(&mut out, room, "What it changes", &pull.change, WORK_BYTES_MAX);
    part(&mut out, room, "Its checks", &pull.text.checks.join("\n"), NOTES_BYTES_MAX);
    part(&mut out, room, "Its latest reviews", &briefing.reviews.join("\n\n"), REVIEWS_BYTES_MAX);
    out
}

/// What a successor is told about the work so far; for a first session, what was there before.
fn resume(start: &StartSession, briefing: &Briefing, unread: &str, room: &mut usize) -> String {
    let Some(resume) = &start.resume else { return earlier(start, briefing, room) };
    let last = match &resume.record {
        Some(record) => record.summary.clone(),
        None => start.assignment.to_string(),
    };
    let mut out = texts::you_continue(resume.predecessor, &resume.phase, &last);
    if let Some(record) = &resume.record {
        out.push_str(&texts::record_says(record));
    }
    let rework = resume.record.as_ref().and_then(|record| record.rework.as_ref());
    if let Some(rework) = rework {
        out.push_str(&texts::came_back(rework));
    }
    part(&mut out, room, "What was done so far", &briefing.work_done, WORK_BYTES_MAX);
    // If the branch failed in the merge queue, it no longer matters that it was green and approved by itself.
    if !rework.is_some_and(Rework::is_of_merge) {
        let open = briefing.pull.iter().filter(|pull| pull.open);
        let checks: Vec<&str> = open.flat_map(|pull| &pull.text.checks).map(String::as_str).collect();
        part(&mut out, room, "The latest checks", &checks.join("\n"), NOTES_BYTES_MAX);
        part(&mut out, room, "The latest reviews", &briefing.reviews.join("\n\n"), REVIEWS_BYTES_MAX);
    }
    out.push_str(unread);
    out
}

/// What a reviewer is shown of the change, and what was said about it before.
fn change(start: &StartSession, briefing: &Briefing, room: &mut usize) -> String {
    let (mut out, all) = (String::new(), *room);
    if let Some(trouble) = &start.trouble {
        out.push_str(texts::reviewer_before());
        part(&mut out, room, "What was wrong with it", trouble, NOTES_BYTES_MAX);
    }
    if let Some(reviewed) = &start.reviewed {
        out.push_str(&texts::reviewed_before(reviewed));
        part(&mut out, room, "The latest reviews", &briefing.reviews.join("\n\n"), REVIEWS_BYTES_MAX);
        part(&mut out, room, "What changed since then", &briefing.news, all);
    }
    part(&mut out, room, "The whole change", &briefing.change, all);
    out
}

fn unread(start: &StartSession, room: &mut usize) -> String {
    let mut out = String::new();
    for unread in start.resume.iter().flat_map(|resume| &resume.unread) {
        let title = "A message to your predecessor that you have to act on";
        part(&mut out, room, title, &unread.text, WORK_BYTES_MAX);
    }
    out
}

/// How to work with the factory: told at the start, and again after the client has forgotten it.
pub fn protocol(
    start: &StartSession,
    primary: &str,
    delivery: DeliveryMode,
    templates: &Templates,
) -> Result<String, String> {
    let messages = texts::messages(delivery, start.task.is_some());
    let values = [("branch", start.branch.as_str()), ("primary", primary), ("messages", messages.as_str())];
    let text = templates.fill((start.role, start.task.is_some()), "-protocol", &values)?;
    Ok(format!("{PROTOCOL}\n{text}"))
}

/// What a person says about their change, and the issue it was opened for.
fn pull_text(pull: &Earlier, briefing: &Briefing, room: &mut usize) -> String {
    let Earlier { number, text, .. } = pull;
    let mut out = format!("## Pull request #{number}\n\n");
    part(&mut out, room, "Its title", &text.title, BODY_BYTES_MAX);
    part(&mut out, room, &format!("Its text, as {} wrote it", text.author), &text.body, BODY_BYTES_MAX);
    part(&mut out, room, "Its checks", &text.checks.join("\n"), NOTES_BYTES_MAX);
    comments(&mut out, room, &text.comments);
    if let Some(issue) = text.issue {
        out.push_str(&issue_text(issue, briefing, room));
    }
    out
}

fn issue_text(issue: IssueNumber, briefing: &Briefing, room: &mut usize) -> String {
    let mut out = format!("## Issue #{issue}\n\n");
    part(&mut out, room, "Its title", &briefing.issue.title, BODY_BYTES_MAX);
    part(&mut out, room, "The issue's text, as somebody wrote it", &briefing.issue.body, BODY_BYTES_MAX);
    comments(&mut out, room, &briefing.issue.comments);
    out
}

/// Each between fences of its own, oldest first, as far as there is room for all of them.
fn comments(out: &mut String, room: &mut usize, comments: &[String]) {
    let mut left = COMMENTS_BYTES_MAX.min(*room);
    for (at, comment) in comments.iter().enumerate() {
        let before = left;
        part(out, &mut left, &format!("Comment {} of {}", at + 1, comments.len()), comment, before);
        *room = room.saturating_sub(before - left);
    }
}

/// A part from outside, between fences that it cannot close itself, as far as there is room. An empty part
/// adds nothing.
fn part(out: &mut String, room: &mut usize, title: &str, text: &str, bytes_max: usize) {
    let text = head(text.trim(), bytes_max.min(*room));
    *room = room.saturating_sub(text.len());
    if !text.is_empty() {
        let fence = fence(&text);
        let _ = writeln!(out, "### {title}\n\n{fence}\n{text}\n{fence}\n");
    }
}
