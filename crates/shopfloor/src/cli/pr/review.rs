//! `shopfloor pr review`: a person's word on a pull request, or their wish for an agent's.

use super::{create, missing, present};
use crate::cli::approval::{Approve, CommitName};
use crate::cli::body::{self, BodyArgs};
use crate::cli::{CliError, CliResult, Context, Exit, output};
use clap::{ArgGroup, Args};
use shopfloor_core::effect::Verdict;
use shopfloor_core::event::Event;
use shopfloor_core::ids::PrNumber;
use shopfloor_core::state::{JobState, Project};
use shopfloor_core::step::{NotReviewed, may_ask_for_review};
use shopfloor_store::forge::{ForgeDb, NewReview, PrState, PrSummary};

/// Review a pull request at its current head, as yourself, or ask an agent to
#[derive(Args)]
#[command(group(ArgGroup::new("verdict").required(true).args(["approve", "request_changes", "comment", "ask"])))]
pub struct ReviewArgs {
    #[arg(value_name = "PR")]
    number: PrNumber,
    /// It may land. With a commit: only if that is its head
    #[arg(long, value_name = "COMMIT", num_args = 0..=1)]
    approve: Option<Option<CommitName>>,
    /// It may not land like this; say why
    #[arg(long)]
    request_changes: bool,
    /// Neither; only say something
    #[arg(long)]
    comment: bool,
    /// Have the project's reviewing agent review it, as advice to whoever made it
    #[arg(long, conflicts_with_all = ["body", "body_file"])]
    ask: bool,
    #[command(flatten)]
    body: BodyArgs,
}

pub fn run(context: &Context, project: &Project, forge: &mut ForgeDb, args: ReviewArgs) -> CliResult<Exit> {
    // An agent's word is no evidence, least of all on its own work: reviewers leave a result file.
    if body::session().is_some() {
        return Err(CliError::usage("an agent's session cannot post a review this way")
            .hint("a reviewing agent writes its verdict to $SHOPFLOOR_RESULT_FILE"));
    }
    let pr = forge.pr_summary(&project.name, args.number).map_err(|e| missing(e.into()))?;
    // The branch of a person's may have moved since it was looked at: what is approved is where it is.
    let pr = create::follow(context, project, forge, pr)?;
    if pr.state != PrState::Open {
        return Err(CliError::failed(format!("pull request #{} is {}", pr.number, pr.state.as_str())));
    }
    if args.ask {
        return ask(context, project, forge, &pr);
    }
    let approve = Approve::from(args.approve);
    let approves = approve.of(&format!("pull request #{}", pr.number), &pr.head)?;
    let verdict = match (approves, args.request_changes) {
        (true, _) => Verdict::Approve,
        (_, true) => Verdict::RequestChanges,
        _ => Verdict::Discuss,
    };
    let text = context.redactor()?.redact(&args.body.read()?.unwrap_or_default());
    if verdict != Verdict::Approve && text.trim().is_empty() {
        return Err(CliError::usage("say what is to change").hint("pass --body or --body-file"));
    }
    let head = pr.head.clone();
    let new = NewReview { head, verdict, text, author: body::author(), marker: None };
    forge.review(&project.name, args.number, &new)?;
    context.poke();
    if context.json {
        return present(context, project, forge, args.number);
    }
    output::line(format!("#{} at {}: {}", pr.number, pr.head.short(), verdict.as_str()));
    Ok(Exit::Fine)
}

fn ask(context: &Context, project: &Project, forge: &mut ForgeDb, pr: &PrSummary) -> CliResult<Exit> {
    let engine = context.engine()?;
    let number = pr.number;
    may_ask_for_review(engine.floor(), &project.name, number, &pr.branch).map_err(|why| {
        let error = CliError::failed(format!("no agent reviews pull request #{number}: {why}"));
        match why {
            NotReviewed::Never => error.hint("`people = \"ask\"` in [review] of shopfloor.toml allows it"),
            NotReviewed::NoReviewer => error.hint("[agents.review] in shopfloor.toml says who reviews"),
            NotReviewed::Job(issue) => error.hint(format!("`shopfloor explain {issue}` says how far it is")),
        }
    })?;
    let (branch, head) = (pr.branch.clone(), pr.head.clone());
    context.submit(&Event::ReviewAsked { project: project.name.clone(), pr: number, branch, head })?;
    if context.json {
        return present(context, project, forge, number);
    }
    let engine = context.engine()?;
    let job = engine.floor().review_of(&project.name, number);
    let begun = job.is_some_and(|job| matches!(job.state, JobState::Reviewing { .. }));
    let how = if begun { "an agent reviews it" } else { "an agent reviews it as soon as one is free" };
    output::line(format!(
        "#{number} at {}: {how}; `shopfloor pr show {number}` shows what it says",
        pr.head.short()
    ));
    Ok(Exit::Fine)
}
