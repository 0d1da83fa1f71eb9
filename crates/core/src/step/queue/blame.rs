//! Whose fault a failure is: that of a queue entry as it would land, or of a job's head.
//!
//! Nobody is blamed unless the base is known to be green. If nobody knows, that commit of the primary branch is
//! checked first, once for all who wait for it, and they are parked meanwhile. As long as the primary branch is
//! red, nobody is blamed for it. Once it has moved, entries are tried again; a job continues when it is green, and
//! is checked on top of it as part of the merge: its head by itself would be as red as before.

use super::trials::says_nothing;
use crate::effect::{Action, CiAbout, CiPurpose, CiReport, CommitSource};
use crate::event::NoteKind;
use crate::ids::{EntryId, JobId, QueueId, RunId, Sha};
use crate::policy::Policy;
use crate::state::{BaseCheck, Parked, Queue, Who};
use crate::step::Turn;
use crate::texts::{agents, checks, queue};
use crate::verdict::Green;

/// Runs of the checks on the primary branch before it is called red, or given up on.
const BASE_RUNS_MAX: u32 = 2;

/// What is now known about a parked job.
enum Turned {
    /// Its base is green: the job itself is at fault.
    Guilty,
    /// Its base is red.
    Innocent,
    /// The primary branch is green at this commit.
    Free(Sha),
}

impl Queue {
    fn is_green(&self, commit: &Sha, policy: &Policy) -> bool {
        self.green(commit).is_some_and(|g| g.holds(policy))
    }

    fn turned(&self, parked: &Parked, policy: &Policy) -> Option<Turned> {
        let (on, base) = (parked.on.as_ref()?, self.plan.base());
        if !parked.red && self.is_green(on, policy) {
            return Some(Turned::Guilty);
        }
        match base.filter(|base| self.is_green(base, policy)) {
            Some(base) if parked.red => Some(Turned::Free(base.clone())),
            _ if !parked.red && self.is_red(on) => Some(Turned::Innocent),
            _ => None,
        }
    }

    /// Whether a parked entry or job waits for the verdict on this commit.
    fn waits_for(&self, parked: &Parked, commit: &Sha) -> bool {
        match &parked.on {
            Some(on) if !parked.red => on == commit,
            _ => self.plan.base() == Some(commit),
        }
    }
}

impl Turn<'_> {
    /// The entry was red twice on top of `on`.
    pub(super) fn blame(
        &mut self,
        onto: &QueueId,
        id: EntryId,
        on: &Sha,
        on_base: bool,
        reason: String,
        report: Option<&CiReport>,
    ) {
        let message = agents::merge_failed(&onto.branch_in_words(), on, &reason, report);
        let policy = self.policy(&onto.project);
        let queue = self.queue_of(onto);
        if !on_base || queue.is_green(on, &policy) {
            self.failed(id, &reason, &message);
            return;
        }
        let who = Who::Entry(id);
        queue.parked.push(Parked { who, reason, message, on: None, red: false });
        if queue.plan.base() != Some(on) {
            // That base is gone, whatever it was.
            self.unpark(onto, |p| p.who == who);
        } else {
            self.check_what_is_waited_for(onto);
        }
    }

    /// The head of a job was red twice, and stands on `on`. Whether it has to wait until it is known whose fault
    /// that is.
    pub(in crate::step) fn park_job(&mut self, id: JobId, on: &Sha, reason: &str, message: &str) -> bool {
        let (Some(job), policy) = (self.job(id), self.policy_of(id)) else { return false };
        let onto = job.queue();
        let queue = self.queue_of(&onto);
        if queue.is_green(on, &policy) {
            return false;
        }
        let who = Who::Job(id);
        queue.parked.retain(|p| p.who != who);
        let (reason, message, on) = (reason.to_owned(), message.to_owned(), Some(on.clone()));
        queue.parked.push(Parked { who, reason, message, on, red: false });
        true
    }

    /// The job no longer waits for the primary branch.
    pub(in crate::step) fn unpark_job(&mut self, id: JobId) {
        let Some(onto) = self.job(id).map(|j| j.queue()) else { return };
        let who = Who::Job(id);
        if self.floor.queues.get(&onto).is_some_and(|q| q.is_parked(who)) {
            self.queue_of(&onto).parked.retain(|p| p.who != who);
            self.drop_checks_nobody_waits_for(&onto);
        }
    }

    // ---- the checks of the primary branch ------------------------------------------------------

    /// Starts the checks that parked entries and jobs wait for and nobody has started.
    fn check_what_is_waited_for(&mut self, onto: &QueueId) {
        let policy = self.policy(&onto.project);
        let queue = self.queue_of(onto);
        let base = queue.plan.base().cloned();
        if queue.base_check.is_none() {
            // It may be the newest by now.
            queue.base_check = queue.older_check.take_if(|c| Some(&c.head) == base.as_ref());
        }
        let older = |p: &&Parked| !p.red && p.on.is_some() && p.on != base;
        let of_older = queue.parked.iter().find(older).and_then(|p| Some((p.who, p.on.clone()?)));
        if let Some(base) = base
            && queue.base_check.is_none()
            && !queue.is_green(&base, &policy)
            && let Some(who) = queue.parked.iter().find(|p| queue.waits_for(p, &base)).map(|p| p.who)
        {
            self.check_base(onto, who, base, 1);
        }
        if let Some((who, on)) = of_older
            && self.queue_of(onto).older_check.as_ref().is_none_or(|c| c.red && c.head != on)
        {
            self.check_base(onto, who, on, 1);
        }
    }

    fn check_base(&mut self, onto: &QueueId, who: Who, head: Sha, attempt: u32) {
        let run = RunId(self.number(|c| &mut c.run));
        let check = Some(BaseCheck { head: head.clone(), run, attempt, red: false });
        let queue = self.queue_of(onto);
        match queue.plan.base() == Some(&head) {
            true => queue.base_check = check,
            false => queue.older_check = check,
        }
        let (purpose, source) = (CiPurpose::Base, CommitSource::Queue);
        match who {
            Who::Entry(entry) => self.run_checks(onto, entry, run, head, purpose),
            Who::Job(id) => {
                let Some(job) = self.job(id) else { return };
                let base = Some(head.clone());
                let (target, each) = (onto.target.clone(), Vec::new());
                let about = CiAbout { base, branch: Some(job.branch.clone()), pr: job.pr, target, each };
                let (job, issue, project) = (Some(id), job.issue(), onto.project.clone());
                self.act(Action::RunCi { job, project, issue, run, commit: head, source, purpose, about });
            }
        }
    }

    pub(in crate::step) fn base_checked(&mut self, onto: &QueueId, run: RunId, report: &CiReport) {
        let policy = self.policy(&onto.project);
        let queue = self.queue_of(onto);
        let Some(check) = queue.base_checks().find(|c| c.run == run).cloned() else { return };
        let text = checks::run_of_branch(run, &onto.branch_in_words(), &check.head, report);
        let first = queue.parked.iter().find(|p| queue.waits_for(p, &check.head)).map(|p| p.who);
        if let Some(green) = Green::judge(&policy, &check.head, run, report) {
            queue.remember(green);
            take_check(queue, run);
            self.note(NoteKind::CiResult, &onto.project, None, text);
            self.fail_parked(onto, &check.head, "");
            self.look_at_parked(onto);
            return;
        }
        self.note(NoteKind::CiResult, &onto.project, None, text);
        match first {
            Some(who) if check.attempt < BASE_RUNS_MAX => {
                take_check(self.queue_of(onto), run);
                self.check_base(onto, who, check.head, check.attempt + 1);
            }
            _ if says_nothing(report, &policy.checks) => {
                self.base_uncheckable(onto, run, &checks::describe(report));
            }
            _ => {
                let queue = self.queue_of(onto);
                let newest = queue.base_check.as_ref().is_some_and(|c| c.run == run);
                for known in [&mut queue.base_check, &mut queue.older_check].into_iter().flatten() {
                    known.red |= known.run == run;
                }
                let text = queue::base_fails(&onto.branch_in_words(), &check.head, report);
                let kind = if newest { NoteKind::Escalation } else { NoteKind::QueueState };
                self.note(kind, &onto.project, None, text);
                self.look_at_parked(onto);
            }
        }
    }

    /// Nobody knows whether the base is green: then all answer for themselves.
    pub(in crate::step) fn base_uncheckable(&mut self, onto: &QueueId, run: RunId, why: &str) {
        let queue = self.queue_of(onto);
        let Some(check) = take_check(queue, run) else { return };
        let words = agents::base_unknown(why);
        self.fail_parked(onto, &check.head, &words);
        // Those known to have stood on a red base are tried on top of this one.
        let queue = self.queue_of(onto);
        let freed: Vec<Who> =
            queue.parked.iter().filter(|p| p.red && queue.waits_for(p, &check.head)).map(|p| p.who).collect();
        for who in freed {
            self.free(onto, who, &check.head);
        }
        self.check_what_is_waited_for(onto);
    }

    /// Whatever stands on this commit answers for itself: entries as they would land, jobs with their heads.
    fn fail_parked(&mut self, onto: &QueueId, head: &Sha, words: &str) {
        let queue = self.queue_of(onto);
        let guilty = |p: &Parked| !p.red && queue.waits_for(p, head);
        let guilty: Vec<Parked> = queue.parked.iter().filter(|p| guilty(p)).cloned().collect();
        for parked in guilty {
            self.is_to_blame(onto, &parked, words);
        }
    }

    fn is_to_blame(&mut self, onto: &QueueId, parked: &Parked, words: &str) {
        let Parked { who, reason, message, .. } = parked;
        self.queue_of(onto).parked.retain(|p| p.who != *who);
        let message = format!("{message}{words}");
        match who {
            Who::Entry(entry) => self.failed(*entry, reason, &message),
            Who::Job(job) => self.head_failed(*job, reason, &message),
        }
    }

    fn free(&mut self, onto: &QueueId, who: Who, base: &Sha) {
        self.queue_of(onto).parked.retain(|p| p.who != who);
        if let Who::Job(job) = who {
            self.goes_on_unchecked(job, base);
        }
    }

    /// Each parked job does what is now known to be right for it; what is not known yet is found out.
    pub(in crate::step) fn look_at_parked(&mut self, onto: &QueueId) {
        let policy = self.policy(&onto.project);
        let Some(queue) = self.floor.queues.get(onto) else { return };
        let jobs = queue.parked.iter().filter(|p| matches!(p.who, Who::Job(_)));
        let turned: Vec<(Parked, Turned)> =
            jobs.filter_map(|p| Some((p.clone(), queue.turned(p, &policy)?))).collect();
        for (parked, turned) in &turned {
            match turned {
                Turned::Guilty => self.is_to_blame(onto, parked, ""),
                Turned::Free(base) => self.free(onto, parked.who, base),
                Turned::Innocent => {
                    let queue = self.queue_of(onto);
                    queue.parked.iter_mut().filter(|p| p.who == parked.who).for_each(|p| p.red = true);
                    if let Who::Job(job) = parked.who {
                        self.tell_why_it_waits(job, parked);
                    }
                }
            }
        }
        let innocent = turned.iter().any(|(_, turned)| matches!(turned, Turned::Innocent));
        match innocent {
            // The newest commit may be known to be green.
            true => self.look_at_parked(onto),
            false => self.check_what_is_waited_for(onto),
        }
    }

    /// Lets entries that waited for the base be tried again.
    pub(super) fn unpark(&mut self, onto: &QueueId, which: impl Fn(&Parked) -> bool) {
        let queue = self.queue_of(onto);
        let (free, stay): (Vec<Parked>, _) = std::mem::take(&mut queue.parked)
            .into_iter()
            .partition(|p| matches!(p.who, Who::Entry(_)) && which(p));
        queue.parked = stay;
        for parked in free {
            let Who::Entry(id) = parked.who else { continue };
            self.enter_plan(id);
        }
    }

    /// What was found out about a base holds for that base only.
    pub(super) fn forget_the_old_base(&mut self, onto: &QueueId) {
        let queue = self.queue_of(onto);
        if let Some(check) = queue.base_check.take_if(|c| queue.plan.base() != Some(&c.head)) {
            // Heads that stand on it still need to know.
            let wanted = queue.parked.iter().any(|p| !p.red && p.on.as_ref() == Some(&check.head));
            let room = queue.older_check.as_ref().is_none_or(|c| c.red);
            if room && (check.red || wanted) {
                queue.older_check = Some(check);
            } else if !check.red {
                self.act(Action::CancelCi { project: onto.project.clone(), run: check.run });
            }
            self.unpark(onto, |_| true);
        }
        if self.queue_of(onto).parked.iter().any(|p| matches!(p.who, Who::Job(_))) {
            self.look_at_parked(onto);
        }
    }

    fn drop_checks_nobody_waits_for(&mut self, onto: &QueueId) {
        let queue = self.queue_of(onto);
        let idle = |queue: &Queue, check: &BaseCheck| {
            !check.red && !queue.parked.iter().any(|p| queue.waits_for(p, &check.head))
        };
        let idle: Vec<RunId> =
            queue.base_checks().filter(|check| idle(queue, check)).map(|check| check.run).collect();
        for run in idle {
            take_check(self.queue_of(onto), run);
            self.act(Action::CancelCi { project: onto.project.clone(), run });
        }
    }

    /// The project has other checks now: what the old ones found says nothing.
    pub(super) fn forget_all_bases(&mut self, onto: &QueueId) {
        let queue = self.queue_of(onto);
        let checks = [queue.base_check.take(), queue.older_check.take()];
        let jobs: Vec<JobId> = queue
            .parked
            .extract_if(.., |p| matches!(p.who, Who::Job(_)))
            .filter_map(|p| if let Who::Job(job) = p.who { Some(job) } else { None })
            .collect();
        for check in checks.into_iter().flatten().filter(|check| !check.red) {
            self.act(Action::CancelCi { project: onto.project.clone(), run: check.run });
        }
        self.unpark(onto, |_| true);
        for id in jobs {
            self.check_parked(id);
        }
    }
}

fn take_check(queue: &mut Queue, run: RunId) -> Option<BaseCheck> {
    let slots = [&mut queue.base_check, &mut queue.older_check];
    slots.into_iter().find_map(|slot| slot.take_if(|check| check.run == run))
}
