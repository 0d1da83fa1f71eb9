//! What all owners share: notes, effects and numbers.

use super::Turn;
use crate::effect::Action;
use crate::event::{Note, NoteKind};
use crate::ids::{EntryId, IssueNumber, JobId, ProjectName};
use crate::policy::Policy;
use crate::state::{Counters, Job};
use std::time::Duration;

/// The token required to change the counters.
pub struct Numbers(());

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
            let (project, issue, text) = (job.project.clone(), job.number(), text.into());
            // A number says what it is about.
            let text = if issue.is_some() { text } else { format!("{}: {text}", job.assignment) };
            self.note(kind, &project, issue, text);
        }
    }

    /// A note on an entry that no job carries names its branch.
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
        let (project, assignment) = (job.project.clone(), job.assignment);
        let (trigger, about, context) = (trigger.to_owned(), about.to_owned(), text.to_owned());
        self.act(Action::Escalate { job: id, project, assignment, trigger, context, about, at: self.now });
    }

    pub(super) fn act(&mut self, action: Action) {
        if let Action::EditLabels { project, issue, add, remove } = &action {
            self.labels_ordered(project, *issue, add, remove);
        }
        self.step.effects.push(action);
    }

    /// The next number of a kind.
    pub(super) fn number(&mut self, pick: fn(&mut Counters) -> &mut u64) -> u64 {
        let number = pick(self.counters());
        *number += 1;
        *number
    }

    /// The next number of a kind will be higher than `taken`.
    pub(super) fn number_from(&mut self, pick: fn(&mut Counters) -> &mut u64, taken: u64) {
        let number = pick(self.counters());
        *number = taken.max(*number);
    }

    fn counters(&mut self) -> &mut Counters {
        if self.floor.counters.get(&()).is_none() {
            self.floor.counters.put(Numbers(()), Counters::default());
        }
        self.floor.counters.edit(Numbers(()), &()).expect("just put")
    }

    pub(super) fn job(&self, id: JobId) -> Option<&Job> {
        self.floor.jobs.get(&id)
    }

    /// A job that carries an issue, and that issue.
    pub(super) fn carrier(&self, id: JobId) -> Option<(&Job, IssueNumber)> {
        let job = self.job(id)?;
        Some((job, job.issue()?))
    }

    /// Says something where people follow the job: on its issue, or on the pull request of a run, if it has one.
    pub(super) fn comment_on(&mut self, id: JobId, marker: String, body: String) {
        let Some(job) = self.job(id) else { return };
        let (project, issue, pr) = (job.project.clone(), job.issue(), job.pr);
        match (issue, pr) {
            (Some(issue), _) => self.act(Action::Comment { project, issue, marker, body }),
            (None, Some(pr)) => self.act(Action::CommentPr { project, pr, marker, body }),
            (None, None) => {}
        }
    }

    pub(super) fn policy(&self, project: &ProjectName) -> Policy {
        self.floor.policy(project)
    }

    pub(super) fn policy_of(&self, job: JobId) -> Policy {
        self.job(job).map(|j| self.policy(&j.project)).unwrap_or_default()
    }

    /// How long the job's agent may be silent.
    pub(super) fn idle_limit(&self, job: JobId) -> Duration {
        let of_run = self.floor.run_of(job).and_then(|run| run.recipe.idle);
        of_run.unwrap_or_else(|| self.policy_of(job).idle_timeout)
    }

    pub(super) fn stale(&mut self, job: JobId, what: impl Into<String>) {
        self.note_job(NoteKind::StaleSignal, job, what);
    }
}
