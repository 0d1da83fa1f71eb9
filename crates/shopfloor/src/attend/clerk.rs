//! Types a person's answer into a client's dialog: after checking that it is still that very dialog, and with
//! a record before the first key. So if the daemon dies in between, the person has to answer again, and
//! nothing is ever typed into the next dialog.

use super::people::seats;
use super::session::ToAnswer;
use serde::{Deserialize, Serialize};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_adapters::terminal::tmux::{Tmux, TmuxResult};
use shopfloor_core::delivery::{Press, is_same_dialog, plan, submits};
use shopfloor_core::ids::QuestionId;
use shopfloor_core::runtime::{DialogView, RuntimeSpec, screen};
use shopfloor_core::state::AnswerEnd;
use shopfloor_core::time::Time;
use std::path::Path;
use std::time::Duration;

/// A client redraws after each key. Several at once may be lost: an Enter that comes with a pasted text is part of it.
/// So each key waits until the one before it is seen to have been taken.
const BETWEEN_LOOKS: Duration = Duration::from_millis(150);
/// How often to look for that: a client on a busy machine may need seconds.
const LOOKS_MAX: u32 = 100;
/// A person who used the terminal this recently is still there.
const HUMAN_QUIET: Duration = Duration::from_secs(10);

pub struct Clerk<'a> {
    pub tmux: &'a Tmux,
    pub name: &'a str,
    pub spec: &'a RuntimeSpec,
    pub dir: &'a Path,
    pub clock: fn() -> Time,
}

/// In the session's folder: the question whose answer was typed, or was about to be.
#[derive(Serialize, Deserialize)]
struct Begun {
    question: QuestionId,
}

impl Clerk<'_> {
    pub fn type_in(&self, answer: &ToAnswer) -> AnswerEnd {
        match self.try_to(answer) {
            Ok(()) => AnswerEnd::Typed,
            Err(why) => AnswerEnd::Refused { why },
        }
    }

    fn try_to(&self, answer: &ToAnswer) -> Result<(), String> {
        let file = self.dir.join("answer.json");
        let begun = std::fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Begun>(&bytes).ok());
        if begun.is_some_and(|begun| begun.question == answer.question) {
            return Err("the daemon ended while it was typed, and whether it was is not known".into());
        }
        let seats = seats(self.tmux, self.name).map_err(|e| e.to_string())?;
        if seats.stirred.is_some_and(|at| (self.clock)().since(at) < HUMAN_QUIET) {
            return Err("somebody is at its terminal".into());
        }
        let view = self.look()?.ok_or("the dialog is gone")?;
        if view.fingerprint != answer.fingerprint {
            return Err("another dialog is up now".into());
        }
        let presses = plan(&view, &self.spec.screen.free_text, &answer.text)?;
        let record = serde_json::to_vec(&Begun { question: answer.question }).expect("it is plain data");
        write_atomic(&file, &record, 0o600).map_err(|e| format!("it could not be put on record: {e}"))?;
        let next = self.settle(&presses, &view)?;
        // All pages have their answers: submit them.
        if let Some(page) = next
            && let Some(presses) = submits(&page, &self.spec.screen.submit_page)
        {
            self.settle(&presses, &page)?;
        }
        Ok(())
    }

    /// Types all of it. What is shown once the dialog is gone; an error if it stays.
    fn settle(&self, presses: &[Press], view: &DialogView) -> Result<Option<DialogView>, String> {
        let typed = self.press(presses, view)?;
        // Where nothing is left of what was typed, it is another that is like it.
        self.until(|now| !is_same_dialog(now, view) || (now == view && typed != *view))
    }

    /// All keys but the last are seen to have been taken. Returns the dialog as it was before the last.
    fn press(&self, presses: &[Press], view: &DialogView) -> Result<DialogView, String> {
        let mut shown = view.clone();
        for (number, press) in presses.iter().enumerate() {
            if number > 0 {
                shown = self.until(|now| *now != shown)?.unwrap_or_default();
                if !is_same_dialog(&shown, view) {
                    return Err("the dialog changed while it was typed".into());
                }
            }
            let typed: TmuxResult<()> = match press {
                Press::Key(key) => self.tmux.send_key(self.name, key),
                Press::Text(text) => self.tmux.paste(self.name, text),
            };
            typed.map_err(|e| e.to_string())?;
        }
        Ok(shown)
    }

    /// The dialog as soon as it is as wanted, or gone; an error if that does not happen.
    fn until(&self, wanted: impl Fn(&DialogView) -> bool) -> Result<Option<DialogView>, String> {
        for _ in 0..LOOKS_MAX {
            std::thread::sleep(BETWEEN_LOOKS);
            let now = self.look()?;
            if now.as_ref().is_none_or(&wanted) {
                return Ok(now);
            }
        }
        Err("the client did not take it".into())
    }

    fn look(&self) -> Result<Option<DialogView>, String> {
        let text = self.tmux.screen(self.name).map_err(|e| e.to_string())?.ok_or("the session is over")?;
        Ok(screen::read(self.spec, &text, (self.clock)(), shopfloor_desk::time::utc_offset()).dialog)
    }
}
