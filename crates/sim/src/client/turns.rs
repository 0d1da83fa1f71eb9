//! The turns of a client: they begin with a prompt, and end by themselves or are broken off.

use super::{DELIVERY, Piece, Stand};
use crate::agents::Mode;
use crate::world::World;
use shopfloor_core::ids::Epoch;
use shopfloor_core::liveness::{HookEvent, Task};
use shopfloor_core::phase::Phase;

impl World {
    /// Enter arrives at the client.
    pub fn submit(&mut self, epoch: Epoch) {
        let queues = self.rng.permille(500);
        let Some(client) = self.client(epoch) else { return };
        if client.composer.is_empty() || client.stand == Stand::Frozen || client.dialog.is_some() {
            return;
        }
        let pieces = std::mem::take(&mut client.composer);
        // Behind what is already waiting, nothing is taken out of turn.
        if client.stand == Stand::Turn && (queues || !client.waiting.is_empty()) {
            client.waiting.push(pieces);
            let event = client.prompt_hook();
            let now = self.now;
            self.client(epoch).expect("just seen").tells(&event, now);
            self.saw("prompt queued by the client");
        } else {
            self.take_prompt(epoch, &pieces, false);
        }
        self.stirred.insert(epoch);
    }

    /// A turn begins with what was submitted, or with what was queued: its hook has reported the latter
    /// before.
    pub(super) fn take_prompt(&mut self, epoch: Epoch, pieces: &[Piece], queued: bool) {
        let (lost, now) = (self.rng.permille(8), self.now);
        let World { clients, procs, rng, .. } = self;
        let (Some(client), Some(proc)) = (clients.get_mut(&epoch), procs.get_mut(&epoch)) else { return };
        let text = pieces.iter().map(|p| p.text.as_str()).collect::<Vec<_>>().join("\n");
        let mut wrong = Vec::new();
        let begun = pieces.iter().any(|p| p.text == client.prompt);
        for message in pieces.iter().filter_map(|p| p.message) {
            if !client.received.insert(message) && !client.unconfirmed.contains(&message) {
                wrong.push(format!("session {epoch} received message {message} twice"));
            }
            if client.received.len() == 1 && !begun {
                wrong.push(format!("session {epoch} received message {message} before its first prompt"));
            }
            if lost {
                client.unconfirmed.insert(message);
            } else {
                client.confirmed.insert(message);
            }
        }
        if !lost {
            client.spool.push(text.clone());
        }
        if begun {
            proc.mode = Mode::Work(rng.range(1, 3) as u32, Phase::AwaitingCi);
            for unread in std::mem::take(&mut client.unread) {
                proc.read(&unread, rng);
            }
        } else {
            proc.read(&text, rng);
        }
        client.writes = proc.writes;
        client.stalled = None;
        client.turn += 1;
        if !queued {
            client.deaf = lost;
        }
        if !queued && !lost {
            let event = client.prompt_hook();
            client.tells(&event, now);
        }
        let ours = pieces.iter().any(|p| p.message.is_some());
        for text in wrong {
            self.broken(DELIVERY, text);
        }
        if ours {
            self.saw(if lost { "confirmation lost" } else { "message confirmed" });
        }
        if ours && pieces.len() > 1 {
            self.saw("message submitted with another text");
        }
        self.say(format!("session {epoch} takes {:?}", text.lines().next().unwrap_or("")));
        self.stand(epoch, Stand::Turn);
        self.begin_turn(epoch);
    }

    pub fn stand(&mut self, epoch: Epoch, stand: Stand) {
        let now = self.now;
        if let Some(client) = self.client(epoch) {
            (client.stand, client.since) = (stand, now);
            self.stirred.insert(epoch);
        }
    }

    /// The turn has ended well, or at least by itself.
    pub fn turn_over(&mut self, epoch: Epoch) {
        self.stand(epoch, Stand::Idle);
        self.tell_stop(epoch, vec![]);
        let Some(client) = self.client(epoch) else { return };
        if !client.waiting.is_empty() {
            let next = client.waiting.remove(0);
            self.take_prompt(epoch, &next, true);
        }
    }

    pub(super) fn tell_stop(&mut self, epoch: Epoch, tasks: Vec<Task>) {
        let now = self.now;
        if let Some(client) = self.client(epoch) {
            let turn = Some(client.turn.to_string());
            client.tells(&HookEvent::Stop { turn, tasks, asks: None }, now);
        }
    }

    /// The turn is over, but a shell continues in the background, for minutes to hours.
    pub fn wait_in_background(&mut self, epoch: Epoch) {
        self.turn_over(epoch);
        if self.client(epoch).is_none_or(|c| c.stand != Stand::Idle) {
            return;
        }
        self.tell_stop(epoch, vec![Task::new("shell", "tests")]);
        self.saw("work in the background");
        self.say(format!("session {epoch} waits for work in the background"));
        self.stand(epoch, Stand::Background);
    }

    /// Its background work is over: it begins a turn by itself.
    pub fn background_over(&mut self, epoch: Epoch) {
        let now = self.now;
        let Some(client) = self.client(epoch).filter(|c| c.stand == Stand::Background) else { return };
        client.turn += 1;
        client.deaf = false;
        let event = client.prompt_hook();
        client.tells(&event, now);
        self.saw("work in the background over");
        self.stand(epoch, Stand::Turn);
        self.begin_turn(epoch);
    }

    /// The turn is broken off: what waited for its end is back in the composer.
    pub fn break_off(&mut self, epoch: Epoch, stand: Stand) {
        self.stand(epoch, stand);
        if let Some(client) = self.client(epoch) {
            let waiting = std::mem::take(&mut client.waiting);
            client.composer.extend(waiting.into_iter().flatten());
        }
    }
}
