//! `shopfloor issue add`.

use super::super::body::{self, BodyArgs};
use super::super::{CliResult, Context, Exit, output};
use super::{found, labels, show};
use clap::Args;
use shopfloor_core::ids::IssueNumber;
use shopfloor_store::forge::NewIssue;

/// Make an issue; prints its number
#[derive(Args)]
pub struct AddArgs {
    /// One line that says what is wanted
    title: String,
    #[command(flatten)]
    body: BodyArgs,
    /// A label of the project, such as backlog (asks for work) or priority
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// An issue that must be closed first
    #[arg(long = "depends-on", value_name = "N")]
    depends_on: Vec<IssueNumber>,
}

pub fn run(context: &Context, args: AddArgs) -> CliResult<Exit> {
    let row = context.project()?;
    let project = row.name.clone();
    let mut forge = context.forge()?;
    labels::know_targets(context, &row, &mut forge, &args.labels)?;
    let asks_for_work = args.labels.iter().any(|label| label == "backlog");
    let redactor = context.redactor()?;
    let new = NewIssue {
        title: redactor.redact(&args.title),
        body: redactor.redact(&args.body.read()?.unwrap_or_default()),
        author: body::author(),
        labels: args.labels,
        deps: args.depends_on,
    };
    let made = forge.create_issue(&project, &new);
    let number = found(&mut forge, &project, made)?;
    context.poke();
    if context.json {
        return show::print(context, &project, number);
    }
    output::line(format!("#{number}"));
    if !asks_for_work {
        eprintln!("note: nobody works on it before `shopfloor issue label {number} --add backlog`");
    }
    Ok(Exit::Fine)
}
