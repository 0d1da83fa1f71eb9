//! `shopfloor issue add`.

use super::super::body::BodyArgs;
use super::super::{CliResult, Context, Exit, output};
use super::{labels, show};
use clap::Args;
use shopfloor_core::act::Act;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::label::Label;
use shopfloor_desk::answer;
use shopfloor_desk::view::issue::found;
use shopfloor_engine::ports::forge::{By, NewIssue};

/// Create an issue, and print its number
///
/// An agent gets only the labels that its role may put on, and nothing is made if an open issue of its kind is like it:
/// it is told which.
#[derive(Args)]
pub struct AddArgs {
    /// One line that says what is wanted
    title: String,
    #[command(flatten)]
    pub(super) body: BodyArgs,
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
    let redactor = context.redactor()?;
    let title = redactor.redact(&args.title);
    let body = redactor.redact(&args.body.read()?.unwrap_or_default());
    if let Some(epoch) = context.agent() {
        let act = Act::CreateIssue { title, body, labels: args.labels, deps: args.depends_on };
        return made(context, &project, context.act(epoch, act)?, true);
    }
    let forge = context.forge(&project)?;
    labels::known(context, &row, &*forge, &args.labels)?;
    for dep in &args.depends_on {
        found(&*forge, &project, *dep, forge.issue(*dep))?;
    }
    let asks_for_work = args.labels.iter().any(|label| label == Label::Backlog.as_str());
    let created = forge.create_issue(&NewIssue {
        by: By::Person(&context.author()),
        marker: None,
        title: &title,
        body: &body,
        labels: &args.labels,
        deps: &args.depends_on,
    });
    let number = answer(created)?;
    context.hint(&project);
    made(context, &project, number, asks_for_work)
}

fn made(
    context: &Context,
    project: &ProjectName,
    number: IssueNumber,
    asks_for_work: bool,
) -> CliResult<Exit> {
    if context.json {
        return show::print(context, project, number);
    }
    output::line(format!("#{number}"));
    if !asks_for_work {
        eprintln!("note: nobody works on it until `shopfloor issue label {number} --add backlog`");
    }
    Ok(Exit::Fine)
}
