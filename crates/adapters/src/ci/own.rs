//! The checks that a commit itself brings along: if it changes the project's checks, both are run. So nobody
//! can land a change to the checks that fails them, or get around the accepted ones by changing them.

use super::local::CiStep;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// More than anybody writes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Reads steps out of the text of a configuration; an error says why it cannot be used.
pub type ReadSteps = Arc<dyn Fn(&str) -> Result<Vec<CiStep>, String> + Send + Sync>;

/// Where a commit has its own checks, and how to read them.
#[derive(Clone)]
pub struct OwnSteps {
    /// In the root of the project.
    pub file: String,
    pub read: ReadSteps,
}

impl fmt::Debug for OwnSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnSteps").field("file", &self.file).finish_non_exhaustive()
    }
}

impl OwnSteps {
    /// The steps that a target has accepted, by its own configuration; `None`: it has no usable ones.
    pub(super) fn of_branch(&self, text: Option<&str>) -> Option<Vec<CiStep>> {
        (self.read)(text?).ok().filter(|steps| !steps.is_empty())
    }

    /// The steps of the checked out commit that are not among the accepted ones. `Err`: why its configuration
    /// cannot be used.
    pub(super) fn beside(&self, tree: &Path, accepted: &[CiStep]) -> Result<Vec<CiStep>, String> {
        let path = tree.join(&self.file);
        // A link could lead anywhere.
        let Ok(meta) = fs::symlink_metadata(&path) else { return Ok(Vec::new()) };
        if !meta.is_file() || meta.len() > FILE_BYTES_MAX {
            return Err(format!("{} is no file of a usual size", self.file));
        }
        let text = fs::read_to_string(&path).map_err(|e| format!("{} cannot be read: {e}", self.file))?;
        let own = (self.read)(&text)?;
        Ok(own.into_iter().filter(|step| !accepted.contains(step)).collect())
    }
}
