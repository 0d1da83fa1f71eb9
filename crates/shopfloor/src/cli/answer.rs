//! `shopfloor answer`: a person answers an agent's question.

use super::output;
use super::{CliError, CliResult, Context, Exit};
use clap::Args;
use shopfloor_core::event::{Event, NoteKind};
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::JobState;

/// Answer the question an agent asked about an issue
#[derive(Args)]
pub struct AnswerArgs {
    issue: IssueNumber,
    text: String,
}

pub fn run(context: &Context, args: AnswerArgs) -> CliResult<Exit> {
    if std::env::var_os("SHOPFLOOR_SESSION").is_some() {
        return Err(CliError::usage("an agent cannot answer its own question")
            .hint("run this outside of an agent's session"));
    }
    if args.text.trim().is_empty() {
        return Err(CliError::usage("the answer is empty").hint("say what the agent should do"));
    }
    let project = context.project()?.name;
    let engine = context.engine()?;
    let job = engine.floor().job_of(&project, args.issue);
    if !job.is_some_and(|j| matches!(j.state, JobState::NeedsHuman { .. })) {
        return Err(CliError::no_such(format!("issue #{} has no open question", args.issue))
            .hint("`shopfloor status` shows which jobs wait for an answer"));
    }
    let applied = context.submit(&Event::Answered { project, issue: args.issue, text: args.text })?;
    if applied.notes.iter().any(|n| n.kind == NoteKind::StaleSignal) {
        return Err(CliError::failed("somebody else answered first"));
    }
    if context.json {
        output::json(&serde_json::json!({ "issue": args.issue.0, "answered": true }));
    } else {
        output::line("answered");
    }
    Ok(Exit::Fine)
}
