//! What a session's client, or its terminal, wants of a person.

use crate::ids::{MessageId, QuestionId};
use crate::runtime::{DialogKind, DialogView};
use crate::time::Time;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionAsk {
    pub id: QuestionId,
    pub since: Time,
    pub about: About,
    /// What a person said; it is on its way into the terminal.
    #[serde(default)]
    pub answer: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum About {
    /// A dialog is up; what it says, once the screen has shown it.
    Dialog { kind: DialogKind, view: Option<DialogView> },
    /// Its turn is over, and ends with a question that nobody reads there.
    Chat { text: String },
    /// A message cannot be typed, and that does not end by itself.
    Held { message: MessageId, first_line: String, why: String },
}

/// The only thing to do about a message that cannot be typed, beside putting right what is in its way.
pub const START_ANEW: &str = "Start the session anew";

impl SessionAsk {
    /// What it says, whole.
    pub fn text(&self) -> String {
        match &self.about {
            About::Dialog { view: Some(view), .. } => view.text.clone(),
            About::Dialog { kind, view: None } => format!("a dialog ({kind}); its text is not known yet"),
            About::Chat { text } => text.clone(),
            About::Held { first_line, why, .. } => format!("{first_line:?} cannot be typed: {why}"),
        }
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

    /// Whether nothing goes on before somebody answers.
    pub fn stops_it(&self) -> bool {
        !matches!(self.about, About::Chat { .. })
    }

    /// What kind of thing asks, for people.
    pub fn kind(&self) -> String {
        match &self.about {
            About::Dialog { kind, .. } => format!("dialog ({kind})"),
            About::Chat { .. } => "question in its chat".to_owned(),
            About::Held { .. } => "held message".to_owned(),
        }
    }
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum AnswerEnd {
    /// It was typed, and the dialog is another or gone.
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
    /// The dialog that it was for, and when that came up.
    pub fingerprint: String,
    pub since: Time,
}
