//! Issues as the forge shows them, and our label changes on their way there.

use super::Mirror;
use crate::effect::outcome;
use crate::event::Observation;
use crate::ids::{IssueNumber, ProjectName};
use crate::state::{Floor, Issue};
use crate::step::Turn;
use std::collections::BTreeSet;

impl Floor {
    /// Takes in what the forge shows of an issue. Other observations change nothing.
    pub fn see_issue(&mut self, project: &ProjectName, observation: &Observation) {
        let Observation::Issue {
            number,
            title,
            labels,
            open,
            deps,
            created_at,
            revision,
            version,
            hints,
            by,
        } = observation
        else {
            return;
        };
        let known = self.issues.get(&(project.clone(), *number));
        if known.is_some_and(|i| i.version > *version) {
            return;
        }
        let seen: BTreeSet<String> = labels.iter().cloned().collect();
        let edits_pending = known.map_or(0, |i| i.edits_pending);
        // Whoever has changed the labels since then has said what they should be.
        let held = known.is_some_and(|i| i.held && i.seen == seen);
        // What an agent found about another text does not hold for this one.
        let same = known.filter(|i| i.revision == *revision);
        let found_deps = same.map(|i| i.found_deps.clone()).unwrap_or_default();
        let (deps_due, deps_told) = known.map(|i| (i.deps_due, i.deps_told.clone())).unwrap_or_default();
        let heard = known.map(|i| i.heard.clone()).unwrap_or_default();
        let deps: BTreeSet<IssueNumber> = deps.iter().chain(&found_deps).copied().collect();
        self.issues.put(
            Mirror(()),
            Issue {
                project: project.clone(),
                number: *number,
                title: title.clone(),
                labels: seen.clone(),
                open: *open,
                deps: deps.into_iter().collect(),
                found_deps,
                hints: hints.clone(),
                deps_due,
                deps_told,
                created_at: *created_at,
                edits_pending,
                seen,
                held,
                version: version.clone(),
                heard,
                revision: *revision,
                by: *by,
            },
        );
    }
}

impl Turn<'_> {
    pub(in crate::step) fn issue_seen(
        &mut self,
        project: &ProjectName,
        number: IssueNumber,
        observation: &Observation,
    ) {
        let before = self.floor.issues.get(&(project.clone(), number)).map(|i| i.revision);
        self.floor.see_issue(project, observation);
        self.made_is_seen(project, number);
        self.reprioritise(project, number);
        self.doubt_dependencies(project, number);
        self.heed_issue(project, number, before);
    }

    /// Until our changes have arrived, the labels are what we want them to be.
    pub(in crate::step) fn labels_ordered(
        &mut self,
        project: &ProjectName,
        issue: IssueNumber,
        add: &[String],
        remove: &[String],
    ) {
        if let Some(issue) = self.floor.issues.edit(Mirror(()), &(project.clone(), issue)) {
            issue.edits_pending += 1;
            relabel(issue, add, remove);
        }
    }

    pub(in crate::step) fn labels_edited(
        &mut self,
        project: &ProjectName,
        issue: IssueNumber,
        add: &[String],
        remove: &[String],
        labelled: &outcome::Labelled,
    ) {
        let Some(issue) = self.floor.issues.edit(Mirror(()), &(project.clone(), issue)) else { return };
        issue.edits_pending = issue.edits_pending.saturating_sub(1);
        issue.held = false;
        // What was observed in the meantime may be older than this, or newer.
        if labelled.version >= issue.version {
            issue.version = labelled.version.clone();
            relabel(issue, add, remove);
        }
    }

    pub(in crate::step) fn labels_refused(&mut self, project: &ProjectName, issue: IssueNumber) {
        if let Some(issue) = self.floor.issues.edit(Mirror(()), &(project.clone(), issue)) {
            issue.edits_pending = issue.edits_pending.saturating_sub(1);
            issue.held = true;
        }
    }

    pub(in crate::step) fn shelve_issue(&mut self, project: &ProjectName, issue: IssueNumber) {
        self.floor.issues.shelve(Mirror(()), &(project.clone(), issue));
    }

    /// An agent found that the issue has to come after these.
    pub(in crate::step) fn dependencies_found(
        &mut self,
        project: &ProjectName,
        issue: IssueNumber,
        found: &[IssueNumber],
    ) {
        if let Some(row) = self.floor.issues.edit(Mirror(()), &(project.clone(), issue)) {
            row.found_deps.extend(found);
            row.deps.extend(found);
            row.deps.sort_unstable();
            row.deps.dedup();
        }
    }
}

fn relabel(issue: &mut Issue, add: &[String], remove: &[String]) {
    issue.labels.extend(add.iter().cloned());
    for label in remove {
        issue.labels.remove(label);
    }
}
