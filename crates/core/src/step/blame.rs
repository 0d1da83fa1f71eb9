//! Whose fault it is that something in the merge queue fails.
//!
//! An entry is blamed only if what it was put on is known to be green. If that is the primary branch
//! itself, as somebody else left it, the branch is checked first; as long as it is red, nobody is blamed
//! for it, and the entries that fail on it are parked.

use super::Turn;
use super::checks::describe;
use super::trials::says_nothing;
use crate::effect::{Action, CiPurpose, CiReport};
use crate::event::NoteKind;
use crate::ids::{EntryId, QueueId, RunId, Sha};
use crate::planner::Input;
use crate::state::{BaseCheck, Parked, Queue};
use crate::verdict::Green;

/// Runs of the checks on the primary branch before it is called red, or given up on.
const BASE_RUNS_MAX: u32 = 2;

impl Queue {
    pub(super) fn is_parked(&self, entry: EntryId) -> bool {
        self.parked.iter().any(|p| p.entry == entry)
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
        let (log, excerpt) = report.map_or(("", ""), |r| (&r.log, &r.excerpt));
        let branch = onto.branch_in_words();
        let message = format!(
            "MERGE_FAILED\nOn top of {branch} (at {on}) your change fails, and failed again when it was tried a second time: {reason}. Merge {branch} into yours (do not rebase), fix it, commit and signal awaiting_ci again.\nThe whole log: {log}\n\n{excerpt}"
        );
        let policy = self.policy(&onto.project);
        let queue = self.queue_of(onto);
        if !on_base || queue.green(on).is_some_and(|g| g.holds(&policy)) {
            self.failed(id, &reason, &message);
            return;
        }
        queue.parked.push(Parked { entry: id, reason, message });
        if queue.plan.base() != Some(on) {
            // That base is gone, whatever it was.
            self.unpark(onto, |p| p.entry == id);
        } else if queue.base_check.is_none() {
            self.check_base(onto, id, on.clone(), 1);
        }
    }

    fn check_base(&mut self, onto: &QueueId, entry: EntryId, head: Sha, attempt: u32) {
        let run = RunId(self.number(|c| &mut c.run));
        let check = BaseCheck { head: head.clone(), run, attempt, red: false };
        self.queue_of(onto).base_check = Some(check);
        self.run_checks(onto, entry, run, head, CiPurpose::Base);
    }

    pub(super) fn base_checked(&mut self, onto: &QueueId, run: RunId, report: &CiReport) {
        let policy = self.policy(&onto.project);
        let queue = self.queue_of(onto);
        let Some(check) = queue.base_check.clone().filter(|c| c.run == run) else { return };
        let text = format!(
            "run {run} on {} at {}: {}",
            onto.branch_in_words(),
            check.head.short(),
            describe(report)
        );
        let first = queue.parked.first().map(|p| p.entry);
        if let Some(green) = Green::judge(&policy, &check.head, run, report) {
            queue.remember(green);
            queue.base_check = None;
            self.note(NoteKind::CiResult, &onto.project, None, text);
            self.fail_parked(onto, "");
            return;
        }
        self.note(NoteKind::CiResult, &onto.project, None, text);
        match first {
            Some(entry) if check.attempt < BASE_RUNS_MAX => {
                self.check_base(onto, entry, check.head, check.attempt + 1);
            }
            _ if says_nothing(report, &policy.checks) => {
                self.base_uncheckable(onto, run, &describe(report));
            }
            _ => {
                self.queue_of(onto).base_check = Some(BaseCheck { red: true, ..check.clone() });
                let text = format!(
                    "{} itself fails at {}: {}; what fails on top of it waits until it is mended",
                    onto.branch_in_words(),
                    check.head.short(),
                    describe(report)
                );
                self.note(NoteKind::Escalation, &onto.project, None, text);
            }
        }
    }

    /// Nobody knows how the base is: then the entries answer for themselves.
    pub(super) fn base_uncheckable(&mut self, onto: &QueueId, run: RunId, why: &str) {
        let queue = self.queue_of(onto);
        if queue.base_check.take_if(|c| c.run == run).is_some() {
            self.fail_parked(
                onto,
                &format!("\n\nWhether the primary branch itself passes is not known ({why})."),
            );
        }
    }

    fn fail_parked(&mut self, onto: &QueueId, words: &str) {
        for Parked { entry, reason, message } in std::mem::take(&mut self.queue_of(onto).parked) {
            self.failed(entry, &reason, &format!("{message}{words}"));
        }
    }

    /// Lets entries that waited for the base be tried again.
    pub(super) fn unpark(&mut self, onto: &QueueId, which: impl Fn(&Parked) -> bool) {
        let queue = self.queue_of(onto);
        let (free, stay): (Vec<Parked>, _) =
            std::mem::take(&mut queue.parked).into_iter().partition(|p| which(p));
        queue.parked = stay;
        for parked in free {
            let Some(entry) = self.floor.entries.get(&parked.entry) else { continue };
            let (priority, at) = (entry.priority, entry.requested_at);
            self.plan(onto, &Input::Entered { entry: parked.entry, priority, at });
        }
    }

    /// What was found out about a base holds for that base only.
    pub(super) fn forget_the_old_base(&mut self, onto: &QueueId) {
        let queue = self.queue_of(onto);
        let Some(check) = queue.base_check.take_if(|c| queue.plan.base() != Some(&c.head)) else { return };
        if !check.red {
            self.act(Action::CancelCi { project: onto.project.clone(), run: check.run });
        }
        self.unpark(onto, |_| true);
    }
}
