//! Continuing what was begun: the open pull request of an issue that nobody works on.

use crate::ids::{IssueNumber, PrNumber, ProjectName, branch_for, issue_of};
use crate::state::{Floor, Issue, Job, Pull};
use std::collections::{BTreeMap, BTreeSet};

/// A project's open pull requests that can be continued, looked up once for all of its issues.
#[derive(Default)]
pub(in crate::step) struct OpenPulls<'a> {
    by_number: BTreeMap<PrNumber, &'a Pull>,
    by_branch: BTreeMap<&'a str, &'a Pull>,
    /// Pull requests that say they are for the issue.
    fixing: BTreeMap<IssueNumber, Vec<&'a Pull>>,
    /// Which issues' jobs work on a branch.
    at_work: BTreeMap<&'a str, BTreeSet<IssueNumber>>,
}

impl<'a> OpenPulls<'a> {
    pub(in crate::step) fn of(floor: &'a Floor, project: &ProjectName) -> OpenPulls<'a> {
        let mut pulls = OpenPulls::default();
        if floor.pulls.is_empty() {
            return pulls;
        }
        let carries = |job: &&Job| job.is_live() && !job.is_review() && job.project == *project;
        for job in floor.jobs.iter().filter(carries) {
            pulls.at_work.entry(&job.branch).or_default().extend(job.issue());
        }
        // What a person has put into the merge queue is theirs.
        let queued = floor.entries.iter().filter(|e| e.job.is_none() && e.state.is_live());
        let queued: BTreeSet<&str> = queued.map(|e| e.branch.as_str()).collect();
        let policy = floor.policy(project);
        for pull in floor.pulls.iter().filter(|pull| pull.project == *project) {
            let branch = pull.branch.as_str();
            if branch.is_empty() || policy.is_landed_on(branch) || queued.contains(branch) {
                continue;
            }
            pulls.by_number.insert(pull.number, pull);
            pulls.by_branch.entry(branch).or_insert(pull);
            for issue in &pull.fixes {
                pulls.fixing.entry(*issue).or_default().push(pull);
            }
        }
        pulls
    }

    /// The pull request to continue: the one that the issue's text names, else that of the issue's own branch,
    /// else the newest that says it is for the issue. Never one whose branch another job works on.
    pub(in crate::step) fn to_go_on_with(&self, issue: &Issue) -> Option<&'a Pull> {
        let free = |pull: &&'a Pull| {
            let at_work = self.at_work.get(pull.branch.as_str());
            at_work.is_none_or(|issues| issues.iter().all(|at_work| *at_work == issue.number))
        };
        let named = issue.hints.pr.and_then(|number| self.by_number.get(&number).copied());
        named.filter(free).or_else(|| self.of_its_branch(issue).filter(free)).or_else(|| {
            let fixing = self.fixing.get(&issue.number)?;
            fixing.iter().copied().rfind(free)
        })
    }

    fn of_its_branch(&self, issue: &Issue) -> Option<&'a Pull> {
        self.by_branch.get(branch_for(issue.number).as_str()).copied()
    }

    /// The numbers whose own branches have open pull requests.
    pub(super) fn stuck(&self) -> impl Iterator<Item = IssueNumber> {
        self.by_branch.keys().filter_map(|branch| issue_of(branch))
    }

    /// Whether the issue's own branch has an open pull request: an agent of the factory was at work.
    pub(super) fn is_stuck(&self, issue: &Issue) -> bool {
        let Some(own) = self.of_its_branch(issue) else { return false };
        self.to_go_on_with(issue).is_some_and(|pull| pull.branch == own.branch)
    }
}
