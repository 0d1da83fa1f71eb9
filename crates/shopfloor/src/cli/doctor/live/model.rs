//! The model that a client is tried with: it says yes to everything, calls one tool when it is asked to, and can
//! refuse or keep silent. On loopback, for as long as the trial lasts.

use shopfloor_model_server::{Asked, Fault, FaultKind, ModelServer, Scenario};
use std::io;

/// A prompt with these words is answered by a command.
pub const RUN: &str = "Run the command";
/// The command. It is not an agent's to run, so it must be refused; should it run, there is no remote.
pub const COMMAND: &str = "git push --force origin main";
/// Where answers wait until the model is to speak.
const SILENCE: &str = "silence";

pub struct Model {
    server: ModelServer,
}

impl Model {
    /// It keeps silent at first.
    pub fn start() -> io::Result<Model> {
        let scenario = format!(
            r#"
            [[rule]]
            name = "run"
            when = {{ prompt = "*{RUN}*" }}
            then = [{{ bash = "{COMMAND}" }}, {{ text = "Yes." }}]

            [[rule]]
            name = "yes"
            then = [{{ hold = "{SILENCE}" }}, {{ text = "Yes." }}]
            "#
        );
        let scenario = Scenario::parse(&scenario).map_err(io::Error::other)?;
        Ok(Model { server: ModelServer::start(scenario)? })
    }

    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// Ends the silence.
    pub fn speak(&self) {
        self.server.release(SILENCE);
    }

    /// Whether its client's key is accepted.
    pub fn refuse(&self, refuses: bool) {
        match refuses {
            true => self.server.set_fault(Fault::new(FaultKind::Auth)),
            false => self.server.clear_faults(),
        }
    }

    /// Whether a client was prompted so, in a conversation in which the other was said before.
    pub fn heard(&self, before: &str, prompt: &str) -> bool {
        let remembers = |asked: &Asked| asked.before.iter().any(|line| line.contains(before));
        self.server.requests().iter().any(|asked| asked.prompt.contains(prompt) && remembers(asked))
    }

    /// Whether what a command gave has these words.
    pub fn was_told(&self, words: &str) -> bool {
        self.server.requests().iter().any(|asked| asked.tool_result.contains(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenario_of_a_trial_is_one() {
        assert!(Model::start().expect("it starts").port() > 0);
    }
}
