//! What of a project's configuration people accepted. Owns pins.
//!
//! Invariants:
//! - What is in force changes only by a person's word (or by that of the floor's own file, which no repository can
//!   change): what projects' files say is seen, told of, and otherwise left.
//! - A floor without a word takes what it finds, once.
//! - There is one question for each difference, and it goes away with the difference.

use super::Turn;
use crate::event::{Accepter, NoteKind};
use crate::ids::{ProjectName, QuestionId};
use crate::state::{Accepted, Differs, Pin};
use crate::text::{head, neutralise};
use crate::texts::people;
use std::time::Duration;

/// The token required to change pins.
pub struct Pins(());

const DIFF_BYTES_MAX: usize = 8 * 1024;
/// However short the configured time, people are not told all the time.
const AGAIN_MIN: Duration = Duration::from_secs(1);

impl Turn<'_> {
    pub(super) fn config_accepted(
        &mut self,
        project: &ProjectName,
        text: &str,
        ahead: Option<&str>,
        by: &Accepter,
    ) {
        if self.floor.projects.get(project).is_none() {
            return;
        }
        let known = self.floor.pins.get(project);
        // Two daemons may find a floor without a word; only the first may speak for it.
        if *by == Accepter::First && known.is_some() {
            return;
        }
        if known.is_none_or(|pin| pin.accepted.text != text || pin.differs.is_some()) {
            self.note(NoteKind::Config, project, None, people::config_accepted(by));
        }
        let accepted = |text: &str| Accepted { text: text.to_owned(), by: by.clone(), at: self.now };
        let ahead = ahead.filter(|ahead| *ahead != text).map(accepted);
        let pin = Pin { project: project.clone(), accepted: accepted(text), ahead, differs: None };
        self.floor.pins.put(Pins(()), pin);
    }

    /// What the project's files say now. `diff`: against what is in force.
    pub(super) fn config_seen(&mut self, project: &ProjectName, text: &str, diff: &str) {
        let Some(pin) = self.floor.pins.get(project) else { return };
        if pin.accepted.text == text {
            if pin.differs.is_some() {
                self.edit_pin(project, |pin| pin.differs = None);
                self.note(NoteKind::Config, project, None, people::config_agrees_again());
            }
            return;
        }
        if let Some(ahead) = pin.ahead.as_ref().filter(|ahead| ahead.text == text).cloned() {
            let by = ahead.by.clone();
            self.edit_pin(project, |pin| (pin.accepted, pin.ahead, pin.differs) = (ahead, None, None));
            self.note(NoteKind::Config, project, None, people::config_accepted(&by));
            return;
        }
        if pin.differs.as_ref().is_some_and(|differs| differs.text == text) {
            return;
        }
        let again_at = self.now + self.policy(project).renotify_after.max(AGAIN_MIN);
        let question = QuestionId(self.number(|c| &mut c.question));
        let diff = head(&neutralise(diff), DIFF_BYTES_MAX);
        let (text, since) = (text.to_owned(), self.now);
        self.note(NoteKind::NeedsHuman, project, None, people::config_differs(question));
        let differs = Differs { text, diff, question, since, again_at, reminded: 0 };
        self.edit_pin(project, |pin| pin.differs = Some(differs));
    }

    /// Nobody has accepted it, or undone it.
    pub(super) fn config_due(&mut self, project: &ProjectName) {
        let policy = self.policy(project);
        let Some(differs) = self.floor.pins.get(project).and_then(|pin| pin.differs.clone()) else { return };
        let text = people::still_waits(&people::config_differs(differs.question));
        let kind = if differs.reminded == 0 { NoteKind::NeedsHuman } else { NoteKind::Escalation };
        self.note(kind, project, None, text);
        let again_at = self.now + policy.escalate_after.max(AGAIN_MIN);
        let reminded = differs.reminded + 1;
        self.edit_pin(project, |pin| pin.differs = Some(Differs { again_at, reminded, ..differs }));
    }

    fn edit_pin(&mut self, project: &ProjectName, change: impl FnOnce(&mut Pin)) {
        if let Some(pin) = self.floor.pins.edit(Pins(()), project) {
            change(pin);
        }
    }
}
