//! The demo agent at a run of a formula: it does the steps that can be done, one after another, through the command
//! that every agent has.

use super::dev::Dev;
use super::hold;
use crate::cli::{CliError, CliResult};
use serde::Deserialize;
use std::process::{Command, Stdio};

/// What `shopfloor step` answers.
#[derive(Deserialize)]
struct Run {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    id: String,
    state: String,
    can_be_done: bool,
}

impl Dev<'_> {
    /// Does what can be done. Returns whether every step is over.
    pub(super) fn steps(&self) -> CliResult<bool> {
        loop {
            let run = self.step(&["list"])?;
            let Some(step) = run.steps.iter().find(|step| step.can_be_done && step.state == "open") else {
                return Ok(run.steps.iter().all(|step| ["done", "skipped"].contains(&step.state.as_str())));
            };
            self.client.say(&format!("step {}", step.id));
            if self.script.skips.contains(&step.id) {
                self.step(&["skip", &step.id, "--reason", "the script says so"])?;
                continue;
            }
            let played = self.foresee(&step.id)?;
            if played.is_none() {
                self.edit()?;
            }
            hold::at(self.script, "step")?;
            let note = played.unwrap_or_else(|| format!("did {}", step.id));
            let run = self.step(&["done", &step.id, "--note", &note])?;
            // What is being verified, or waits for a command, comes back as a message.
            if run.steps.iter().any(|step| ["running", "verifying"].contains(&step.state.as_str())) {
                return Ok(false);
            }
        }
    }

    fn step(&self, words: &[&str]) -> CliResult<Run> {
        let mut command = Command::new("shopfloor");
        command.arg("step").args(words).arg("--json").stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = command.output()?;
        serde_json::from_slice(&output.stdout)
            .map_err(|e| CliError::failed(format!("shopfloor step {}: {e}", words.join(" "))))
    }
}
