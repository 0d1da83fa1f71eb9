//! `shopfloor supervisor`: what people write to it, and what it answers.

use super::{CliResult, Context, Exit, authority, body, output};
use clap::{Args, Subcommand};
use shopfloor_core::ids::Role;
use shopfloor_core::text::{neutralise, one_line};
use shopfloor_desk::view::finding::LetterView;
use std::path::Path;

/// The supervisor: the agent that looks into what the factory cannot explain by itself
#[derive(Args)]
pub struct SupervisorArgs {
    #[command(subcommand)]
    command: SupervisorCommand,
}

#[derive(Subcommand)]
enum SupervisorCommand {
    /// Write to it, such as "what is stuck?"; its next run answers
    Tell {
        /// `-` is standard input
        #[arg(allow_hyphen_values = true)]
        text: String,
    },
    /// List what was written to it, with its answers
    Letters,
}

impl SupervisorArgs {
    /// What to do instead, if it is only for people.
    pub(super) fn persons(&self) -> Option<&'static str> {
        matches!(self.command, SupervisorCommand::Tell { .. }).then_some(authority::ELSEWHERE)
    }
}

const TEXT_CHARS: usize = 100;

pub fn run(context: &Context, args: SupervisorArgs) -> CliResult<Exit> {
    match args.command {
        SupervisorCommand::Tell { text } => tell(context, text),
        SupervisorCommand::Letters => letters(context),
    }
}

fn tell(context: &Context, text: String) -> CliResult<Exit> {
    let project = context.project()?.name;
    let text = if text == "-" { body::read_file(Path::new("-"))? } else { text };
    let letter = context.tell_supervisor(&project, &text, &context.author())?;
    let engine = context.engine()?;
    if context.json {
        let all = LetterView::all(engine.floor(), |other| *other == project);
        output::json(&all.into_iter().find(|view| view.letter == letter.number));
        return Ok(Exit::Fine);
    }
    let is_its = |formula: &str| formula == Role::SUPERVISOR.as_str();
    let looks = engine.floor().schedules.iter().any(|schedule| {
        schedule.project == project && schedule.is_in_force() && is_its(schedule.plan.formula.as_str())
    });
    let when = match looks {
        true => "the supervisor's next run answers it",
        false => "it waits until the supervisor is switched on, or run: `shopfloor formula run supervisor`",
    };
    output::line(format!("letter {}: {when}", letter.number));
    Ok(Exit::Fine)
}

fn letters(context: &Context) -> CliResult<Exit> {
    let only = context.named_project()?;
    let engine = context.engine()?;
    let all = LetterView::all(engine.floor(), |project| only.as_ref().is_none_or(|only| only == project));
    if context.json {
        output::json(&all);
        return Ok(Exit::Fine);
    }
    if all.is_empty() {
        output::line("no letters: `shopfloor supervisor tell TEXT` writes one");
    }
    for letter in &all {
        let (by, at) = (one_line(&letter.by, 40), &letter.at);
        output::line(format!(
            "letter {}, by {by}, {at}: {}",
            letter.letter,
            one_line(&letter.text, TEXT_CHARS)
        ));
        match &letter.answer {
            Some(answer) => output::quoted(&neutralise(answer)),
            None => output::line("  not answered yet"),
        }
    }
    Ok(Exit::Fine)
}
