//! `shopfloor vault`: operations that are dangerous or cannot be undone, asked for by agents and decided about by people.

mod decide;
mod history;
mod list;
mod request;
mod show;

use super::{CliResult, Context, Exit};
use clap::{Args, Subcommand};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::Decision;
use shopfloor_desk::command::Which;
use std::path::Path;

/// What a person says is passed on as it came from here.
pub(super) const FROM: &str = "the command line";

/// Ask for an operation that is dangerous or cannot be undone, and decide about those asked for
#[derive(Args)]
pub struct VaultArgs {
    #[command(subcommand)]
    command: VaultCommand,
}

#[derive(Subcommand)]
enum VaultCommand {
    Request(request::RequestArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    /// Approve a request: it is carried out, exactly as it is shown
    Approve(decide::DecideArgs),
    /// Reject a request
    Reject(decide::DecideArgs),
    /// Carry out again what was cut short, could not be begun or failed
    Retry(decide::DecideArgs),
    History(history::HistoryArgs),
}

impl VaultArgs {
    /// What to do instead, if it is only for people.
    pub(super) fn persons(&self) -> Option<&'static str> {
        match self.command {
            VaultCommand::Request(_) => None,
            _ => Some("an agent asks with `shopfloor vault request`, and is told how it ended"),
        }
    }

    /// A file that a payload is read from.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.command {
            VaultCommand::Request(args) => args.file(),
            _ => None,
        }
    }
}

pub fn run(context: &Context, args: VaultArgs) -> CliResult<Exit> {
    match args.command {
        VaultCommand::Request(args) => request::run(context, args),
        VaultCommand::List(args) => list::run(context, &args),
        VaultCommand::Show(args) => show::run(context, &args),
        VaultCommand::Approve(args) => decide::run(context, args, Decision::Approve),
        VaultCommand::Reject(args) => decide::run(context, args, Decision::Reject),
        VaultCommand::Retry(args) => decide::run(context, args, Decision::Retry),
        VaultCommand::History(args) => history::run(context, &args),
    }
}

/// The project of a request. Their numbers are the floor's: the folder one is in matters only for old ones.
fn project_of(context: &Context, which: Which) -> CliResult<ProjectName> {
    let engine = context.engine()?;
    let floor = engine.floor();
    let known = match which {
        Which::Request(number) => floor.requests.get(&number),
        Which::Question(question) => floor.request_asking(question),
    };
    match known {
        Some(request) => Ok(request.project.clone()),
        None => Ok(context.project()?.name),
    }
}
