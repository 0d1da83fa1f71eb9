//! What happens at a client's terminal without the factory's doing: dialogs, limits, failed requests, clients
//! that freeze, and a person who attaches and types.

use crate::client::{Piece, Stand};
use crate::world::World;
use shopfloor_core::ids::Epoch;
use shopfloor_core::runtime::{DialogKind, ErrorKind};
use std::time::Duration;

/// Something that happens to a client at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stir {
    /// It has started.
    Ready,
    /// A person answers its dialog.
    Closes,
    /// Its limit is over, and it continues by itself.
    GoesOn,
    /// What had stood still moves again.
    Moves,
    /// Its background work is over.
    WorkEnds,
    Fails(ErrorKind),
    /// The composer loses what was pasted.
    Vanish,
    /// A person comes to its terminal, or does the next thing there.
    Person,
}

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

impl World {
    pub fn stir_in(&mut self, epoch: Epoch, stir: Stir, low: u64, high: u64) {
        let at = self.now + Duration::from_millis(self.rng.range(low, high));
        self.stirs.push((at, epoch, stir));
    }

    /// A client was launched.
    pub fn client_begins(&mut self, epoch: Epoch) {
        self.saw("typed session");
        match self.rng.below(1000) {
            0..12 => self.saw("client never ready"),
            12..40 => self.raise(epoch, DialogKind::Trust),
            40..60 => {
                // It says what is wrong, and begins once a person has put it right.
                self.saw("client failed to start");
                let error = *self.rng.pick(&[ErrorKind::Auth, ErrorKind::Root]).expect("not empty");
                self.fail(epoch, error);
                self.stir_in(epoch, Stir::Ready, MINUTE, 6 * HOUR);
            }
            _ => self.stir_in(epoch, Stir::Ready, SECOND, 30 * SECOND),
        }
        if self.rng.permille(150) {
            self.stir_in(epoch, Stir::Person, 0, 3 * HOUR);
        }
    }

    pub fn stir(&mut self, epoch: Epoch, stir: Stir) {
        let Some(client) = self.client(epoch) else { return };
        match stir {
            Stir::Ready => {
                if client.shut {
                    client.shut = false;
                    self.stand(epoch, Stand::Ready);
                }
            }
            Stir::Closes => self.close(epoch),
            Stir::GoesOn => {
                if matches!(client.stand, Stand::Limited { .. }) {
                    self.saw("limit over by itself");
                    self.stand(epoch, Stand::Turn);
                    self.begin_turn(epoch);
                }
            }
            Stir::Moves => {
                if client.stalled.take().is_some() {
                    self.stand(epoch, Stand::Turn);
                    self.begin_turn(epoch);
                }
            }
            Stir::WorkEnds => self.background_over(epoch),
            Stir::Fails(error) => {
                if client.works() {
                    self.fail(epoch, error);
                }
            }
            Stir::Vanish => {
                if client.composer.iter().all(|p| p.message.is_some()) && !client.composer.is_empty() {
                    client.composer.clear();
                    self.saw("text vanished");
                }
            }
            Stir::Person => self.person_at(epoch),
        }
        self.stirred.insert(epoch);
    }

    /// Its agent acts soon, unless the turn is to fail at once.
    pub fn begin_turn(&mut self, epoch: Epoch) {
        let Some(client) = self.client(epoch) else { return };
        match client.outage {
            Some((left, error)) if left > 0 => {
                client.outage = Some((left - 1, error));
                self.stir_in(epoch, Stir::Fails(error), 0, 30 * SECOND);
            }
            _ => self.agent_again(epoch, MINUTE),
        }
    }

    /// Happens in the middle of a turn, now and then. Returns whether it keeps the agent from its work.
    pub fn trouble(&mut self, epoch: Epoch) -> bool {
        let now = self.now;
        let roll = self.rng.permille(200);
        let Some(client) = self.client(epoch).filter(|c| c.troubles > 0 && roll) else { return false };
        client.troubles -= 1;
        match self.rng.below(100) {
            0..25 => {
                let kind =
                    [DialogKind::Permission, DialogKind::Question, DialogKind::Other, DialogKind::Login];
                let kind = *self.rng.pick(&kind).expect("not empty");
                self.raise(epoch, kind);
            }
            25..45 => {
                let hours = if self.rng.permille(700) { 6 } else { 40 };
                let until = now + Duration::from_millis(self.rng.range(10 * MINUTE, hours * HOUR));
                self.saw("limit reached");
                self.say(format!("session {epoch} is limited until {}", until.0 - 1_000_000));
                self.break_off(epoch, Stand::Limited { until });
                if self.rng.permille(400) {
                    let wait = until.since(now).as_millis() as u64;
                    self.stir_in(epoch, Stir::GoesOn, wait, wait + 10 * SECOND);
                }
            }
            45..75 => {
                let error = *self.rng.pick(ErrorKind::ALL).expect("not empty");
                let turns = if self.rng.permille(700) { 0 } else { self.rng.range(1, 10) as u32 };
                self.client(epoch).expect("it has trouble").outage = Some((turns, error));
                self.fail(epoch, error);
            }
            75..85 => {
                self.saw("client froze");
                self.say(format!("session {epoch} freezes"));
                self.stand(epoch, Stand::Frozen);
            }
            85..93 => {
                self.client(epoch).expect("it has trouble").stalled = Some(now);
                self.stirred.insert(epoch);
                self.stir_in(epoch, Stir::Moves, 20 * MINUTE, 16 * HOUR);
            }
            93..97 => {
                self.wait_in_background(epoch);
                self.stir_in(epoch, Stir::WorkEnds, MINUTE, 8 * HOUR);
            }
            _ => {
                self.saw("stopped in the middle");
                self.turn_over(epoch);
            }
        }
        true
    }

    fn fail(&mut self, epoch: Epoch, error: ErrorKind) {
        self.say(format!("session {epoch}: its request failed ({error})"));
        self.break_off(epoch, Stand::Failed { error });
    }

    /// A dialog comes up, for minutes to days.
    fn raise(&mut self, epoch: Epoch, kind: DialogKind) {
        let now = self.now;
        let Some(client) = self.client(epoch) else { return };
        client.dialog = Some((kind, now));
        client.dialogs += 1;
        self.stirred.insert(epoch);
        self.say(format!("session {epoch} shows a dialog ({kind})"));
        let (low, high) = match self.rng.below(100) {
            0..65 => (MINUTE, HOUR),
            65..90 => (HOUR, 20 * HOUR),
            _ => (20 * HOUR, 96 * HOUR),
        };
        self.stir_in(epoch, Stir::Closes, low, high);
    }

    fn close(&mut self, epoch: Epoch) {
        let now = self.now;
        let Some(client) = self.client(epoch) else { return };
        let Some((_, since)) = client.dialog.take() else { return };
        let stand = client.stand;
        self.saw(if now.since(since) >= Duration::from_secs(24 * 3600) {
            "dialog closed after days"
        } else {
            "dialog closed"
        });
        self.say(format!("a person closes the dialog of session {epoch}"));
        match stand {
            Stand::Starting => self.stir_in(epoch, Stir::Ready, SECOND, 30 * SECOND),
            Stand::Turn => self.begin_turn(epoch),
            _ => {}
        }
    }

    fn person_at(&mut self, epoch: Epoch) {
        let (now, roll) = (self.now, self.rng.below(100));
        let Some(client) = self.client(epoch) else { return };
        let came = client.person.is_none();
        client.person = Some(now);
        if client.dialog.is_some() {
            self.close(epoch);
            self.stir_in(epoch, Stir::Person, SECOND, 20 * SECOND);
            return;
        }
        if client.shut {
            client.person = None;
            return;
        }
        // A paste that is shown as a stand-in is not left alone: nobody could tell whose it is.
        let pasted = client.composer.iter().any(|p| p.message.is_none() && p.text.contains('\n'));
        match roll {
            _ if came => self.person_types(epoch),
            0..35 => self.person_types(epoch),
            35..55 => {
                self.saw("person submitted");
                self.submit(epoch);
                self.stir_in(epoch, Stir::Person, SECOND, 20 * SECOND);
            }
            55..80 => {
                client.composer.clear();
                client.person = None;
                self.say(format!("a person clears the composer of session {epoch} and leaves"));
            }
            _ if pasted => self.stir_in(epoch, Stir::Person, SECOND, HOUR),
            _ => {
                client.person = None;
                self.say(format!("a person leaves session {epoch}"));
                if self.rng.permille(600) {
                    self.stir_in(epoch, Stir::Person, 5 * MINUTE, 2 * HOUR);
                }
            }
        }
    }

    fn person_types(&mut self, epoch: Epoch) {
        let text = if self.rng.permille(700) { "half a thought" } else { "a long\nquotation" };
        let Some(client) = self.client(epoch).filter(|c| c.stand != Stand::Frozen) else { return };
        let beside = client.composer.iter().any(|p| p.message.is_some());
        client.composer.push(Piece { text: text.to_owned(), message: None });
        self.saw(if beside { "person typed beside a message" } else { "person typed" });
        self.say(format!("a person types in session {epoch}"));
        self.stir_in(epoch, Stir::Person, SECOND, 40 * SECOND);
    }
}
