//! `shopfloor merge-queue backport`: a change that has landed is carried to another target, through its queue.

use super::branch::{self, Wish};
use super::change::Change;
use super::entry::name;
use super::revert::{landed, title};
use super::target;
use crate::cli::approval::{Approve, CommitName};
use crate::cli::{CliError, CliResult, Context, Exit, body, output};
use clap::Args;
use shopfloor_adapters::git::carry::{self, Carried, CarryProblem, Landed, Way};
use shopfloor_core::ids::{Sha, Target};
use shopfloor_core::state::{Entry, EntryState};
use shopfloor_core::text::one_line;

/// Carry a change that has landed to another target, by a change that goes through its queue
///
/// Makes the branch backport-entry-N-to-TARGET in the hub, with one commit that brings what that entry brought, and
/// queues it. It is checked on top of the target and lands like a branch of your own. Where the target differs in the
/// same places, you are told where, and nothing is made.
#[derive(Args)]
pub struct BackportArgs {
    /// What landed: an issue's number, or a branch
    change: Change,
    /// The target, by its name in [merge.targets]; or the primary branch
    #[arg(long, value_name = "TARGET")]
    to: String,
    /// Before those that were queued earlier
    #[arg(long)]
    priority: bool,
    /// Approve it; it is on record as yours. With a commit: only if that is its head
    #[arg(long, value_name = "COMMIT", num_args = 0..=1)]
    approve: Option<Option<CommitName>>,
}

pub fn run(context: &Context, args: &BackportArgs) -> CliResult<Exit> {
    if body::session().is_some() {
        return Err(CliError::usage("an agent's session cannot carry what has landed elsewhere")
            .hint("a person does; an agent works in its own branch"));
    }
    let project = context.project()?;
    let target = target::named(context, Some(&args.to))?;
    let engine = context.engine()?;
    let entry = landed(engine.floor(), &project.name, &args.change)?;
    let onto = project.policy.branch_of(target.as_ref());
    if entry.target == target {
        return Err(CliError::usage(format!("{} landed on {onto} itself", name(entry))));
    }
    let EntryState::Merged { commit } = &entry.state else { unreachable!("only those are looked for") };
    let Some(on) = &entry.landed_on else {
        return Err(CliError::failed(format!("what {} landed on is not on record", name(entry)))
            .hint("it landed before that was kept: carry it in a branch of your own, and queue that"));
    };
    let title = title(engine.floor(), entry);
    let branch = format!("backport-entry-{}-to-{}", entry.id, plain(onto));
    let message = message(entry, &title, commit, target.as_ref());
    let wanted =
        Carried { landed: Landed { on, commit }, way: Way::On, onto, branch: &branch, message: &message };
    let made = carry::branch(&context.git()?, &context.layout.hub(&project.name), &wanted)
        .map_err(|problem| refused(&problem, entry, on, commit, onto))?;
    let approve = args.approve.clone().into();
    if !made && matches!(approve, Approve::Head) {
        return Err(CliError::failed(format!(
            "there is a branch {branch} already: look at it before you approve it"
        ))
        .hint("with `--approve COMMIT` it is queued if that is its head"));
    }
    if !context.json {
        let how = if made { "made" } else { "there already, and taken as it is" };
        output::line(format!("{branch}: {how}; it brings {}, {title}, to {onto}", name(entry)));
    }
    let wish = Wish { urgent: args.priority, approve, target, ..Wish::default() };
    branch::add(context, &project, &branch, wish)
}

/// As a part of a branch's name.
fn plain(branch: &str) -> String {
    branch.replace('/', "-")
}

fn message(entry: &Entry, title: &str, commit: &Sha, target: Option<&Target>) -> String {
    let pr = entry.pr.map(|pr| format!(" (#{pr})")).unwrap_or_default();
    let (from, branch) = (shopfloor_core::ids::in_words(entry.target.as_ref()), one_line(&entry.branch, 200));
    let to = shopfloor_core::ids::in_words(target);
    format!(
        "{title}{pr}\n\nThis brings merge queue entry {}, {branch}, from {from} to\n{to}.\n\n(cherry picked from commit {commit})\n",
        entry.id
    )
}

fn refused(problem: &CarryProblem, entry: &Entry, on: &Sha, commit: &Sha, onto: &str) -> CliError {
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
