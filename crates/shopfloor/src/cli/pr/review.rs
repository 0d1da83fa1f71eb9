//! `shopfloor pr review`: a person's word on a pull request, or their wish for an agent's.

use super::present;
use crate::cli::body::BodyArgs;
use crate::cli::{CliResult, Context, Exit, output};
use clap::{ArgGroup, Args};
use shopfloor_core::effect::Verdict;
use shopfloor_core::forge::PrSummary;
use shopfloor_core::ids::PrNumber;
use shopfloor_core::state::Project;
use shopfloor_desk::command::{Approve, CommitName};

/// Review a pull request at its current head, as yourself, or ask an agent to
#[derive(Args)]
#[command(group(ArgGroup::new("verdict").required(true).args(["approve", "request_changes", "comment", "ask"])))]
pub struct ReviewArgs {
    #[arg(value_name = "PR")]
    number: PrNumber,
    /// Approve it; with a commit, only if that is its head
    #[arg(long, value_name = "COMMIT", num_args = 0..=1)]
    approve: Option<Option<CommitName>>,
    /// Request changes; say why
    #[arg(long)]
    request_changes: bool,
    /// Comment, without a verdict
    #[arg(long)]
    comment: bool,
    /// Have the project's reviewing agent review it, as advice to its author
    #[arg(long, conflicts_with_all = ["body", "body_file"])]
    ask: bool,
    #[command(flatten)]
    body: BodyArgs,
}

pub fn run(context: &Context, project: &Project, args: ReviewArgs) -> CliResult<Exit> {
    let asking = context.asking(project.clone());
    let pr = context.to_review(&asking, args.number)?;
    if args.ask {
        return ask(context, project, &pr);
    }
    let approve = Approve::from(args.approve);
    let approves = approve.of(&format!("pull request #{}", pr.number), &pr.head)?;
    let verdict = match (approves, args.request_changes) {
        (true, _) => Verdict::Approve,
        (_, true) => Verdict::RequestChanges,
        _ => Verdict::Discuss,
    };
    let text = context.redactor()?.redact(&args.body.read()?.unwrap_or_default());
    context.review(&asking, &pr, verdict, &text)?;
    if context.json {
        return present(context, project, args.number);
    }
    output::line(format!("#{} at {}: {}", pr.number, pr.head.short(), verdict.as_str()));
    Ok(Exit::Fine)
}

fn ask(context: &Context, project: &Project, pr: &PrSummary) -> CliResult<Exit> {
    let number = pr.number;
    let begun = context.ask_for_review(&project.name, pr)?;
    if context.json {
        return present(context, project, number);
    }
    let how = if begun { "an agent reviews it" } else { "an agent reviews it as soon as one is free" };
    output::line(format!(
        "#{number} at {}: {how}; `shopfloor pr show {number}` shows what it says",
        pr.head.short()
    ));
    Ok(Exit::Fine)
}
