//! A change that has landed, and the branch that carries it back or on, through the queue.

use super::change::show_queued;
use super::entry::name;
use crate::cli::{CliError, CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_adapters::git::carry::{self, Carried, CarryProblem};
use shopfloor_core::ids::{ProjectName, Sha, Target};
use shopfloor_core::state::{Entry, EntryState, Floor, Shelf};
use shopfloor_core::text::one_line;
use shopfloor_desk::command::{Approve, Asking, Change, CommitName, Wish};

#[derive(Args)]
pub struct LandedArgs {
    /// What landed: an issue's number, or a branch
    change: Change,
    /// Ahead of those that were queued earlier
    #[arg(long)]
    priority: bool,
    /// Approve it in your name; with a commit, only if that is its head
    #[arg(long, value_name = "COMMIT", num_args = 0..=1)]
    approve: Option<Option<CommitName>>,
}

/// An entry that has landed.
pub struct LandedChange<'f> {
    pub entry: &'f Entry,
    pub title: String,
    pub on: &'f Sha,
    pub commit: &'f Sha,
}

impl LandedArgs {
    /// The floor with all that may have landed of what was meant.
    pub fn floor(&self, context: &Context, project: &ProjectName) -> CliResult<Floor> {
        match &self.change {
            // A person's branch may be for it, too, and is found under its own name only.
            Change::Issue(_) => Ok(context.history()?),
            Change::Branch(branch) => {
                Ok(context.committed_about(&[Shelf::Branch(project.clone(), branch.clone())])?)
            }
        }
    }

    /// The newest that landed of what was meant.
    pub fn find<'f>(&self, floor: &'f Floor, project: &ProjectName) -> CliResult<LandedChange<'f>> {
        let meant = |e: &&Entry| match &self.change {
            Change::Issue(issue) => e.issue == Some(*issue),
            Change::Branch(branch) => e.branch == *branch,
        };
        let mine = floor.entries.iter().filter(|e| e.project == *project).filter(meant);
        let landed = mine.filter_map(|entry| match &entry.state {
            EntryState::Merged { commit } => Some((entry, commit)),
            _ => None,
        });
        let Some((entry, commit)) = landed.max_by_key(|(e, _)| (e.decided_at, e.id)) else {
            return Err(CliError::no_such(format!("nothing of that has landed in {project}"))
                .hint("`shopfloor merge-queue history` shows what has"));
        };
        let Some(on) = &entry.landed_on else {
            return Err(CliError::failed(format!("there is no record of what {} landed on", name(entry)))
                .hint("it landed before that was recorded: do it in a branch of your own, and queue that"));
        };
        let title = one_line(&floor.title(entry), 150);
        let title = if title.is_empty() { one_line(&entry.branch, 150) } else { title };
        Ok(LandedChange { entry, title, on, commit })
    }

    /// Makes the branch, and queues it. `does`: what it does, for people.
    pub fn carry(
        &self,
        context: &Context,
        asking: &Asking<'_>,
        wanted: &Carried<'_>,
        target: Option<Target>,
        does: &str,
        refused: impl FnOnce(&CarryProblem) -> CliError,
    ) -> CliResult<Exit> {
        let branch = wanted.branch;
        let made = carry::branch(&*(asking.origin)()?, wanted).map_err(|problem| refused(&problem))?;
        let approve = self.approve.clone().into();
        if !made && matches!(approve, Approve::Head) {
            // A call that was cut short made it; or somebody has been there since.
            return Err(CliError::failed(format!(
                "there is a branch {branch} already: look at it before you approve it"
            ))
            .hint("with `--approve COMMIT` it is queued if that is its head"));
        }
        if !context.json {
            let how = if made { "made" } else { "there already, and taken as it is" };
            output::line(format!("{branch}: {how}; {does}"));
        }
        let wish = Wish { urgent: self.priority, approve, target, ..Wish::default() };
        show_queued(context, &asking.project.name, context.queue_branch(asking, branch, wish)?)
    }
}
