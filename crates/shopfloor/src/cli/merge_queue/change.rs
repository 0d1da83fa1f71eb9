//! People's say in the merge queue: in, out, sooner, not now.

use super::branch::{self, Wish};
use super::target;
use crate::cli::approval::CommitName;
use crate::cli::{CliError, CliResult, Context, Exit, output};
use clap::{Args, ValueEnum};
use shopfloor_adapters::git::hub;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName, QueueId};
use shopfloor_core::planner::Priority;
use shopfloor_core::state::{End, Entry, Floor, Job, JobState};
use shopfloor_core::step::may_merge;
use std::str::FromStr;

/// Put the change of an issue, or a branch of your own, into the queue
///
/// It has to be green and, if the project reviews, approved. The factory queues what its agents make by
/// itself: there, this is for what was taken out, or what ended blocked though nothing is wrong with it.
/// A branch that no job carries is one that you pushed (`git push shopfloor BRANCH`): its head is checked
/// if that was not done yet, and it lands like any other; then the branch is deleted. With a daemon that
/// happens by itself, without one `shopfloor merge-queue process` does it. For a change that is in the
/// queue, --priority puts it before the others.
#[derive(Args)]
pub struct AddArgs {
    /// An issue's number, or a branch
    change: Change,
    /// Before those that were queued earlier: it waits for nothing but the checks that run already
    #[arg(long, visible_alias = "urgent")]
    priority: bool,
    /// Never together with others: it is checked on top of the primary branch itself, and lands by itself
    #[arg(long)]
    alone: bool,
    /// Approve the head of a branch that no job carries; it is on record as yours. With a commit: only if that is
    /// the head
    #[arg(long, value_name = "COMMIT", num_args = 0..=1)]
    approve: Option<Option<CommitName>>,
    /// The pull request of a branch that no job carries, if it is not plain which
    #[arg(long, value_name = "PR")]
    pr: Option<PrNumber>,
    /// The target to land on, by its name in [merge.targets], instead of the primary branch; for a branch that no
    /// job carries
    #[arg(long, value_name = "TARGET")]
    to: Option<String>,
    /// Though a commit of the branch is called fixup!, squash!, amend! or WIP
    #[arg(long)]
    unfinished: bool,
}

/// Take a change out of the queue; its issue, if it is for one, waits for a person then
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
///
/// With --below, what is urgent (or has the label `priority`) goes on, and the rest waits. What is being checked comes
/// to its end; it is known then, and lands when it may.
#[derive(Args)]
pub struct PauseArgs {
    /// Hold only what is below that: `priority` lets issues with that label and what is urgent land, `urgent` only what
    /// a person queued with --urgent
    #[arg(long, value_name = "LEVEL")]
    below: Option<Level>,
    /// Why, for whoever wonders
    #[arg(default_value = "by hand")]
    reason: String,
    /// Only the queue of that target, or of the primary branch by its name; else all of the project
    #[arg(long, value_name = "TARGET")]
    to: Option<String>,
}

/// Let a paused queue go on
#[derive(Args)]
pub struct ResumeArgs {
    /// Only the queue of that target, or of the primary branch by its name; else all of the project
    #[arg(long, value_name = "TARGET")]
    to: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Level {
    Priority,
    Urgent,
}

impl From<Level> for Priority {
    fn from(level: Level) -> Priority {
        match level {
            Level::Priority => Priority::LABELLED,
            Level::Urgent => Priority::URGENT,
        }
    }
}

#[derive(Clone)]
pub(super) enum Change {
    Issue(IssueNumber),
    Branch(String),
}

impl FromStr for Change {
    type Err = std::convert::Infallible;
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let name = word.strip_prefix("refs/heads/");
        if let (None, Ok(issue)) = (name, word.parse()) {
            return Ok(Change::Issue(issue));
        }
        Ok(Change::Branch(name.unwrap_or(word).to_owned()))
    }
}

impl Change {
    pub(super) fn job<'f>(&self, floor: &'f Floor, project: &ProjectName) -> CliResult<&'f Job> {
        let found = match self {
            Change::Issue(issue) => floor.job_of(project, *issue),
            Change::Branch(branch) => floor.job_on(project, branch),
        };
        found.ok_or_else(|| {
            let what = match self {
                Change::Issue(issue) => format!("issue #{issue}"),
                Change::Branch(branch) => format!("branch {branch}"),
            };
            CliError::no_such(format!("no job of project {project} carries {what}"))
                .hint("`shopfloor status` shows what is at work, `shopfloor merge-queue list` what is queued")
        })
    }
}

pub fn add(context: &Context, args: &AddArgs) -> CliResult<Exit> {
    let approve = args.approve.clone().into();
    let target = target::named(context, args.to.as_deref())?;
    let (urgent, alone) = (args.priority, args.alone);
    let wish = Wish { urgent, alone, approve, pr: args.pr, unfinished: args.unfinished, target };
    ask(context, &args.change, wish)
}

pub fn retry(context: &Context, args: &RetryArgs) -> CliResult<Exit> {
    // Where it was to land: nobody asked for another branch.
    let target = match &args.change {
        Change::Issue(_) => None,
        Change::Branch(name) => {
            let (project, engine) = (context.project()?.name, context.engine()?);
            let same = |e: &&Entry| e.job.is_none() && e.project == project && e.branch == *name;
            engine.floor().entries.iter().rev().find(same).and_then(|e| e.target.clone())
        }
    };
    ask(context, &args.change, Wish { target, ..Wish::default() })
}

fn ask(context: &Context, change: &Change, wish: Wish) -> CliResult<Exit> {
    let row = context.project()?;
    let project = row.name.clone();
    let engine = context.engine()?;
    if let Change::Branch(name) = change {
        let job = engine.floor().job_on(&project, name);
        // One that ended leaves its branch to people, unless it can go on just as it was.
        let goes_on = |job: &Job| {
            job.is_live()
                || may_merge(engine.floor(), job).is_ok_and(|head| {
                    branch::look(context, &row, name, job.target.as_ref())
                        .is_ok_and(|found| found.head == head)
                })
        };
        if !job.is_some_and(goes_on) {
            return branch::add(context, &row, name, wish);
        }
    }
    let job = change.job(engine.floor(), &project)?;
    let issue = job.issue;
    if wish.approve.is_given() || wish.pr.is_some() || wish.target.is_some() {
        let pr = job.pr.map_or_else(|| "PR".to_owned(), |pr| pr.to_string());
        let error = CliError::usage(format!("the job of issue #{issue} carries that change"));
        return Err(match wish.target {
            Some(_) => error.hint("its issue's labels say where it lands, when the job is begun"),
            None => error.hint(format!("`shopfloor pr review {pr} --approve` approves it")),
        });
    }
    if job.end() == Some(End::Merged) {
        return Err(CliError::failed(format!("issue #{issue} is merged already"))
            .hint(format!("`shopfloor explain {issue}` says when and as what")));
    }
    let Wish { urgent, alone, .. } = wish;
    if !matches!(job.state, JobState::Merging { .. }) {
        may_merge(engine.floor(), job).map_err(|why| {
            CliError::failed(format!("issue #{issue} cannot be queued: {why}"))
                .hint(format!("`shopfloor explain {issue}` says what it waits for"))
        })?;
    }
    context.submit(&Event::MergeAsked { project: project.clone(), issue, urgent, alone })?;
    show(context, &project, issue)
}

pub fn remove(context: &Context, args: &RemoveArgs) -> CliResult<Exit> {
    let project = context.project()?.name;
    let engine = context.engine()?;
    if let Change::Branch(name) = &args.change
        && engine.floor().queued_by_hand(&project, name).is_some()
    {
        return branch::remove(context, &project, name);
    }
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
        JobState::Merging { entry } => floor.queue_order(&j.queue()).iter().position(|e| e.id == entry),
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
    let why = shopfloor_core::text::one_line(&args.reason, 200);
    let queues = target::meant(context, context.engine()?.floor(), args.to.as_deref())?;
    hold(context, &queues, args.to.as_deref(), Some(why), args.below.map(Priority::from))
}

pub fn resume(context: &Context, args: &ResumeArgs) -> CliResult<Exit> {
    let row = context.project()?;
    let engine = context.engine()?;
    let is_lost = |queue: &QueueId| engine.floor().queues.get(queue).is_some_and(|q| q.lost.is_some());
    let mut queues = target::meant(context, engine.floor(), args.to.as_deref())?;
    // That a release branch was rewound is accepted only by its name.
    let is_moved = |queue: &QueueId| {
        let lost = engine.floor().queues.get(queue).and_then(|q| q.lost.as_ref());
        lost.is_some_and(|lost| lost.known.is_some())
    };
    let unnamed = |queue: &QueueId| args.to.is_none() && queue.target.is_some() && is_moved(queue);
    for queue in queues.extract_if(.., |queue| unnamed(queue)) {
        let branch = queue.branch_in_words();
        eprintln!(
            "note: {branch} was rewound or deleted: `shopfloor merge-queue resume --to {branch}` accepts that"
        );
    }
    for queue in &queues {
        let branch = row.policy.branch_of(queue.target.as_ref());
        if is_lost(queue) && hub::peek(&context.layout.hub(&row.name), branch).is_none() {
            let what = if queue.target.is_none() { "primary branch" } else { "branch" };
            return Err(CliError::failed(format!("the hub of {} has no {what} {branch}", row.name))
                .hint(format!("put it back first: `git push shopfloor {branch}`")));
        }
    }
    hold(context, &queues, args.to.as_deref(), None, None)
}

fn hold(
    context: &Context,
    queues: &[QueueId],
    to: Option<&str>,
    why: Option<String>,
    below: Option<Priority>,
) -> CliResult<Exit> {
    let project = context.project()?.name;
    for QueueId { project, target } in queues.iter().cloned() {
        context.submit(&Event::QueuePaused { project, target, why: why.clone(), below })?;
    }
    if context.json {
        let branches: Vec<String> = queues.iter().map(QueueId::branch_in_words).collect();
        let below = below.map(Priority::name);
        output::json(&serde_json::json!({
            "project": project,
            "paused": why,
            "paused_below": below,
            "queues": branches,
        }));
    } else {
        let engine = context.engine()?;
        let mut paused = queues.iter().filter_map(|id| engine.floor().queues.get(id)?.pause());
        let text = paused.next().map_or_else(|| "goes on".to_owned(), |why| format!("is paused: {why}"));
        let of = to.map(|to| format!(" for {to}")).unwrap_or_default();
        output::line(format!("the merge queue of {project}{of} {text}"));
    }
    Ok(Exit::Fine)
}
