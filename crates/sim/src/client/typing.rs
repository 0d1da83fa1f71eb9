//! What the factory types, held to invariant 5: see [`crate::client`].

use super::{DELIVERY, Piece, Stand, TYPING};
use crate::trouble::Stir;
use crate::world::World;
use shopfloor_core::delivery::Pane;
use shopfloor_core::ids::{Epoch, MessageId};

impl World {
    pub fn look_at(&mut self, epoch: Epoch) -> Result<Pane, String> {
        let taken = self.has_a_person(epoch);
        let pane = self.client(epoch).map(|client| client.pane());
        pane.map(|pane| Pane { taken, ..pane }).ok_or_else(|| "there is no such session".into())
    }

    /// Whether a person is attached and typed not long ago.
    pub fn has_a_person(&self, epoch: Epoch) -> bool {
        let typed = self.clients.get(&epoch).and_then(|client| client.person);
        typed.is_some_and(|at| self.now.since(at) < self.policy.handback)
    }

    /// The factory answers a dialog for a person who saw it as `fingerprint`.
    pub fn answer_dialog(&mut self, epoch: Epoch, fingerprint: &str) {
        self.say(format!("an answer is typed into session {epoch}"));
        let shown = self.clients[&epoch].dialog_view().map(|view| view.fingerprint);
        if shown.as_deref() != Some(fingerprint) {
            self.broken(DELIVERY, format!("an answer to {fingerprint} was typed into {shown:?}"));
        }
        self.saw("dialog answered by the factory");
        self.stir(epoch, Stir::Closes);
    }

    /// What forbids any key.
    pub(super) fn forbidden(&self, epoch: Epoch) -> Option<&'static str> {
        let client = &self.clients[&epoch];
        if client.dialog.is_some() {
            return Some("while a dialog is up");
        }
        let typing = client.person.is_some_and(|at| self.now.since(at) < TYPING);
        let theirs = self.has_a_person(epoch).then_some("while a person has the session");
        typing.then_some("while a person types").or(theirs)
    }

    /// The terminal itself may refuse.
    pub(super) fn terminal(&mut self, epoch: Epoch) -> Result<(), String> {
        let roll = self.weather.transient / 4;
        if self.rng.permille(roll) {
            self.saw("terminal refused");
            return Err("the terminal failed (simulated)".into());
        }
        self.client(epoch).map(|_| ()).ok_or_else(|| "there is no such session".into())
    }

    /// The factory pastes a message.
    pub fn paste(&mut self, epoch: Epoch, message: MessageId, text: &str) -> Result<(), String> {
        self.terminal(epoch)?;
        self.say(format!("message {message} is pasted into session {epoch}"));
        let client = &self.clients[&epoch];
        let wrong = self.forbidden(epoch).or(match client.composer.first() {
            Some(Piece { message: None, .. }) => Some("into somebody's draft"),
            Some(_) => Some("into a composer that was not empty"),
            None if client.confirmed.contains(&message) => Some("though it was confirmed"),
            None => None,
        });
        if let Some(wrong) = wrong {
            self.broken(DELIVERY, format!("message {message} was typed {wrong} (session {epoch})"));
        }
        self.saw("message typed");
        if self.clients[&epoch].stand == Stand::Frozen || self.rng.permille(30) {
            self.saw("paste lost");
            return Ok(());
        }
        let piece = Piece { text: text.to_owned(), message: Some(message) };
        self.clients.get_mut(&epoch).expect("just seen").composer.push(piece);
        if self.rng.permille(20) {
            self.stir_in(epoch, Stir::Vanish, 0, 5_000);
        }
        if self.rng.permille(40) {
            // Somebody is about to type there, too.
            self.stir_in(epoch, Stir::Person, 0, 1_500);
        }
        Ok(())
    }

    /// The factory presses Enter.
    pub fn press_enter(&mut self, epoch: Epoch) -> Result<(), String> {
        self.terminal(epoch)?;
        self.say(format!("Enter is pressed in session {epoch}"));
        let foreign = self.clients[&epoch].composer.iter().any(|p| p.message.is_none());
        let wrong = self.forbidden(epoch).or(foreign.then_some("on somebody's draft"));
        if let Some(wrong) = wrong {
            self.broken(DELIVERY, format!("Enter was pressed {wrong} (session {epoch})"));
        }
        let deaf = self.procs[&epoch].persona == crate::agents::Persona::Deaf;
        if self.rng.permille(if deaf { 900 } else { 50 }) {
            self.saw("Enter swallowed");
            return Ok(());
        }
        self.submit(epoch);
        Ok(())
    }
}
