//! The commands that change an issue. Each tells the daemon, and prints the issue with `--json`.

use super::super::body::{self, BodyArgs};
use super::super::{CliError, CliResult, Context, Exit, output};
use super::{labels, show};
use clap::{ArgGroup, Args};
use shopfloor_core::act::Act;
use shopfloor_core::forge::Subject;
use shopfloor_core::ids::{Epoch, IssueNumber};
use shopfloor_desk::answer;
use shopfloor_desk::view::issue::found;
use shopfloor_engine::ports::forge::{By, NewComment};
use shopfloor_engine::ports::{Forge, PortResult};
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
///
/// An agent: those that its role may put on and take off.
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

/// Comment on an issue, or change a comment
#[derive(Args)]
pub struct CommentArgs {
    #[arg(value_name = "ISSUE")]
    number: IssueNumber,
    #[arg(required_unless_present = "body_file", conflicts_with = "body_file")]
    text: Option<String>,
    /// A file with the text; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) body_file: Option<PathBuf>,
    /// Change the comment with that id instead, as `issue show --json` tells it
    #[arg(long, value_name = "ID")]
    pub(super) edit: Option<u64>,
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
    apply(context, args.number, "edited", |forge| {
        forge.edit_issue(args.number, title.as_deref(), body.as_deref())
    })
}

pub fn label(context: &Context, args: LabelArgs) -> CliResult<Exit> {
    if let Some(epoch) = context.agent() {
        let LabelArgs { number: issue, add, remove } = args;
        return acted(context, "labels changed", epoch, Act::Label { issue, add, remove });
    }
    let project = context.project()?;
    let named: Vec<String> = args.add.iter().chain(&args.remove).cloned().collect();
    labels::known(context, &project, &*context.forge(&project.name)?, &named)?;
    apply(context, args.number, "labels changed", |forge| {
        forge.edit_labels(args.number, &args.add, &args.remove).map(drop)
    })
}

pub fn comment(context: &Context, args: CommentArgs) -> CliResult<Exit> {
    let text = match (args.body_file, args.text) {
        (Some(file), _) => body::read_file(&file)?,
        (None, text) => text.unwrap_or_default(),
    };
    let text = context.redactor()?.redact(&text);
    if let Some(epoch) = context.agent() {
        return acted(context, "commented", epoch, Act::Comment { issue: args.number, text });
    }
    let on = Subject::Issue(args.number);
    if let Some(id) = args.edit {
        return apply(context, args.number, "comment changed", |forge| forge.edit_comment(on, id, &text));
    }
    let author = context.author();
    let new = NewComment { by: By::Person(&author), marker: None, body: &text };
    apply(context, args.number, "commented", |forge| forge.comment(on, &new))
}

pub fn close(context: &Context, args: NumberArgs) -> CliResult<Exit> {
    if let Some(epoch) = context.agent() {
        return acted(context, "closed", epoch, Act::Close { issue: args.number });
    }
    apply(context, args.number, "closed", |forge| forge.close_issue(args.number))
}

pub fn reopen(context: &Context, args: NumberArgs) -> CliResult<Exit> {
    apply(context, args.number, "open", |forge| forge.reopen_issue(args.number))
}

/// What an agent has done for it.
fn acted(context: &Context, done: &str, epoch: Epoch, act: Act) -> CliResult<Exit> {
    let number = context.act(epoch, act)?;
    if context.json {
        return show::print(context, &context.project()?.name, number);
    }
    output::line(format!("#{number} {done}"));
    Ok(Exit::Fine)
}

fn apply(
    context: &Context,
    number: IssueNumber,
    done: &str,
    change: impl FnOnce(&dyn Forge) -> PortResult<()>,
) -> CliResult<Exit> {
    let project = context.project()?.name;
    let forge = context.forge(&project)?;
    let before = found(&*forge, &project, number, forge.issue(number))?;
    answer(change(&*forge))?;
    let same = forge.issue(number).is_ok_and(|now| now == before);
    context.hint(&project);
    if context.json {
        return show::print(context, &project, number);
    }
    let done = if same { "is so already" } else { done };
    output::line(format!("#{number} {done}"));
    Ok(Exit::Fine)
}
