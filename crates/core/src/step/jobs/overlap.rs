//! Which issues are likely to touch the same files as work under way. This only changes the order: such an issue
//! waits while another that is as urgent takes the slot.

use crate::hints::collide;
use crate::ids::{Assignment, IssueNumber, Role, agent_name};
use crate::state::{Floor, Issue, JobState};

/// A file that two jobs are likely to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    pub file: String,
    /// The issue whose job is changing it.
    pub with: IssueNumber,
}

/// The files likely to be changed for an issue: those its text names, and those changed so far.
fn likely_files<'a>(floor: &'a Floor, issue: &'a Issue) -> impl Iterator<Item = &'a str> {
    let record = floor.records.get(&agent_name(Role::DEV, &issue.project, Assignment::Issue(issue.number)));
    let changed = record.into_iter().flat_map(|record| &record.files_modified);
    issue.hints.paths.iter().chain(changed).map(String::as_str)
}

/// The first file of an issue that another is at work on; what is about to land is not counted.
pub fn overlap(floor: &Floor, issue: &Issue) -> Option<Overlap> {
    let in_flight = floor
        .live_jobs(&issue.project)
        .filter(|job| job.issue() != Some(issue.number) && !matches!(job.state, JobState::Finishing { .. }))
        .filter_map(|job| floor.issues.get(&(job.project.clone(), job.issue()?)));
    for other in in_flight {
        for file in likely_files(floor, issue) {
            if likely_files(floor, other).any(|theirs| collide(file, theirs)) {
                return Some(Overlap { file: file.to_owned(), with: other.number });
            }
        }
    }
    None
}
