//! What people do by hand while a job lives: they close, relabel or edit its issue, close its pull request, push
//! to its branch, merge it, or cancel it. They are the authority; the job follows, and neither its work nor theirs
//! is lost.

use crate::effect::{Action, JobHead};
use crate::event::NoteKind;
use crate::ids::{IssueNumber, JobId, PrNumber, ProjectName, Sha};
use crate::label::Label;
use crate::state::{End, Goal, Job, JobState};
use crate::step::Turn;
use crate::texts::{agents, notes, reasons};
use crate::verdict::Green;

/// Labels by which people say what is to become of an issue. They stay when its job ends.
const WISHES: [Label; 3] = [Label::Backlog, Label::Blocked, Label::Underspecified];

impl Turn<'_> {
    /// The forge shows the issue; `before` is the revision of its text that was known.
    pub(in crate::step) fn heed_issue(
        &mut self,
        project: &ProjectName,
        issue: IssueNumber,
        before: Option<u64>,
    ) {
        let Some(row) = self.floor.issues.get(&(project.clone(), issue)) else { return };
        if !row.open {
            self.end_by_person(project, issue, reasons::issue_closed());
            return;
        }
        let edited = before.is_some_and(|before| before != row.revision);
        self.heed_labels(project, issue);
        if edited {
            self.issue_edited(project, issue);
        }
    }

    /// The labels of an issue at work are ours, unless somebody else changed them.
    pub(in crate::step) fn heed_labels(&mut self, project: &ProjectName, issue: IssueNumber) {
        let Some(row) = self.floor.issues.get(&(project.clone(), issue)) else { return };
        // A label change of ours that is on its way, or was refused, says nothing about people.
        if row.edits_pending > 0 || row.held {
            return;
        }
        let has = |label: &Label| row.labels.contains(label.as_str());
        let stop = [Label::Blocked, Label::Underspecified].into_iter().find(has);
        let why = match stop {
            Some(label) => reasons::label_set(label),
            None if !has(&Label::InProgress) => reasons::label_removed(Label::InProgress),
            None => return,
        };
        let wishes: Vec<Label> = WISHES.into_iter().filter(has).collect();
        // A job that is ending has changed the labels itself.
        let ends = |id: &JobId| self.job(*id).is_some_and(|j| matches!(j.state, JobState::Finishing { .. }));
        if let Some(job) = self.at_work(project, issue).filter(|id| !ends(id)) {
            self.end_is_wanted(job);
            self.finish_with(job, End::Cancelled, &why, &wishes);
        }
    }

    /// The agent is told, whatever its job's state; but a queued change was approved as it is.
    fn issue_edited(&mut self, project: &ProjectName, issue: IssueNumber) {
        let Some(id) = self.at_work(project, issue) else { return };
        self.note_job(NoteKind::IssueEdited, id, notes::issue_edited());
        if self.job(id).is_some_and(|j| !matches!(j.state, JobState::InQueue { .. })) {
            self.inform(id, &agents::issue_edited(issue));
        }
    }

    /// Somebody pushed to the branch of a job that waits, or deleted it. The branch is looked at again: new
    /// commits are checked and reviewed, and the agent is told what its worktree lacks. A branch that a person
    /// queued leaves the queue: it is no longer what was approved.
    pub(in crate::step) fn branch_touched(
        &mut self,
        project: &ProjectName,
        branch: &str,
        head: Option<&Sha>,
    ) {
        let Some(job) = self.floor.live_jobs(project).find(|j| j.branch == branch) else {
            let entry = self.floor.queued_by_person(project, branch).filter(|e| Some(&e.head) != head);
            if let Some(entry) = entry.map(|e| e.id) {
                self.branch_moved(entry, head);
            }
            self.pull_follows(project, branch, head);
            return;
        };
        let (id, known) = (job.id, job.head.clone());
        if known.as_ref() == head {
            return;
        }
        match job.state {
            JobState::InQueue { entry, .. } => self.branch_moved(entry, head),
            JobState::Checking { goal, .. }
            | JobState::Retrying { goal, .. }
            | JobState::Parked { goal, .. } => {
                self.branch_looked_at_again(id, head);
                self.push(id, goal);
            }
            JobState::Reviewing { .. } => {
                self.branch_looked_at_again(id, head);
                self.push(id, Goal::Review);
            }
            // Whoever works there pushes; the next signal brings a fresh look.
            _ => {}
        }
    }

    fn branch_looked_at_again(&mut self, id: JobId, head: Option<&Sha>) {
        self.note_job(NoteKind::Worktree, id, notes::branch_changed(head));
        if let Some(head) = head {
            self.inform(id, &agents::branch_moved(head));
        }
    }

    /// The primary branch has moved: it may now contain what jobs have on their branches.
    pub(in crate::step) fn look_for_merges(&mut self, project: &ProjectName) {
        // The queue finds out by itself. A head that was never fit to be merged may be that of an empty branch.
        let is_fit = |job: &&Job| match job.state {
            JobState::Checking { .. }
            | JobState::Retrying { .. }
            | JobState::Parked { .. }
            | JobState::Reviewing { .. } => true,
            JobState::Working | JobState::NeedsHuman { .. } => {
                let fit = [job.known.green.as_ref().map(Green::commit), job.known.unchecked.as_ref()];
                job.head.is_some() && fit.contains(&job.head.as_ref())
            }
            _ => false,
        };
        let jobs = self.floor.live_jobs(project).filter(|job| job.pr.is_some()).filter(is_fit);
        let heads =
            jobs.filter_map(|j| Some(JobHead { job: j.id, head: j.head.clone()?, target: j.target.clone() }));
        let heads: Vec<JobHead> = heads.collect();
        if !heads.is_empty() {
            self.act(Action::FindMerged { project: project.clone(), heads });
        }
    }

    /// These heads are in the primary branch, and the queue did not put them there.
    pub(in crate::step) fn merged_by_person(&mut self, heads: &[JobHead]) {
        for JobHead { job: id, head, .. } in heads {
            let Some(job) = self.job(*id) else { continue };
            let ends = matches!(
                job.state,
                JobState::InQueue { .. } | JobState::Finishing { .. } | JobState::Ended { .. }
            );
            if ends || job.head.as_ref() != Some(head) {
                continue;
            }
            let queue = job.queue();
            self.note_job(NoteKind::MergeComplete, *id, notes::merged_by_person(head));
            self.has_merged(*id, head);
            self.enter_those_behind(&queue);
        }
    }

    /// A person closed the pull request: the change is not wanted.
    pub(in crate::step) fn pr_closed(&mut self, project: &ProjectName, pr: PrNumber) {
        self.pull_gone(project, pr);
        self.end_review(project, pr, reasons::pull_closed());
        let job = self.floor.live_jobs(project).find(|j| j.pr == Some(pr)).map(|j| j.id);
        if let Some(job) = job {
            self.end_is_wanted(job);
            self.finish(job, End::Cancelled, reasons::pull_closed());
        } else {
            self.refused_on_the_forge(project, pr, None, reasons::pull_closed());
        }
    }

    pub(in crate::step) fn cancelled(&mut self, project: &ProjectName, issue: IssueNumber) {
        let why = reasons::cancelled();
        self.end_by_person(project, issue, why);
        self.end_review(project, PrNumber(issue.0), why);
    }

    fn end_by_person(&mut self, project: &ProjectName, issue: IssueNumber, why: &str) {
        if let Some(job) = self.at_work(project, issue) {
            self.end_is_wanted(job);
            self.finish(job, End::Cancelled, why);
        }
    }

    fn at_work(&self, project: &ProjectName, issue: IssueNumber) -> Option<JobId> {
        self.floor.live_jobs(project).find(|j| j.issue() == Some(issue)).map(|j| j.id)
    }
}
