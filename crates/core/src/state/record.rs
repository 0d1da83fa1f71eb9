//! The work record: what an agent is doing and how to go on with it, should it die. One for each
//! dev agent; a successor continues its predecessor's.

use crate::ids::{Epoch, IssueNumber, ProjectName, Sha};
use crate::table::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How far the work is. It goes forward and, when something is to be repaired, back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkPhase {
    Investigation,
    Planning,
    Implementation,
    Testing,
    Completion,
    Merged,
}

impl WorkPhase {
    pub fn as_str(self) -> &'static str {
        match self {
            WorkPhase::Investigation => "investigation",
            WorkPhase::Planning => "planning",
            WorkPhase::Implementation => "implementation",
            WorkPhase::Testing => "testing",
            WorkPhase::Completion => "completion",
            WorkPhase::Merged => "merged",
        }
    }
}

impl WorkPhase {
    /// What the use of a client's tool says. A shell is used for everything, and says nothing.
    pub fn of_tool(tool: &str) -> Option<WorkPhase> {
        match tool {
            "Read" | "Grep" | "Glob" | "LS" | "WebFetch" | "WebSearch" | "Task" | "view_image" => {
                Some(WorkPhase::Investigation)
            }
            "TodoWrite" | "EnterPlanMode" | "ExitPlanMode" | "update_plan" => Some(WorkPhase::Planning),
            "Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "apply_patch" => {
                Some(WorkPhase::Implementation)
            }
            _ => None,
        }
    }
}

impl fmt::Display for WorkPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What came back, and what is to be done about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rework {
    /// The message's name: `REQUEST_CHANGES`, `DISCUSS`, `MERGE_CONFLICT`, `MERGE_FAILED`.
    pub after: String,
    pub next: String,
}

impl Rework {
    /// Whether what was said of the branch alone, by its checks and reviews, is overtaken.
    pub fn is_of_merge(&self) -> bool {
        self.after.starts_with("MERGE_")
    }
}

/// Its names are the seeds', since other tools read them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkRecord {
    /// `{role}-{name}`.
    pub identity_name: String,
    /// The issue.
    pub current_bead: IssueNumber,
    /// The project.
    pub current_node: ProjectName,
    pub session: Epoch,
    pub work_phase: WorkPhase,
    /// What is worked on, in a line.
    pub work_summary: String,
    /// When all the work was last on record: by a snapshot of the worktree.
    pub last_checkpoint_at: Option<Time>,
    /// Against the primary branch; bounded.
    pub files_modified: Vec<String>,
    /// How the newest checks ended, of which commit.
    pub tests_status: String,
    pub resumption_instructions: String,
    /// Why it is the agent's turn again, until it signals that it has dealt with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rework: Option<Rework>,
    /// The newest snapshot, and the branch's head then.
    pub rescue: Option<String>,
    pub head: Option<Sha>,
    /// Sessions that worked on it, the newest last; bounded.
    pub sessions: Vec<Epoch>,
    pub updated_at: Time,
}
record!(WorkRecord, "record", String, |r| r.identity_name.clone(), |k| k.clone());
