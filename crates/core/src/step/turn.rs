//! What the topics share: notes, effects, numbers, and the states of jobs.

use super::Turn;
use crate::effect::Action;
use crate::event::{Note, NoteKind};
use crate::ids::{EntryId, IssueNumber, JobId, ProjectName};
use crate::policy::Policy;
use crate::state::{Counters, Issue, Job, JobState, Stage};
use std::time::Duration;

/// How many entries of a job's history are kept.
const HISTORY_MAX: usize = 64;

impl Turn<'_> {
    pub(super) fn note(
        &mut self,
        kind: NoteKind,
        project: &ProjectName,
        issue: Option<IssueNumber>,
        text: impl Into<String>,
    ) {
        self.step.notes.push(Note { kind, project: project.clone(), issue, text: text.into() });
    }

    pub(super) fn note_job(&mut self, kind: NoteKind, job: JobId, text: impl Into<String>) {
        if let Some(job) = self.floor.jobs.get(&job) {
            let (project, issue) = (job.project.clone(), job.issue);
            self.note(kind, &project, Some(issue), text);
        }
    }

    /// One that no issue is named for is named by its branch.
    pub(super) fn note_entry(&mut self, kind: NoteKind, entry: EntryId, text: impl Into<String>) {
        let Some(entry) = self.floor.entries.get(&entry) else { return };
        let (project, issue, text) = (entry.project.clone(), entry.issue, text.into());
        let text = if entry.job.is_some() { text } else { format!("{}: {text}", entry.branch) };
        self.note(kind, &project, issue, text);
    }

    /// Somebody is told that a job is in trouble.
    pub(super) fn escalate_job(&mut self, job: JobId, text: &str) {
        self.note_job(NoteKind::Escalation, job, text);
    }

    /// The same, and it is put on the record that other tools read: once for each trigger and what it is
    /// `about`.
    pub(super) fn escalate_on_record(&mut self, id: JobId, trigger: &str, about: &str, text: &str) {
        self.escalate_job(id, text);
        let Some(job) = self.job(id) else { return };
        let (project, issue) = (job.project.clone(), job.issue);
        let (trigger, about, context) = (trigger.to_owned(), about.to_owned(), text.to_owned());
        self.act(Action::Escalate { job: id, project, issue, trigger, context, about, at: self.now });
    }

    pub(super) fn act(&mut self, action: Action) {
        if let Action::EditLabels { project, issue, add, remove } = &action
            && let Some(issue) = self.floor.issues.edit(&(project.clone(), *issue))
        {
            issue.edits_pending += 1;
            relabel(issue, add, remove);
        }
        self.step.effects.push(action);
    }

    /// The next number of a kind.
    pub(super) fn number(&mut self, pick: fn(&mut Counters) -> &mut u64) -> u64 {
        let number = pick(self.counters());
        *number += 1;
        *number
    }

    /// The next number of a kind is higher than that.
    pub(super) fn number_from(&mut self, pick: fn(&mut Counters) -> &mut u64, taken: u64) {
        let number = pick(self.counters());
        *number = taken.max(*number);
    }

    fn counters(&mut self) -> &mut Counters {
        if self.floor.counters.get(&()).is_none() {
            self.floor.counters.put(Counters::default());
        }
        self.floor.counters.edit(&()).expect("just put")
    }

    pub(super) fn job(&self, id: JobId) -> Option<&Job> {
        self.floor.jobs.get(&id)
    }

    pub(super) fn policy(&self, project: &ProjectName) -> Policy {
        self.floor.policy(project)
    }

    pub(super) fn policy_of(&self, job: JobId) -> Policy {
        self.job(job).map(|j| self.policy(&j.project)).unwrap_or_default()
    }

    /// Changes a job's state. `within` is how long it may stay there before somebody is told.
    pub(super) fn enter(&mut self, id: JobId, state: JobState, within: Duration) {
        let now = self.now;
        let was_parked = self.job(id).is_some_and(|j| matches!(j.state, JobState::Parked { .. }));
        if was_parked && !matches!(state, JobState::Parked { .. }) {
            self.unpark_job(id);
        }
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        let name = state.name();
        if job.state.name() != name {
            job.history.push(Stage { state: name.into(), at: now });
            if job.history.len() > HISTORY_MAX {
                // The first says when it began, the newest what happened last.
                job.history.remove(1);
            }
        }
        job.state = state;
        job.deadline = job.is_live().then(|| now + within);
        self.note_job(NoteKind::JobState, id, name);
    }

    pub(super) fn stale(&mut self, job: JobId, what: impl Into<String>) {
        self.note_job(NoteKind::StaleSignal, job, what);
    }
}

pub(super) fn relabel(issue: &mut Issue, add: &[String], remove: &[String]) {
    issue.labels.extend(add.iter().cloned());
    for label in remove {
        issue.labels.remove(label);
    }
}
