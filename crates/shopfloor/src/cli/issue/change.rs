//! The commands that change an issue. Each tells the daemon, and prints the issue with `--json`.

use super::super::body::{self, BodyArgs};
use super::super::{CliError, CliResult, Context, Exit, output};
use super::{found, labels, show};
use clap::{ArgGroup, Args};
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_store::forge::{ForgeDb, ForgeResult};
use std::path::PathBuf;

/// Change an issue's title or body
#[derive(Args)]
pub struct EditArgs {
    #[arg(value_name = "ISSUE")]
    number: IssueNumber,
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,
    #[command(flatten)]
    body: BodyArgs,
}

/// Add or remove labels
#[derive(Args)]
#[command(group(ArgGroup::new("change").required(true).multiple(true).args(["add", "remove"])))]
pub struct LabelArgs {
    #[arg(value_name = "ISSUE")]
    number: IssueNumber,
    #[arg(long, value_name = "LABEL")]
    add: Vec<String>,
    #[arg(long, value_name = "LABEL")]
    remove: Vec<String>,
}

/// Comment on an issue
#[derive(Args)]
pub struct CommentArgs {
    #[arg(value_name = "ISSUE")]
    number: IssueNumber,
    #[arg(required_unless_present = "body_file", conflicts_with = "body_file")]
    text: Option<String>,
    /// A file that holds the text; `-` is standard input
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
}

#[derive(Args)]
pub struct NumberArgs {
    #[arg(value_name = "ISSUE")]
    number: IssueNumber,
}

pub fn edit(context: &Context, args: EditArgs) -> CliResult<Exit> {
    let body = args.body.read()?;
    if args.title.is_none() && body.is_none() {
        return Err(CliError::usage("nothing to change").hint("pass --title, --body or --body-file"));
    }
    let redactor = context.redactor()?;
    let title = args.title.map(|title| redactor.redact(&title));
    let body = body.map(|body| redactor.redact(&body));
    let change = |forge: &mut ForgeDb, project: &ProjectName| {
        forge.edit_issue(project, args.number, title.as_deref(), body.as_deref())
    };
    apply(context, args.number, "edited", change)
}

pub fn label(context: &Context, args: LabelArgs) -> CliResult<Exit> {
    labels::know_targets(context, &context.project()?, &mut context.forge()?, &args.add)?;
    let change = |forge: &mut ForgeDb, project: &ProjectName| {
        forge.edit_labels(project, args.number, &args.add, &args.remove).map(drop)
    };
    apply(context, args.number, "labels changed", change)
}

pub fn comment(context: &Context, args: CommentArgs) -> CliResult<Exit> {
    let text = match (args.body_file, args.text) {
        (Some(file), _) => body::read_file(&file)?,
        (None, text) => text.unwrap_or_default(),
    };
    let text = context.redactor()?.redact(&text);
    let change = |forge: &mut ForgeDb, project: &ProjectName| {
        forge.comment(project, args.number, &body::author(), &text, None).map(drop)
    };
    apply(context, args.number, "commented", change)
}

pub fn close(context: &Context, args: NumberArgs) -> CliResult<Exit> {
    apply(context, args.number, "closed", |forge, project| forge.close_issue(project, args.number))
}

pub fn reopen(context: &Context, args: NumberArgs) -> CliResult<Exit> {
    apply(context, args.number, "open", |forge, project| forge.reopen_issue(project, args.number))
}

fn apply(
    context: &Context,
    number: IssueNumber,
    done: &str,
    change: impl FnOnce(&mut ForgeDb, &ProjectName) -> ForgeResult<()>,
) -> CliResult<Exit> {
    let project = context.project()?.name;
    let mut forge = context.forge()?;
    let version = |forge: &mut ForgeDb| forge.issue(&project, number).map(|issue| issue.version);
    let before = version(&mut forge);
    let before = found(&mut forge, &project, before)?;
    let changed = change(&mut forge, &project);
    found(&mut forge, &project, changed)?;
    let same = version(&mut forge).is_ok_and(|now| now == before);
    context.poke();
    if context.json {
        return show::print(context, &project, number);
    }
    let done = if same { "is so already" } else { done };
    output::line(format!("#{number} {done}"));
    Ok(Exit::Fine)
}
