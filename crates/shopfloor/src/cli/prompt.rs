//! `shopfloor prompt`: what an agent would be told.

use super::{CliError, CliResult, Context, Exit, output};
use crate::projects::Projects;
use clap::{Args, Subcommand};
use serde::Serialize;
use shopfloor_adapters::agent::prompt;
use shopfloor_adapters::agent::templates::Templates;
use shopfloor_adapters::git::GitWorkspace;
use shopfloor_core::ids::{IssueNumber, Role, Target};
use shopfloor_core::step::next_session;
use shopfloor_core::text::neutralise;
use shopfloor_engine::perform::brief;

/// Show the prompts that agents get
///
/// They are templates: dev.md, dev-protocol.md, review.md, review-people.md and review-protocol.md. A file of that name in
/// .shopfloor/prompts of the project's checkout, or in prompts of the floor's home, is used instead.
#[derive(Args)]
pub struct PromptArgs {
    #[command(subcommand)]
    command: PromptCommand,
}

#[derive(Subcommand)]
enum PromptCommand {
    /// What an agent would be told if it were started on the issue now
    Show {
        issue: IssueNumber,
        /// Whose prompt
        #[arg(long, default_value = "dev")]
        role: Role,
    },
}

#[derive(Serialize)]
struct PromptView {
    issue: IssueNumber,
    role: Role,
    bytes: usize,
    prompt: String,
}

pub fn run(context: &Context, args: PromptArgs) -> CliResult<Exit> {
    let PromptCommand::Show { issue, role } = args.command;
    let project = context.project()?.name;
    let floor = context.floor()?;
    if floor.issues.get(&(project.clone(), issue)).is_none() {
        return Err(CliError::no_such(format!("there is no issue #{issue} in {project}"))
            .hint("`shopfloor issue list` shows those there are"));
    }
    let projects = Projects::usable(&context.floor_config()?, context.runtimes()?, &floor)?;
    let agent = projects.agent_lookup()(&project, role).ok_or_else(|| {
        CliError::no_such(format!("{project} has no {role} agent"))
            .hint("`shopfloor config show` shows those there are, as [agents.NAME]")
    })?;
    let start = next_session(&floor, &project, issue, role);
    let workspace = GitWorkspace::new(context.git()?, context.layout.clone(), projects.git_lookup());
    let forge = context.forge(&project)?;
    let worktree = context.layout.worktree(&project, role, start.assignment).display().to_string();
    let failed = |e: &dyn std::fmt::Display| CliError::failed(e.to_string());
    let briefing = brief(&workspace, &*forge, &start, worktree).map_err(|e| failed(&e))?;
    let templates = Templates::new(&agent.files, context.layout.prompts(), agent.prompt.clone());
    let delivery = agent.spec.capabilities.delivery;
    let primary = start.target.as_ref().map_or(agent.primary_branch.as_str(), Target::branch);
    let prompt = prompt::render(&start, &briefing, primary, delivery, &templates);
    let prompt = agent.redactor.redact(&prompt.map_err(CliError::usage)?.whole());
    if context.json {
        output::json(&PromptView { issue, role, bytes: prompt.len(), prompt });
    } else {
        output::line(neutralise(&prompt).trim_end());
    }
    Ok(Exit::Fine)
}
