//! How much SQLite is asked, on this thread: for tests that bound what a command or an event may cost. Only with the
//! feature `count`, which only tests turn on.

use rusqlite::trace::{StmtRef, TraceEvent, TraceEventCodes};
use rusqlite::{Connection, StatementStatus};
use std::cell::{Cell, RefCell};

/// What was asked, and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Statements that were run, those of triggers included.
    pub statements: u64,
    /// Rows that they returned.
    pub rows: u64,
    /// Rows that were walked over because no index leads to what is asked for, whether they were returned or not.
    pub scanned: u64,
    /// Instructions of SQLite's machine. A range of an index that is walked for a few of its rows shows here only.
    pub instructions: u64,
}

impl Counts {
    /// Without the instructions, which differ a little from one tree of rows to another.
    pub fn without_instructions(self) -> Counts {
        Counts { instructions: 0, ..self }
    }
}

thread_local! {
    static COUNTS: Cell<Counts> =
        const { Cell::new(Counts { statements: 0, rows: 0, scanned: 0, instructions: 0 }) };
    /// Statements under way, each with its counters as it began: they count from when it was prepared.
    static BEGUN: RefCell<Vec<(String, [i32; 2])>> = const { RefCell::new(Vec::new()) };
}

/// What SQLite was asked meanwhile, on this thread, by whichever connections.
pub fn counted<T>(work: impl FnOnce() -> T) -> (T, Counts) {
    let before = COUNTS.get();
    let done = work();
    let after = COUNTS.get();
    let counts = Counts {
        statements: after.statements - before.statements,
        rows: after.rows - before.rows,
        scanned: after.scanned - before.scanned,
        instructions: after.instructions - before.instructions,
    };
    (done, counts)
}

pub(super) fn follow(conn: &mut Connection) -> rusqlite::Result<()> {
    let codes = TraceEventCodes::SQLITE_TRACE_STMT
        | TraceEventCodes::SQLITE_TRACE_ROW
        | TraceEventCodes::SQLITE_TRACE_PROFILE;
    conn.trace_v2(codes, Some(add))
}

fn add(event: TraceEvent<'_>) {
    let mut counts = COUNTS.get();
    match event {
        TraceEvent::Row(_) => counts.rows += 1,
        TraceEvent::Stmt(statement, text) => {
            counts.statements += 1;
            // A trigger's begins with a comment, and is part of the one that set it off.
            if !text.starts_with("--") {
                let begun = (statement.sql().into_owned(), status(&statement));
                BEGUN.with_borrow_mut(|all| all.push(begun));
            }
        }
        TraceEvent::Profile(statement, _) => {
            let sql = statement.sql();
            let begun = BEGUN.with_borrow_mut(|all| {
                let last = all.iter().rposition(|(begun, _)| *begun == sql)?;
                Some(all.remove(last).1)
            });
            if let Some(before) = begun {
                let [scanned, instructions] = status(&statement);
                counts.scanned += since(before[0], scanned);
                counts.instructions += since(before[1], instructions);
            }
        }
        _ => {}
    }
    COUNTS.set(counts);
}

fn since(before: i32, now: i32) -> u64 {
    u64::try_from(now - before).unwrap_or_default()
}

fn status(statement: &StmtRef<'_>) -> [i32; 2] {
    [StatementStatus::FullscanStep, StatementStatus::VmStep].map(|status| statement.get_status(status))
}
