//! The planner's orders, carried out, and their results: chains are built on top of the primary branch and checked
//! as they would land. How they land is in `landing.rs`.

use super::Queues;
use crate::effect::outcome;
use crate::effect::{
    Action, ChainEntry, ChainLink, CiAbout, CiPurpose, CiReport, CiVerdict, CommitSource, Conflict,
    StatusState,
};
use crate::event::NoteKind;
use crate::ids::{EntryId, QueueId, RunId, Sha};
use crate::planner::{Alarm, Link, Order, PlanEvent, TrialId, TrialResult};
use crate::policy::CheckCommits;
use crate::state::{Entry, EntryState, Landing, Queue, TrialRun};
use crate::step::Turn;
use crate::texts::{checks, queue as texts, reasons};
use crate::verdict::Green;
use std::collections::VecDeque;
use std::rc::Rc;

/// How many landed branches are passed on: the rest of their stacks may still come.
const LANDED_MAX: usize = 50;

/// What the planner has ordered and nobody has carried out yet. Carrying out an order may make it plan again: new
/// orders queue up behind the earlier ones.
#[derive(Default)]
pub(in crate::step) struct Orders {
    waiting: VecDeque<(QueueId, Next)>,
    at_it: bool,
}

enum Next {
    Order(Order, Rc<Evidence>),
    /// All orders of one input have been carried out.
    Planned,
}

/// The evidence behind an input, for whoever has to be told.
#[derive(Default)]
struct Evidence {
    conflict: Option<Conflict>,
    report: Option<CiReport>,
    run: Option<RunId>,
    reason: Option<String>,
    /// Commits inside the last link of the chain that have to pass, too.
    inner: Vec<Link>,
}

impl Turn<'_> {
    pub(super) fn queue_of(&mut self, onto: &QueueId) -> &mut Queue {
        if self.floor.queues.get(onto).is_none() {
            self.floor.queues.put(Queues(()), Queue::new(onto.clone()));
        }
        self.floor.queues.edit(Queues(()), onto).expect("just put")
    }

    /// Tells the planner something, and does what it orders.
    pub(in crate::step) fn plan(&mut self, onto: &QueueId, input: &PlanEvent) {
        self.plan_with(onto, input, Evidence::default());
    }

    fn plan_with(&mut self, onto: &QueueId, input: &PlanEvent, evidence: Evidence) {
        let (policy, now) = (self.policy(&onto.project), self.now);
        let queue = self.queue_of(onto);
        let terms = queue.terms(&policy);
        let orders = queue.plan.step(now, &terms, input);
        let evidence = Rc::new(evidence);
        let orders = orders.into_iter().map(|order| Next::Order(order, evidence.clone()));
        self.orders.waiting.extend(orders.chain([Next::Planned]).map(|next| (onto.clone(), next)));
        if std::mem::replace(&mut self.orders.at_it, true) {
            return;
        }
        while let Some((onto, next)) = self.orders.waiting.pop_front() {
            match next {
                Next::Order(order, evidence) => self.carry_out(&onto, order, &evidence),
                Next::Planned => self.forget_the_old_base(&onto),
            }
        }
        self.orders.at_it = false;
    }

    fn carry_out(&mut self, onto: &QueueId, order: Order, evidence: &Evidence) {
        let report = evidence.report.as_ref();
        match order {
            Order::Build { trial, base, list, purpose: _ } => self.build(onto, trial, base, &list),
            Order::Test { trial, commit } => self.test(onto, trial, commit, &evidence.inner),
            Order::Cancel { trial } => {
                if let Some(run) = self.queue_of(onto).runs.remove(&trial) {
                    self.act(Action::CancelCi { project: onto.project.clone(), run: run.run });
                }
            }
            Order::Publish { old, on, steps } => {
                self.land(onto, Landing { old, on: Some(on), steps, put_off: None });
            }
            Order::Fail { entry, on, on_base, behind, .. } => {
                self.stands_on(entry, Some(&on), &behind, evidence.run, report);
                let stood_on = self.floor.entries.get(&entry).and_then(|e| e.stood_on.as_ref());
                let reason = reasons::trial_failed(report, stood_on);
                self.blame(onto, entry, &on, on_base, reason, report);
            }
            Order::Unrunnable { entry, .. } => {
                let why = report.map(checks::describe).or_else(|| evidence.reason.clone());
                let why = why.unwrap_or_default();
                self.stands_on(entry, None, &[], evidence.run, report);
                self.entry_impossible(entry, &reasons::only_its_checks_cannot_run(&why));
            }
            Order::Conflict { entry, with } => {
                let unknown = Conflict::default();
                self.conflicted(entry, &with, evidence.conflict.as_ref().unwrap_or(&unknown));
            }
            Order::Flake { trial, entry } => {
                let issue = entry.and_then(|e| self.floor.entries.get(&e)).and_then(|e| e.issue);
                let text = texts::flaky(trial);
                self.note(NoteKind::CiFlake, &onto.project, issue, text);
            }
            Order::Alarm(Alarm::Waiting { entry, since }) => {
                let text = texts::waits_long(self.now.since(since));
                self.note_entry(NoteKind::Escalation, entry, text);
            }
            Order::Alarm(Alarm::Infra { times, until }) => {
                let text = texts::checks_cannot_run(times, until.since(self.now));
                self.note(NoteKind::Escalation, &onto.project, None, text);
            }
        }
    }

    // ---- building ------------------------------------------------------------------------------

    fn build(&mut self, onto: &QueueId, trial: TrialId, base: Sha, list: &[EntryId]) {
        let list = list.iter().filter_map(|id| self.chain_entry(*id)).collect();
        let policy = self.policy(&onto.project);
        let (method, each_commit) = (policy.merge_method, policy.check_commits == CheckCommits::Each);
        let removed = self.queue_of(onto).removed.clone();
        let landed = self.heads_landed(onto);
        self.act(Action::BuildChain {
            project: onto.project.clone(),
            target: onto.target.clone(),
            trial,
            base,
            method,
            list,
            removed,
            landed,
            each_commit,
        });
    }

    /// Heads of branches that have landed there: the rest of their stacks may still come.
    pub(super) fn heads_landed(&self, onto: &QueueId) -> Vec<Sha> {
        let has_landed = |e: &&Entry| matches!(e.state, EntryState::Merged { .. }) && e.queue() == *onto;
        let landed = self.floor.entries.iter().rev().filter(has_landed).map(|e| e.head.clone());
        landed.take(LANDED_MAX).collect()
    }

    pub(super) fn chain_entry(&self, id: EntryId) -> Option<ChainEntry> {
        let entry = self.floor.entries.get(&id)?;
        let (branch, head) = (entry.branch.clone(), entry.head.clone());
        let method = entry.person.as_ref().map(|_| self.floor.policy(&entry.project).merge_people);
        let (title, message) =
            (self.floor.title(entry), entry.person.as_ref().and_then(|by| by.message.clone()));
        Some(ChainEntry { entry: id, pr: entry.pr, branch, head, title, message, method })
    }

    pub(in crate::step) fn chain_built(
        &mut self,
        onto: &QueueId,
        trial: TrialId,
        list: &[ChainEntry],
        chain: &outcome::Chain,
    ) {
        let outcome::Chain { primary, moved, links } = chain;
        if !self.primary_seen(onto, Some(primary), moved) {
            self.plan(onto, &PlanEvent::Dropped { trial });
            return;
        }
        if list.len() != links.len() {
            return self.trial_impossible(onto, trial, &reasons::wrong_links(links.len(), list.len()));
        }
        self.tell_what_is_left_out(list, links);
        self.reuse_verdicts(onto, list, links);
        let inner: Vec<Vec<Link>> = links.iter().map(|link| self.unproven(onto, link)).collect();
        // An entry that adds nothing lands as the link before it, with what that has inside.
        let behind = |link: &ChainLink| {
            let same = links.iter().zip(&inner).filter(|(l, _)| l.link.commit == link.link.commit);
            same.flat_map(|(_, inner)| inner.iter().cloned()).collect::<Vec<Link>>()
        };
        let entries = list.iter().zip(links).filter(|(_, link)| !behind(link).is_empty());
        let entries: Vec<EntryId> = entries.map(|(entry, _)| entry.entry).collect();
        if !entries.is_empty() {
            self.plan(onto, &PlanEvent::Unproven { trial, entries });
        }
        let chain = links.iter().map(|l| l.link.clone()).collect();
        let inner = links.last().map(behind).unwrap_or_default();
        let evidence = Evidence { inner, ..Evidence::default() };
        self.plan_with(onto, &PlanEvent::Built { trial, chain }, evidence);
    }

    pub(in crate::step) fn chain_conflicts(
        &mut self,
        onto: &QueueId,
        trial: TrialId,
        found: &outcome::ChainConflict,
    ) {
        let outcome::ChainConflict { primary, moved, entry, with_base, conflict } = found;
        if !self.primary_seen(onto, Some(primary), moved) {
            self.plan(onto, &PlanEvent::Dropped { trial });
            return;
        }
        let input = PlanEvent::Conflicted { trial, at: *entry, with_base: *with_base };
        let evidence = Evidence { conflict: Some(conflict.clone()), ..Evidence::default() };
        self.plan_with(onto, &input, evidence);
    }

    pub(in crate::step) fn chain_unmergeable(
        &mut self,
        onto: &QueueId,
        trial: TrialId,
        found: &outcome::Unmergeable,
    ) {
        self.entry_impossible(found.entry, &found.why);
        // Otherwise the trial would keep waiting if the entry was in its list as one that had landed before.
        self.plan(onto, &PlanEvent::Finished { trial, verdict: TrialResult::Infra });
    }

    pub(in crate::step) fn chain_without_primary(&mut self, onto: &QueueId, trial: TrialId) {
        self.primary_seen(onto, None, &[]);
        self.plan(onto, &PlanEvent::Dropped { trial });
    }

    /// The commits of a link, besides its last, that would land on the first-parent line, if the project wants
    /// each commit there to have passed and nobody knows that these have.
    fn unproven(&self, onto: &QueueId, link: &ChainLink) -> Vec<Link> {
        let policy = self.policy(&onto.project);
        if policy.check_commits == CheckCommits::Last {
            return Vec::new();
        }
        let queue = self.floor.queues.get(onto);
        let known = |l: &Link| queue.is_some_and(|q| q.green_tree(&policy, &l.commit, &l.tree).is_some());
        link.inner.iter().filter(|l| !known(l)).cloned().collect()
    }

    /// A branch was begun on commits that are no longer wanted: it lands without them.
    fn tell_what_is_left_out(&mut self, list: &[ChainEntry], links: &[ChainLink]) {
        for (ChainEntry { entry, .. }, ChainLink { left_out, .. }) in list.iter().zip(links) {
            let Some(row) = self.floor.entry_mut(*entry) else { continue };
            if std::mem::replace(&mut row.left_out, *left_out) != *left_out && *left_out > 0 {
                let text = texts::left_out(*entry, *left_out);
                self.note_entry(NoteKind::QueueState, *entry, text);
            }
        }
    }

    /// The heads were checked before they were queued: their trees need no second run.
    fn reuse_verdicts(&mut self, onto: &QueueId, list: &[ChainEntry], links: &[ChainLink]) {
        let policy = self.policy(&onto.project);
        for (entry, ChainLink { head_tree, .. }) in list.iter().zip(links) {
            let Some(row) = self.floor.entries.get(&entry.entry) else { continue };
            let by_job = row.job.and_then(|job| self.job(job)).and_then(|j| j.known.green.clone());
            let green = by_job.or_else(|| row.person.as_ref()?.green.clone());
            let Some(green) = green.filter(|g| *g.commit() == entry.head && g.holds(&policy)) else {
                continue;
            };
            if self.queue_of(onto).green(&entry.head).is_none() {
                self.queue_of(onto).remember(green.with_tree(head_tree));
            }
            self.plan(onto, &PlanEvent::Green { tree: head_tree.clone(), commit: entry.head.clone() });
        }
    }

    // ---- checking ------------------------------------------------------------------------------

    /// `inner`: commits that are checked before it, in the same run.
    fn test(&mut self, onto: &QueueId, trial: TrialId, commit: Sha, inner: &[Link]) {
        let run = RunId(self.number(|c| &mut c.run));
        let (now, policy) = (self.now, self.policy(&onto.project));
        let queue = self.queue_of(onto);
        let view = queue.plan.trials().find(|t| t.id == trial);
        let built = view.and_then(|t| Some((t.built?.tree.clone(), *t.list.last()?)));
        let Some((tree, tip)) = built else { return };
        let mut each = inner.to_vec();
        // What is known to be green is not run again.
        let known = queue.green_tree(&policy, &commit, &tree).filter(|_| !inner.is_empty());
        if known.is_none() && !inner.is_empty() {
            each.push(Link { commit: commit.clone(), tree: tree.clone() });
        }
        let names = each.iter().map(|link| link.commit.clone()).collect();
        let row = TrialRun { run, commit: commit.clone(), tree, tip, since: now, each, known };
        queue.runs.insert(trial, row);
        self.run_each(onto, tip, run, commit, CiPurpose::Trial(trial), names);
    }

    pub(super) fn run_checks(
        &mut self,
        onto: &QueueId,
        entry: EntryId,
        run: RunId,
        commit: Sha,
        purpose: CiPurpose,
    ) {
        self.run_each(onto, entry, run, commit, purpose, Vec::new());
    }

    fn run_each(
        &mut self,
        onto: &QueueId,
        entry: EntryId,
        run: RunId,
        commit: Sha,
        purpose: CiPurpose,
        each: Vec<Sha>,
    ) {
        let Some(entry) = self.floor.entries.get(&entry) else { return };
        let (job, issue, source) = (entry.job, entry.issue, CommitSource::Queue);
        let about = CiAbout { each, ..self.about_entry(entry) };
        self.act(Action::RunCi {
            job,
            project: onto.project.clone(),
            issue,
            run,
            commit,
            source,
            purpose,
            about,
        });
    }

    /// What the checks are told of an entry's change.
    pub(super) fn about_entry(&self, entry: &Entry) -> CiAbout {
        let queue = self.floor.queues.get(&entry.queue());
        CiAbout {
            base: queue.and_then(|q| q.plan.base()).cloned(),
            branch: Some(entry.branch.clone()),
            pr: entry.pr,
            target: entry.target.clone(),
            each: Vec::new(),
        }
    }

    pub(in crate::step) fn trial_checked(
        &mut self,
        onto: &QueueId,
        trial: TrialId,
        run: RunId,
        report: &CiReport,
    ) {
        let policy = self.policy(&onto.project);
        let queue = self.queue_of(onto);
        // A cancelled trial no longer has a run.
        if queue.runs.get(&trial).is_none_or(|r| r.run != run) {
            return;
        }
        let TrialRun { commit, tree, tip, each, known, .. } = queue.runs.remove(&trial).expect("just seen");
        let issue = self.floor.entries.get(&tip).and_then(|e| e.issue);
        let text = checks::run_of_candidate(run, &commit, report);
        self.note(NoteKind::CiResult, &onto.project, issue, text);
        if let Some(green) = Green::judge(&policy, &commit, run, report) {
            let queue = self.queue_of(onto);
            // One check's time is recorded, however many there were in the run.
            queue.took(report.duration_ms / each.len().max(1) as u64);
            for link in &each {
                let passed = Green::judge(&policy, &link.commit, run, report);
                passed.into_iter().for_each(|green| queue.remember(green.with_tree(&link.tree)));
            }
            queue.remember(known.unwrap_or(green).with_tree(&tree));
            self.act(Action::PostStatus {
                project: onto.project.clone(),
                commit,
                run,
                state: StatusState::Success,
                text: checks::passed_on_candidate().into(),
            });
            self.plan(onto, &PlanEvent::Finished { trial, verdict: TrialResult::Green });
        } else {
            let verdict = match says_nothing(report, &policy.checks) {
                true => TrialResult::Infra,
                false => TrialResult::Red,
            };
            if verdict == TrialResult::Red {
                self.queue_of(onto).took(report.duration_ms);
            }
            let evidence = Evidence { report: Some(report.clone()), run: Some(run), ..Evidence::default() };
            self.plan_with(onto, &PlanEvent::Finished { trial, verdict }, evidence);
        }
    }

    /// A chain that cannot be built, or checks that cannot be run.
    pub(in crate::step) fn trial_impossible(&mut self, onto: &QueueId, trial: TrialId, reason: &str) {
        self.queue_of(onto).runs.remove(&trial);
        let evidence = Evidence { reason: Some(reason.to_owned()), ..Evidence::default() };
        self.plan_with(onto, &PlanEvent::Finished { trial, verdict: TrialResult::Infra }, evidence);
    }
}

/// The run did not show whether the change is good.
pub(super) fn says_nothing(report: &CiReport, checks: &str) -> bool {
    matches!(report.verdict, CiVerdict::Infra | CiVerdict::Cancelled) || report.checks != checks
}
