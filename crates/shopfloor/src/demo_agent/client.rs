//! What the scripted agent is played through: its own plain output and inbox, or a terminal client.

use crate::cli::{CliResult, inbox};
use std::io::Write;

/// What a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialog {
    Permission,
    Question,
}

pub trait Client {
    /// A line for whoever looks at the pane.
    fn say(&self, line: &str);
    /// Waits for the first prompt.
    fn first_prompt(&self) -> CliResult<String>;
    /// Waits for the next message and takes it. What was begun before is over with that.
    fn next_message(&self) -> CliResult<String>;
    /// A command is about to be run.
    fn before(&self, command: &str);
    /// That command was run.
    fn after(&self, command: &str, worked: bool);
    /// Puts a dialog up, if this client has any.
    fn put_up(&self, dialog: Dialog);
    /// Waits until a person has answered it.
    fn wait_for_answer(&self);
    /// Bytes as they are, as a program in the terminal might print them.
    fn print(&self, bytes: &[u8]);
    /// Neither draws nor reads any more, and lives.
    fn freeze(&self) -> !;
    /// The agent is about to exit.
    fn leave(&self);
}

/// Lines on standard output, messages from the inbox.
pub struct Plain {
    pub prompt: String,
    /// Takes no message, ever.
    pub deaf: bool,
}

impl Client for Plain {
    fn say(&self, line: &str) {
        println!("{line}");
    }

    fn first_prompt(&self) -> CliResult<String> {
        Ok(self.prompt.clone())
    }

    fn next_message(&self) -> CliResult<String> {
        if self.deaf {
            self.freeze();
        }
        inbox::next()
    }

    fn before(&self, command: &str) {
        self.say(&format!("$ {command}"));
    }

    fn after(&self, _: &str, _: bool) {}

    fn put_up(&self, dialog: Dialog) {
        self.say(&format!("no dialog here to ask for a {dialog:?}"));
    }

    fn wait_for_answer(&self) {}

    fn print(&self, bytes: &[u8]) {
        // A reader that is gone is nothing to an agent.
        let _ = std::io::stdout().write_all(bytes);
    }

    fn freeze(&self) -> ! {
        loop {
            std::thread::park();
        }
    }

    fn leave(&self) {}
}
