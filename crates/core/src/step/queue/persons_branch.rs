//! People's branches in the merge queue: pushed to the hub by hand and carried by no job. They need what a job's
//! branch needs: an approval of the exact head if the project wants one, and green checks of it, which the factory
//! runs if nobody has. There is no agent to send anything back to: people are told.

use super::Queues;
use super::trials::says_nothing;
use crate::effect::{Action, CiPurpose, CiReport, CiVerdict, CommitSource, Merged, StatusState, Verdict};
use crate::event::{BranchAsk, NoteKind};
use crate::ids::{Assignment, EntryId, PrNumber, ProjectName, QueueId, RunId, Sha};
use crate::planner::Priority;
use crate::state::{Entry, EntryState, Floor, PersonsBranch, Who};
use crate::step::Turn;
use crate::step::jobs::{HEAD_RUNS_MAX, cooldown};
use crate::texts::{checks, notes, queue, reasons};
use crate::verdict::Green;
use std::fmt;

/// Why a branch cannot be queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hindrance {
    Primary,
    /// A job carries it.
    Job(Assignment),
    /// Another head of it is being published.
    Landing,
    NoChecks,
    NotApproved(Sha),
    /// It changes these protected files, and no person has approved it.
    NoPersonsWord(Sha, Vec<String>),
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&queue::hindrance(self))
    }
}

/// Whether a person's branch may be queued as it is; its checks may still have to run.
pub fn may_queue(floor: &Floor, project: &ProjectName, ask: &BranchAsk) -> Result<(), Hindrance> {
    let policy = floor.policy(project);
    if policy.is_landed_on(&ask.branch) {
        return Err(Hindrance::Primary);
    }
    if let Some(job) = floor.live_jobs(project).find(|j| j.branch == ask.branch) {
        return Err(Hindrance::Job(job.assignment));
    }
    match floor.queued_by_person(project, &ask.branch) {
        Some(entry) if entry.head == ask.head && entry.target == ask.target => return Ok(()),
        Some(entry) if floor.is_publishing(entry) => return Err(Hindrance::Landing),
        _ => {}
    }
    if !policy.has_checks && !policy.allow_no_checks {
        return Err(Hindrance::NoChecks);
    }
    if policy.review_required && ask.approved_by.is_none() {
        return Err(Hindrance::NotApproved(ask.head.clone()));
    }
    if !ask.unapproved.is_empty() {
        return Err(Hindrance::NoPersonsWord(ask.head.clone(), ask.unapproved.clone()));
    }
    Ok(())
}

impl Floor {
    /// The live entry of a person's branch.
    pub fn queued_by_person(&self, project: &ProjectName, branch: &str) -> Option<&Entry> {
        let mine = |e: &&Entry| e.job.is_none() && e.project == *project && e.branch == branch;
        self.entries.iter().filter(mine).find(|e| e.state.is_live())
    }
}

impl Turn<'_> {
    pub(in crate::step) fn branch_asked(&mut self, project: &ProjectName, ask: &BranchAsk) {
        if self.floor.projects.get(project).is_none() {
            return;
        }
        if let Err(why) = may_queue(self.floor, project, ask) {
            let text = notes::cannot_merge_branch(&ask.branch, &why.to_string());
            self.note(NoteKind::StaleSignal, project, None, text);
            return;
        }
        if let Some(entry) = self.floor.queued_by_person(project, &ask.branch) {
            let (id, queue) = (entry.id, entry.queue());
            if entry.head == ask.head && entry.target == ask.target {
                self.hurry(id, ask.urgent, ask.alone);
                self.unpark(&queue, |parked| parked.who == Who::Entry(id));
                self.waits_no_more(id, &ask.after);
                return;
            }
            let reason = match entry.target == ask.target {
                true => reasons::newer_head_queued(),
                false => reasons::queued_for_another(),
            };
            self.leave(id, EntryState::Cancelled { reason: reason.into() });
        }
        self.enter_by_hand(project, ask);
    }

    fn enter_by_hand(&mut self, project: &ProjectName, ask: &BranchAsk) {
        let id = EntryId(self.number(|c| &mut c.entry));
        let issue = ask.pr.and_then(|(_, issue)| issue);
        let asked = if ask.urgent { Priority::URGENT } else { Priority::default() };
        let priority = issue.map_or(asked, |issue| asked.max(self.labelled_priority(project, issue)));
        let green = self.verdict_on(project, ask);
        let checked = green.is_some();
        self.floor.entries.put(
            Queues(()),
            Entry {
                id,
                project: project.clone(),
                job: None,
                issue,
                pr: ask.pr.map(|(pr, _)| pr),
                person: Some(PersonsBranch {
                    by: ask.by.clone(),
                    author: ask.author.clone(),
                    title: ask.title.clone(),
                    message: ask.message.clone(),
                    approved_by: ask.approved_by.clone(),
                    green,
                    refused: None,
                    reds: 0,
                }),
                branch: ask.branch.clone(),
                head: ask.head.clone(),
                approved_by: None,
                state: EntryState::Queued,
                requested_at: self.now,
                priority,
                alone: ask.alone,
                infra_retries: 0,
                decided_at: None,
                left_out: 0,
                landed_on: None,
                target: ask.target.clone(),
                after: ask.after.clone(),
                stood_on: None,
                command: None,
                waits_told: None,
                wait_told: false,
            },
        );
        self.note_entry(NoteKind::MergeReady, id, queue::queued_by_person(id, ask));
        // Whatever its checks say is compared with those of the primary branch.
        let queue = QueueId::new(project, ask.target.as_ref());
        self.find_primary(&queue);
        let tells = checked || !self.is_head_checked(&self.policy(project));
        if tells { self.admit(id) } else { self.check_entry(id) }
    }

    /// The head, or its tree, may have been checked before.
    fn verdict_on(&mut self, project: &ProjectName, ask: &BranchAsk) -> Option<Green> {
        let policy = self.policy(project);
        // What needed no checks for one branch may need them for another.
        let queue = QueueId::new(project, ask.target.as_ref());
        let by_job =
            self.floor.jobs.iter().filter(|j| j.queue() == queue).filter_map(|j| j.known.green.as_ref());
        let persons = self.floor.entries.iter().filter(|e| e.queue() == queue);
        let persons = persons.filter_map(|e| e.person.as_ref()?.green.as_ref());
        let head = by_job.chain(persons).find(|g| *g.commit() == ask.head && g.holds(&policy)).cloned();
        head.or_else(|| self.queue_of(&queue).green_tree(&policy, &ask.head, &ask.tree))
    }

    /// Its head is green: it enters the plan.
    fn admit(&mut self, id: EntryId) {
        self.set_entry(id, EntryState::Queued);
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let queue = entry.queue();
        self.enter_plan(id);
        self.find_primary(&queue);
    }

    pub(in crate::step) fn check_entry(&mut self, id: EntryId) {
        let run = RunId(self.number(|c| &mut c.run));
        self.set_entry(id, EntryState::Checking { run, again_at: None });
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let (project, commit, issue) = (entry.project.clone(), entry.head.clone(), entry.issue);
        self.act(Action::PostStatus {
            project: project.clone(),
            commit: commit.clone(),
            run,
            state: StatusState::Pending,
            text: checks::running().into(),
        });
        let (source, purpose) = (CommitSource::Hub, CiPurpose::Entry(id));
        let Some(about) = self.floor.entries.get(&id).map(|entry| self.about_entry(entry)) else { return };
        self.act(Action::RunCi { job: None, project, issue, run, commit, source, purpose, about });
    }

    pub(in crate::step) fn entry_checked(&mut self, id: EntryId, run: RunId, report: &CiReport) {
        let Some(entry) = self.waits_for_checks(id, run) else { return };
        let (queue, commit) = (entry.queue(), entry.head.clone());
        let project = &queue.project;
        let policy = self.policy(project);
        let green = Green::judge(&policy, &commit, run, report);
        if green.is_some() {
            self.queue_of(&queue).took(report.duration_ms);
        }
        let text = checks::describe(report);
        let state = match (&green, report.verdict) {
            (Some(_), _) => StatusState::Success,
            (None, CiVerdict::Infra | CiVerdict::Cancelled) => StatusState::Error,
            (None, _) => StatusState::Failure,
        };
        self.act(Action::PostStatus {
            project: project.clone(),
            commit: commit.clone(),
            run,
            state,
            text: text.clone(),
        });
        self.note_entry(NoteKind::CiResult, id, checks::run(run, commit.short(), &text));
        if let Some(green) = green {
            if let Some(entry) = self.floor.entry_mut(id) {
                entry.infra_retries = 0;
                let persons = entry.person.as_mut().map(|by| (std::mem::take(&mut by.reds), by));
                if let Some((reds, by)) = persons {
                    by.green = Some(green);
                    if reds > 0 {
                        let text = checks::flaky(&commit, reds);
                        self.note_entry(NoteKind::CiFlake, id, text);
                    }
                }
            }
            self.admit(id);
        } else if says_nothing(report, &policy.checks) || report.verdict == CiVerdict::Skipped {
            self.check_entry_later(id, run, &text);
        } else {
            self.entry_head_is_red(id, &queue, run, &text, report);
        }
    }

    /// The same rule as for a candidate: there is a second run, and nobody is blamed on top of a primary branch
    /// that fails itself. An entry that waited for that is tried again in the queue once it is mended.
    fn entry_head_is_red(&mut self, id: EntryId, onto: &QueueId, run: RunId, text: &str, report: &CiReport) {
        let Some(by) = self.floor.entry_mut(id).and_then(|e| e.person.as_mut()) else { return };
        by.reds += 1;
        // If nothing was run, a second time tells no more.
        let ran = matches!(report.verdict, CiVerdict::Red | CiVerdict::TimedOut);
        if ran && by.reds < HEAD_RUNS_MAX {
            self.check_entry(id);
            return;
        }
        by.reds = 0;
        let base = self.queue_of(onto).plan.base().cloned();
        self.stands_on(id, base.as_ref(), &[], Some(run), Some(report));
        let reason = reasons::head_fails(text, report);
        let Some(base) = self.queue_of(onto).plan.base().cloned().filter(|_| ran) else {
            self.failed(id, &reason, "");
            return;
        };
        self.set_entry(id, EntryState::Queued);
        self.blame(onto, id, &base, true, reason, Some(report));
    }

    pub(in crate::step) fn entry_uncheckable(&mut self, id: EntryId, run: RunId, reason: &str) {
        if self.waits_for_checks(id, run).is_some() {
            self.failed(id, reason, "");
        }
    }

    fn waits_for_checks(&self, id: EntryId, run: RunId) -> Option<&Entry> {
        let expected = EntryState::Checking { run, again_at: None };
        self.floor.entries.get(&id).filter(|e| e.state == expected)
    }

    /// Nothing was found out. The retry is not immediate: what is down will not be up a moment later.
    fn check_entry_later(&mut self, id: EntryId, run: RunId, why: &str) {
        let now = self.now;
        let Some(project) = self.floor.entries.get(&id).map(|e| e.project.clone()) else { return };
        let policy = self.policy(&project);
        let Some(entry) = self.floor.entry_mut(id) else { return };
        entry.infra_retries += 1;
        if entry.infra_retries > policy.infra_retries_max {
            self.failed(id, &reasons::checks_cannot_run(why), "");
        } else {
            let again_at = Some(now + cooldown(&policy, entry.infra_retries));
            entry.state = EntryState::Checking { run, again_at };
        }
    }

    // ---- not wanted any more -------------------------------------------------------------------

    pub(in crate::step) fn branch_refused(&mut self, project: &ProjectName, branch: &str) {
        let id = self.floor.queued_by_person(project, branch).map(|e| e.id);
        if let Some(id) = id {
            self.refuse_by_hand(id, reasons::taken_out());
        }
    }

    /// The latest word on a pull request: a review of it, or that it was closed.
    pub(in crate::step) fn refused_on_the_forge(
        &mut self,
        project: &ProjectName,
        pr: PrNumber,
        head: Option<&Sha>,
        why: &str,
    ) {
        let meant = |e: &&Entry| {
            e.job.is_none()
                && e.project == *project
                && e.pr == Some(pr)
                && e.state.is_live()
                && head.is_none_or(|head| e.head == *head)
        };
        let id = self.floor.entries.iter().find(meant).map(|e| e.id);
        if let Some(id) = id {
            self.refuse_by_hand(id, why);
        }
    }

    pub(in crate::step) fn reviewed_by_person(
        &mut self,
        project: &ProjectName,
        pr: PrNumber,
        head: &Sha,
        verdict: Verdict,
        agent: bool,
    ) {
        // An agent's review is advice: a person has approved what is queued.
        if verdict == Verdict::RequestChanges && !agent {
            self.refused_on_the_forge(project, pr, Some(head), reasons::changes_requested());
        }
    }

    /// A person may open the pull request when the branch is already queued.
    pub(in crate::step) fn pull_of_queued(&mut self, project: &ProjectName, pr: PrNumber, branch: &str) {
        let id = self.floor.queued_by_person(project, branch).filter(|e| e.pr.is_none()).map(|e| e.id);
        if let Some(entry) = id.and_then(|id| self.floor.entry_mut(id)) {
            entry.pr = Some(pr);
        }
    }

    fn refuse_by_hand(&mut self, id: EntryId, why: &str) {
        if self.floor.entries.get(&id).is_some_and(|entry| self.floor.is_publishing(entry)) {
            let Some(entry) = self.floor.entry_mut(id) else { return };
            entry.person.iter_mut().for_each(|by| by.refused = Some(why.to_owned()));
            let text = queue::too_late_to_take_out(Some(why));
            self.note_entry(NoteKind::Escalation, id, text);
            return;
        }
        self.leave(id, EntryState::Cancelled { reason: why.to_owned() });
        self.note_entry(NoteKind::QueueState, id, why);
    }

    /// It was not published after all: what was said in the meantime counts.
    pub(super) fn heed_refusal(&mut self, id: EntryId) {
        let refused = self.floor.entries.get(&id).and_then(|e| e.person.as_ref()?.refused.clone());
        if let Some(why) = refused {
            self.refuse_by_hand(id, &why);
        }
    }

    // ---- its end -------------------------------------------------------------------------------

    /// It landed: its branch is deleted, and its pull request and issue are closed.
    pub(super) fn retire(&mut self, id: EntryId, commit: &Sha) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let (head, target) = (entry.head.clone(), entry.target.clone());
        let merged = Merged { pr: entry.pr, head, commit: commit.clone(), target };
        let (project, branch, issue) = (entry.project.clone(), entry.branch.clone(), entry.issue);
        self.leaves_something_behind(&project);
        self.act(Action::RetireBranch { project, branch, issue, merged });
    }
}
