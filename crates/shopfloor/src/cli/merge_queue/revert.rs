//! `shopfloor merge-queue revert`: a change that has landed is undone by another one, through the queue.

use super::entry::name;
use super::landed::{LandedArgs, LandedChange};
use crate::cli::{CliError, CliResult, Context, Exit};
use clap::Args;
use shopfloor_adapters::git::carry::{Carried, CarryProblem, Landed, Way};
use shopfloor_core::text::one_line;

/// Undo a change that has landed, with a new one that goes through the queue
///
/// Creates the branch revert-entry-N in the hub, with a commit that undoes what that entry brought and keeps
/// what came later, and queues it. It is checked and lands like a branch of your own. If later changes touch the
/// same places, you are told which, and nothing is created.
#[derive(Args)]
pub struct RevertArgs {
    #[command(flatten)]
    landed: LandedArgs,
}

pub fn run(context: &Context, args: &RevertArgs) -> CliResult<Exit> {
    let asking = context.asking(context.project()?);
    let project = &asking.project;
    let floor = args.landed.floor(context, &project.name)?;
    let change = args.landed.find(&floor, &project.name)?;
    let LandedChange { entry, title, on, commit } = &change;
    let (branch, message) = (format!("revert-entry-{}", entry.id), message(&change));
    let target = entry.target.clone();
    let (onto, landed) = (project.policy.branch_of(target.as_ref()), Landed { on, commit });
    let wanted = Carried { landed, way: Way::Back, onto, branch: &branch, message: &message };
    let does = format!("it undoes {}, {title}", name(entry));
    args.landed.carry(context, &asking, &wanted, target.clone(), &does, |problem| refused(problem, &change))
}

fn message(change: &LandedChange<'_>) -> String {
    let LandedChange { entry, title, commit, .. } = change;
    let pr = entry.pr.map(|pr| format!(" (#{pr})")).unwrap_or_default();
    let branch = one_line(&entry.branch, 200);
    format!(
        "Revert \"{title}{pr}\"\n\nThis undoes merge queue entry {}, {branch}, which landed as\n{commit}.\n",
        entry.id
    )
}

fn refused(problem: &CarryProblem, change: &LandedChange<'_>) -> CliError {
    let LandedChange { entry, on, commit, .. } = change;
    let error = CliError::failed(format!("{} cannot be undone: {problem}", name(entry)));
    match problem {
        CarryProblem::Touched(_) => error.hint(format!(
            "revert it in a branch of your own (`git diff {} {}` is what it brought), and queue that",
            on.short(),
            commit.short()
        )),
        _ => error,
    }
}
