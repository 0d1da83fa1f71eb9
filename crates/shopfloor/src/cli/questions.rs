//! `shopfloor questions`: what agents wait to be told by people.

use super::context::now;
use super::{CliResult, Context, Exit, output, view};
use clap::Args;
use serde::Serialize;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::state::{Floor, Hold, Job, JobState};
use shopfloor_core::text::one_line;

/// Show the questions that wait for an answer, oldest first
///
/// Of all projects, unless one is given with --project. `shopfloor answer` answers them.
#[derive(Args)]
pub struct QuestionsArgs {}

#[derive(Serialize)]
struct QuestionView {
    id: String,
    project: ProjectName,
    /// None: it is about the project's agents.
    issue: Option<IssueNumber>,
    question: String,
    options: Vec<String>,
    /// Taken at the deadline if nobody has answered.
    default: Option<String>,
    deadline: Option<String>,
    asked_at: String,
}

pub fn run(context: &Context, _: QuestionsArgs) -> CliResult<Exit> {
    let engine = context.engine()?;
    let only = context.named_project()?;
    let mine = |job: &&Job| only.as_ref().is_none_or(|p| *p == job.project);
    let mut open: Vec<&Job> = engine.floor().jobs.iter().filter(mine).collect();
    open.sort_by_key(|job| view::since(job));
    let holds = engine.floor().holds().filter(|(project, _)| only.as_ref().is_none_or(|p| p == *project));
    if context.json {
        let holds = holds.map(|(project, hold)| held(project, hold));
        output::json(&holds.chain(open.into_iter().filter_map(question)).collect::<Vec<_>>());
        return Ok(Exit::Fine);
    }
    let held = holds.map(|(project, hold)| print_hold(project, hold)).count();
    let shown = held + open.into_iter().filter(|job| print(engine.floor(), job)).count();
    if shown == 0 {
        output::line("no questions");
    } else {
        output::line("answer with `shopfloor answer ID \"…\"`");
    }
    Ok(Exit::Fine)
}

fn question(job: &Job) -> Option<QuestionView> {
    let JobState::NeedsHuman { question, asked, .. } = &job.state else { return None };
    Some(QuestionView {
        id: format!("q{}", asked.id),
        project: job.project.clone(),
        issue: Some(job.issue),
        question: question.clone(),
        options: asked.options.clone(),
        default: asked.default.clone(),
        deadline: asked.due.map(output::moment),
        asked_at: output::moment(view::since(job)),
    })
}

fn held(project: &ProjectName, hold: &Hold) -> QuestionView {
    QuestionView {
        id: format!("q{}", hold.question),
        project: project.clone(),
        issue: None,
        question: asks(hold),
        options: Vec::new(),
        default: None,
        deadline: None,
        asked_at: output::moment(hold.since),
    }
}

fn asks(hold: &Hold) -> String {
    format!(
        "The {} agents cannot work: {}. Mend it; it is noticed, and any answer has it tried at once.",
        hold.role, hold.why
    )
}

fn print_hold(project: &ProjectName, hold: &Hold) {
    let age = output::span(now().since(hold.since));
    output::line(format!("q{}  project {project}, since {age} ago", hold.question));
    output::quoted(&asks(hold));
    output::line("");
}

/// Whether the job has a question.
fn print(floor: &Floor, job: &Job) -> bool {
    let JobState::NeedsHuman { question, asked, .. } = &job.state else { return false };
    let several = floor.projects.len() > 1;
    let project = if several { job.project.to_string() } else { String::new() };
    let title = one_line(&job.title, view::TITLE_CHARS);
    let age = output::span(now().since(view::since(job)));
    output::line(format!("q{}  {project}#{} {title}, asked {age} ago", asked.id, job.issue));
    output::quoted(question);
    for (number, option) in (1..).zip(&asked.options) {
        output::line(format!("    {number}. {}", one_line(option, 200)));
    }
    if let Some(due) = asked.due {
        let left = output::span(due.since(now()));
        output::line(match &asked.default {
            Some(default) => format!("    in {left} it goes on with: {}", one_line(default, 200)),
            None => format!("    it needs the answer in {left}"),
        });
    }
    output::line("");
    true
}
