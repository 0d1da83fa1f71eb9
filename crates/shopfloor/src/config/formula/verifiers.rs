//! The verifiers that come with the built-in formulas. A project's own of the same name comes before them.

use crate::config::{GitWord, ProjectConfig, Verify, VerifyCheck};
use std::borrow::Cow;

/// What the planner left: its notes as one commit, no longer than the next planner can read, and nothing else.
pub const PLANNER_NOTES: &str = "planner-notes";

/// Where the planner keeps its notes.
const NOTES: &str = ".shopfloor/planner/**";
const MEMORY: &str = ".shopfloor/planner/MEMORY.md";
const ENTRIES: &str = ".shopfloor/planner/journal/*.md";
/// As much as a run's agent is shown of one file.
const MEMORY_BYTES_MAX: u64 = 16 * 1024;

impl ProjectConfig {
    /// The verifier of that name: the project's own, or one that is built in.
    pub fn verifier(&self, name: &str) -> Option<Cow<'_, Verify>> {
        let own = self.verify.get(name).map(Cow::Borrowed);
        own.or_else(|| {
            (name == PLANNER_NOTES).then(|| Cow::Owned(planner_notes(&self.project.primary_branch)))
        })
    }
}

fn planner_notes(primary_branch: &str) -> Verify {
    let of = Some(format!("origin/{primary_branch}"));
    let files = |glob: &str| VerifyCheck { files: Some(glob.to_owned()), ..VerifyCheck::default() };
    let git = |word: GitWord| VerifyCheck { git: Some(word), ..VerifyCheck::default() };
    Verify {
        checks: vec![
            VerifyCheck { max_bytes: Some(MEMORY_BYTES_MAX), ..files(MEMORY) },
            files(ENTRIES),
            git(GitWord::Clean),
            VerifyCheck { of: of.clone(), min: Some(1), max: Some(1), ..git(GitWord::CommitsAhead) },
            VerifyCheck { of, paths: vec![NOTES.to_owned()], ..git(GitWord::ChangesOnly) },
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_verifier_can_be_made() {
        for check in planner_notes("trunk").checks {
            check.check("trunk").unwrap_or_else(|(_, why, _)| panic!("{check:?}: {why}"));
        }
    }
}
