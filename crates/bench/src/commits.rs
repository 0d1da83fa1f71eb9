//! How many durable commits a second the store takes.

use crate::Scale;
use crate::report::Report;
use anyhow::Result;
use shopfloor_core::effect::Action;
use shopfloor_core::ids::{Epoch, MessageId, Seq};
use shopfloor_core::time::Time;
use shopfloor_store::sqlite::SqliteStore;
use shopfloor_store::{Commit, NewJournalEntry, Row, Store};
use std::path::Path;
use std::time::Instant;

pub fn measure(dir: &Path, scale: &Scale, report: &mut Report) -> Result<()> {
    let mut store = SqliteStore::open(&dir.join("floor.db"))?;
    let mut expected = Seq(0);
    let begin = Instant::now();
    for n in 0..u64::from(scale.commits) {
        // The effect of one commit is struck off by the next: the outbox stays short, as in life.
        let performed = store.outbox()?.first().map(|queued| queued.id);
        expected = store.commit(&commit(n, expected, performed))?.seq;
    }
    let rate = f64::from(scale.commits) / begin.elapsed().as_secs_f64();
    drop(store);
    std::fs::remove_dir_all(dir)?;
    let note = format!("{} commits of 2 entries, 2 rows and 1 effect, each synced to disk", scale.commits);
    report.add("store commits", rate, "per s", note);
    Ok(())
}

/// About what a step of the state machine commits.
fn commit(n: u64, expected: Seq, performed: Option<shopfloor_core::ids::EffectId>) -> Commit {
    let entry = |kind: &str| NewJournalEntry {
        kind: kind.into(),
        project: Some("bench".into()),
        issue: Some(n),
        text: "a line for people, of the usual length".into(),
        body: format!("{{\"event\":\"bench\",\"padding\":\"{}\"}}", "x".repeat(300)),
    };
    let row = |kind: &str, bytes: usize| Row {
        kind: kind.into(),
        key: (n % 100).to_string(),
        doc: Some(format!("{{\"padding\":\"{}\"}}", "x".repeat(bytes))),
    };
    Commit {
        expected,
        at: Time(n),
        entries: vec![entry("event"), entry("JOB_STATE")],
        rows: vec![row("job", 1500), row("session", 500)],
        effects: vec![Action::RingInbox { epoch: Epoch(1), message: MessageId(n) }],
        performed,
        ..Commit::default()
    }
}
