//! People's branches in the merge queue: pushed to the hub by hand and carried by no job. The same holds for
//! them as for a job's: an approval of the exact head where the project wants one, and green checks of it,
//! which the factory runs if nobody did. There is no agent to send anything back to: people are told.

use super::Turn;
use super::checks::{cooldown, describe};
use super::finish::ENDED_JOBS_MAX;
use super::heads::HEAD_RUNS_MAX;
use super::trials::says_nothing;
use crate::effect::{Action, CiPurpose, CiReport, CiVerdict, CommitSource, Merged, StatusState, Verdict};
use crate::event::{BranchAsk, NoteKind};
use crate::ids::{EntryId, IssueNumber, PrNumber, ProjectName, QueueId, RunId, Sha};
use crate::planner::Priority;
use crate::state::{ByHand, Entry, EntryState, Floor, Who};
use crate::verdict::Green;
use std::fmt;

/// Why a branch cannot be queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hindrance {
    Primary,
    /// A job carries it.
    Job(IssueNumber),
    /// Another head of it is being published.
    Landing,
    NoChecks,
    NotApproved(Sha),
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hindrance::Primary => f.write_str("work lands on it: it is not merged itself"),
            Hindrance::Job(issue) => write!(f, "the job of issue #{issue} carries it"),
            Hindrance::Landing => f.write_str("an earlier head of it is being published"),
            Hindrance::NoChecks => {
                f.write_str("the project has no checks configured, and does not say that it wants none")
            }
            Hindrance::NotApproved(head) => write!(f, "its head {} is not approved", head.short()),
        }
    }
}

/// Whether a person's branch may be queued as it is; its checks may still have to run.
pub fn may_queue(floor: &Floor, project: &ProjectName, ask: &BranchAsk) -> Result<(), Hindrance> {
    let policy = floor.policy(project);
    if policy.is_landed_on(&ask.branch) {
        return Err(Hindrance::Primary);
    }
    if let Some(job) = floor.live_jobs(project).find(|j| j.branch == ask.branch) {
        return Err(Hindrance::Job(job.issue));
    }
    match floor.queued_by_hand(project, &ask.branch) {
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
    Ok(())
}

impl Floor {
    /// The entry of a person's branch that is not through.
    pub fn queued_by_hand(&self, project: &ProjectName, branch: &str) -> Option<&Entry> {
        let mine = |e: &&Entry| e.job.is_none() && e.project == *project && e.branch == branch;
        self.entries.iter().filter(mine).find(|e| e.state.is_live())
    }
}

impl Turn<'_> {
    pub(super) fn branch_asked(&mut self, project: &ProjectName, ask: &BranchAsk) {
        if self.floor.projects.get(project).is_none() {
            return;
        }
        if let Err(why) = may_queue(self.floor, project, ask) {
            let text = format!("a person asked to merge {}, but {why}", ask.branch);
            self.note(NoteKind::StaleSignal, project, None, text);
            return;
        }
        if let Some(entry) = self.floor.queued_by_hand(project, &ask.branch) {
            let (id, queue) = (entry.id, entry.queue());
            if entry.head == ask.head && entry.target == ask.target {
                self.hurry(id, ask.urgent, ask.alone);
                self.unpark(&queue, |parked| parked.who == Who::Entry(id));
                self.waits_no_more(id, &ask.after);
                return;
            }
            let reason = match entry.target == ask.target {
                true => "a newer head of it was queued",
                false => "it was queued for another branch",
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
        self.floor.entries.put(Entry {
            id,
            project: project.clone(),
            job: None,
            issue,
            pr: ask.pr.map(|(pr, _)| pr),
            by_hand: Some(ByHand {
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
        });
        let approved = ask.approved_by.as_ref().map(|who| format!(", approved by {who}")).unwrap_or_default();
        let text = format!("entry {id}, {}, queued by {}{approved}", ask.head.short(), ask.by);
        self.note_entry(NoteKind::MergeReady, id, text);
        // Whatever comes of its checks, they are compared with those of the primary branch.
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
        let by_job = self.floor.jobs.iter().filter(|j| j.queue() == queue).filter_map(|j| j.green.as_ref());
        let by_hand = self.floor.entries.iter().filter(|e| e.queue() == queue);
        let by_hand = by_hand.filter_map(|e| e.by_hand.as_ref()?.green.as_ref());
        let head = by_job.chain(by_hand).find(|g| *g.commit() == ask.head && g.holds(&policy)).cloned();
        head.or_else(|| self.queue_of(&queue).green_tree(&policy, &ask.head, &ask.tree))
    }

    /// Its head is green: into the plan.
    fn admit(&mut self, id: EntryId) {
        self.set_entry(id, EntryState::Queued);
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let queue = entry.queue();
        self.enter_plan(id);
        self.find_primary(&queue);
    }

    pub(super) fn check_entry(&mut self, id: EntryId) {
        let run = RunId(self.number(|c| &mut c.run));
        self.set_entry(id, EntryState::Checking { run, again_at: None });
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let (project, commit, issue) = (entry.project.clone(), entry.head.clone(), entry.issue);
        self.act(Action::PostStatus {
            project: project.clone(),
            commit: commit.clone(),
            run,
            state: StatusState::Pending,
            text: "checks run".into(),
        });
        let (source, purpose) = (CommitSource::Hub, CiPurpose::Entry(id));
        let Some(about) = self.floor.entries.get(&id).map(|entry| self.about_entry(entry)) else { return };
        self.act(Action::RunCi { job: None, project, issue, run, commit, source, purpose, about });
    }

    pub(super) fn entry_checked(&mut self, id: EntryId, run: RunId, report: &CiReport) {
        let Some(entry) = self.waits_for_checks(id, run) else { return };
        let (queue, commit) = (entry.queue(), entry.head.clone());
        let project = &queue.project;
        let policy = self.policy(project);
        let green = Green::judge(&policy, &commit, run, report);
        if green.is_some() {
            self.queue_of(&queue).took(report.duration_ms);
        }
        let text = describe(report);
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
        self.note_entry(NoteKind::CiResult, id, format!("run {run} on {}: {text}", commit.short()));
        if let Some(green) = green {
            if let Some(entry) = self.floor.entries.edit(&id) {
                entry.infra_retries = 0;
                let by_hand = entry.by_hand.as_mut().map(|by| (std::mem::take(&mut by.reds), by));
                if let Some((reds, by)) = by_hand {
                    by.green = Some(green);
                    if reds > 0 {
                        let text = format!("{} was red {reds} times and did not stay so", commit.short());
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

    /// The same rule as for a candidate: a second run, and nobody is blamed on top of a primary branch that fails
    /// itself. What waited for that is tried again in the queue when it is mended.
    fn entry_head_is_red(&mut self, id: EntryId, onto: &QueueId, run: RunId, text: &str, report: &CiReport) {
        let Some(by) = self.floor.entries.edit(&id).and_then(|e| e.by_hand.as_mut()) else { return };
        by.reds += 1;
        // Where nothing was run, a second time tells no more.
        let ran = matches!(report.verdict, CiVerdict::Red | CiVerdict::TimedOut);
        if ran && by.reds < HEAD_RUNS_MAX {
            self.check_entry(id);
            return;
        }
        by.reds = 0;
        let base = self.queue_of(onto).plan.base().cloned();
        self.stands_on(id, base.as_ref(), &[], Some(run), Some(report));
        let log = if report.log.is_empty() { String::new() } else { format!("; the log: {}", report.log) };
        let reason = format!("its head does not pass the checks: {text}{log}");
        let Some(base) = self.queue_of(onto).plan.base().cloned().filter(|_| ran) else {
            self.failed(id, &reason, "");
            return;
        };
        self.set_entry(id, EntryState::Queued);
        self.blame(onto, id, &base, true, reason, Some(report));
    }

    pub(super) fn entry_uncheckable(&mut self, id: EntryId, run: RunId, reason: &str) {
        if self.waits_for_checks(id, run).is_some() {
            self.failed(id, reason, "");
        }
    }

    fn waits_for_checks(&self, id: EntryId, run: RunId) -> Option<&Entry> {
        let expected = EntryState::Checking { run, again_at: None };
        self.floor.entries.get(&id).filter(|e| e.state == expected)
    }

    /// Nothing was found out. Not at once: what is down is not up again a moment later.
    fn check_entry_later(&mut self, id: EntryId, run: RunId, why: &str) {
        let now = self.now;
        let Some(project) = self.floor.entries.get(&id).map(|e| e.project.clone()) else { return };
        let policy = self.policy(&project);
        let Some(entry) = self.floor.entries.edit(&id) else { return };
        entry.infra_retries += 1;
        if entry.infra_retries > policy.infra_retries_max {
            self.failed(id, &format!("the checks cannot run: {why}"), "");
        } else {
            let again_at = Some(now + cooldown(&policy, entry.infra_retries));
            entry.state = EntryState::Checking { run, again_at };
        }
    }

    // ---- not wanted any more -------------------------------------------------------------------

    pub(super) fn branch_refused(&mut self, project: &ProjectName, branch: &str) {
        let id = self.floor.queued_by_hand(project, branch).map(|e| e.id);
        if let Some(id) = id {
            self.refuse_by_hand(id, "taken out of the merge queue by a person");
        }
    }

    /// The newest word on a pull request: of its review, or that it was closed.
    pub(super) fn refused_on_the_forge(
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

    pub(super) fn reviewed_by_hand(
        &mut self,
        project: &ProjectName,
        pr: PrNumber,
        head: &Sha,
        verdict: Verdict,
        agent: bool,
    ) {
        // An agent's is advice: a person has approved what is queued.
        if verdict == Verdict::RequestChanges && !agent {
            self.refused_on_the_forge(project, pr, Some(head), "a review asked for changes");
        }
    }

    fn refuse_by_hand(&mut self, id: EntryId, why: &str) {
        if self.floor.entries.get(&id).is_some_and(|entry| self.floor.is_publishing(entry)) {
            let Some(entry) = self.floor.entries.edit(&id) else { return };
            entry.by_hand.iter_mut().for_each(|by| by.refused = Some(why.to_owned()));
            let text = format!("not taken out of the merge queue ({why}): its publication is under way");
            self.note_entry(NoteKind::Escalation, id, text);
            return;
        }
        self.leave(id, EntryState::Cancelled { reason: why.to_owned() });
        self.note_entry(NoteKind::QueueState, id, why);
    }

    /// It was not published after all: what was said meanwhile counts.
    pub(super) fn heed_refusal(&mut self, id: EntryId) {
        let refused = self.floor.entries.get(&id).and_then(|e| e.by_hand.as_ref()?.refused.clone());
        if let Some(why) = refused {
            self.refuse_by_hand(id, &why);
        }
    }

    // ---- its end -------------------------------------------------------------------------------

    /// It landed: its branch goes, and what it was for is closed.
    pub(super) fn retire(&mut self, id: EntryId, commit: &Sha) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let (head, target) = (entry.head.clone(), entry.target.clone());
        let merged = Merged { pr: entry.pr, head, commit: commit.clone(), target };
        let (project, branch, issue) = (entry.project.clone(), entry.branch.clone(), entry.issue);
        self.act(Action::RetireBranch { project, branch, issue, merged });
    }

    /// The newest are kept for people to look at, as with jobs.
    pub(super) fn forget_old_branches(&mut self) {
        let over = |e: &&Entry| e.job.is_none() && !e.state.is_live();
        let over: Vec<EntryId> = self.floor.entries.iter().filter(over).map(|e| e.id).collect();
        for id in &over[..over.len().saturating_sub(ENDED_JOBS_MAX)] {
            self.floor.entries.remove(id);
        }
    }
}
