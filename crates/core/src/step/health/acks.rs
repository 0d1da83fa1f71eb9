//! What people acknowledge: they know of a finding, and do not want to hear of it for a while.

use crate::event::{HealthAck, NoteKind};
use crate::health::FindingKey;
use crate::ids::ProjectName;
use crate::state::Ack;
use crate::step::Turn;
use crate::text::one_line;
use crate::texts::health;
use std::time::Duration;

/// How many acknowledgements one place has at the most; the oldest makes room.
const ACKS_MAX: usize = 50;
/// Nobody knows what a finding means in half a year.
const ACK_FOR_MAX: Duration = Duration::from_secs(90 * 24 * 3600);
const BY_CHARS_MAX: usize = 80;

impl Turn<'_> {
    pub(in crate::step) fn health_acked(&mut self, project: &ProjectName, ack: &HealthAck) {
        let now = self.now;
        if self.floor.projects.get(project).is_none() {
            return;
        }
        let place = ack.place(project);
        let by = one_line(&ack.by, BY_CHARS_MAX);
        let until = ack.until.min(now + ACK_FOR_MAX);
        let row = self.health_row(&place);
        let priority = row.known(&ack.key).map(|known| known.finding.priority);
        row.acks.retain(|known| known.key != ack.key);
        if row.acks.len() >= ACKS_MAX {
            row.acks.remove(0);
        }
        row.acks.push(Ack { key: ack.key.clone(), priority, until, by: by.clone(), at: now });
        self.note(NoteKind::Health, project, None, health::acked(&ack.key, until.since(now), &by));
    }

    pub(in crate::step) fn health_unacked(&mut self, project: &ProjectName, ack: &HealthAck) {
        let place = ack.place(project);
        let known = self.floor.health.get(&place);
        if known.is_none_or(|row| !row.acks.iter().any(|known| known.key == ack.key)) {
            return;
        }
        self.edit_health(&place, |row| row.acks.retain(|known| known.key != ack.key));
        let text = health::unacked(&ack.key, &one_line(&ack.by, BY_CHARS_MAX));
        self.note(NoteKind::Health, project, None, text);
        self.tell_what_was_quiet(project);
    }

    /// Acknowledgements end. What they covered is told again if it is still found.
    pub(in crate::step) fn acks_due(&mut self, place: &Option<ProjectName>) {
        let now = self.now;
        let Some(row) = self.floor.health.get(place) else { return };
        let over: Vec<FindingKey> =
            row.acks.iter().filter(|ack| ack.until <= now).map(|ack| ack.key.clone()).collect();
        self.edit_health(place, |row| {
            row.acks.retain(|ack| ack.until > now);
            for known in row.findings.iter_mut().filter(|known| over.contains(&known.finding.key)) {
                known.told = None;
            }
        });
        let first = self.floor.projects.iter().next().map(|project| project.name.clone());
        if let Some(project) = place.clone().or(first) {
            for key in over {
                self.note(NoteKind::Health, &project, None, health::ack_over(&key));
            }
            self.tell_what_was_quiet(&project);
        }
    }
}
