//! `shopfloor merge-queue revert`: a change that has landed is undone by another one, through the queue.

use super::branch::{self, Wish};
use super::change::Change;
use super::entry::name;
use crate::cli::approval::{Approve, CommitName};
use crate::cli::{CliError, CliResult, Context, Exit, body, output};
use clap::Args;
use shopfloor_adapters::git::carry::{self, Carried, CarryProblem, Landed, Way};
use shopfloor_core::ids::{ProjectName, Sha};
use shopfloor_core::state::{Entry, EntryState, Floor};
use shopfloor_core::text::one_line;

/// Undo a change that has landed, by a change that goes through the queue
///
/// Makes the branch revert-entry-N in the hub, with a commit that takes back what that entry brought and leaves
/// what came later, and queues it. It is checked and lands like a branch of your own. Where later changes touch
/// the same places, you are told where, and nothing is made.
#[derive(Args)]
pub struct RevertArgs {
    /// What landed: an issue's number, or a branch
    change: Change,
    /// Before those that were queued earlier
    #[arg(long)]
    priority: bool,
    /// Approve it; it is on record as yours. With a commit: only if that is its head
    #[arg(long, value_name = "COMMIT", num_args = 0..=1)]
    approve: Option<Option<CommitName>>,
}

pub fn run(context: &Context, args: &RevertArgs) -> CliResult<Exit> {
    if body::session().is_some() {
        return Err(CliError::usage("an agent's session cannot undo what has landed")
            .hint("a person does; an agent reverts in its own branch"));
    }
    let project = context.project()?;
    let engine = context.engine()?;
    let entry = landed(engine.floor(), &project.name, &args.change)?;
    let EntryState::Merged { commit } = &entry.state else { unreachable!("only those are looked for") };
    let Some(on) = &entry.landed_on else {
        return Err(CliError::failed(format!("what {} landed on is not on record", name(entry)))
            .hint("it landed before that was kept: revert it in a branch of your own, and queue that"));
    };
    let branch = format!("revert-entry-{}", entry.id);
    let message = message(entry, &title(engine.floor(), entry), commit);
    let target = entry.target.clone();
    let (onto, landed) = (project.policy.branch_of(target.as_ref()), Landed { on, commit });
    let wanted = Carried { landed, way: Way::Back, onto, branch: &branch, message: &message };
    let made = carry::branch(&context.git()?, &context.layout.hub(&project.name), &wanted)
        .map_err(|problem| refused(&problem, entry, on, commit))?;
    let approve = args.approve.clone().into();
    if !made && matches!(approve, Approve::Head) {
        // A call that was cut short made it; or somebody has been there since.
        return Err(CliError::failed(format!(
            "there is a branch {branch} already: look at it before you approve it"
        ))
        .hint("with `--approve COMMIT` it is queued if that is its head"));
    }
    if !context.json {
        let how = if made { "made" } else { "there already, and taken as it is" };
        output::line(format!("{branch}: {how}; it undoes {}, {}", name(entry), title(engine.floor(), entry)));
    }
    let wish = Wish { urgent: args.priority, approve, target, ..Wish::default() };
    branch::add(context, &project, &branch, wish)
}

/// The newest that landed of what was meant.
pub(super) fn landed<'f>(floor: &'f Floor, project: &ProjectName, change: &Change) -> CliResult<&'f Entry> {
    let meant = |e: &&Entry| match change {
        Change::Issue(issue) => e.issue == Some(*issue),
        Change::Branch(branch) => e.branch == *branch,
    };
    let mine = floor.entries.iter().filter(|e| e.project == *project).filter(meant);
    let found = mine.filter(|e| matches!(e.state, EntryState::Merged { .. }));
    found.max_by_key(|e| (e.decided_at, e.id)).ok_or_else(|| {
        CliError::no_such(format!("nothing of that has landed in {project}"))
            .hint("`shopfloor merge-queue history` shows what has")
    })
}

pub(super) fn title(floor: &Floor, entry: &Entry) -> String {
    let title = one_line(&floor.title(entry), 150);
    if title.is_empty() { one_line(&entry.branch, 150) } else { title }
}

fn message(entry: &Entry, title: &str, commit: &Sha) -> String {
    let pr = entry.pr.map(|pr| format!(" (#{pr})")).unwrap_or_default();
    let branch = one_line(&entry.branch, 200);
    format!(
        "Revert \"{title}{pr}\"\n\nThis undoes merge queue entry {}, {branch}, which landed as\n{commit}.\n",
        entry.id
    )
}

fn refused(problem: &CarryProblem, entry: &Entry, on: &Sha, commit: &Sha) -> CliError {
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
