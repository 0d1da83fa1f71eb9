//! `shopfloor issue list`.

use super::super::{CliResult, Context, Exit, output};
use super::labels;
use clap::{Args, ValueEnum};
use shopfloor_core::forge::{IssueFilter, IssueState};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::text::one_line;
use shopfloor_desk::view::{issue, job};

/// List issues, and why nothing happens on them
#[derive(Args)]
pub struct ListArgs {
    #[arg(long, value_enum, default_value_t = Which::Open)]
    state: Which,
    /// Only issues with this label
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    Open,
    Closed,
    All,
}

pub fn run(context: &Context, args: ListArgs) -> CliResult<Exit> {
    let row = context.project()?;
    let state = match args.state {
        Which::Open => Some(IssueState::Open),
        Which::Closed => Some(IssueState::Closed),
        Which::All => None,
    };
    labels::known(context, &row, &*context.forge(&row.name)?, args.label.as_slice())?;
    show(context, &row.name, &IssueFilter { state, label: args.label, ..IssueFilter::default() })
}

/// Prints the issues that pass the filter.
pub fn show(context: &Context, project: &ProjectName, filter: &IssueFilter) -> CliResult<Exit> {
    let issues = issue::list(context, project, filter)?;
    if context.json {
        output::json(&issues);
        return Ok(Exit::Fine);
    }
    let rows: Vec<Vec<String>> = issues
        .iter()
        .map(|issue| {
            vec![
                format!("#{}", issue.number),
                one_line(&issue.title, job::TITLE_CHARS),
                issue.state.as_str().to_owned(),
                one_line(&issue.labels.join(", "), job::TITLE_CHARS),
                issue.why.clone().or(issue.job_state.map(str::to_owned)).unwrap_or_default(),
            ]
        })
        .collect();
    output::table(&["ISSUE", "TITLE", "STATE", "LABELS", "WHAT HAPPENS"], &rows);
    Ok(Exit::Fine)
}
