//! The store's tests: one contract over every implementation, and what only a file can suffer.

mod ci;
mod conformance;
mod crash;
mod file;
mod forge;
mod migration;

use shopfloor_core::effect::Action;
use shopfloor_core::ids::{Epoch, MessageId};
use shopfloor_store::{NewJournalEntry, Row};

fn entry(body: &str) -> NewJournalEntry {
    NewJournalEntry {
        kind: "event".into(),
        project: Some("app".into()),
        issue: Some(7),
        text: String::new(),
        body: body.into(),
    }
}

fn row(kind: &str, key: &str, doc: Option<&str>) -> Row {
    Row { kind: kind.into(), key: key.into(), doc: doc.map(Into::into) }
}

fn ring(message: u64) -> Action {
    Action::RingInbox { epoch: Epoch(1), message: MessageId(message) }
}
