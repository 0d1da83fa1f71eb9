//! `shopfloor issue show`.

use super::super::view::{self, JobView};
use super::super::{CliResult, Context, Exit, output};
use super::found;
use clap::Args;
use serde::Serialize;
use shopfloor_core::deps;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::text::one_line;
use shopfloor_store::forge::{Issue, IssueState};

/// Show an issue: its text, its comments, what it depends on and how far its job is
#[derive(Args)]
pub struct ShowArgs {
    #[arg(value_name = "ISSUE")]
    number: IssueNumber,
}

#[derive(Serialize)]
struct ShownIssue {
    number: IssueNumber,
    title: String,
    state: IssueState,
    labels: Vec<String>,
    body: String,
    author: String,
    created_at: String,
    updated_at: String,
    closed_at: Option<String>,
    depends_on: Vec<IssueNumber>,
    why: Option<String>,
    job: Option<JobView>,
    comments: Vec<ShownComment>,
}

#[derive(Serialize)]
struct ShownComment {
    id: u64,
    author: String,
    body: String,
    created_at: String,
}

pub fn run(context: &Context, args: ShowArgs) -> CliResult<Exit> {
    print(context, &context.project()?.name, args.number)
}

/// Also what the commands that change an issue print with `--json`.
pub fn print(context: &Context, project: &ProjectName, number: IssueNumber) -> CliResult<Exit> {
    let mut forge = context.forge()?;
    let issue = forge.issue(project, number);
    let issue = found(&mut forge, project, issue)?;
    let floor = view::floor(context)?;
    let known = floor.issues.get(&(project.clone(), number));
    let why = known.filter(|i| i.open).map(|i| view::why(&floor, i));
    let job = floor.job_of(project, number).map(|job| JobView::new(&floor, job));
    if context.json {
        output::json(&shown(issue, why, job));
    } else {
        print_human(&issue, why, job);
    }
    Ok(Exit::Fine)
}

fn shown(issue: Issue, why: Option<String>, job: Option<JobView>) -> ShownIssue {
    ShownIssue {
        number: issue.number,
        title: issue.title,
        state: issue.state,
        labels: issue.labels,
        depends_on: deps::parse(&issue.body),
        body: issue.body,
        author: issue.author,
        created_at: output::moment(issue.created_at),
        updated_at: output::moment(issue.updated_at),
        closed_at: issue.closed_at.map(output::moment),
        why,
        job,
        comments: issue
            .comments
            .into_iter()
            .map(|c| ShownComment {
                id: c.id,
                author: c.author,
                body: c.body,
                created_at: output::moment(c.created_at),
            })
            .collect(),
    }
}

fn print_human(issue: &Issue, why: Option<String>, job: Option<JobView>) {
    output::line(format!("#{} {}", issue.number, one_line(&issue.title, usize::MAX)));
    let labels = if issue.labels.is_empty() { "none".to_owned() } else { issue.labels.join(", ") };
    output::line(format!("  {}, labels: {}", issue.state.as_str(), one_line(&labels, usize::MAX)));
    let by = one_line(&issue.author, 80);
    output::line(format!("  by {by}, {}", output::timestamp(issue.created_at)));
    let deps = deps::parse(&issue.body);
    if !deps.is_empty() {
        output::line(format!("  depends on {}", view::numbers(&deps, ", ")));
    }
    if let Some(why) = why {
        output::line(format!("  {why}"));
    }
    if let Some(job) = job {
        output::line(format!("  job {}: {} since {}", job.job, job.state, job.since));
        if let Some(waits_for) = job.waits_for {
            output::line(format!("    {}", one_line(&waits_for, 200)));
        }
        if let Some(pr) = job.pr {
            output::line(format!("    pull request #{pr}, branch {}", job.branch));
        }
    }
    if !issue.body.trim().is_empty() {
        output::line("");
        output::quoted(&issue.body);
    }
    for comment in &issue.comments {
        output::line("");
        let by = one_line(&comment.author, 80);
        output::line(format!("  {by}, {}:", output::timestamp(comment.created_at)));
        output::quoted(&comment.body);
    }
}
