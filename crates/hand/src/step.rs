//! What a step of a story runs: the project's own templates, filled in.

use crate::verify::STATE_FILE;
use shopfloor_core::fill::{self, FillError};

/// The placeholders of a step's prompt, and of its command, which may also contain the prompt.
pub const PROMPT_PLACEHOLDERS: [&str; 4] = ["story", "step", "extra", STATE_FILE];
pub const COMMAND_PLACEHOLDERS: [&str; 5] = ["story", "step", "extra", STATE_FILE, "prompt"];

/// A step's templates, and what they are filled in with.
pub struct Fill<'a> {
    pub command: &'a [String],
    pub prompt: Option<&'a str>,
    pub step: &'a str,
    pub story: &'a str,
    pub extra: &'a str,
    pub state_file: Option<&'a str>,
}

impl Fill<'_> {
    /// Whether a template contains `{state_file}` but there is none.
    pub fn lacks_state_file(&self) -> bool {
        let texts = self.command.iter().map(String::as_str).chain(self.prompt);
        let wants = |text: &str| matches!(fill::uses(text, STATE_FILE, &COMMAND_PLACEHOLDERS), Ok(true));
        self.state_file.is_none() && texts.into_iter().any(wants)
    }

    /// The step's command, filled in.
    pub fn argv(&self) -> Result<Vec<String>, FillError> {
        let state_file = (STATE_FILE, self.state_file.unwrap_or_default());
        let values = [("story", self.story), ("step", self.step), ("extra", self.extra), state_file];
        let prompt = self.prompt.map(|prompt| fill::text(prompt, &values)).transpose()?;
        let [story, step, extra, state_file] = values;
        let prompt = ("prompt", prompt.as_deref().unwrap_or_default());
        fill::argv(self.command, &[story, step, extra, state_file, prompt])
    }
}
