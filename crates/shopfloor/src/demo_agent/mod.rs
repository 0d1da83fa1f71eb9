//! The built-in scripted agent: a process of its own in a tmux pane, like any other agent. It
//! edits, commits, pushes, signals and waits through the same doors (the phase file, the inbox),
//! and does what `demo:` lines in the text tell it, misbehaviour included.
//!
//! [`script`] is what it is told, [`dev`] and [`review`] are what it does, [`repo`] is its git.

mod dev;
mod repo;
mod review;
mod script;

use crate::cli::{CliError, CliResult, Context, Exit};
use clap::{Args, ValueEnum};

/// Be the built-in scripted agent, inside a session
#[derive(Args)]
pub struct DemoArgs {
    role: DemoRole,
}

#[derive(Clone, Copy, ValueEnum)]
enum DemoRole {
    Dev,
    Review,
}

pub fn run(context: &Context, args: &DemoArgs) -> CliResult<Exit> {
    let prompt_file = variable("SHOPFLOOR_PROMPT_FILE")?;
    let prompt = std::fs::read_to_string(&prompt_file)
        .map_err(|e| CliError::failed(format!("the prompt {prompt_file} cannot be read: {e}")))?;
    let script = script::Script::parse(&prompt);
    println!("demo agent, session {}", variable("SHOPFLOOR_SESSION")?);
    match args.role {
        DemoRole::Dev => dev::run(context, &script, &prompt)?,
        DemoRole::Review => review::run(&script)?,
    }
    Ok(Exit::Fine)
}

/// A variable that the factory sets for its agents.
fn variable(name: &str) -> CliResult<String> {
    std::env::var(name).map_err(|_| {
        CliError::usage(format!("{name} is not set: the demo agent runs in an agent's session"))
            .hint("set runtime = \"demo\" in shopfloor.toml and run `shopfloor up`")
    })
}
