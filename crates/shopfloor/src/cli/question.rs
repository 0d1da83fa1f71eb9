//! `shopfloor question`: what an agent asks people while it works on.

use super::ask::AskArgs;
use super::{CliError, CliResult, Context, Exit, output};
use clap::{Args, Subcommand};
use serde::Serialize;
use shopfloor_core::redact::Redactor;

/// Ask people a question from an agent's session, and work on
#[derive(Args)]
pub struct QuestionArgs {
    #[command(subcommand)]
    command: QuestionCommand,
}

#[derive(Subcommand)]
enum QuestionCommand {
    /// Ask; the answer comes as a message, `Answer: …`
    ///
    /// One question at a time. To wait for the answer instead, signal `shopfloor phase needs_human`.
    Ask {
        /// What people are to tell
        text: String,
        #[command(flatten)]
        ask: AskArgs,
    },
}

#[derive(Serialize)]
struct AskedView {
    question: String,
}

pub fn run(context: &Context, args: QuestionArgs) -> CliResult<Exit> {
    let QuestionCommand::Ask { text, ask } = args.command;
    let epoch = context.session()?;
    if text.trim().is_empty() {
        return Err(CliError::usage("the question is empty").hint("say what people are to tell"));
    }
    let (mut ask, redactor) = (ask.ask()?, context.redactor()?);
    let hide = |text: &mut String, redactor: &Redactor| *text = redactor.redact(text);
    ask.options.iter_mut().chain(&mut ask.default).for_each(|text| hide(text, &redactor));
    let question = context.ask_people(epoch, redactor.redact(&text), ask)?;
    match context.json {
        true => output::json(&AskedView { question: format!("q{question}") }),
        false => output::line(format!("q{question}: its answer comes as a message")),
    }
    Ok(Exit::Fine)
}
