//! Sessions: agents at work in a terminal, what is typed to them and what they show. Owns sessions, agents,
//! messages and staff.
//!
//! Others may ask it to start or end a session, to tell an agent something, to see to a reviewer; whether a person
//! has a session, and whether its project's agents can work at all.
//!
//! Invariants:
//! - A session is registered before its start is ordered, and has an epoch that no other ever has.
//! - For one role and one assignment, at most one session has not ended: a successor waits until nothing is left.
//! - A session that a person holds is neither typed to, judged nor ended.

mod chat;
mod dialog;
mod hold;
mod login;
mod message;
mod phase;
mod reviewer;
mod session;
mod session_end;
mod staff;
mod status;

pub(crate) use dialog::HELD_FOR;

use crate::ids::{Epoch, MessageId, ProjectName};
use crate::state::{Floor, Message, Session, Staff};

/// The token required to change sessions, agents, messages and staff.
pub struct Sessions(());

impl Floor {
    fn session_mut(&mut self, epoch: Epoch) -> Option<&mut Session> {
        self.sessions.edit(Sessions(()), &epoch)
    }

    fn message_mut(&mut self, id: MessageId) -> Option<&mut Message> {
        self.messages.edit(Sessions(()), &id)
    }

    fn staff_mut(&mut self, project: &ProjectName) -> Option<&mut Staff> {
        self.staff.edit(Sessions(()), project)
    }
}
