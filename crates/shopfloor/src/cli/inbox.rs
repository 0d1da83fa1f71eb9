//! `shopfloor inbox`: how an agent gets its messages.

use super::{CliError, CliResult, Context, Exit, output};
use crate::config::Span;
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use shopfloor_adapters::agent::{bell_file, seal};
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_core::event::Event;
use shopfloor_core::ids::Epoch;
use shopfloor_core::state::{Message, SessionState};
use std::io::Write;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Instant;

/// Messages from the factory, from inside an agent's session
#[derive(Args)]
pub struct InboxArgs {
    #[command(subcommand)]
    command: InboxCommand,
}

#[derive(Subcommand)]
enum InboxCommand {
    /// Block until there is a message, print it and acknowledge it
    Wait {
        /// Give up after this long, with exit code 1
        #[arg(long)]
        timeout: Option<Span>,
    },
    /// Print the next message without acknowledging it, if there is one
    Peek,
}

/// A message as programs get it.
#[derive(Serialize, Deserialize)]
struct MessageView {
    id: u64,
    text: String,
}

pub fn run(context: &Context, args: InboxArgs) -> CliResult<Exit> {
    let epoch = context.session()?;
    // One writer to a session: what is typed must not be taken here as well.
    if context.engine()?.floor().sessions.get(&epoch).is_some_and(|s| s.client.typed) {
        return Err(CliError::failed("messages to this session are typed into it")
            .hint("end your turn: the next message comes as your next prompt"));
    }
    let message = match args.command {
        InboxCommand::Wait { timeout } => {
            let message = wait(context, epoch, timeout)?;
            show(context, epoch, &message)?;
            // Printed first: a reader that dies in between gets it again.
            context.submit(&Event::MessageTaken { message: message.id, epoch })?;
            return Ok(Exit::Fine);
        }
        InboxCommand::Peek => context.engine()?.floor().next_message(epoch).cloned(),
    };
    match message {
        Some(message) => show(context, epoch, &message)?,
        None => return Err(CliError::no_such("there is no message")),
    }
    Ok(Exit::Fine)
}

/// The next message, taken as an agent takes it: by asking this program, which finds its way to the floor.
pub fn next() -> CliResult<String> {
    let asked = Command::new(std::env::current_exe()?).args(["--json", "inbox", "wait"]).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !asked.status.success() {
        return Err(CliError::failed(text(&asked.stderr)));
    }
    let message: MessageView = serde_json::from_slice(&asked.stdout)
        .map_err(|e| CliError::failed(format!("the inbox answered what is no message: {e}")))?;
    Ok(message.text)
}

/// Blocks until a message for the session waits.
fn wait(context: &Context, epoch: Epoch, timeout: Option<Span>) -> CliResult<Message> {
    let (ring, rung) = channel();
    let watcher = FileWatcher::spawn(move |_| {
        // Nobody listens any more: there is nothing left to wait for.
        let _ = ring.send(());
    })?;
    // Watched before the store is read, so nothing falls in between.
    watcher.watch(0, bell_file(&context.layout, epoch))?;
    let deadline = timeout.map(|t| Instant::now() + t.0);
    let mut engine = context.engine()?;
    loop {
        engine.refresh()?;
        let floor = engine.floor();
        if let Some(message) = floor.next_message(epoch) {
            return Ok(message.clone());
        }
        match floor.sessions.get(&epoch).map(|s| s.state) {
            None => return Err(CliError::no_such(format!("this floor has no session {epoch}"))),
            Some(SessionState::Ended) => {
                return Err(CliError::failed(format!("session {epoch} has ended: no message will come")));
            }
            Some(_) => {}
        }
        let rang = match deadline {
            None => rung.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => rung.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        match rang {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return Err(CliError::failed("no message came in time")),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(CliError::failed("the inbox cannot be watched"));
            }
        }
    }
}

fn show(context: &Context, epoch: Epoch, message: &Message) -> CliResult<()> {
    if context.json {
        let text = seal::sealed(&context.layout.session(epoch), &message.text);
        output::json(&MessageView { id: message.id.0, text });
    } else {
        output::line(seal::sealed(&context.layout.session(epoch), message.text.trim_end()));
    }
    std::io::stdout().flush()?;
    Ok(())
}
