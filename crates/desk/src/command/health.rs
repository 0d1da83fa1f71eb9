//! A floor's health: what people acknowledge, what they write to the supervisor, and a look by their word.

use crate::{Desk, Error, Exit, Result, now};
use shopfloor_core::event::{Event, HealthAck};
use shopfloor_core::health::FindingKey;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::{Ack, Letter};
use shopfloor_core::step::may_tell;
use shopfloor_core::texts::health;
use std::time::Duration;

impl Desk {
    /// A person does not want to hear of that finding for so long, unless it gets worse.
    pub fn acknowledge(
        &self,
        project: &ProjectName,
        key: &FindingKey,
        within: Duration,
        by: &str,
    ) -> Result<Ack> {
        if within.is_zero() {
            return Err(Error::usage("an acknowledgement has an end that is still to come"));
        }
        let ack = HealthAck { key: key.clone(), until: now() + within, by: by.to_owned() };
        let place = ack.place(project);
        self.submit(&Event::HealthAcked { project: project.clone(), ack })?;
        let engine = self.engine()?;
        let row = engine.floor().health.get(&place);
        let known = row.and_then(|row| row.acks.iter().find(|ack| ack.key == *key)).cloned();
        known.ok_or_else(|| Error::failed("the floor has not taken it in"))
    }

    pub fn unacknowledge(&self, project: &ProjectName, key: &FindingKey, by: &str) -> Result<()> {
        let ack = HealthAck { key: key.clone(), until: now(), by: by.to_owned() };
        let engine = self.engine()?;
        let row = engine.floor().health.get(&ack.place(project));
        if !row.is_some_and(|row| row.acks.iter().any(|ack| ack.key == *key)) {
            return Err(Error::no_such(format!("{key} is not acknowledged"))
                .hint("`shopfloor health acks` shows what is"));
        }
        self.submit(&Event::HealthUnacked { project: project.clone(), ack })?;
        Ok(())
    }

    /// A person writes to the project's supervisor.
    pub fn tell_supervisor(&self, project: &ProjectName, text: &str, by: &str) -> Result<Letter> {
        if text.trim().is_empty() {
            return Err(Error::usage("the letter is empty"));
        }
        if let Err(open) = may_tell(self.engine()?.floor(), project) {
            return Err(Error::new(Exit::Busy, health::too_many_letters(open)));
        }
        let (text, by) = (text.to_owned(), by.to_owned());
        self.submit(&Event::SupervisorTold { project: project.clone(), text, by })?;
        let engine = self.engine()?;
        let row = engine.floor().health.get(&Some(project.clone()));
        let newest = row.and_then(|row| row.letters.iter().max_by_key(|letter| letter.number)).cloned();
        newest.ok_or_else(|| Error::failed("the floor has not taken it in"))
    }

    /// Has the daemon look now, tell what is urgent, and do what it can about the rest.
    pub fn check_up(&self, project: &ProjectName) -> Result<()> {
        if !self.daemon()?.running {
            return Err(Error::new(Exit::Busy, "no daemon runs, so nothing can be done about what is found")
                .hint("`shopfloor up` starts it; `shopfloor health` shows what is found"));
        }
        self.submit(&Event::CheckupAsked { project: project.clone() })?;
        Ok(())
    }
}
