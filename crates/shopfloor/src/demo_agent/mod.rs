//! The built-in scripted agent: a process of its own in a tmux pane, like any other agent. It
//! edits, commits, pushes and signals through the same doors, and does what `demo:` lines in the
//! issue's text tell it, misbehaviour included.
//!
//! [`script`] is what it is told, [`dev`], [`run`], [`foresight`] and [`review`] are what it does, [`repo`] is its git,
//! [`trouble`] what it does wrong, [`hold`] where it stops until it is let go. It is played through a [`client`]: plain lines and the inbox, or
//! (`--terminal`) a [`terminal`] client that is typed to, as Claude Code is.

mod client;
mod dev;
mod foresight;
mod hold;
mod repo;
mod review;
mod run;
mod script;
mod terminal;
mod trouble;

use crate::cli::{CliError, CliResult, Exit};
use clap::Args;
use client::{Client, Plain};
use script::Script;
use shopfloor_core::ids::{Duty, Role};

/// Be the built-in scripted agent, inside a session
#[derive(Args)]
pub struct DemoArgs {
    role: Role,
    /// Be a client in the terminal: prompts are typed, hooks tell what happens
    #[arg(long)]
    terminal: bool,
    /// The conversation's id, for the hooks
    #[arg(long, default_value = "demo", requires = "terminal")]
    session_id: String,
    /// What the conversation is called, in the terminal's title
    #[arg(short, long, default_value = "demo", requires = "terminal")]
    name: String,
}

pub fn run(args: &DemoArgs) -> CliResult<Exit> {
    let prompt_file = variable("SHOPFLOOR_PROMPT_FILE")?;
    let prompt = std::fs::read_to_string(&prompt_file)
        .map_err(|e| CliError::failed(format!("the prompt {prompt_file} cannot be read: {e}")))?;
    let (script, not_understood) = Script::parse(&prompt);
    if args.role.develops() {
        std::thread::sleep(script.slow_start);
        hold::at(&script, "start")?;
    }
    let client: Box<dyn Client> = if args.terminal {
        // Reviewers read the same issue: what it tells the developer to do wrong is not theirs.
        let habits = args.role.develops().then_some(&script);
        Box::new(terminal::Terminal::start(&args.session_id, &args.name, habits)?)
    } else {
        Box::new(Plain { prompt: prompt.clone(), deaf: script.has("deaf") })
    };
    client.say(&format!("demo agent, session {}", variable("SHOPFLOOR_SESSION")?));
    for line in not_understood {
        client.say(&format!("demo: not understood: {line}"));
    }
    match args.role.duty() {
        Duty::Develop => dev::run(args.role, &script, &*client)?,
        Duty::Review => {
            review::run(&script, &*client)?;
            // A client in a terminal stays until it is ended.
            if args.terminal {
                loop {
                    let message = client.next_message()?;
                    review::answer(&script, &*client, &message)?;
                }
            }
        }
    }
    client.leave();
    Ok(Exit::Fine)
}

/// A variable that the factory sets for its agents.
fn variable(name: &str) -> CliResult<String> {
    std::env::var(name).map_err(|_| {
        CliError::usage(format!("{name} is not set: the demo agent runs in an agent's session"))
            .hint("set runtime = \"demo\" in shopfloor.toml and run `shopfloor up`")
    })
}
