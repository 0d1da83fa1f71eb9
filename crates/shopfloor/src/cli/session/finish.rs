//! `shopfloor session finish`: what becomes of a session's own worktree and branch.

use crate::cli::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_adapters::git::branches::OriginBranch;
use shopfloor_core::state::Project;
use shopfloor_desk::command::{Approve, Wish};
use shopfloor_hand::Finishing;
use shopfloor_hand::finish::{self, Finished, Queue};

/// End a session that has a worktree of its own, and decide what becomes of its work
///
/// It can be interrupted and run again. What cannot be done is refused before the session is ended.
#[derive(Args)]
pub struct FinishArgs {
    name: String,
    #[command(flatten)]
    how: How,
    /// With --merge: approve its head in your name
    #[arg(long, requires = "merge")]
    approve: bool,
    /// With --merge: ahead of all others
    #[arg(long, requires = "merge")]
    urgent: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct How {
    /// Publish its branch to the hub and put it into the merge queue, as `merge-queue add` does; the worktree goes
    #[arg(long)]
    merge: bool,
    /// Keep branch and worktree as they are, and what is uncommitted on a rescue ref
    #[arg(long)]
    keep: bool,
    /// Remove worktree and branch; all of it is on a rescue ref. A branch that the hub had before stays there
    #[arg(long)]
    drop: bool,
}

/// What is asked of the merge queue for its branch.
struct Asked<'a> {
    context: &'a Context,
    wish: Wish,
}

impl Queue for Asked<'_> {
    fn may_take(&self, project: &Project, name: &str, found: OriginBranch) -> CliResult<()> {
        let asking = self.context.asking(project.clone());
        self.context.may_queue_branch(&asking, name, found, self.wish.clone()).map(drop)
    }

    fn take(&self, project: &Project, name: &str) -> CliResult<()> {
        let asking = self.context.asking(project.clone());
        self.context.queue_branch(&asking, name, self.wish.clone()).map(drop)
    }
}

pub fn run(context: &Context, args: &FinishArgs) -> CliResult<Exit> {
    let how = match (args.how.merge, args.how.keep) {
        (true, _) => Finishing::Merge,
        (_, true) => Finishing::Keep,
        _ => Finishing::Drop,
    };
    let approve = if args.approve { Approve::Head } else { Approve::No };
    // Who ends a session to have its work merged says that it is done.
    let wish = Wish { urgent: args.urgent, approve, unfinished: true, ..Wish::default() };
    let finished = finish::finish(context, &Asked { context, wish }, &args.name, how)?;
    if context.json {
        output::json(&finished);
    } else {
        output::line(line(finished));
    }
    Ok(Exit::Fine)
}

fn line(finished: Finished) -> String {
    let Finished { name, how, branch, worktree, rescue, queue, taken_over } = finished;
    let rescue = rescue.map(|rescue| format!("; what it held is in {rescue}")).unwrap_or_default();
    match how {
        Finishing::Merge => {
            format!("{name} is ended; {branch}: {}", queue.unwrap_or("in the queue".into()))
        }
        Finishing::Keep => {
            format!("{name} is ended; {branch} is in {}{rescue}", worktree.unwrap_or_default())
        }
        Finishing::Drop if taken_over => {
            format!("{name} is ended; its worktree is removed, the hub's {branch} stays{rescue}")
        }
        Finishing::Drop => format!("{name} is ended; {branch} and its worktree are removed{rescue}"),
    }
}
