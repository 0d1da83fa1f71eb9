//! What happened, as reported to programs.

use crate::time::moment;
use serde::Serialize;
use shopfloor_core::ids::Seq;
use shopfloor_store::JournalEntry;

#[derive(Clone, Debug, Serialize)]
pub struct NoteView {
    pub seq: Seq,
    pub at: String,
    pub kind: String,
    pub project: Option<String>,
    pub issue: Option<u64>,
    pub text: String,
}

impl From<JournalEntry> for NoteView {
    fn from(entry: JournalEntry) -> Self {
        NoteView {
            seq: entry.seq,
            at: moment(entry.at),
            kind: entry.kind,
            project: entry.project,
            issue: entry.issue,
            text: entry.text,
        }
    }
}
