//! People's say in the merge queue: in, out, sooner, not now.

use crate::cli::{CliError, CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::state::{Floor, Job, JobState};
use shopfloor_core::step::may_merge;
use std::str::FromStr;

/// Put the change of an issue into the queue; it has to be green and, if the project reviews, approved
///
/// The factory does so by itself. This is for what was taken out, or what ended blocked though nothing is
/// wrong with it. For a change that is in the queue, --priority puts it before the others.
#[derive(Args)]
pub struct AddArgs {
    /// An issue's number, or a branch
    change: Change,
    /// Before those that were queued earlier
    #[arg(long)]
    priority: bool,
}

/// Take a change out of the queue; its issue waits for a person then
#[derive(Args)]
pub struct RemoveArgs {
    /// An issue's number, or a branch
    change: Change,
}

/// Queue a change again that failed, conflicted or waits for a mended primary branch
#[derive(Args)]
pub struct RetryArgs {
    /// An issue's number, or a branch
    change: Change,
}

/// Hold the queue: nothing is tried and nothing lands until `resume`
#[derive(Args)]
pub struct PauseArgs {
    /// Why, for whoever wonders
    #[arg(default_value = "by hand")]
    reason: String,
}

#[derive(Clone)]
enum Change {
    Issue(IssueNumber),
    Branch(String),
}

impl FromStr for Change {
    type Err = std::convert::Infallible;
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Ok(word.parse().map_or_else(|_| Change::Branch(word.to_owned()), Change::Issue))
    }
}

impl Change {
    fn job<'f>(&self, floor: &'f Floor, project: &ProjectName) -> CliResult<&'f Job> {
        let found = match self {
            Change::Issue(issue) => floor.job_of(project, *issue),
            Change::Branch(branch) => {
                floor.jobs.iter().rfind(|j| j.project == *project && j.branch == *branch)
            }
        };
        found.ok_or_else(|| {
            let what = match self {
                Change::Issue(issue) => format!("issue #{issue}"),
                Change::Branch(branch) => format!("branch {branch}"),
            };
            CliError::no_such(format!("no job of project {project} carries {what}"))
                .hint("`shopfloor status` shows what is at work")
        })
    }
}

pub fn add(context: &Context, args: &AddArgs) -> CliResult<Exit> {
    ask(context, &args.change, args.priority)
}

pub fn retry(context: &Context, args: &RetryArgs) -> CliResult<Exit> {
    ask(context, &args.change, false)
}

fn ask(context: &Context, change: &Change, urgent: bool) -> CliResult<Exit> {
    let project = context.project()?.name;
    let engine = context.engine()?;
    let job = change.job(engine.floor(), &project)?;
    let issue = job.issue;
    if !matches!(job.state, JobState::Merging { .. }) {
        may_merge(engine.floor(), job).map_err(|why| {
            CliError::failed(format!("issue #{issue} cannot be queued: {why}"))
                .hint(format!("`shopfloor explain {issue}` says what it waits for"))
        })?;
    }
    context.submit(&Event::MergeAsked { project: project.clone(), issue, urgent })?;
    show(context, &project, issue)
}

pub fn remove(context: &Context, args: &RemoveArgs) -> CliResult<Exit> {
    let project = context.project()?.name;
    let engine = context.engine()?;
    let job = args.change.job(engine.floor(), &project)?;
    let issue = job.issue;
    if !matches!(job.state, JobState::Merging { .. }) {
        return Err(CliError::no_such(format!("issue #{issue} is not in the merge queue"))
            .hint(format!("its job is {}", job.state.name())));
    }
    context.submit(&Event::MergeRefused { project: project.clone(), issue })?;
    let engine = context.engine()?;
    let job = engine.floor().job_of(&project, issue);
    if job.is_some_and(|j| matches!(j.state, JobState::Merging { .. })) {
        return Err(CliError::new(Exit::Busy, format!("issue #{issue} is being published right now"))
            .hint("it lands, or it can be removed when the publication has failed"));
    }
    show(context, &project, issue)
}

/// Says where the issue's job is now.
fn show(context: &Context, project: &ProjectName, issue: IssueNumber) -> CliResult<Exit> {
    let engine = context.engine()?;
    let floor = engine.floor();
    let job = floor.job_of(project, issue);
    let state = job.map_or("gone", |j| j.state.name());
    let entry = job.and_then(|j| match j.state {
        JobState::Merging { entry } => floor.queue_order(project).iter().position(|e| e.id == entry),
        _ => None,
    });
    let position = entry.map(|at| at + 1);
    if context.json {
        output::json(&serde_json::json!({ "issue": issue, "state": state, "position": position }));
    } else {
        let place = position.map(|at| format!(", position {at}")).unwrap_or_default();
        output::line(format!("#{issue}: {state}{place}"));
    }
    Ok(Exit::Fine)
}

pub fn pause(context: &Context, args: PauseArgs) -> CliResult<Exit> {
    hold(context, Some(shopfloor_core::text::one_line(&args.reason, 200)))
}

pub fn resume(context: &Context) -> CliResult<Exit> {
    hold(context, None)
}

fn hold(context: &Context, why: Option<String>) -> CliResult<Exit> {
    let project = context.project()?.name;
    context.submit(&Event::QueuePaused { project: project.clone(), why: why.clone() })?;
    if context.json {
        output::json(&serde_json::json!({ "project": project, "paused": why }));
    } else {
        let text = why.map_or_else(|| "goes on".to_owned(), |why| format!("is paused: {why}"));
        output::line(format!("the merge queue of {project} {text}"));
    }
    Ok(Exit::Fine)
}
