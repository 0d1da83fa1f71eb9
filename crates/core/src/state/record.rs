//! The work record: what an agent is doing, and how to continue should it die. There is one for each dev agent; a
//! successor continues its predecessor's.

use crate::ids::{Assignment, Epoch, IssueNumber, ProjectName, RunNumber, Sha};
use crate::table::Record;
use crate::texts::FirstLine;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How far the work is. It moves forward and, when something has to be repaired, back.
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
    /// The phase that a client's use of a tool points to. A shell is used for everything, so it points to none.
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

/// What came back to the agent, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rework {
    /// The message's name: `REQUEST_CHANGES`, `DISCUSS`, `MERGE_CONFLICT`, `MERGE_FAILED`.
    pub after: String,
    pub next: String,
}

impl Rework {
    /// Whether it is about a merge, which overtakes what checks and reviews said of the branch alone.
    pub fn is_of_merge(&self) -> bool {
        FirstLine::of(&self.after).is_some_and(|first| first.is_of_merge())
    }
}

/// The serialized names are the seeds', since other tools read them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkRecord {
    /// `{role}-{name}`.
    #[serde(rename = "identity_name")]
    pub agent: String,
    /// The issue, if it is about one.
    #[serde(rename = "current_bead")]
    pub issue: Option<IssueNumber>,
    /// The run of a formula, if it is about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
    /// The project.
    #[serde(rename = "current_node")]
    pub project: ProjectName,
    pub session: Epoch,
    pub work_phase: WorkPhase,
    /// What is being worked on, in one line.
    pub work_summary: String,
    /// When all of the work was last saved, by a snapshot of the worktree.
    pub last_checkpoint_at: Option<Time>,
    /// Against the primary branch; bounded.
    pub files_modified: Vec<String>,
    /// How the newest checks ended, and on which commit.
    pub tests_status: String,
    pub resumption_instructions: String,
    /// Why it is the agent's turn again, until the agent signals that it has dealt with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rework: Option<Rework>,
    /// The newest snapshot, and the branch's head then.
    pub rescue: Option<String>,
    pub head: Option<Sha>,
    /// Sessions that worked on it, the newest last; bounded.
    pub sessions: Vec<Epoch>,
    pub updated_at: Time,
}

impl WorkRecord {
    pub fn assignment(&self) -> Assignment {
        match (self.run, self.issue) {
            (Some(run), _) => Assignment::Run(run),
            (None, issue) => Assignment::Issue(issue.unwrap_or_default()),
        }
    }
}
record!(WorkRecord, "record", Jobs, String, |r| r.agent.clone(), |k| k.clone());
