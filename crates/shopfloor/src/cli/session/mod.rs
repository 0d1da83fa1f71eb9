//! `shopfloor session`: hand sessions, which a person or an orchestrating program starts beside the
//! factory's own jobs. One file a subcommand; here is what they share.
//!
//! Invariants:
//! - A job's session is never ended or typed into here: its job would not know.
//! - Nothing is ended before what its worktree holds is kept (if the worktree is the floor's).

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
mod resting;
mod result;
mod send;
mod spawn;
mod state_file;
mod watcher;

pub use resting::{Resting, resting};
pub use state_file::StateFile;

use super::{CliError, CliResult, Context, Exit, now};
use crate::config::{self, ProjectConfig, runtimes};
use crate::daemon::Projects;
use clap::{Args, Subcommand};
use shopfloor_adapters::git::GitWorkspace;
use shopfloor_adapters::hand::{Ended, Hand, HandError, HandSessions};
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::setup::WorktreeSetup;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::hand::name::HandName;
use shopfloor_core::hand::watch::FinalState;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::runtime::RuntimeSpec;
use shopfloor_core::state::Project;
use shopfloor_core::text::{Redactor, neutralise};
use shopfloor_engine::ports::{Snapshot, Tree, Workspace};
use std::path::Path;
use std::sync::Arc;

/// Sessions by hand: start, watch and end programs in terminals beside the factory's jobs
///
/// Wherever a NAME is asked for, the name without its number means the newest session of it.
#[derive(Args)]
pub struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
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
        SessionCommand::Check(args) => check::run(context, &args),
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
    fn parts<'a>(&'a self, project: &'a ProjectName) -> shopfloor_core::hand::name::Parts<'a> {
        let PartArgs { step, epic, story, cycle } = self;
        shopfloor_core::hand::name::Parts { project, step, epic, story, cycle: *cycle }
    }
}

impl From<HandError> for CliError {
    fn from(e: HandError) -> Self {
        match &e {
            HandError::Busy(_) => CliError::new(Exit::Busy, e.to_string()).hint("try again"),
            HandError::Tree { name, .. } => CliError::failed(e.to_string()).hint(format!(
                "mend that and start another; `shopfloor session finish {name} --drop` removes what is left of this one"
            )),
            _ => CliError::failed(e.to_string()),
        }
    }
}

pub(super) fn sessions(context: &Context) -> HandSessions {
    let path = std::env::var_os("PATH").unwrap_or_default();
    HandSessions { layout: context.layout.clone(), tmux: Tmux::new(context.layout.tmux_socket(), path) }
}

/// The session meant, ended or not.
fn find(context: &Context, hands: &HandSessions, who: &str) -> CliResult<Hand> {
    if let Some(found) = hands.find(who)? {
        return Ok(found);
    }
    refuse_jobs(context, who)?;
    Err(CliError::no_such(format!("there is no session {who}"))
        .hint("`shopfloor session list` shows those there are"))
}

/// The session meant, which must still be there.
fn find_live(context: &Context, hands: &HandSessions, who: &str) -> CliResult<Hand> {
    let hand = find(context, hands, who)?;
    match hand.ended() {
        Some(ended) => Err(CliError::no_such(format!("session {} is over: {}", hand.name, ended.why))),
        None => Ok(hand),
    }
}

/// Sessions of jobs are the factory's: it would replace one that dies.
fn refuse_jobs(context: &Context, who: &str) -> CliResult<()> {
    let Ok(engine) = context.engine() else { return Ok(()) };
    let Some(session) = engine.floor().sessions.iter().find(|session| session.tmux == who) else {
        return Ok(());
    };
    Err(CliError::usage(format!("{who} is the session of a job, for issue #{}", session.issue)).hint(
        format!(
            "`shopfloor cancel {}` ends the job with it; `shopfloor attach {who}` shows it",
            session.issue
        ),
    ))
}

/// The project's configuration as its checkout has it.
pub(super) fn project_config(context: &Context, project: &Project) -> CliResult<ProjectConfig> {
    let file = Path::new(&project.checkout).join(config::FILE_NAME);
    Ok(config::load::project(&file, &context.floor_config()?)?)
}

/// What hides the secrets of a session's project in what is shown of it.
pub(super) fn redactor(context: &Context, project: Option<&ProjectName>) -> Redactor {
    let known = || {
        let engine = context.engine().ok()?;
        let project = engine.floor().projects.get(project?)?.checkout.clone();
        Some(Projects::redactor(&context.floor_config().ok()?, Path::new(&project)))
    };
    known().unwrap_or_default()
}

/// A runtime, with what the user puts over it.
fn runtime(context: &Context, name: &str) -> CliResult<Arc<RuntimeSpec>> {
    context
        .runtimes()?
        .get(name)
        .ok_or_else(|| CliError::usage(format!("there is no runtime {name:?}")).hint(runtimes::unknown(name)))
}

/// The runtime a session was started with; of one without a record nothing is known.
fn runtime_of(context: &Context, hand: &Hand) -> CliResult<Arc<RuntimeSpec>> {
    runtime(context, hand.record.as_ref().map_or("generic", |record| &record.runtime))
}

/// More than tmux keeps.
const SCROLLBACK_LINES: u32 = 10_000;

/// What a session printed, safe to show.
fn printed(hands: &HandSessions, name: &HandName, lines: u32, redactor: &Redactor) -> CliResult<String> {
    let text = hands.tmux.capture(&name.to_string(), lines).map_err(HandError::from)?;
    Ok(redactor.redact(&neutralise(&text)))
}

/// Ends a session, with what its worktree holds kept before and after.
fn end(
    context: &Context,
    hands: &HandSessions,
    hand: &Hand,
    why: &str,
    result: Option<FinalState>,
) -> CliResult<Option<Snapshot>> {
    let rescue = Rescue::of(context, hand)?;
    // The program may still be writing, so this one need not be the last word; the one after is.
    rescue.as_ref().map(Rescue::snapshot).transpose()?;
    hands.end(&hand.name, Ended { at: now(), why: why.to_owned(), result })?;
    Ok(rescue.as_ref().map(Rescue::snapshot).transpose()?.flatten())
}

/// The worktree of the floor that a session runs in, if it is one.
fn own_worktree(context: &Context, hand: &Hand) -> Option<Tree> {
    let cwd = Path::new(&hand.record.as_ref()?.cwd);
    let root = std::fs::canonicalize(context.layout.root()).ok();
    let layouts = [Some(context.layout.clone()), root.map(Layout::new)];
    layouts.iter().flatten().find_map(|layout| layout.worktree_of(cwd))
}

/// The worktree of the floor that a session runs in.
struct Rescue {
    workspace: GitWorkspace,
    tree: Tree,
}

fn projects(context: &Context) -> CliResult<Projects> {
    Projects::usable(&context.floor_config()?, context.runtimes()?, context.engine()?.floor())
}

/// Git as the agents' workplace.
fn workspace(context: &Context) -> CliResult<GitWorkspace> {
    Ok(GitWorkspace::new(context.git()?, context.layout.clone(), projects(context)?.git_lookup()))
}

/// What the projects want done to worktrees.
fn setup(context: &Context) -> CliResult<WorktreeSetup> {
    Ok(WorktreeSetup::new(context.git()?, context.layout.clone(), projects(context)?.setup_lookup()))
}

impl Rescue {
    fn of(context: &Context, hand: &Hand) -> CliResult<Option<Rescue>> {
        let Some(tree) = own_worktree(context, hand) else { return Ok(None) };
        Ok(Some(Rescue { workspace: workspace(context)?, tree }))
    }

    fn snapshot(&self) -> CliResult<Option<Snapshot>> {
        self.workspace.snapshot(&self.tree).map_err(|e| {
            CliError::failed(format!("what its worktree holds cannot be kept: {e}"))
                .hint("nothing more is ended; commit or move the work, then try again")
        })
    }
}
