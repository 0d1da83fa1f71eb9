//! A hand session's record: one JSON file, replaced as a whole.

use crate::sessions::{HandError, HandResult, Spawn};
use crate::watch::FinalState;
use serde::{Deserialize, Serialize};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_core::effect::ProcessId;
use shopfloor_core::ids::HandName;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::time::Time;
use std::fs;
use std::io;
use std::path::Path;

/// No runnable command line is longer.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub name: String,
    pub project: ProjectName,
    pub step: String,
    pub epic: String,
    pub story: String,
    pub cycle: Option<u32>,
    pub runtime: String,
    pub cwd: String,
    pub argv: Vec<String>,
    pub created: Time,
    /// The branch of the worktree that was made for it, in which `cwd` is.
    #[serde(default)]
    pub branch: Option<String>,
    /// The hub had the branch already: it is somebody else's too.
    #[serde(default)]
    pub taken_over: bool,
    /// The session whose conversation it continued.
    #[serde(default)]
    pub forked_from: Option<String>,
    /// What is to become of its worktree and branch: written before any of it is done.
    #[serde(default)]
    pub finish: Option<Finish>,
    #[serde(flatten)]
    pub stand: Stand,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stand", rename_all = "snake_case")]
pub enum Stand {
    /// About to be started by that process.
    Starting {
        by: ProcessId,
    },
    /// Its program; start time 0 if that had ended before anybody looked.
    Started {
        process: ProcessId,
    },
    Ended(Ended),
}

/// How a session ended, for whoever asks later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub at: Time,
    pub why: String,
    /// The result that was taken from it, if any.
    #[serde(default)]
    pub result: Option<FinalState>,
}

/// How a session with a worktree of its own is finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finish {
    pub how: Finishing,
    pub at: Time,
    /// Nothing is left to do.
    pub done: bool,
    /// The ref that keeps what the worktree held.
    #[serde(default)]
    pub rescue: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finishing {
    Merge,
    Keep,
    Drop,
}

impl std::fmt::Display for Finishing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Finishing::Merge => "merged",
            Finishing::Keep => "kept",
            Finishing::Drop => "dropped",
        })
    }
}

impl Record {
    /// Whether it has, or may have, a worktree that somebody has to decide about.
    pub fn has_tree(&self) -> bool {
        let settled = |finish: &Finish| finish.done && finish.how != Finishing::Keep;
        self.branch.is_some() && !self.finish.as_ref().is_some_and(settled)
    }

    pub(crate) fn new(name: &HandName, spawn: &Spawn<'_>, cwd: &Path) -> Record {
        Record {
            name: name.to_string(),
            project: spawn.parts.project.clone(),
            step: spawn.parts.step.to_owned(),
            epic: spawn.parts.epic.to_owned(),
            story: spawn.parts.story.to_owned(),
            cycle: spawn.parts.cycle,
            runtime: spawn.runtime.to_owned(),
            cwd: cwd.display().to_string(),
            argv: spawn.argv.clone(),
            created: spawn.now,
            branch: spawn
                .branch
                .map(|branch| if branch.is_empty() { name.branch() } else { branch.to_owned() }),
            taken_over: spawn.taken_over,
            forked_from: spawn.forked_from.map(str::to_owned),
            finish: None,
            stand: Stand::Starting { by: spawn.by },
        }
    }
}

/// `None`: there is no record.
pub(crate) fn read(folder: &Path) -> HandResult<Option<Record>> {
    let file = folder.join("record.json");
    let bytes = match fs::metadata(&file).map(|meta| meta.len()) {
        Ok(length) if length > BYTES_MAX => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "it is too large"))
        }
        Ok(_) => fs::read(&file),
        Err(e) => Err(e),
    };
    match bytes {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|e| HandError::io(&file)(e.into())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(HandError::io(&file)(e)),
    }
}

pub(crate) fn write(folder: &Path, record: &Record) -> HandResult<()> {
    let file = folder.join("record.json");
    let text = serde_json::to_vec_pretty(record).expect("a record has string keys only");
    write_atomic(&file, &text, 0o600).map_err(HandError::io(&file))
}
