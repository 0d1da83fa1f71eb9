//! `shopfloor merge-queue backport`: a change that has landed is carried to another target, through its queue.

use super::entry::name;
use super::landed::{LandedArgs, LandedChange};
use crate::cli::{CliError, CliResult, Context, Exit};
use clap::Args;
use shopfloor_adapters::git::carry::{Carried, CarryProblem, Landed, Way};
use shopfloor_core::ids::{Target, in_words};
use shopfloor_core::text::one_line;
use shopfloor_desk::command::target_named;

/// Carry a change that has landed to another target, with a new one that goes through its queue
///
/// Creates the branch backport-entry-N-to-TARGET in the hub, with one commit that brings what that entry
/// brought, and queues it. It is checked on top of the target and lands like a branch of your own. If the target
/// differs in the same places, you are told which, and nothing is created.
#[derive(Args)]
pub struct BackportArgs {
    #[command(flatten)]
    landed: LandedArgs,
    /// The target, by its name in [merge.targets]; or the primary branch
    #[arg(long, value_name = "TARGET")]
    to: String,
}

pub fn run(context: &Context, args: &BackportArgs) -> CliResult<Exit> {
    let asking = context.asking(context.project()?);
    let project = &asking.project;
    let target = target_named(&project.policy, Some(&args.to))?;
    let floor = args.landed.floor(context, &project.name)?;
    let change = args.landed.find(&floor, &project.name)?;
    let LandedChange { entry, title, on, commit } = &change;
    let onto = project.policy.branch_of(target.as_ref());
    if entry.target == target {
        return Err(CliError::usage(format!("{} landed on {onto} itself", name(entry))));
    }
    let branch = format!("backport-entry-{}-to-{}", entry.id, plain(onto));
    let (landed, message) = (Landed { on, commit }, message(&change, target.as_ref()));
    let wanted = Carried { landed, way: Way::On, onto, branch: &branch, message: &message };
    let does = format!("it brings {}, {title}, to {onto}", name(entry));
    let refused = |problem: &CarryProblem| refused(problem, &change, onto);
    args.landed.carry(context, &asking, &wanted, target.clone(), &does, refused)
}

/// As a part of a branch's name.
fn plain(branch: &str) -> String {
    branch.replace('/', "-")
}

fn message(change: &LandedChange<'_>, target: Option<&Target>) -> String {
    let LandedChange { entry, title, commit, .. } = change;
    let pr = entry.pr.map(|pr| format!(" (#{pr})")).unwrap_or_default();
    let (from, branch) = (in_words(entry.target.as_ref()), one_line(&entry.branch, 200));
    let to = in_words(target);
    format!(
        "{title}{pr}\n\nThis brings merge queue entry {}, {branch}, from {from} to\n{to}.\n\n(cherry picked from commit {commit})\n",
        entry.id
    )
}

fn refused(problem: &CarryProblem, change: &LandedChange<'_>, onto: &str) -> CliError {
    let LandedChange { entry, on, commit, .. } = change;
    let error = CliError::failed(format!("{} cannot be carried to {onto}: {problem}", name(entry)));
    match problem {
        CarryProblem::Differs(_) => error.hint(format!(
            "carry it in a branch of your own (`git diff {} {}` is what it brought), and queue that with --to",
            on.short(),
            commit.short()
        )),
        CarryProblem::NoBranch(branch) => {
            error.hint(format!("make it first: `git push shopfloor COMMIT:refs/heads/{branch}`"))
        }
        _ => error,
    }
}
