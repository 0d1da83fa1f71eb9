//! The head of a job, and whether it is fit to be reviewed and queued. The rule is the same as for candidates:
//! nothing is called red after one red run, and nobody is blamed for a primary branch that fails itself
//! (`queue/blame.rs`).
//!
//! The project says whether a head is checked by itself at all. If it is not, its trial decides: nothing lands
//! that did not pass as it lands.

use crate::effect::{CiReport, CiVerdict};
use crate::event::NoteKind;
use crate::ids::{JobId, QueueId, Sha};
use crate::policy::{HeadChecks, Policy};
use crate::state::{EntryState, Goal, Job, JobState, Parked, RedHead};
use crate::step::Turn;
use crate::texts::{FirstLine, agents, checks, queue, reasons};
use std::time::Duration;

/// Runs of the checks on a head before it is called red, as with candidates.
pub(in crate::step) const HEAD_RUNS_MAX: u32 = 2;

/// If the primary branch is red for longer, people are told again.
const PARKED_WITHIN: Duration = Duration::from_secs(6 * 3600);

impl Turn<'_> {
    /// Whether a head is worth a run of its own: its trial decides as well, and about more at once.
    pub(in crate::step) fn is_head_checked(&self, policy: &Policy) -> bool {
        match policy.head_checks {
            HeadChecks::Always => true,
            HeadChecks::Never => false,
            // The room for runs is the whole floor's.
            HeadChecks::WhenIdle => {
                let checking =
                    self.floor.entries.iter().any(|e| matches!(e.state, EntryState::Checking { .. }));
                !checking && !self.floor.queues.iter().any(|queue| queue.wants_a_run())
            }
        }
    }

    /// The branch is published with its pull request: decides what comes next for its head.
    pub(super) fn head_shown(&mut self, id: JobId, goal: Goal, head: &Sha) {
        let policy = self.policy_of(id);
        let Some(job) = self.floor.job_mut(id) else { return };
        if job.is_fit(head, &policy) {
            let unchecked = job.known.unchecked.as_ref() == Some(head);
            let message =
                if unchecked { agents::ci_left_to_the_merge(head) } else { agents::ci_passed(head) };
            if goal == Goal::Ci && job.session.is_some() {
                // It was told before: an agent that keeps signalling the same is not at work.
                self.remind(id, &message, reasons::asks_for_needless_checks());
            } else {
                self.passed(id, goal, head.clone(), &message);
            }
            return;
        }
        // The reminders were for an agent that had nothing to show.
        job.rounds.reminders = 0;
        job.rounds.respawns = 0;
        // A project without any checks has to say so: the run tells.
        if self.is_head_checked(&policy) || !policy.has_checks {
            self.check(id, goal, head.clone());
        } else {
            let text = checks::not_checked(head);
            self.note_job(NoteKind::CiResult, id, text);
            self.is_unchecked(id, head);
            self.passed(id, goal, head.clone(), &agents::ci_left_to_the_merge(head));
        }
    }

    fn is_unchecked(&mut self, id: JobId, head: &Sha) {
        if let Some(job) = self.floor.job_mut(id) {
            job.known.unchecked = Some(head.clone());
        }
    }

    /// A run of the head ended red. Whether it is repeated before anything is concluded.
    pub(super) fn is_run_again(&self, id: JobId, head: &Sha, report: &CiReport) -> bool {
        // If nothing was run, a second time tells no more.
        let ran = matches!(report.verdict, CiVerdict::Red | CiVerdict::TimedOut) && report.steps_run > 0;
        ran && self.reds(id, head) + 1 < HEAD_RUNS_MAX
    }

    /// Red runs of the head so far.
    fn reds(&self, id: JobId, head: &Sha) -> u32 {
        let red = self.job(id).and_then(|j| j.known.red.as_ref()).filter(|red| red.head == *head);
        red.map_or(0, |red| red.runs)
    }

    pub(super) fn head_is_green(&mut self, id: JobId, head: &Sha) {
        let reds = self.reds(id, head);
        if reds > 0 {
            let text = checks::flaky(head, reds);
            self.note_job(NoteKind::CiFlake, id, text);
        }
        if let Some(job) = self.floor.job_mut(id) {
            job.known.red = None;
        }
    }

    pub(super) fn head_is_red(&mut self, id: JobId, goal: Goal, head: &Sha, report: &CiReport) {
        let again = self.is_run_again(id, head, report);
        let runs = self.reds(id, head) + 1;
        let Some(job) = self.floor.job_mut(id) else { return };
        job.known.red = Some(RedHead { head: head.clone(), runs });
        if again {
            self.check(id, goal, head.clone());
            return;
        }
        let (queue, base) = (job.queue(), job.known.base.clone());
        let on = base.or_else(|| self.floor.base_of(&queue));
        let (reason, message) = (checks::describe(report), agents::ci_failed(report, head, runs));
        let parked = match on.filter(|_| report.steps_run > 0) {
            Some(on) => self.park_job(id, &on, &reason, &message),
            None => false,
        };
        if parked {
            self.enter(id, JobState::Parked { goal, head: head.clone() }, PARKED_WITHIN);
            // If the primary branch is not known, it is looked for; the plan then examines what is parked.
            self.find_primary(&queue);
            self.look_at_parked(&queue);
        } else {
            self.head_failed(id, &reason, &message);
        }
    }

    /// The project has other checks now: what the old ones found says nothing.
    pub(in crate::step) fn check_parked(&mut self, id: JobId) {
        let Some(job) = self.floor.job_mut(id) else { return };
        if let JobState::Parked { goal, head } = job.state.clone() {
            job.known.red = None;
            self.check(id, goal, head);
        }
    }

    /// That two heads make the same change was found on top of commits that are no longer wanted there: these may
    /// now be part of either head, so an approval of one does not carry over to the other.
    pub(in crate::step) fn forget_same_changes(&mut self, onto: &QueueId) {
        let mine = |j: &&Job| j.queue() == *onto && !j.known.same_changes.is_empty();
        for job in self.floor.jobs.iter().filter(mine).map(|j| j.id).collect::<Vec<_>>() {
            if let Some(job) = self.floor.job_mut(job) {
                job.known.same_changes.clear();
            }
        }
    }

    /// The job itself is at fault: its agent is told.
    pub(in crate::step) fn head_failed(&mut self, id: JobId, reason: &str, message: &str) {
        let max = self.policy_of(id).ci_fixes_max;
        let Some(job) = self.floor.job_mut(id) else { return };
        job.rounds.ci_fixes += 1;
        if job.rounds.ci_fixes > max {
            self.block(id, &reasons::failed_too_often(max + 1, reason));
            return;
        }
        if FirstLine::of(message) == Some(FirstLine::CiTimeout)
            && let Some(head) = job.head.clone()
        {
            let text = checks::timed_out(&head, reason);
            self.escalate_on_record(id, "ci_timeout", head.short(), &text);
        }
        self.tell(id, message);
    }

    /// The commit of the primary branch that the head stands on is red. Nobody is blamed; but the agent may be
    /// there to mend just that.
    pub(in crate::step) fn tell_why_it_waits(&mut self, id: JobId, parked: &Parked) {
        let Some(JobState::Parked { head, .. }) = self.job(id).map(|j| j.state.clone()) else { return };
        let branch = self.lands_on(id);
        self.note_job(NoteKind::QueueState, id, queue::waits_for_base(&head, &branch, parked));
        let Some(job) = self.floor.job_mut(id) else { return };
        if job.memo.waits_told.replace(head.clone()).as_ref() != Some(&head) {
            self.inform(id, &agents::ci_waits(&head, &parked.reason, &branch, parked.on.as_ref()));
        }
    }

    /// The primary branch is green at `base`: a head that stands on a red commit is checked on top of that, as it
    /// would land.
    pub(in crate::step) fn goes_on_unchecked(&mut self, id: JobId, base: &Sha) {
        let Some(JobState::Parked { goal, head }) = self.job(id).map(|j| j.state.clone()) else { return };
        let branch = self.lands_on(id);
        let text = queue::base_fixed(&branch, base, &head);
        self.note_job(NoteKind::QueueState, id, text);
        self.is_unchecked(id, &head);
        let message = agents::ci_left_to_the_merge_on(&head, &branch, base);
        self.passed(id, goal, head, &message);
    }

    fn lands_on(&self, id: JobId) -> String {
        self.job(id).map(|j| j.queue().branch_in_words()).unwrap_or_default()
    }

    pub(super) fn parked_due(&mut self, id: JobId, state: JobState) {
        let branch = self.lands_on(id);
        self.escalate_job(id, &queue::still_waits_for_base(&branch));
        self.enter(id, state, PARKED_WITHIN);
    }
}
