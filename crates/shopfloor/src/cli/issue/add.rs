//! `shopfloor issue add`.

use super::super::body::BodyArgs;
use super::super::{CliResult, Context, Exit, output};
use super::{labels, show};
use clap::Args;
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::label::Label;
use shopfloor_desk::answer;
use shopfloor_desk::view::issue::found;
use shopfloor_engine::ports::forge::{By, NewIssue};

/// Create an issue, and print its number
#[derive(Args)]
pub struct AddArgs {
    /// One line that says what is wanted
    title: String,
    #[command(flatten)]
    pub(super) body: BodyArgs,
    /// A label of the project, such as backlog (asks for work) or priority
    #[arg(long = "label", value_name = "LABEL")]
    pub(super) labels: Vec<String>,
    /// An issue that must be closed first
    #[arg(long = "depends-on", value_name = "N")]
    depends_on: Vec<IssueNumber>,
}

pub fn run(context: &Context, args: AddArgs) -> CliResult<Exit> {
    let row = context.project()?;
    let project = row.name.clone();
    let forge = context.forge(&project)?;
    labels::known(context, &row, &*forge, &args.labels)?;
    for dep in &args.depends_on {
        found(&*forge, &project, *dep, forge.issue(*dep))?;
    }
    let asks_for_work = args.labels.iter().any(|label| label == Label::Backlog.as_str());
    let redactor = context.redactor()?;
    let title = redactor.redact(&args.title);
    let body = redactor.redact(&args.body.read()?.unwrap_or_default());
    let made = forge.create_issue(&NewIssue {
        by: By::Person(&context.author()),
        marker: None,
        title: &title,
        body: &body,
        labels: &args.labels,
        deps: &args.depends_on,
    });
    let number = answer(made)?;
    context.hint(&project);
    if context.json {
        return show::print(context, &project, number);
    }
    output::line(format!("#{number}"));
    if !asks_for_work {
        eprintln!("note: nobody works on it until `shopfloor issue label {number} --add backlog`");
    }
    Ok(Exit::Fine)
}
