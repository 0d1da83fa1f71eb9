//! `shopfloor issue list`.

use super::super::{CliResult, Context, Exit, output, view};
use clap::{Args, ValueEnum};
use serde::Serialize;
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::step::Standings;
use shopfloor_core::text::one_line;
use shopfloor_store::forge::{IssueFilter, IssueState};

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

#[derive(Serialize)]
struct ListedIssue {
    number: IssueNumber,
    title: String,
    state: IssueState,
    labels: Vec<String>,
    depends_on: Vec<IssueNumber>,
    /// The state of the issue's job, if it ever had one.
    job_state: Option<&'static str>,
    why: Option<String>,
    created_at: String,
    updated_at: String,
}

pub fn run(context: &Context, args: ListArgs) -> CliResult<Exit> {
    let project = context.project()?.name;
    let state = match args.state {
        Which::Open => Some(IssueState::Open),
        Which::Closed => Some(IssueState::Closed),
        Which::All => None,
    };
    let issues = context.forge()?.issues(&project, &IssueFilter { state, label: args.label })?;
    let floor = view::floor(context)?;
    let standings = Standings::of(&floor);
    let issues: Vec<ListedIssue> = issues
        .into_iter()
        .map(|issue| {
            let known = floor.issues.get(&(project.clone(), issue.number));
            ListedIssue {
                depends_on: known.map(|i| i.deps.clone()).unwrap_or_default(),
                job_state: floor.job_of(&project, issue.number).map(|job| job.state.name()),
                why: known.filter(|i| i.open).map(|i| view::why_of(&floor, i, standings.why(i))),
                number: issue.number,
                title: issue.title,
                state: issue.state,
                labels: issue.labels,
                created_at: output::moment(issue.created_at),
                updated_at: output::moment(issue.updated_at),
            }
        })
        .collect();
    if context.json {
        output::json(&issues);
        return Ok(Exit::Fine);
    }
    let rows: Vec<Vec<String>> = issues
        .iter()
        .map(|issue| {
            vec![
                format!("#{}", issue.number),
                one_line(&issue.title, view::TITLE_CHARS),
                issue.state.as_str().to_owned(),
                one_line(&issue.labels.join(", "), view::TITLE_CHARS),
                issue.why.clone().or(issue.job_state.map(str::to_owned)).unwrap_or_default(),
            ]
        })
        .collect();
    output::table(&["ISSUE", "TITLE", "STATE", "LABELS", "WHAT HAPPENS"], &rows);
    Ok(Exit::Fine)
}
