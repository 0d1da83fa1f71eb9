//! The merge queue's entries: how they get in, are taken out, land or come back. The planner decides what is
//! tried and published when; see `trials.rs`.

use super::Queues;
use crate::effect::{Action, Conflict, EntryEnd, LandedEntry, Verdict};
use crate::event::NoteKind;
use crate::ids::{EntryId, IssueNumber, JobId, ProjectName, QueueId, Sha, in_words};
use crate::label::Label;
use crate::phase::Ask;
use crate::planner::{PlanEvent, Priority};
use crate::policy::Policy;
use crate::state::{End, Entry, EntryState, Floor, Job, JobState, PersonsWord, Queue, ReviewStanding, Who};
use crate::step::Turn;
use crate::text::one_line;
use crate::texts::{FirstLine, agents, notes, people, queue as texts, reasons, records};
use std::time::Duration;

/// An approved change that does not land within this time is reported. It is not the checks' own limit: the queue
/// may be long.
const LAND_WITHIN: Duration = Duration::from_secs(6 * 3600);

/// The head that a person may have queued for this job, or why there is none: whoever asks, the queue takes only
/// what is approved, and is green or need not be by itself.
pub fn may_merge(floor: &Floor, job: &Job) -> Result<Sha, String> {
    let policy = floor.policy(&job.project);
    let head = job.head.clone().ok_or(texts::no_commits())?;
    if job.pr.is_none() {
        return Err(texts::no_pull().into());
    }
    if !job.is_fit(&head, &policy) {
        return Err(texts::not_passed(&head));
    }
    if policy.review_required {
        match floor.review_standing(job, &head) {
            ReviewStanding::Approved(_) => {}
            ReviewStanding::NotReviewed | ReviewStanding::Refused(_) => {
                return Err(texts::not_approved(&head));
            }
            ReviewStanding::Objected { objection, .. } => {
                return Err(texts::objected(&objection.author));
            }
        }
    }
    // What was not looked at may be anything.
    match floor.persons_word(job, &head) {
        PersonsWord::NotNeeded | PersonsWord::Given => {}
        PersonsWord::Needed(files) => return Err(texts::persons_word_missing(&head, &files)),
        PersonsWord::Unknown => return Err(texts::persons_word_missing(&head, &[])),
    }
    match &job.state {
        JobState::Working | JobState::Reviewing { .. } | JobState::NeedsHuman { .. } => Ok(head),
        JobState::Ended { end: End::Merged, .. } => Err(texts::is_merged().into()),
        JobState::Ended { .. } => {
            // What a run made is as wanted as the run was.
            let open = job.place().is_none_or(|place| floor.issues.get(&place).is_some_and(|i| i.open));
            if open { Ok(head) } else { Err(texts::issue_closed().into()) }
        }
        other => Err(texts::is_in(other.name())),
    }
}

impl Turn<'_> {
    /// Queues the approved, green head.
    pub(in crate::step) fn enqueue(&mut self, id: JobId, head: Sha) {
        self.enqueue_with(id, head, Priority::default(), false);
    }

    fn enqueue_with(&mut self, id: JobId, head: Sha, priority: Priority, alone: bool) {
        let entry = EntryId(self.number(|c| &mut c.entry));
        let Some((job, pr)) = self.job(id).and_then(|job| Some((job, job.pr?))) else { return };
        let issue = job.issue();
        let approved_by = match self.floor.review_standing(job, &head) {
            ReviewStanding::Approved(review) => Some(one_line(&review.author, 80)),
            _ => None,
        };
        if self.policy_of(id).review_required && approved_by.is_none() {
            self.escalate_job(id, &texts::not_queued(&head));
            return;
        }
        if !matches!(self.floor.persons_word(job, &head), PersonsWord::NotNeeded | PersonsWord::Given) {
            self.escalate_job(id, &texts::not_queued(&head));
            return;
        }
        let (project, queue) = (job.project.clone(), job.queue());
        let labelled = issue.map(|issue| self.labelled_priority(&project, issue)).unwrap_or_default();
        let priority = priority.max(labelled);
        let row = issue.and_then(|issue| self.floor.issues.get(&(project.clone(), issue)));
        self.floor.entries.put(
            Queues(()),
            Entry {
                id: entry,
                project: project.clone(),
                job: Some(id),
                issue,
                pr: Some(pr),
                person: None,
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
            },
        );
        self.enter(id, JobState::InQueue { entry, end_wanted: None }, LAND_WITHIN);
        self.note_job(NoteKind::MergeReady, id, texts::queued(entry, &head));
        self.enter_plan(entry);
        self.find_primary(&queue);
    }

    pub(super) fn labelled_priority(&self, project: &ProjectName, issue: IssueNumber) -> Priority {
        let issue = self.floor.issues.get(&(project.clone(), issue));
        if issue.is_some_and(|i| i.labels.contains(Label::Priority.as_str())) {
            Priority::LABELLED
        } else {
            Priority::default()
        }
    }

    /// A label may have come or gone.
    pub(in crate::step) fn reprioritise(&mut self, project: &ProjectName, issue: IssueNumber) {
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

    fn prioritise(&mut self, id: EntryId, priority: Priority) {
        let Some(entry) = self.floor.entry_mut(id) else { return };
        entry.priority = priority;
        let queue = entry.queue();
        self.plan(&queue, &PlanEvent::Prioritised { entry: id, priority });
    }

    /// For an entry that is already in the queue.
    pub(super) fn hurry(&mut self, id: EntryId, urgent: bool, alone: bool) {
        if urgent {
            self.prioritise(id, Priority::URGENT);
        }
        let Some(entry) = self.floor.entry_mut(id).filter(|e| alone && !e.alone) else { return };
        entry.alone = true;
        let queue = entry.queue();
        self.plan(&queue, &PlanEvent::Alone { entry: id });
    }

    // ---- what people ask for -------------------------------------------------------------------

    pub(in crate::step) fn merge_asked(
        &mut self,
        project: &ProjectName,
        issue: IssueNumber,
        urgent: bool,
        alone: bool,
    ) {
        let Some(job) = self.floor.job_of(project, issue) else { return };
        let (id, queue) = (job.id, job.queue());
        if let JobState::InQueue { entry, .. } = job.state {
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
                self.count_anew(id, |rounds| &mut rounds.merge_rounds);
                let priority = if urgent { Priority::URGENT } else { Priority::default() };
                self.enqueue_with(id, head, priority, alone);
            }
            Err(why) => self.stale(id, notes::cannot_merge(&why)),
        }
    }

    pub(in crate::step) fn merge_refused(&mut self, project: &ProjectName, issue: IssueNumber) {
        let Some(job) = self.floor.live_jobs(project).find(|j| j.issue() == Some(issue)) else { return };
        let id = job.id;
        if !matches!(job.state, JobState::InQueue { .. }) {
            return;
        }
        if !self.withdraw(id, reasons::taken_out()) {
            self.escalate_job(id, &texts::too_late_to_take_out(None));
            return;
        }
        self.ask(id, &people::taken_out_of_queue(issue), &Ask::default());
    }

    pub(in crate::step) fn queue_paused(
        &mut self,
        onto: &QueueId,
        why: Option<&str>,
        below: Option<Priority>,
    ) {
        let project = &onto.project;
        if self.floor.projects.get(project).is_none() {
            return;
        }
        let queue = self.queue_of(onto);
        if why.is_none() && queue.lost.is_some() {
            self.accept_primary(onto);
            let text = texts::primary_accepted(&onto.branch_in_words());
            self.note(NoteKind::QueueState, project, None, text);
        }
        let queue = self.queue_of(onto);
        let below = why.and(below).filter(|least| *least > Priority::default());
        if (queue.paused.as_deref(), queue.below) == (why, below) {
            return;
        }
        (queue.paused, queue.below) = (why.map(str::to_owned), below);
        let text = texts::pause(onto.target.as_ref(), queue.pause().as_deref());
        self.note(NoteKind::QueueState, project, None, text);
        self.plan(onto, &PlanEvent::Tick);
    }

    /// The project's configuration changed.
    pub(in crate::step) fn terms_changed(&mut self, project: &ProjectName, before: &Policy, now: &Policy) {
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
            self.plan(onto, &PlanEvent::ChecksChanged);
            self.forget_all_bases(onto);
        } else if (before.merge_slots, before.merge_alarm, before.merge_batch)
            != (now.merge_slots, now.merge_alarm, now.merge_batch)
        {
            self.plan(onto, &PlanEvent::Tick);
        }
    }

    /// A primary branch may have been put right while nobody was there to see it. And entries of a floor that an
    /// older program ran are not in a plan yet.
    pub(in crate::step) fn queues_resumed(&mut self) {
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
            self.plan(&queue, &PlanEvent::Entered { entry: id, priority, at: requested_at, alone });
            self.find_primary(&queue);
        }
    }

    // ---- how an entry ends ---------------------------------------------------------------------

    pub(super) fn set_entry(&mut self, entry: EntryId, state: EntryState) {
        let now = self.now;
        let Some(entry) = self.floor.entry_mut(entry) else { return };
        entry.decided_at = (!state.is_live()).then_some(now);
        entry.state = state;
    }

    pub(in crate::step) fn shelve_entry(&mut self, id: EntryId) {
        self.floor.entries.shelve(Queues(()), &id);
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
        self.plan(&queue, &PlanEvent::Removed { entry: id });
    }

    /// The branch is no longer where it was when it was approved.
    pub(in crate::step) fn branch_moved(&mut self, id: EntryId, head: Option<&Sha>) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        // An entry that is being published, or has landed, was where it should be.
        if !entry.state.is_live() || self.floor.is_publishing(entry) {
            return;
        }
        let (job, project) = (entry.job, entry.project.clone());
        self.leave(id, EntryState::Cancelled { reason: reasons::branch_moved(head) });
        let Some(job) = job else {
            let again = self.floor.entries.get(&id).map(Entry::again).unwrap_or_default();
            self.note_entry(NoteKind::MergeFailed, id, texts::moved_by_person(id, head, &again));
            return;
        };
        self.note(NoteKind::MergeFailed, &project, None, texts::moved_after_approval(id, head));
        let max = self.policy_of(job).merge_rounds_max;
        let Some(rounds) = self.count(job, |rounds| &mut rounds.merge_rounds) else { return };
        if rounds > max {
            self.block(job, reasons::keeps_moving());
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
            self.note_entry(NoteKind::MergeConflict, id, texts::conflicts(&onto, with, files, &again));
            return;
        };
        self.note_job(NoteKind::MergeConflict, job, files.join(", "));
        let next = records::resolve_conflict(with, files);
        self.record_rework(job, &FirstLine::MergeConflict.to_string(), &next, None);
        self.merge_trouble(
            job,
            &agents::merge_conflict(&onto, with, files, hunks),
            reasons::keeps_conflicting(),
        );
    }

    /// The entry's own change is red: its agent has to mend it, if it has one.
    pub(super) fn failed(&mut self, id: EntryId, reason: &str, message: &str) {
        let Some(job) = self.floor.entries.get(&id).map(|e| e.job) else { return };
        self.set_entry(id, EntryState::Failed { reason: reason.to_owned() });
        self.note_entry(NoteKind::MergeFailed, id, reason);
        self.tell_end(id, EntryEnd::Failed);
        let Some(job) = job else { return };
        let next = records::fix_on_primary(reason);
        let tests = records::tests_failed_in_queue(reason);
        self.record_rework(job, &FirstLine::MergeFailed.to_string(), &next, Some(tests));
        self.merge_trouble(job, message, reasons::keeps_failing());
    }

    /// The change is in the primary branch.
    pub(super) fn landed(&mut self, id: EntryId, on: &Sha, commit: &Sha) -> Option<LandedEntry> {
        self.set_entry(id, EntryState::Merged { commit: commit.clone() });
        let entry = self.floor.entry_mut(id)?;
        entry.landed_on = Some(on.clone());
        let (job, head) = (entry.job, entry.head.clone());
        self.note_entry(NoteKind::MergeComplete, id, commit.to_string());
        self.tell_end(id, EntryEnd::Landed);
        let Some(job) = job else {
            self.retire(id, commit);
            return Some(LandedEntry { entry: id, head, commit: commit.clone() });
        };
        self.has_merged(job, commit);
        Some(LandedEntry { entry: id, head, commit: commit.clone() })
    }

    /// The agent is told what is wrong with its merge, a bounded number of times.
    fn merge_trouble(&mut self, id: JobId, text: &str, verdict: &str) {
        let max = self.policy_of(id).merge_rounds_max;
        let Some(rounds) = self.count(id, |rounds| &mut rounds.merge_rounds) else { return };
        if rounds > max {
            self.block(id, &reasons::after_rounds(verdict, max));
        } else {
            // The approval has led to this: it is no longer news.
            self.overtake(id, &FirstLine::Review(Verdict::Approve).to_string());
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
        match self.job(job).and_then(|j| j.end_wanted().cloned()) {
            Some((end, why)) => self.finish(job, end, &why),
            None => self.block(job, reason),
        }
    }

    /// Does what could not be done while the publication was under way: ending the job, or heeding a review.
    pub(super) fn take_up_what_waited(&mut self, id: JobId) {
        if let Some((end, why)) = self.job(id).and_then(|j| j.end_wanted().cloned()) {
            self.finish(id, end, &why);
        } else {
            self.heed_late_review(id);
        }
    }

    /// Takes a job's entry out of the queue. False if its publication is under way: from then on only git knows,
    /// so the job waits for it.
    pub(in crate::step) fn withdraw(&mut self, id: JobId, why: &str) -> bool {
        let Some(JobState::InQueue { entry, .. }) = self.job(id).map(|j| j.state.clone()) else {
            return true;
        };
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
