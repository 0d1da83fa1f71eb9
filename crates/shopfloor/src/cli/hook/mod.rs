//! `shopfloor hook`: what agents' clients call at every step they take ([`call`]), and the settings
//! that make them do so ([`install`]).

mod call;
mod install;
mod pushed;
mod session;

pub use call::read_input;
pub use session::OwnSession;

use super::authority::ELSEWHERE;
use super::{CliResult, Context, Exit, statusline};
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// Called by agents' clients: tells the floor what happens in a session
///
/// The payload is read from standard input. Outside the factory's own sessions it does nothing.
#[derive(Args)]
pub struct HookArgs {
    #[command(subcommand)]
    command: Option<HookCommand>,
}

impl HookArgs {
    /// The branch that is pushed, where it is and where it is to be.
    pub(super) fn pushed(&self) -> Option<[&str; 3]> {
        match &self.command {
            Some(HookCommand::Pushed(args)) => Some(args.moved()),
            _ => None,
        }
    }

    pub(super) fn persons(&self) -> Option<&'static str> {
        match self.command {
            Some(HookCommand::Install(_) | HookCommand::Remove(_)) => Some(ELSEWHERE),
            Some(HookCommand::Pushed(_)) => Some("an agent pushes its own branch, as it was told to"),
            _ => None,
        }
    }
}

#[derive(Subcommand)]
enum HookCommand {
    /// Codex's `notify`: the payload is the last argument
    Notify {
        #[arg(value_name = "JSON", required = true)]
        payload: Vec<OsString>,
    },
    /// Add the factory's hooks to a client's settings, beside your own
    ///
    /// For clients you start yourself in a session of the factory. It changes nothing but its own
    /// entries, which end in `# managed by shopfloor`. Keys are written in alphabetical order.
    Install(install::FileArgs),
    /// Remove the factory's hooks from a client's settings
    Remove(install::FileArgs),
    /// Called by the hub when somebody pushes to it: puts them on record
    #[command(hide = true)]
    Pushed(pushed::PushedArgs),
    /// Show the factory's hooks in a client's settings
    Show(install::FileArgs),
}

pub fn run(context: &Context, args: HookArgs) -> CliResult<Exit> {
    match args.command {
        None => call::hook(),
        Some(HookCommand::Notify { payload }) => call::notify(payload.last()),
        Some(HookCommand::Install(args)) => return install::install(context, &args),
        Some(HookCommand::Remove(args)) => return install::remove(context, &args),
        Some(HookCommand::Pushed(args)) => return pushed::run(context, &args),
        Some(HookCommand::Show(args)) => return install::show(context, &args),
    }
    Ok(Exit::Fine)
}

/// The calls that clients make, without the rest of the command line: parsing that would be most of
/// the time they take. `None`: it is not one of them.
pub fn at_once(mut words: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let command = words.next()?;
    if command == "statusline" && words.next().is_none() {
        return statusline::run().ok().map(ExitCode::from);
    }
    if command != "hook" {
        return None;
    }
    match words.next() {
        None => call::hook(),
        Some(word) if word == "notify" => {
            let payload = words.last().filter(|word| !word.as_encoded_bytes().starts_with(b"-"))?;
            call::notify(Some(&payload));
        }
        Some(_) => return None,
    }
    Some(ExitCode::SUCCESS)
}
