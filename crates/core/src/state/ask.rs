//! What a session's client or terminal asks of a person.

use crate::ids::{MessageId, QuestionId};
use crate::runtime::{DialogKind, DialogView};
use crate::texts::people;
use crate::time::Time;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionAsk {
    pub id: QuestionId,
    pub since: Time,
    pub about: About,
    /// What a person answered; it is on its way into the terminal.
    #[serde(default)]
    pub answer: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum About {
    /// A dialog is up. `view` is what it says, once the screen has shown it.
    Dialog { kind: DialogKind, view: Option<DialogView> },
    /// The agent's turn is over and ended with a question in its chat, where nobody reads it.
    Chat { text: String },
    /// A message cannot be typed, and that will not change by itself.
    Held { message: MessageId, first_line: String, why: String },
}

/// The only remedy for a message that cannot be typed, short of removing what is in its way.
pub const START_ANEW: &str = "Start the session anew";

impl SessionAsk {
    /// The whole text of the question.
    pub fn text(&self) -> String {
        people::ask(&self.about)
    }

    /// The same in one line.
    pub fn summary(&self) -> String {
        match &self.about {
            About::Dialog { view: Some(view), .. } => view.summary(),
            _ => self.text(),
        }
    }

    pub fn options(&self) -> Vec<String> {
        match &self.about {
            About::Dialog { view: Some(view), .. } => view.options.iter().map(|o| o.label.clone()).collect(),
            About::Dialog { view: None, .. } | About::Chat { .. } => Vec::new(),
            About::Held { .. } => vec![START_ANEW.to_owned()],
        }
    }

    /// Whether the session is stopped until somebody answers.
    pub fn stops_it(&self) -> bool {
        !matches!(self.about, About::Chat { .. })
    }

    /// What kind of thing is asking, for people.
    pub fn kind(&self) -> String {
        people::ask_kind(&self.about)
    }
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum AnswerEnd {
    /// It was typed, and the dialog has changed or gone.
    Typed,
    Refused {
        why: String,
    },
}

/// The newest answer to a session's dialog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub question: QuestionId,
    pub end: AnswerEnd,
    /// The dialog that it answered, and when that dialog came up.
    pub fingerprint: String,
    pub since: Time,
}
