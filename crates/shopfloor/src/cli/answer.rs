//! `shopfloor answer`: a person answers an agent's question. First answer wins, here as anywhere.

use super::output;
use super::{CliError, CliResult, Context, Exit};
use clap::Args;
use shopfloor_core::event::{Event, NoteKind};
use shopfloor_core::ids::{IssueNumber, ProjectName, QuestionId};
use shopfloor_core::state::JobState;
use std::str::FromStr;

/// Answer the question an agent asked
///
/// `shopfloor questions` shows the open ones. Of options the number will do.
#[derive(Args)]
pub struct AnswerArgs {
    /// The question, such as q3, or the issue it is about
    question: Meant,
    text: String,
}

/// Which question is meant.
#[derive(Clone, Copy)]
enum Meant {
    Question(QuestionId),
    Issue(IssueNumber),
}

impl FromStr for Meant {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        match text.strip_prefix('q') {
            Some(rest) => number(rest).map(|n| Meant::Question(QuestionId(n))),
            None => text.parse().ok().map(Meant::Issue),
        }
        .ok_or_else(|| "a question such as q3, or an issue's number".to_owned())
    }
}

pub fn run(context: &Context, args: AnswerArgs) -> CliResult<Exit> {
    if std::env::var_os("SHOPFLOOR_SESSION").is_some() {
        return Err(CliError::usage("an agent cannot answer its own question")
            .hint("run this outside of an agent's session"));
    }
    if args.text.trim().is_empty() {
        return Err(CliError::usage("the answer is empty").hint("say what the agent should do"));
    }
    let engine = context.engine()?;
    if let Meant::Question(id) = args.question
        && let Some((project, _)) = engine.floor().holds().find(|(_, hold)| hold.question == id)
    {
        return try_again(context, project.clone());
    }
    let (project, question) = match args.question {
        // Its number is unique on the floor: the folder one is in does not matter.
        Meant::Question(question) => (None, Some(question)),
        Meant::Issue(_) => (Some(context.project()?.name), None),
    };
    let open = engine.floor().jobs.iter().find(|job| match (&job.state, args.question) {
        (JobState::NeedsHuman { asked, .. }, Meant::Question(id)) => asked.id == id,
        (JobState::NeedsHuman { .. }, Meant::Issue(issue)) => {
            job.issue == issue && project.as_ref() == Some(&job.project)
        }
        _ => false,
    });
    let Some(job) = open else {
        let what = match args.question {
            Meant::Question(id) => format!("there is no open question q{id}"),
            Meant::Issue(issue) => format!("issue #{issue} has no open question"),
        };
        return Err(CliError::no_such(what).hint("`shopfloor questions` shows the open ones"));
    };
    let (project, issue) = (job.project.clone(), job.issue);
    let applied = context.submit(&Event::Answered { project, issue, text: args.text, question })?;
    if applied.notes.iter().any(|n| n.kind == NoteKind::StaleSignal) {
        return Err(CliError::failed("somebody else answered first"));
    }
    if context.json {
        output::json(&serde_json::json!({ "issue": issue.0, "answered": true }));
    } else {
        output::line("answered");
    }
    Ok(Exit::Fine)
}

/// A project's agents could not work: whatever is said, somebody thinks that they can.
fn try_again(context: &Context, project: ProjectName) -> CliResult<Exit> {
    context.submit(&Event::StaffTouched { project: Some(project.clone()) })?;
    if context.json {
        output::json(&serde_json::json!({ "project": project, "answered": true }));
    } else {
        output::line(format!("{project} is tried again: `shopfloor status` shows what comes of it"));
    }
    Ok(Exit::Fine)
}
