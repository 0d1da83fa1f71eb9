//! People and the supervisor: they acknowledge what it found, write to it, and have it look now.

use crate::world::World;
use shopfloor_core::event::{Event, HealthAck};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::Floor;
use std::time::Duration;

const KEYS: [&str; 4] = ["disk", "ci.trend", "ci.unwanted", "sessions.stray"];

impl World {
    pub(super) fn look_after_health(&mut self, project: &ProjectName, floor: &Floor) -> Event {
        let by = "person".to_owned();
        let acked: Vec<_> =
            floor.health.iter().flat_map(|row| row.acks.iter().map(|ack| ack.key.clone())).collect();
        match self.nerves.below(4) {
            0 => {
                self.saw("person wrote to the supervisor");
                Event::SupervisorTold { project: project.clone(), text: "what is stuck?".to_owned(), by }
            }
            1 => {
                let key = KEYS[self.nerves.below(4) as usize].parse().expect("a key");
                let until = self.now + Duration::from_secs(60 * self.nerves.range(1, 300));
                self.saw("person acknowledged a finding");
                Event::HealthAcked { project: project.clone(), ack: HealthAck { key, until, by } }
            }
            2 if !acked.is_empty() => {
                let key = self.nerves.pick(&acked).expect("not empty").clone();
                let ack = HealthAck { key, until: self.now, by };
                Event::HealthUnacked { project: project.clone(), ack }
            }
            _ => Event::CheckupAsked { project: project.clone() },
        }
    }
}
