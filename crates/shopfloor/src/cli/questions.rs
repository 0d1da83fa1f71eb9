//! `shopfloor questions`: what agents, and their clients, wait to be told by people.

use super::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::text::one_line;
use shopfloor_desk::now;
use shopfloor_desk::view::job::TITLE_CHARS;
use shopfloor_desk::view::question::{self, Question, QuestionView};

/// Show the questions that wait for an answer, oldest first
///
/// Also the dialogs in which agents' clients wait, and messages that cannot be typed. Of all projects, unless
/// --project names one. `shopfloor answer` answers them.
#[derive(Args)]
pub struct QuestionsArgs {}

pub fn run(context: &Context, _: QuestionsArgs) -> CliResult<Exit> {
    let engine = context.engine()?;
    let only = context.named_project()?;
    let mut open = question::all(engine.floor());
    open.retain(|question| only.as_ref().is_none_or(|project| *project == question.project));
    if context.json {
        output::json(&open.into_iter().map(QuestionView::from).collect::<Vec<_>>());
        return Ok(Exit::Fine);
    }
    let several = engine.floor().projects.len() > 1;
    open.iter().for_each(|question| print(question, several));
    match open.is_empty() {
        true => output::line("no questions"),
        false => output::line("answer with `shopfloor answer ID \"…\"`"),
    }
    Ok(Exit::Fine)
}

fn print(question: &Question, several: bool) {
    let project = if several { question.project.to_string() } else { String::new() };
    let of_run = if several { format!("{project} ") } else { String::new() };
    let title = one_line(&question.title, TITLE_CHARS);
    let age = output::span(now().since(question.asked_at));
    let whose =
        question.session.as_ref().map(|name| format!(", {} in {name}", question.kind)).unwrap_or_default();
    output::line(match question.issue {
        Some(issue) => format!("q{}  {project}#{issue} {title}{whose}, asked {age} ago", question.id),
        None => match question.run {
            Some(run) => format!("q{}  {of_run}run {run} of {title}{whose}, asked {age} ago", question.id),
            None => format!("q{}  project {}, since {age} ago", question.id, question.project),
        },
    });
    print_text(question);
    if let Some(due) = question.deadline {
        let left = output::span(due.since(now()));
        output::line(match &question.default {
            Some(default) => format!("    in {left} it continues with: {}", one_line(default, 200)),
            None => format!("    it needs the answer in {left}"),
        });
    }
    output::line("");
}

/// What is asked, and what can be answered.
pub fn print_text(question: &Question) {
    output::quoted(&question.text);
    for option in &question.options {
        let about = one_line(&option.description, 120);
        let about = if about.is_empty() { about } else { format!("  ({about})") };
        output::line(format!("    {}. {}{about}", option.number, one_line(&option.label, 200)));
    }
}
