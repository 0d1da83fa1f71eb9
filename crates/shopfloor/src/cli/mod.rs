//! The command line: one file a command. A command's doc comment is its help.

mod answer;
mod config;
mod context;
mod down;
mod error;
pub mod inbox;
mod init;
mod output;
pub mod phase;
mod up;

pub use context::{Context, now};
pub use error::{CliError, CliResult, Exit};

use crate::demo_agent;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// An autonomous code factory: issues in, merged and verified changes out.
///
/// Exit codes: 0 fine, 1 failed, 2 usage or config, 3 a job ended blocked or failed, 4 no such
/// thing, 5 the floor is busy or locked.
#[derive(Parser)]
#[command(name = "shopfloor", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// The floor's home folder [default: $XDG_STATE_HOME/shopfloor]
    #[arg(long, global = true, env = "SHOPFLOOR_HOME", value_name = "DIR")]
    home: Option<PathBuf>,
    /// The project; default: the one whose repository this folder is in
    #[arg(long, short, global = true, value_name = "NAME")]
    project: Option<String>,
    /// Answer in JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Init(init::InitArgs),
    Up(up::UpArgs),
    /// End the daemon; agents' sessions live on
    Down,
    Answer(answer::AnswerArgs),
    Config(config::ConfigArgs),
    Phase(phase::PhaseArgs),
    Inbox(inbox::InboxArgs),
    #[command(hide = true)]
    DemoAgent(demo_agent::DemoArgs),
}

/// Parses the arguments, runs the command and says in the exit code how it went.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = Context::from_environment(cli.home, cli.project, cli.json)
        .and_then(|context| run(&context, cli.command));
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            error.print();
            error.exit.into()
        }
    }
}

fn run(context: &Context, command: Command) -> CliResult<Exit> {
    match command {
        Command::Init(args) => init::run(context, args),
        Command::Up(args) => up::run(context, &args),
        Command::Down => down::run(context),
        Command::Answer(args) => answer::run(context, args),
        Command::Config(args) => config::run(context, args),
        Command::Phase(args) => phase::run(args),
        Command::Inbox(args) => inbox::run(context, args),
        Command::DemoAgent(args) => demo_agent::run(context, &args),
    }
}
