//! `shopfloor pr create`: a pull request for a person's branch; and where the branch of one is now.

use super::present;
use crate::cli::body::{self, BodyArgs};
use crate::cli::merge_queue::branch;
use crate::cli::{CliError, CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_adapters::git::hub;
use shopfloor_core::ids::{IssueNumber, PrNumber, Sha};
use shopfloor_core::state::Project;
use shopfloor_store::forge::{ForgeDb, NewPr, PrState, PrSummary};

/// Open a pull request for a branch of your own
///
/// The branch is one that you pushed (`git push shopfloor BRANCH`) and that no job carries. Its pull request
/// follows it: what is approved is a commit. `shopfloor merge-queue add BRANCH` lands it, with the pull request's
/// title and text; closing it, or asking for changes to that commit, takes it out of the merge queue.
#[derive(Args)]
pub struct CreateArgs {
    branch: String,
    /// What it is called; else the first line of its newest commit
    #[arg(long)]
    title: Option<String>,
    /// The issue it is for: closed when it lands. If that asks for work, an agent goes on with the branch
    #[arg(long, value_name = "ISSUE")]
    issue: Option<IssueNumber>,
    #[command(flatten)]
    body: BodyArgs,
}

pub fn run(context: &Context, project: &Project, forge: &mut ForgeDb, args: CreateArgs) -> CliResult<Exit> {
    if body::session().is_some() {
        return Err(CliError::usage("an agent's session cannot open a pull request")
            .hint("a job has one as soon as there is something to check: signal awaiting_ci"));
    }
    let name = args.branch.strip_prefix("refs/heads/").unwrap_or(&args.branch);
    let found = branch::look(context, project, name, None)?;
    let engine = context.engine()?;
    if let Some(job) = engine.floor().live_jobs(&project.name).find(|job| job.branch == name) {
        return Err(CliError::failed(format!("the job of issue #{} carries {name}", job.issue))
            .hint(format!("`shopfloor explain {}` says how far it is", job.issue)));
    }
    if let Some(pr) = open(forge, project, name)? {
        return Err(CliError::failed(format!("{name} has a pull request already: #{}", pr.number))
            .hint(format!("`shopfloor pr show {}` shows it", pr.number)));
    }
    let redactor = context.redactor()?;
    let new = NewPr {
        title: redactor.redact(&args.title.unwrap_or(found.subject)),
        body: redactor.redact(&args.body.read()?.unwrap_or_default()),
        branch: name.to_owned(),
        head: found.head.clone(),
        issue: args.issue,
        author: body::author(),
    };
    let number = forge.open_pr(&project.name, &new)?;
    pin(context, project, number, &found.head)?;
    context.poke();
    if context.json {
        return present(context, project, forge, number);
    }
    output::line(format!("#{number} opened: {name} at {}", found.head.short()));
    Ok(Exit::Fine)
}

/// The branch's open pull request.
pub fn open(forge: &mut ForgeDb, project: &Project, branch: &str) -> CliResult<Option<PrSummary>> {
    let open = forge.prs(&project.name, Some(PrState::Open))?;
    Ok(open.into_iter().find(|pr| pr.branch == branch))
}

/// The pull request, at the commit its branch is at now. A job's is where the factory last looked at it; where a
/// branch is gone, what it was stays.
pub fn follow(
    context: &Context,
    project: &Project,
    forge: &mut ForgeDb,
    pr: PrSummary,
) -> CliResult<PrSummary> {
    let engine = context.engine()?;
    let carried = engine.floor().live_jobs(&project.name).any(|job| job.branch == pr.branch);
    let now = hub::peek(&context.layout.hub(&project.name), &pr.branch)
        .filter(|_| pr.state == PrState::Open && !carried);
    let Some(head) = now.filter(|head| *head != pr.head) else { return Ok(pr) };
    pin(context, project, pr.number, &head)?;
    forge.move_pr(&project.name, pr.number, &head)?;
    Ok(PrSummary { head, ..pr })
}

fn pin(context: &Context, project: &Project, number: PrNumber, head: &Sha) -> CliResult<()> {
    hub::pin_pr(&context.git()?, &context.layout.hub(&project.name), number, head)
        .map_err(|e| CliError::failed(format!("the head of pull request #{number} could not be kept: {e}")))
}
