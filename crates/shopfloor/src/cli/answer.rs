//! `shopfloor answer`: a person answers an agent's question, or what its client asks.

use super::vault::FROM;
use super::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_desk::command::{Answered, Meant};

/// Answer the question an agent asked, or a dialog of its client
///
/// `shopfloor questions` shows the open ones. Give the number of an option; where several boxes can be ticked,
/// their numbers (`shopfloor answer q5 1,3`), or `none`. An answer to a dialog is typed into that very dialog,
/// if it is still up.
#[derive(Args)]
pub struct AnswerArgs {
    /// The question, such as q3, or the issue it is about
    question: Meant,
    text: String,
}

pub fn run(context: &Context, args: AnswerArgs) -> CliResult<Exit> {
    let project = match args.question {
        // Its number is unique on the floor: the folder one is in does not matter.
        Meant::Question(_) => None,
        Meant::Issue(_) => Some(context.project()?.name),
    };
    let free = |runtime: &str| Some(context.runtimes().ok()?.get(runtime)?.screen.free_text.clone());
    let desk = context.heard_from(context.author(), FROM);
    let (json, text) = match desk.answer(args.question, project.as_ref(), args.text, &free)? {
        Answered::TriedAgain { project } => (
            serde_json::json!({ "project": project, "answered": true }),
            format!("{project} is tried again: `shopfloor status` shows the result"),
        ),
        Answered::Given { issue, typed } => (
            serde_json::json!({ "issue": issue, "answered": true, "typed": typed }),
            match typed {
                Some(false) => "answered; it is typed when the daemon runs (`shopfloor up`)".to_owned(),
                _ => "answered".to_owned(),
            },
        ),
    };
    match context.json {
        true => output::json(&json),
        false => output::line(text),
    }
    Ok(Exit::Fine)
}
