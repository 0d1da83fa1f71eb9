//! What people do by hand while a job lives: they close, relabel or edit its issue, close its pull
//! request, push to its branch, merge it, or cancel it. They are the authority; a job follows, and
//! nothing of its work, or of theirs, is lost.

use super::Turn;
use crate::effect::{Action, JobHead};
use crate::event::NoteKind;
use crate::ids::{IssueNumber, JobId, PrNumber, ProjectName, Sha};
use crate::state::{End, Goal, Job, JobState, Pull};
use crate::verdict::Green;

/// Labels by which people say what is to become of an issue. They stay when its job ends.
const WISHES: [&str; 3] = ["backlog", "blocked", "underspecified"];

impl Turn<'_> {
    /// The forge shows the issue; `before` is the revision of its text that was known.
    pub(super) fn heed_issue(&mut self, project: &ProjectName, issue: IssueNumber, before: Option<u64>) {
        let Some(row) = self.floor.issues.get(&(project.clone(), issue)) else { return };
        if !row.open {
            self.end_by_hand(project, issue, "the issue was closed");
            return;
        }
        let edited = before.is_some_and(|before| before != row.revision);
        self.heed_labels(project, issue);
        if edited {
            self.issue_edited(project, issue);
        }
    }

    /// The labels of an issue at work are ours, unless somebody else changed them.
    pub(super) fn heed_labels(&mut self, project: &ProjectName, issue: IssueNumber) {
        let Some(row) = self.floor.issues.get(&(project.clone(), issue)) else { return };
        // A change of ours that is on its way, or was refused, says nothing about people.
        if row.edits_pending > 0 || row.held {
            return;
        }
        let has = |label: &str| row.labels.contains(label);
        let stop = ["blocked", "underspecified"].into_iter().find(|label| has(label));
        let why = match stop {
            Some(label) => format!("a person set the label `{label}`"),
            None if !has("in-progress") => "a person removed the label `in-progress`".to_owned(),
            None => return,
        };
        let wishes: Vec<&str> = WISHES.into_iter().filter(|label| has(label)).collect();
        // A job that ends has changed the labels itself.
        let ends = |id: &JobId| self.job(*id).is_some_and(|j| matches!(j.state, JobState::Finishing { .. }));
        if let Some(job) = self.at_work(project, issue).filter(|id| !ends(id)) {
            self.end_is_wanted(job);
            self.finish_with(job, End::Cancelled, &why, &wishes);
        }
    }

    /// The agent is told, wherever its job is; what is queued was approved as it is.
    fn issue_edited(&mut self, project: &ProjectName, issue: IssueNumber) {
        let Some(id) = self.at_work(project, issue) else { return };
        self.note_job(NoteKind::IssueEdited, id, "its text was changed while it is worked on");
        if self.job(id).is_some_and(|j| !matches!(j.state, JobState::Merging { .. })) {
            self.inform(id, &format!("ISSUE edited\nSomebody changed the text of issue #{issue}. Read it again (`shopfloor issue show {issue}`) and see that your work still fits."));
        }
    }

    /// Somebody pushed to the branch of a job that waits, or deleted it. It is looked at again: what is
    /// new is checked and reviewed, and what the worktree lacks is told to the agent. A branch that a person
    /// queued leaves the queue: it is not what was approved.
    pub(super) fn branch_touched(&mut self, project: &ProjectName, branch: &str, head: Option<&Sha>) {
        let Some(job) = self.floor.live_jobs(project).find(|j| j.branch == branch) else {
            let entry = self.floor.queued_by_hand(project, branch).filter(|e| Some(&e.head) != head);
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
            JobState::Merging { entry } => self.branch_moved(entry, head),
            JobState::Checking { goal, .. }
            | JobState::Retrying { goal, .. }
            | JobState::Parked { goal, .. } => {
                self.branch_looked_at_again(id, head);
                self.publish(id, goal);
            }
            JobState::Reviewing { .. } => {
                self.branch_looked_at_again(id, head);
                self.publish(id, Goal::Review);
            }
            // Whoever works there pushes; the next signal has it looked at.
            _ => {}
        }
    }

    /// A pull request that no job carries is where its branch is. Of a branch that is gone, what it was stays.
    fn pull_follows(&mut self, project: &ProjectName, branch: &str, head: Option<&Sha>) {
        let elsewhere = |p: &&Pull| {
            p.project == *project && p.branch == branch && p.head.is_some() && p.head.as_ref() != head
        };
        let Some(pr) = self.floor.pulls.iter().find(elsewhere).map(|p| p.number) else { return };
        // One that is deleted may come again.
        if let Some(head) = head {
            self.floor.pull(project, pr).head = Some(head.clone());
            self.act(Action::MovePr { project: project.clone(), pr, head: head.clone() });
            self.review_follows(project, pr);
        }
    }

    /// A person may open it when the branch is queued already.
    pub(super) fn pull_of_queued(&mut self, project: &ProjectName, pr: PrNumber, branch: &str) {
        let id = self.floor.queued_by_hand(project, branch).filter(|e| e.pr.is_none()).map(|e| e.id);
        if let Some(entry) = id.and_then(|id| self.floor.entries.edit(&id)) {
            entry.pr = Some(pr);
        }
    }

    fn branch_looked_at_again(&mut self, id: JobId, head: Option<&Sha>) {
        let what = head.map_or_else(|| "deleted".to_owned(), |head| format!("moved to {}", head.short()));
        self.note_job(
            NoteKind::Worktree,
            id,
            format!("the branch was {what} by hand: it is looked at again"),
        );
        if let Some(head) = head {
            self.inform(id, &format!("BRANCH moved\nSomebody pushed {head} to your branch; it is checked and reviewed as it is there. If that was not you, fetch and merge it before you change anything."));
        }
    }

    /// The primary branch is elsewhere: what jobs have on their branches may be in it.
    pub(super) fn look_for_merges(&mut self, project: &ProjectName) {
        // The queue finds out by itself. A head that was never fit to be merged may be an empty branch's.
        let is_fit = |job: &&Job| match job.state {
            JobState::Checking { .. }
            | JobState::Retrying { .. }
            | JobState::Parked { .. }
            | JobState::Reviewing { .. } => true,
            JobState::Working | JobState::NeedsHuman { .. } => {
                let fit = [job.green.as_ref().map(Green::commit), job.unchecked.as_ref()];
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

    /// These are in the primary branch, and not by the queue.
    pub(super) fn merged_by_hand(&mut self, heads: &[JobHead]) {
        for JobHead { job: id, head, .. } in heads {
            let Some(job) = self.floor.jobs.edit(id) else { continue };
            let ends = matches!(
                job.state,
                JobState::Merging { .. } | JobState::Finishing { .. } | JobState::Ended { .. }
            );
            if ends || job.head.as_ref() != Some(head) {
                continue;
            }
            job.merged = Some(head.clone());
            let queue = job.queue();
            self.note_job(NoteKind::MergeComplete, *id, format!("{head}, merged by hand"));
            self.record_merged(*id);
            self.finish_merged(*id);
            self.enter_those_behind(&queue);
        }
    }

    /// A person closed the pull request: the change is not wanted.
    pub(super) fn pr_closed(&mut self, project: &ProjectName, pr: PrNumber) {
        self.floor.pulls.remove(&(project.clone(), pr));
        self.end_review(project, pr, "the pull request was closed");
        let job = self.floor.live_jobs(project).find(|j| j.pr == Some(pr)).map(|j| j.id);
        if let Some(job) = job {
            self.end_is_wanted(job);
            self.finish(job, End::Cancelled, "the pull request was closed");
        } else {
            self.refused_on_the_forge(project, pr, None, "the pull request was closed");
        }
    }

    pub(super) fn cancelled(&mut self, project: &ProjectName, issue: IssueNumber) {
        let why = "cancelled by a person";
        self.end_by_hand(project, issue, why);
        self.end_review(project, PrNumber(issue.0), why);
    }

    fn end_by_hand(&mut self, project: &ProjectName, issue: IssueNumber, why: &str) {
        if let Some(job) = self.at_work(project, issue) {
            self.end_is_wanted(job);
            self.finish(job, End::Cancelled, why);
        }
    }

    fn at_work(&self, project: &ProjectName, issue: IssueNumber) -> Option<JobId> {
        self.floor.live_jobs(project).find(|j| j.issue == issue).map(|j| j.id)
    }
}
