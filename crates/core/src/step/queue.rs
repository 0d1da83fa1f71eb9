//! The merge queue: one entry at a time is built on top of the primary branch, checked as it would
//! land, and published by compare-and-swap. Only a [`Green`] commit can be published, and only
//! from here.

use super::Turn;
use super::checks::{INFRA_RETRIES_MAX, describe};
use crate::effect::{Action, CiReport, CiVerdict, CommitSource, Outcome, StatusState};
use crate::event::NoteKind;
use crate::ids::{EntryId, JobId, ProjectName, RunId, Sha};
use crate::state::{Entry, EntryState, JobState};
use crate::verdict::Green;
use std::time::Duration;

/// An approved change that does not land within this is reported. It is not the check's own limit:
/// the queue may be long.
const LAND_WITHIN: Duration = Duration::from_secs(6 * 3600);

impl Turn<'_> {
    /// Queues the approved, green head.
    pub(super) fn enqueue(&mut self, id: JobId, head: Sha) {
        let entry = EntryId(self.number(|c| &mut c.entry));
        let Some(job) = self.job(id) else { return };
        let Some(pr) = job.pr else { return };
        self.floor.entries.put(Entry {
            id: entry,
            project: job.project.clone(),
            job: id,
            issue: job.issue,
            pr,
            branch: job.branch.clone(),
            head: head.clone(),
            state: EntryState::Queued,
            requested_at: self.now,
            infra_retries: 0,
        });
        self.enter(id, JobState::Merging { entry }, LAND_WITHIN);
        self.note_job(NoteKind::MergeReady, id, format!("entry {entry}, {}", head.short()));
    }

    /// Starts on the next entry if none is under way.
    pub(super) fn pump_queue(&mut self, project: &ProjectName) {
        let mine = || self.floor.entries.iter().filter(|e| e.project == *project);
        if mine().any(|e| e.state.is_active()) {
            return;
        }
        let next = mine().filter(|e| e.state == EntryState::Queued).min_by_key(|e| (e.requested_at, e.id));
        let Some(entry) = next else { return };
        let title = self.job(entry.job).map(|j| j.title.clone()).unwrap_or_default();
        let action = Action::BuildCandidate {
            project: project.clone(),
            entry: entry.id,
            pr: entry.pr,
            branch: entry.branch.clone(),
            head: entry.head.clone(),
            method: self.policy(project).merge_method,
            title,
        };
        self.set_entry(entry.id, EntryState::Preparing);
        self.act(action);
    }

    fn set_entry(&mut self, entry: EntryId, state: EntryState) {
        if let Some(entry) = self.floor.entries.edit(&entry) {
            entry.state = state;
        }
    }

    pub(super) fn candidate_built(&mut self, id: EntryId, head: &Sha, outcome: &Outcome) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        if entry.state != EntryState::Preparing || entry.head != *head {
            return;
        }
        let (job, project) = (entry.job, entry.project.clone());
        match outcome {
            Outcome::Candidate { base, commit } => {
                // A verdict holds for the commit it was given for: no need to run it again.
                let known = self.job(job).and_then(|j| j.green.clone()).filter(|g| g.commit() == commit);
                match known {
                    Some(green) => self.publish_green(id, base.clone(), green),
                    None => self.test_candidate(id, base.clone(), commit.clone()),
                }
            }
            Outcome::Conflict { files, base } => {
                self.set_entry(id, EntryState::Conflicted { files: files.clone() });
                let list = files.iter().take(100).map(|f| format!("- {f}")).collect::<Vec<_>>().join("\n");
                self.note_job(NoteKind::MergeConflict, job, files.join(", "));
                self.merge_trouble(
                    job,
                    &format!("MERGE_CONFLICT\nYour branch conflicts with the primary branch at {base} in these files:\n{list}\nMerge that commit into your branch (do not rebase: what you pushed stays), resolve, commit, push and signal awaiting_ci again."),
                    "the change keeps conflicting with the primary branch",
                );
            }
            Outcome::NothingToMerge { base } => self.landed(id, base.clone()),
            Outcome::BranchMoved { head } => {
                let what =
                    head.as_ref().map_or_else(|| "deleted".to_owned(), |h| format!("moved to {}", h.short()));
                self.set_entry(id, EntryState::Cancelled { reason: format!("the branch was {what}") });
                self.note(
                    NoteKind::MergeFailed,
                    &project,
                    None,
                    format!("entry {id}: the branch was {what} after its approval"),
                );
                let max = self.policy_of(job).merge_rounds_max;
                let Some(row) = self.floor.jobs.edit(&job) else { return };
                row.merge_rounds += 1;
                if row.merge_rounds > max {
                    self.block(job, "the branch keeps moving after its approval");
                } else {
                    self.republish(job);
                }
            }
            _ => {}
        }
    }

    fn test_candidate(&mut self, id: EntryId, base: Sha, candidate: Sha) {
        let run = RunId(self.number(|c| &mut c.run));
        let Some(entry) = self.floor.entries.edit(&id) else { return };
        entry.state = EntryState::Testing { base, candidate: candidate.clone(), run };
        let action = Action::RunCi {
            job: entry.job,
            project: entry.project.clone(),
            issue: entry.issue,
            run,
            commit: candidate,
            source: CommitSource::Queue,
            entry: Some(id),
        };
        self.act(action);
    }

    pub(super) fn candidate_checked(&mut self, id: EntryId, run: RunId, commit: &Sha, report: &CiReport) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let (job, project) = (entry.job, entry.project.clone());
        let EntryState::Testing { base, candidate, run: expected } = &entry.state else { return };
        if *expected != run || candidate != commit {
            return;
        }
        let base = base.clone();
        let policy = self.policy(&project);
        self.note_job(
            NoteKind::CiResult,
            job,
            format!("run {run} on candidate {}: {}", commit.short(), describe(report)),
        );
        if let Some(green) = Green::judge(&policy, commit, run, report) {
            self.act(Action::PostStatus {
                project,
                commit: commit.clone(),
                run,
                state: StatusState::Success,
                text: "checks passed on the merge candidate".into(),
            });
            self.publish_green(id, base, green);
            return;
        }
        if report.verdict == CiVerdict::Infra {
            let Some(entry) = self.floor.entries.edit(&id) else { return };
            entry.infra_retries += 1;
            if entry.infra_retries <= INFRA_RETRIES_MAX {
                self.test_candidate(id, base, commit.clone());
            } else {
                self.entry_impossible(id, &format!("the checks cannot run: {}", describe(report)));
            }
            return;
        }
        let reason = describe(report);
        self.set_entry(id, EntryState::Failed { reason: reason.clone() });
        self.note_job(NoteKind::MergeFailed, job, reason.clone());
        self.merge_trouble(
            job,
            &format!("MERGE_FAILED\nOn top of the primary branch at {base} your change fails: {reason}. Merge the primary branch into yours (do not rebase), fix it, commit, push and signal awaiting_ci again.\nThe whole log: {}\n\n{}", report.log, report.excerpt),
            "the change keeps failing on top of the primary branch",
        );
    }

    /// Records the intent; the effect does it. The one place where a publication is ordered.
    fn publish_green(&mut self, id: EntryId, old: Sha, green: Green) {
        let Some(entry) = self.floor.entries.edit(&id) else { return };
        let action = Action::Publish {
            project: entry.project.clone(),
            entry: id,
            old: old.clone(),
            new: green.commit().clone(),
        };
        entry.state = EntryState::Merging { old, green };
        self.act(action);
    }

    pub(super) fn publish_answered(&mut self, id: EntryId, old: &Sha, new: &Sha, outcome: &Outcome) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let expected = matches!(&entry.state, EntryState::Merging { old: o, green } if o == old && green.commit() == new);
        if !expected {
            return;
        }
        match outcome {
            Outcome::Published => self.landed(id, new.clone()),
            // Somebody was faster: what was tested is not what would land. Build and test anew.
            Outcome::PrimaryMoved { .. } => {
                let job = entry.job;
                self.set_entry(id, EntryState::Queued);
                self.take_up_what_waited(job);
            }
            _ => {}
        }
    }

    /// The change is in the primary branch.
    fn landed(&mut self, id: EntryId, commit: Sha) {
        let Some(entry) = self.floor.entries.edit(&id) else { return };
        entry.state = EntryState::Merged { commit: commit.clone() };
        let (job, project) = (entry.job, entry.project.clone());
        self.note_job(NoteKind::MergeComplete, job, commit.to_string());
        self.record_merged(job);
        if let Some(job) = self.floor.jobs.edit(&job) {
            job.merged = Some(commit.clone());
        }
        self.finish_merged(job);
        self.act(Action::SyncCheckout { project, head: commit });
    }

    /// The agent is told what is wrong with its merge, a bounded number of times.
    fn merge_trouble(&mut self, id: JobId, text: &str, verdict: &str) {
        let max = self.policy_of(id).merge_rounds_max;
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.merge_rounds += 1;
        if job.merge_rounds > max {
            self.block(id, &format!("{verdict}, after {max} rounds"));
        } else {
            self.tell(id, text);
        }
    }

    pub(super) fn entry_impossible(&mut self, id: EntryId, reason: &str) {
        let Some(entry) = self.floor.entries.edit(&id) else { return };
        if !entry.state.is_active() {
            return;
        }
        entry.state = EntryState::Failed { reason: reason.to_owned() };
        let job = entry.job;
        self.note_job(NoteKind::MergeFailed, job, reason);
        match self.job(job).and_then(|j| j.end_wanted.clone()) {
            Some((end, why)) => self.finish(job, end, &why),
            None => self.block(job, reason),
        }
    }

    /// What could not be done while the publication was under way: ending the job, or heeding a
    /// review.
    fn take_up_what_waited(&mut self, id: JobId) {
        if let Some((end, why)) = self.job(id).and_then(|j| j.end_wanted.clone()) {
            self.finish(id, end, &why);
        } else {
            self.heed_late_review(id);
        }
    }

    /// Takes a job's entry out of the queue. False if its publication is under way: from there on
    /// only git knows, and it is waited for.
    pub(super) fn withdraw(&mut self, id: JobId, why: &str) -> bool {
        let Some(JobState::Merging { entry }) = self.job(id).map(|j| j.state.clone()) else { return true };
        match self.floor.entries.get(&entry).map(|e| e.state.clone()) {
            Some(EntryState::Merging { .. }) => false,
            Some(EntryState::Queued | EntryState::Preparing | EntryState::Testing { .. }) => {
                self.set_entry(entry, EntryState::Cancelled { reason: why.to_owned() });
                true
            }
            _ => true,
        }
    }
}
