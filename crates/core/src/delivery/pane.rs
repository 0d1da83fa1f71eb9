//! A pane as delivery needs to see it, and whose text is in it.

use crate::runtime::{Composer, DialogKind, Meaning, Reading};
use crate::text::is_invisible;
use crate::time::Time;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pane {
    pub dialog: Option<DialogKind>,
    pub composer: Composer,
    pub busy: bool,
    /// When an attached terminal of a person last sent a key.
    pub human_typed: Option<Time>,
    /// The cursor is not in the composer: what is typed goes to a search, a menu or the like.
    #[serde(default)]
    pub elsewhere: bool,
    /// An attached person has the session, even while they think.
    #[serde(default)]
    pub taken: bool,
}

impl Pane {
    /// From a reading of the screen; `dialog` is the derived status's, if that is a dialog: a hook reports before
    /// the screen is drawn.
    pub fn new(reading: &Reading, dialog: Option<DialogKind>, human_typed: Option<Time>) -> Pane {
        let shown = match reading.meaning() {
            Some(Meaning::Dialog(kind)) => Some(kind),
            _ => None,
        };
        Pane {
            // A screen that only looks like a dialog does not say which one.
            dialog: match shown {
                Some(DialogKind::Asks | DialogKind::Other) => dialog.or(shown),
                _ => shown.or(dialog),
            },
            composer: reading.composer.clone(),
            busy: reading.meaning().is_some_and(Meaning::is_busy),
            human_typed,
            elsewhere: false,
            taken: false,
        }
    }
}

/// Without white space: clients wrap, indent and expand tabs as they like. And without invisible characters: some
/// clients drop them.
pub(super) fn squeeze(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !is_invisible(*c)).collect()
}

/// Whether a prompt the client took is the text that was typed.
pub fn same_prompt(prompt: &str, text: &str) -> bool {
    squeeze(prompt) == squeeze(text)
}

/// Whether what the composer holds can be our text alone: a part of it (composers scroll), or the client's
/// stand-in for a long paste. Only meaningful for a composer that was empty when we pasted into it.
pub fn is_ours(composer: &Composer, text: &str) -> bool {
    match composer {
        Composer::Pasted(_) => true,
        Composer::Draft(draft) => {
            let draft = squeeze(draft);
            !draft.is_empty() && squeeze(text).contains(&draft)
        }
        Composer::Empty | Composer::None => false,
    }
}
