//! People's say in the merge queue: in, out, sooner, not now.

use crate::cli::{CliError, CliResult, Context, Exit, output};
use clap::{Args, ValueEnum};
use shopfloor_core::ids::{PrNumber, ProjectName};
use shopfloor_core::planner::Priority;
use shopfloor_desk::command::{Change, CommitName, HoldView, Queued, Wish, target_named};
use shopfloor_desk::view::entry::PlaceView;

/// Put the change of an issue, or a branch of your own, into the queue
///
/// It has to be green and, if the project requires reviews, approved. Agents' changes are queued by the factory;
/// for those, this is for one that was taken out, or that ended blocked although nothing is wrong with it. A
/// branch of your own is one that you pushed (`git push shopfloor BRANCH`) and that belongs to no job. Its head
/// is checked if that has not been done yet, it lands like any other, and then the branch is deleted. A running
/// daemon does all that; without one, `shopfloor merge-queue process` does. For a change that is in the queue
/// already, --priority moves it ahead of the others.
#[derive(Args)]
pub struct AddArgs {
    /// An issue's number, or a branch
    change: Change,
    /// Ahead of those that were queued earlier: it waits only for checks that already run
    #[arg(long, visible_alias = "urgent")]
    priority: bool,
    /// Never together with others: it is checked directly on top of the primary branch, and lands by itself
    #[arg(long)]
    alone: bool,
    /// Approve the head of a branch of your own; that is recorded in your name. With a commit, only if that is
    /// the head
    #[arg(long, value_name = "COMMIT", num_args = 0..=1)]
    approve: Option<Option<CommitName>>,
    /// The pull request of a branch of your own, if it is not clear which
    #[arg(long, value_name = "PR")]
    pr: Option<PrNumber>,
    /// The target to land on instead of the primary branch, by its name in [merge.targets]; for a branch of your
    /// own
    #[arg(long, value_name = "TARGET")]
    to: Option<String>,
    /// Even if a commit of the branch is called fixup!, squash!, amend! or WIP
    #[arg(long)]
    unfinished: bool,
}

/// Take a change out of the queue; its issue, if it has one, then waits for a person
#[derive(Args)]
pub struct RemoveArgs {
    /// An issue's number, or a branch
    change: Change,
}

/// Queue a change again that failed, conflicted, or waits for the primary branch to be fixed
#[derive(Args)]
pub struct RetryArgs {
    /// An issue's number, or a branch
    change: Change,
}

/// Hold the queue: nothing is tried and nothing lands until `resume`
///
/// With --below, what is urgent (or has the label `priority`) continues, and the rest waits. Checks that run are
/// finished; what passes lands when it may.
#[derive(Args)]
pub struct PauseArgs {
    /// Hold only what is below this level: `priority` still lets issues with that label and urgent changes land,
    /// `urgent` only what a person queued with --urgent
    #[arg(long, value_name = "LEVEL")]
    below: Option<Level>,
    /// Why, for others to see
    #[arg(default_value = "by hand")]
    reason: String,
    /// Only the queue of this target, or of the primary branch, by name [default: all of the project's]
    #[arg(long, value_name = "TARGET")]
    to: Option<String>,
}

/// Let a paused queue continue
#[derive(Args)]
pub struct ResumeArgs {
    /// Only the queue of this target, or of the primary branch, by name [default: all of the project's]
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

pub fn add(context: &Context, args: &AddArgs) -> CliResult<Exit> {
    let asking = context.asking(context.project()?);
    let approve = args.approve.clone().into();
    let target = target_named(&asking.project.policy, args.to.as_deref())?;
    let (urgent, alone) = (args.priority, args.alone);
    let wish = Wish { urgent, alone, approve, pr: args.pr, unfinished: args.unfinished, target };
    show_queued(context, &asking.project.name, context.queue(&asking, &args.change, wish)?)
}

pub fn retry(context: &Context, args: &RetryArgs) -> CliResult<Exit> {
    let asking = context.asking(context.project()?);
    show_queued(context, &asking.project.name, context.queue_again(&asking, &args.change)?)
}

pub fn remove(context: &Context, args: &RemoveArgs) -> CliResult<Exit> {
    let project = context.project()?.name;
    show(context, &project, &context.unqueue(&project, &args.change)?)
}

pub(super) fn show_queued(context: &Context, project: &ProjectName, queued: Queued) -> CliResult<Exit> {
    let Queued { change, approved } = queued;
    if let (Some(head), Change::Branch(name), false) = (approved, &change, context.json) {
        output::line(format!("approved {head}, the head of {name}"));
    }
    show(context, project, &change)
}

/// Says where it is now.
fn show(context: &Context, project: &ProjectName, change: &Change) -> CliResult<Exit> {
    let place = PlaceView::new(context.engine()?.floor(), project, change)?;
    if context.json {
        output::json(&place);
    } else {
        output::line(place.tell());
    }
    Ok(Exit::Fine)
}

/// Accept where the branch is that a queue stands still for, and let the queue continue from there
///
/// A queue stands still if its branch was rewound or deleted, or was moved and nobody is known to have done it. Look at
/// what is there first: whatever is in the branch counts as landed.
#[derive(Args)]
pub struct AcceptArgs {
    /// The queue of this branch, where work lands on several
    #[arg(long, value_name = "BRANCH")]
    to: Option<String>,
}

pub fn pause(context: &Context, args: PauseArgs) -> CliResult<Exit> {
    let (to, below) = (args.to.as_deref(), args.below.map(Priority::from));
    let held = context.pause_queues(&context.project()?, to, &args.reason, below)?;
    show_held(context, &held, to)
}

pub fn resume(context: &Context, args: &ResumeArgs) -> CliResult<Exit> {
    let asking = context.asking(context.project()?);
    let to = args.to.as_deref();
    let (queues, rewound) = context.resumable(&asking.project, to)?;
    for queue in rewound {
        let branch = queue.branch_in_words();
        eprintln!(
            "note: {branch} was rewound or deleted: `shopfloor merge-queue resume --to {branch}` accepts that"
        );
    }
    show_held(context, &context.resume_queues(&asking, &queues)?, to)
}

pub fn accept(context: &Context, args: &AcceptArgs) -> CliResult<Exit> {
    let asking = context.asking(context.project()?);
    let to = args.to.as_deref();
    let queues = context.standing_still(&asking.project, to)?;
    if queues.is_empty() {
        return Err(CliError::no_such("no merge queue stands still because of where its branch is")
            .hint("`shopfloor merge-queue status` shows the state of each; `resume` ends a pause"));
    }
    show_held(context, &context.resume_queues(&asking, &queues)?, to)
}

fn show_held(context: &Context, held: &HoldView, to: Option<&str>) -> CliResult<Exit> {
    if context.json {
        output::json(held);
    } else {
        let text =
            held.pause.as_ref().map_or_else(|| "continues".to_owned(), |why| format!("is paused: {why}"));
        let of = to.map(|to| format!(" for {to}")).unwrap_or_default();
        output::line(format!("the merge queue of {}{of} {text}", held.project));
    }
    Ok(Exit::Fine)
}
