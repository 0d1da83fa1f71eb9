//! `shopfloor session`: hand sessions, which a person or an orchestrating program starts beside the
//! factory's own jobs. One file a subcommand, which asks and prints; what they do is in [`shopfloor_hand`]. Here is what
//! they share.

mod attach;
mod build_cmd;
mod capture;
mod check;
mod finish;
mod fork;
mod kill;
mod leader;
mod list;
mod monitor;
mod name;
mod result;
mod send;
mod spawn;
mod state_file;

pub use state_file::StateFile;

use super::authority::ELSEWHERE;
use super::{CliError, CliResult, Context, Exit};
use crate::config::{ProjectConfig, runtimes};
use crate::projects::Projects;
use clap::{Args, Subcommand};
use shopfloor_adapters::git::origin::Origin;
use shopfloor_adapters::git::{Git, GitWorkspace};
use shopfloor_adapters::setup::WorktreeSetup;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::redact::Redactor;
use shopfloor_core::runtime::RuntimeSpec;
use shopfloor_core::state::Project;
use shopfloor_desk::Desk;
use shopfloor_hand::name::Parts;
use shopfloor_hand::{HandSessions, Means};
use std::path::Path;
use std::sync::Arc;

/// Sessions by hand: start, watch and end programs in terminals beside the factory's jobs
///
/// Wherever a NAME is expected, the name without its number means its newest session.
#[derive(Args)]
pub struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
}

impl SessionArgs {
    pub(super) fn persons(&self) -> Option<&'static str> {
        match &self.command {
            SessionCommand::Spawn(_)
            | SessionCommand::Kill(_)
            | SessionCommand::KillAll(_)
            | SessionCommand::Attach(_)
            | SessionCommand::Send(_)
            | SessionCommand::Fork(_)
            | SessionCommand::Finish(_) => Some(ELSEWHERE),
            SessionCommand::Name(_)
            | SessionCommand::BuildCmd(_)
            | SessionCommand::List(_)
            | SessionCommand::Capture(_)
            | SessionCommand::Monitor(_)
            | SessionCommand::Check(_)
            | SessionCommand::Lead(_) => None,
        }
    }
}

#[derive(Subcommand)]
enum SessionCommand {
    Spawn(spawn::SpawnArgs),
    Name(name::NameArgs),
    BuildCmd(build_cmd::BuildCmdArgs),
    List(list::ListArgs),
    Kill(kill::KillArgs),
    KillAll(kill::KillAllArgs),
    Attach(attach::AttachArgs),
    Send(send::SendArgs),
    Fork(fork::ForkArgs),
    Finish(finish::FinishArgs),
    Capture(capture::CaptureArgs),
    Monitor(monitor::MonitorArgs),
    #[command(visible_alias = "tmux-status-check")]
    Check(check::CheckArgs),
    #[command(hide = true)]
    Lead(leader::LeadArgs),
}

pub fn run(context: &Context, args: SessionArgs) -> CliResult<Exit> {
    match args.command {
        SessionCommand::Spawn(args) => spawn::run(context, args),
        SessionCommand::Name(args) => name::run(context, &args),
        SessionCommand::BuildCmd(args) => build_cmd::run(context, &args),
        SessionCommand::List(args) => list::run(context, &args),
        SessionCommand::Kill(args) => kill::one(context, &args),
        SessionCommand::KillAll(args) => kill::all(context, &args),
        SessionCommand::Attach(args) => attach::run(context, &args),
        SessionCommand::Send(args) => send::run(context, args),
        SessionCommand::Capture(args) => capture::run(context, &args),
        SessionCommand::Check(args) => check::run(context, args),
        SessionCommand::Fork(args) => fork::run(context, args),
        SessionCommand::Finish(args) => finish::run(context, &args),
        SessionCommand::Lead(args) => leader::run(&args),
        SessionCommand::Monitor(args) => monitor::run(context, args),
    }
}

/// What a session is for.
#[derive(Args)]
struct PartArgs {
    /// What is done, such as create, dev or review
    step: String,
    epic: String,
    /// The story, such as 5.3
    story: String,
    /// The number of the attempt, for a name of its own
    #[arg(long, value_name = "N")]
    cycle: Option<u32>,
}

impl PartArgs {
    fn parts<'a>(&'a self, project: &'a ProjectName) -> Parts<'a> {
        let PartArgs { step, epic, story, cycle } = self;
        Parts { project, step, epic, story, cycle: *cycle }
    }
}

pub(super) fn sessions(context: &Context) -> HandSessions {
    let path = std::env::var_os("PATH").unwrap_or_default();
    HandSessions { layout: context.layout.clone(), tmux: Tmux::new(context.layout.tmux_socket(), path) }
}

/// The project's configuration as it is in force.
pub(super) fn project_config(context: &Context, project: &Project) -> CliResult<ProjectConfig> {
    let engine = context.engine()?;
    Projects::in_force(&context.floor_config()?, engine.floor(), Path::new(&project.checkout))
}

/// What hides the secrets of a session's project in what is shown of it.
pub(super) fn redactor(context: &Context, project: Option<&ProjectName>) -> Redactor {
    // A session of no project has no secrets of one.
    let Some(project) = project else { return Redactor::default() };
    let known = || {
        let checkout = context.projects().ok()?.into_iter().find(|p| p.name == *project)?.checkout;
        let pins = context.pins().ok()?;
        Projects::redactor(&context.floor_config().ok()?, &pins, Path::new(&checkout)).ok()
    };
    known().unwrap_or_else(Redactor::blind)
}

fn projects(context: &Context) -> CliResult<Projects> {
    Projects::usable(&context.floor_config()?, context.runtimes()?, context.engine()?.floor())
}

impl Means for Context {
    fn desk(&self) -> &Desk {
        &self.desk
    }

    fn sessions(&self) -> HandSessions {
        sessions(self)
    }

    fn git(&self) -> CliResult<Git> {
        self.git()
    }

    fn origin(&self, project: &ProjectName) -> CliResult<Arc<dyn Origin>> {
        self.origin(project)
    }

    fn workspace(&self) -> CliResult<GitWorkspace> {
        Ok(GitWorkspace::new(self.git()?, self.layout.clone(), projects(self)?.git_lookup()))
    }

    fn setup(&self) -> CliResult<WorktreeSetup> {
        Ok(WorktreeSetup::new(self.git()?, self.layout.clone(), projects(self)?.setup_lookup()))
    }

    fn runtime(&self, name: &str) -> CliResult<Arc<RuntimeSpec>> {
        let unknown =
            || CliError::usage(format!("there is no runtime {name:?}")).hint(runtimes::unknown(name));
        self.runtimes()?.get(name).ok_or_else(unknown)
    }

    fn redactor(&self, project: Option<&ProjectName>) -> Redactor {
        redactor(self, project)
    }

    fn remark(&self, text: &str) {
        eprintln!("{text}");
    }
}
