//! What became of fires.

use super::of_project;
use crate::effect::{Fire, Fired};
use crate::event::NoteKind;
use crate::ids::RequestNumber;
use crate::state::{Doubt, RequestEnd, RequestState};
use crate::step::Turn;
use crate::text::{neutralise, tail};
use crate::texts::vault;
use crate::vault::{Payload, Spec};

const OUTPUT_BYTES_MAX: usize = 16 * 1024;

impl Turn<'_> {
    pub(in crate::step) fn fired(&mut self, fire: &Fire, fired: &Fired) {
        let number = fire.request;
        let awaited = of_project(self.floor, &fire.project, number).is_some_and(
            |request| matches!(request.state, RequestState::Firing { attempt, .. } if attempt == fire.attempt),
        );
        if !awaited {
            let text = vault::fired_all_the_same(number);
            return self.note(NoteKind::Escalation, &fire.project, None, text);
        }
        if let Fired::Ended { output, .. } | Fired::CutShort { output } = fired {
            let output = tail(neutralise(output).trim_end(), OUTPUT_BYTES_MAX);
            self.edit_request(number, |request| request.output = output);
        }
        match fired {
            Fired::Ended { code: Some(0), .. } => self.end_request(number, RequestEnd::Done, ""),
            Fired::Ended { how, .. } => self.end_request(number, RequestEnd::Failed, how),
            Fired::CutShort { .. } => self.hold(number, Doubt::CutShort),
            Fired::NotBegun { why } => self.hold(number, Doubt::NotBegun { why: why.clone() }),
            Fired::Changed { spec: None } => {
                self.end_request(number, RequestEnd::Rejected, vault::no_longer_declared());
            }
            Fired::Changed { spec: Some(spec) } => self.ask_again(number, spec),
        }
    }

    /// Its type is declared otherwise than when it was asked for: what it would be now was never shown to anybody.
    fn ask_again(&mut self, number: RequestNumber, spec: &Spec) {
        let payload = self.floor.requests.get(&number).map(|request| request.payload.clone());
        let command =
            Payload::try_from(payload.unwrap_or_default()).and_then(|payload| spec.command(&payload));
        match command {
            Ok(command) => {
                self.edit_request(number, |request| {
                    request.spec = Some(spec.clone());
                    request.command = command;
                });
                self.hold(number, Doubt::Approval { changed: true });
            }
            Err(why) => self.end_request(number, RequestEnd::Rejected, &why),
        }
    }
}
