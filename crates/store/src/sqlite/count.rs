//! How much SQLite is asked, on this thread: for tests that bound what a command or an event may cost. Only with the
//! feature `count`, which only tests turn on.

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use std::cell::Cell;

/// Statements that were run, those of triggers included, and rows that they returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub statements: u64,
    pub rows: u64,
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { statements: 0, rows: 0 }) };
}

/// What SQLite was asked meanwhile, on this thread, by whichever connections.
pub fn counted<T>(work: impl FnOnce() -> T) -> (T, Counts) {
    let before = COUNTS.get();
    let done = work();
    let after = COUNTS.get();
    let counts = Counts { statements: after.statements - before.statements, rows: after.rows - before.rows };
    (done, counts)
}

pub(super) fn follow(conn: &mut Connection) -> rusqlite::Result<()> {
    let codes = TraceEventCodes::SQLITE_TRACE_STMT | TraceEventCodes::SQLITE_TRACE_ROW;
    conn.trace_v2(codes, Some(add))
}

fn add(event: TraceEvent<'_>) {
    let Counts { statements, rows } = COUNTS.get();
    COUNTS.set(match event {
        TraceEvent::Row(_) => Counts { statements, rows: rows + 1 },
        _ => Counts { statements: statements + 1, rows },
    });
}
