//! Which issues are likely to touch the same files as work in flight. It only changes the order: one
//! that does waits as long as another, as urgent, takes the slot.

use crate::hints::collide;
use crate::ids::{IssueNumber, Role, agent_name};
use crate::state::{Floor, Issue, JobState};

/// A file that is likely to be changed by two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    pub file: String,
    /// Who is changing it.
    pub with: IssueNumber,
}

/// What is likely to be changed for an issue: what its text names, and what was changed so far.
fn likely_files<'a>(floor: &'a Floor, issue: &'a Issue) -> impl Iterator<Item = &'a str> {
    let record = floor.records.get(&agent_name(Role::Dev, &issue.project, issue.number));
    let changed = record.into_iter().flat_map(|record| &record.files_modified);
    issue.hints.paths.iter().chain(changed).map(String::as_str)
}

/// The first file of an issue that another is at work on; what is about to land is not counted.
pub fn overlap(floor: &Floor, issue: &Issue) -> Option<Overlap> {
    let in_flight = floor
        .live_jobs(&issue.project)
        .filter(|job| job.issue != issue.number && !matches!(job.state, JobState::Finishing { .. }))
        .filter_map(|job| floor.issues.get(&(job.project.clone(), job.issue)));
    for other in in_flight {
        for file in likely_files(floor, issue) {
            if likely_files(floor, other).any(|theirs| collide(file, theirs)) {
                return Some(Overlap { file: file.to_owned(), with: other.number });
            }
        }
    }
    None
}
