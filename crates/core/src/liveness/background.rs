//! Work that continues in a client while nobody has a turn there: shells in the background, agents that its model
//! sent off. When it ends, the client begins a turn by itself.

use crate::text::one_line;
use serde::{Deserialize, Serialize};

/// How many tasks of one report are kept, and how much of each.
const TASKS_MAX: usize = 16;
const TEXT_CHARS_MAX: usize = 80;

/// A task that keeps running, as the client reports it when a turn ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// `shell`, `subagent`, …: the client's own word.
    pub kind: String,
    #[serde(default)]
    pub what: String,
}

impl Task {
    pub fn new(kind: &str, what: &str) -> Task {
        Task { kind: one_line(kind, TEXT_CHARS_MAX), what: one_line(what, TEXT_CHARS_MAX) }
    }
}

/// Bounded and neutralised, whatever a client reports.
pub(super) fn bounded(tasks: &mut Vec<Task>) {
    tasks.truncate(TASKS_MAX);
    for task in tasks {
        *task = Task::new(&task.kind, &task.what);
    }
}

/// In a few words: `2 tasks: shell "cargo test", subagent "look around"`.
pub fn summary(tasks: &[Task]) -> String {
    let each = tasks.iter().take(3).map(|task| match task.what.as_str() {
        "" => task.kind.clone(),
        what => format!("{} {what:?}", task.kind),
    });
    let more = if tasks.len() > 3 { ", …" } else { "" };
    let number = if tasks.len() == 1 { "1 task".to_owned() } else { format!("{} tasks", tasks.len()) };
    format!("{number}: {}{more}", each.collect::<Vec<_>>().join(", "))
}
