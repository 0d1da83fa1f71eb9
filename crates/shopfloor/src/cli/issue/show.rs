//! `shopfloor issue show`.

use super::super::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::deps;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::text::one_line;
use shopfloor_desk::view::issue::Seen;
use shopfloor_desk::view::job;

/// Show an issue: its text, its comments, what it depends on, and how far along its job is
#[derive(Args)]
pub struct ShowArgs {
    #[arg(value_name = "ISSUE")]
    number: IssueNumber,
}

pub fn run(context: &Context, args: ShowArgs) -> CliResult<Exit> {
    print(context, &context.project()?.name, args.number)
}

/// Also what the commands that change an issue print with `--json`.
pub fn print(context: &Context, project: &ProjectName, number: IssueNumber) -> CliResult<Exit> {
    let seen = Seen::new(context, project, number)?;
    if context.json {
        output::json(&seen.view());
    } else {
        print_human(seen);
    }
    Ok(Exit::Fine)
}

fn print_human(Seen { issue, why, job }: Seen) {
    output::line(format!("#{} {}", issue.number, one_line(&issue.title, usize::MAX)));
    let labels = if issue.labels.is_empty() { "none".to_owned() } else { issue.labels.join(", ") };
    output::line(format!("  {}, labels: {}", issue.state.as_str(), one_line(&labels, usize::MAX)));
    let by = one_line(&issue.author, 80);
    output::line(format!("  by {by}, {}", output::timestamp(issue.created_at)));
    let deps = deps::parse(&issue.body);
    if !deps.is_empty() {
        output::line(format!("  depends on {}", job::numbers(&deps, ", ")));
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
