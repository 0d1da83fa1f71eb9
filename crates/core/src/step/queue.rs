//! The merge queue's entries: how they get in, are taken out, land or come back. What is tried and
//! published when, the planner decides; see `trials.rs`.

use super::Turn;
use crate::effect::{Action, Conflict, EntryEnd, LandedEntry};
use crate::event::NoteKind;
use crate::ids::{EntryId, IssueNumber, JobId, ProjectName, QueueId, Sha, in_words};
use crate::phase::Ask;
use crate::planner::{Input, Priority};
use crate::policy::Policy;
use crate::state::{End, Entry, EntryState, Floor, Job, JobState, Queue, Standing, Who};
use crate::text::{fence, one_line};
use std::time::Duration;

/// An approved change that does not land within this is reported. It is not the check's own limit:
/// the queue may be long.
const LAND_WITHIN: Duration = Duration::from_secs(6 * 3600);

/// The head that a person may have queued for this job, or why there is none: the queue takes what is
/// green, or need not be by itself, and approved, whoever asks.
pub fn may_merge(floor: &Floor, job: &Job) -> Result<Sha, String> {
    let policy = floor.policy(&job.project);
    let head = job.head.clone().ok_or("it has no commits yet")?;
    if job.pr.is_none() {
        return Err("it has no pull request yet".into());
    }
    if !job.is_fit(&head, &policy) {
        return Err(format!("its head {} has not passed the checks", head.short()));
    }
    if policy.review_required {
        match floor.review_standing(job, &head) {
            Standing::Approved(_) => {}
            Standing::NotReviewed | Standing::Refused(_) => {
                return Err(format!("its head {} is not approved", head.short()));
            }
            Standing::Objected { objection, .. } => {
                return Err(format!("{} asked for changes, and has not approved", objection.author));
            }
        }
    }
    match &job.state {
        JobState::Working | JobState::Reviewing { .. } | JobState::NeedsHuman { .. } => Ok(head),
        JobState::Ended { end: End::Merged } => Err("it is merged".into()),
        JobState::Ended { .. } => {
            let open = floor.issues.get(&(job.project.clone(), job.issue)).is_some_and(|i| i.open);
            if open { Ok(head) } else { Err("its issue is closed".into()) }
        }
        other => Err(format!("it is {}", other.name())),
    }
}

impl Turn<'_> {
    /// Queues the approved, green head.
    pub(super) fn enqueue(&mut self, id: JobId, head: Sha) {
        self.enqueue_with(id, head, Priority::default(), false);
    }

    fn enqueue_with(&mut self, id: JobId, head: Sha, priority: Priority, alone: bool) {
        let entry = EntryId(self.number(|c| &mut c.entry));
        let Some(job) = self.job(id) else { return };
        let Some(pr) = job.pr else { return };
        let approved_by = match self.floor.review_standing(job, &head) {
            Standing::Approved(review) => Some(one_line(&review.author, 80)),
            _ => None,
        };
        if self.policy_of(id).review_required && approved_by.is_none() {
            self.escalate_job(id, &format!("{} is not queued: it is not approved", head.short()));
            return;
        }
        let (project, issue, queue) = (job.project.clone(), job.issue, job.queue());
        let priority = priority.max(self.labelled_priority(&project, issue));
        let row = self.floor.issues.get(&(project.clone(), issue));
        self.floor.entries.put(Entry {
            id: entry,
            project: project.clone(),
            job: Some(id),
            issue: Some(issue),
            pr: Some(pr),
            by_hand: None,
            branch: job.branch.clone(),
            head: head.clone(),
            approved_by,
            state: EntryState::Queued,
            requested_at: self.now,
            priority,
            alone,
            infra_retries: 0,
            decided_at: None,
            left_out: 0,
            landed_on: None,
            target: queue.target.clone(),
            after: row.map(|issue| issue.hints.after.clone()).unwrap_or_default(),
            stood_on: None,
            command: None,
            waits_told: None,
            wait_told: false,
        });
        self.enter(id, JobState::Merging { entry }, LAND_WITHIN);
        self.note_job(NoteKind::MergeReady, id, format!("entry {entry}, {}", head.short()));
        self.enter_plan(entry);
        self.find_primary(&queue);
    }

    pub(super) fn labelled_priority(&self, project: &ProjectName, issue: IssueNumber) -> Priority {
        let issue = self.floor.issues.get(&(project.clone(), issue));
        if issue.is_some_and(|i| i.labels.contains("priority")) {
            Priority::LABELLED
        } else {
            Priority::default()
        }
    }

    /// A label may have come or gone.
    pub(super) fn reprioritise(&mut self, project: &ProjectName, issue: IssueNumber) {
        let labelled = self.labelled_priority(project, issue);
        let differs = |e: &&Entry| {
            e.issue == Some(issue)
                && e.project == *project
                && e.state.is_live()
                && e.priority < Priority::URGENT
                && e.priority != labelled
        };
        let entry = self.floor.entries.iter().find(differs).map(|e| e.id);
        if let Some(entry) = entry {
            self.prioritise(entry, labelled);
        }
    }

    pub(super) fn prioritise(&mut self, id: EntryId, priority: Priority) {
        let Some(entry) = self.floor.entries.edit(&id) else { return };
        entry.priority = priority;
        let queue = entry.queue();
        self.plan(&queue, &Input::Prioritised { entry: id, priority });
    }

    /// For one that is in the queue already.
    pub(super) fn hurry(&mut self, id: EntryId, urgent: bool, alone: bool) {
        if urgent {
            self.prioritise(id, Priority::URGENT);
        }
        let Some(entry) = self.floor.entries.edit(&id).filter(|e| alone && !e.alone) else { return };
        entry.alone = true;
        let queue = entry.queue();
        self.plan(&queue, &Input::Alone { entry: id });
    }

    // ---- what people ask for -------------------------------------------------------------------

    pub(super) fn merge_asked(
        &mut self,
        project: &ProjectName,
        issue: IssueNumber,
        urgent: bool,
        alone: bool,
    ) {
        let Some(job) = self.floor.job_of(project, issue) else { return };
        let (id, queue) = (job.id, job.queue());
        if let JobState::Merging { entry } = job.state {
            self.hurry(entry, urgent, alone);
            self.unpark(&queue, |parked| parked.who == Who::Entry(entry));
            self.waits_no_more(entry, &[]);
            return;
        }
        match may_merge(self.floor, job) {
            Ok(head) => {
                if !job.is_live() {
                    self.revive(id);
                }
                if let Some(job) = self.floor.jobs.edit(&id) {
                    job.merge_rounds = 0;
                }
                let priority = if urgent { Priority::URGENT } else { Priority::default() };
                self.enqueue_with(id, head, priority, alone);
            }
            Err(why) => self.stale(id, format!("a person asked to merge it, but {why}")),
        }
    }

    /// An ended job goes on where a person puts it: its branch and worktree are there still.
    fn revive(&mut self, id: JobId) {
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.reason = None;
        job.end_wanted = None;
        let (project, issue) = (job.project.clone(), job.issue);
        let (add, remove) =
            (super::labels(&["in-progress"]), super::labels(&["blocked", "backlog", "underspecified"]));
        self.act(Action::EditLabels { project, issue, add, remove });
    }

    pub(super) fn merge_refused(&mut self, project: &ProjectName, issue: IssueNumber) {
        let Some(job) = self.floor.live_jobs(project).find(|j| j.issue == issue) else { return };
        let id = job.id;
        if !matches!(job.state, JobState::Merging { .. }) {
            return;
        }
        if !self.withdraw(id, "taken out of the merge queue by a person") {
            self.escalate_job(id, "not taken out of the merge queue: its publication is under way");
            return;
        }
        let question = format!(
            "The change was taken out of the merge queue. `shopfloor merge-queue add {issue}` puts it back, an answer goes to its agent."
        );
        self.ask(id, &question, &Ask::default());
    }

    pub(super) fn queue_paused(&mut self, onto: &QueueId, why: Option<&str>, below: Option<Priority>) {
        let project = &onto.project;
        if self.floor.projects.get(project).is_none() {
            return;
        }
        let queue = self.queue_of(onto);
        if why.is_none() && queue.lost.is_some() {
            self.accept_primary(onto);
            let text = format!("goes on from wherever {} is now, as a person says", onto.branch_in_words());
            self.note(NoteKind::QueueState, project, None, text);
        }
        let queue = self.queue_of(onto);
        let below = why.and(below).filter(|least| *least > Priority::default());
        if (queue.paused.as_deref(), queue.below) == (why, below) {
            return;
        }
        (queue.paused, queue.below) = (why.map(str::to_owned), below);
        let text = queue.pause().map_or_else(|| "goes on".to_owned(), |why| format!("paused: {why}"));
        let of = onto.target.as_ref().map(|target| format!("of {}: ", target.branch())).unwrap_or_default();
        self.note(NoteKind::QueueState, project, None, format!("{of}{text}"));
        self.plan(onto, &Input::Tick);
    }

    /// The project's configuration changed.
    pub(super) fn terms_changed(&mut self, project: &ProjectName, before: &Policy, now: &Policy) {
        let mine = self.floor.queues.iter().filter(|q| q.project == *project);
        for queue in mine.map(Queue::id).collect::<Vec<_>>() {
            self.queue_terms_changed(&queue, before, now);
        }
    }

    fn queue_terms_changed(&mut self, onto: &QueueId, before: &Policy, now: &Policy) {
        if onto.target.is_none() && before.primary_branch != now.primary_branch {
            self.accept_primary(onto);
        }
        let verdicts = |p: &Policy| (p.checks.clone(), p.has_checks, p.allow_no_checks, p.check_commits);
        if verdicts(before) != verdicts(now) {
            self.queue_of(onto).greens.clear();
            self.plan(onto, &Input::ChecksChanged);
            self.forget_all_bases(onto);
        } else if (before.merge_slots, before.merge_alarm, before.merge_batch)
            != (now.merge_slots, now.merge_alarm, now.merge_batch)
        {
            self.plan(onto, &Input::Tick);
        }
    }

    /// A primary branch may have been put right while nobody was there to see it. And entries of a floor that was run
    /// by an older program are not in a plan yet.
    pub(super) fn queues_resumed(&mut self) {
        let lost = self.floor.queues.iter().filter(|q| q.lost.is_some());
        for queue in lost.map(Queue::id).collect::<Vec<_>>() {
            self.primary_touched(&queue);
        }
        let unknown = |e: &&Entry| {
            matches!(e.state, EntryState::Queued | EntryState::Merging)
                && self.floor.standing(e).is_none()
                && !self.floor.queues.get(&e.queue()).is_some_and(|q| q.is_parked(Who::Entry(e.id)))
                && self.floor.waits_for_branch(e).is_none()
        };
        let entries: Vec<Entry> = self.floor.entries.iter().filter(unknown).cloned().collect();
        for entry in entries {
            let (id, queue) = (entry.id, entry.queue());
            let Entry { priority, requested_at, alone, .. } = entry;
            self.set_entry(id, EntryState::Queued);
            self.plan(&queue, &Input::Entered { entry: id, priority, at: requested_at, alone });
            self.find_primary(&queue);
        }
    }

    // ---- how an entry ends ---------------------------------------------------------------------

    pub(super) fn set_entry(&mut self, entry: EntryId, state: EntryState) {
        let now = self.now;
        let Some(entry) = self.floor.entries.edit(&entry) else { return };
        entry.decided_at = (!state.is_live()).then_some(now);
        entry.state = state;
        if entry.job.is_none() && entry.decided_at.is_some() {
            self.forget_old_branches();
        }
    }

    /// Takes an entry out of the queue.
    pub(super) fn leave(&mut self, id: EntryId, state: EntryState) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let (project, queue) = (entry.project.clone(), entry.queue());
        if let EntryState::Checking { run, again_at: None } = entry.state {
            self.act(Action::CancelCi { project, run });
        }
        self.call_back(id);
        self.set_entry(id, state);
        self.queue_of(&queue).parked.retain(|p| p.who != Who::Entry(id));
        self.plan(&queue, &Input::Removed { entry: id });
    }

    /// The branch is not where it was when it was approved.
    pub(super) fn branch_moved(&mut self, id: EntryId, head: Option<&Sha>) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        // What is published, or has landed, was where it should be.
        if !entry.state.is_live() || self.floor.is_publishing(entry) {
            return;
        }
        let (job, project) = (entry.job, entry.project.clone());
        let what = head.map_or_else(|| "deleted".to_owned(), |h| format!("moved to {}", h.short()));
        self.leave(id, EntryState::Cancelled { reason: format!("the branch was {what}") });
        let text = format!("entry {id}: the branch was {what} after its approval");
        let Some(job) = job else {
            let again = self.floor.entries.get(&id).map(Entry::again).unwrap_or_default();
            let next = format!("`{again}` queues it as it is then");
            self.note_entry(NoteKind::MergeFailed, id, format!("{text}; {next}"));
            return;
        };
        self.note(NoteKind::MergeFailed, &project, None, text);
        let max = self.policy_of(job).merge_rounds_max;
        let Some(row) = self.floor.jobs.edit(&job) else { return };
        row.merge_rounds += 1;
        if row.merge_rounds > max {
            self.block(job, "the branch keeps moving after its approval");
        } else {
            self.republish(job);
        }
    }

    /// The entry conflicts with the primary branch: its agent has to resolve it.
    pub(super) fn conflicted(&mut self, id: EntryId, with: &Sha, conflict: &Conflict) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let (job, again, onto) = (entry.job, entry.again(), in_words(entry.target.as_ref()));
        let Conflict { files, hunks } = conflict;
        self.set_entry(id, EntryState::Conflicted { files: files.clone() });
        self.stands_on(id, Some(with), &[], None, None);
        self.tell_end(id, EntryEnd::Conflicted);
        let Some(job) = job else {
            let text = format!(
                "conflicts with {onto} at {} in {}: merge that into the branch, push it, and `{again}` again",
                with.short(),
                files.join(", ")
            );
            self.note_entry(NoteKind::MergeConflict, id, text);
            return;
        };
        let list = files.iter().take(100).map(|f| format!("- {f}")).collect::<Vec<_>>().join("\n");
        let fence = fence(hunks);
        let shown = match hunks.is_empty() {
            true => String::new(),
            false => format!("\n\nWhere they conflict:\n\n{fence}\n{}\n{fence}", hunks.trim_end()),
        };
        self.note_job(NoteKind::MergeConflict, job, files.join(", "));
        let next = format!("merge {} into the branch and resolve {}", with.short(), files.join(", "));
        self.record_rework(job, "MERGE_CONFLICT", &next, None);
        self.merge_trouble(
            job,
            &format!("MERGE_CONFLICT\nYour branch conflicts with {onto} at {with} in these files:\n{list}\nMerge that commit into your branch (do not rebase: what you pushed stays), resolve, commit and signal awaiting_ci again.{shown}"),
            "the change keeps conflicting with the primary branch",
        );
    }

    /// The entry's own change is red: its agent has to mend it, if it has one.
    pub(super) fn failed(&mut self, id: EntryId, reason: &str, message: &str) {
        let Some(job) = self.floor.entries.get(&id).map(|e| e.job) else { return };
        self.set_entry(id, EntryState::Failed { reason: reason.to_owned() });
        self.note_entry(NoteKind::MergeFailed, id, reason);
        self.tell_end(id, EntryEnd::Failed);
        let Some(job) = job else { return };
        let next = format!("take the primary branch in and mend what fails on top of it: {reason}");
        let tests = format!("failed on top of the primary branch: {}", one_line(reason, 200));
        self.record_rework(job, "MERGE_FAILED", &next, Some(tests));
        self.merge_trouble(job, message, "the change keeps failing on top of the primary branch");
    }

    /// The change is in the primary branch.
    pub(super) fn landed(&mut self, id: EntryId, on: &Sha, commit: &Sha) -> Option<LandedEntry> {
        self.set_entry(id, EntryState::Merged { commit: commit.clone() });
        let entry = self.floor.entries.edit(&id)?;
        entry.landed_on = Some(on.clone());
        let (job, head) = (entry.job, entry.head.clone());
        self.note_entry(NoteKind::MergeComplete, id, commit.to_string());
        self.tell_end(id, EntryEnd::Landed);
        let Some(job) = job else {
            self.retire(id, commit);
            return Some(LandedEntry { entry: id, head, commit: commit.clone() });
        };
        self.record_merged(job);
        if let Some(job) = self.floor.jobs.edit(&job) {
            job.merged = Some(commit.clone());
        }
        self.finish_merged(job);
        Some(LandedEntry { entry: id, head, commit: commit.clone() })
    }

    /// The agent is told what is wrong with its merge, a bounded number of times.
    fn merge_trouble(&mut self, id: JobId, text: &str, verdict: &str) {
        let max = self.policy_of(id).merge_rounds_max;
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.merge_rounds += 1;
        if job.merge_rounds > max {
            self.block(id, &format!("{verdict}, after {max} rounds"));
        } else {
            // The approval has led to this: it is no news any more.
            self.overtake(id, "Review: APPROVE");
            self.tell(id, text);
        }
    }

    pub(super) fn entry_impossible(&mut self, id: EntryId, reason: &str) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        if !entry.state.is_live() {
            return;
        }
        let job = entry.job;
        self.leave(id, EntryState::Failed { reason: reason.to_owned() });
        self.note_entry(NoteKind::MergeFailed, id, reason);
        self.tell_end(id, EntryEnd::Failed);
        let Some(job) = job else { return };
        match self.job(job).and_then(|j| j.end_wanted.clone()) {
            Some((end, why)) => self.finish(job, end, &why),
            None => self.block(job, reason),
        }
    }

    /// What could not be done while the publication was under way: ending the job, or heeding a
    /// review.
    pub(super) fn take_up_what_waited(&mut self, id: JobId) {
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
        match self.floor.entries.get(&entry) {
            Some(entry) if self.floor.is_publishing(entry) => false,
            Some(Entry { state: EntryState::Queued | EntryState::Merging, .. }) => {
                self.leave(entry, EntryState::Cancelled { reason: why.to_owned() });
                true
            }
            _ => true,
        }
    }
}
