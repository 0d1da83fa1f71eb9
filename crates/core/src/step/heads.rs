//! The head of a job, and whether it is fit to be reviewed and queued. The same rule as for what would land: nothing
//! is called red that was red only once, and nobody is blamed for a primary branch that fails itself (`blame.rs`).
//!
//! Whether a head is checked by itself at all, the project says. Whatever is not, its trial tells: nothing lands that
//! did not pass as it lands.

use super::Turn;
use super::checks::{describe, passed_message};
use crate::effect::{CiReport, CiVerdict};
use crate::event::NoteKind;
use crate::ids::{JobId, Sha};
use crate::policy::{HeadChecks, Policy};
use crate::state::{EntryState, Goal, JobState, Parked, RedHead};
use std::time::Duration;

/// Runs of the checks on a head before it is called red, as with candidates.
pub(super) const HEAD_RUNS_MAX: u32 = 2;

/// A primary branch that is red for longer is told of again.
const PARKED_WITHIN: Duration = Duration::from_secs(6 * 3600);

/// How the message to the agent begins whose checks took too long.
const TIMED_OUT: &str = "CI timeout";

impl Turn<'_> {
    /// Whether a head is worth a run of its own: its trial tells as well, and of more at once.
    pub(super) fn is_head_checked(&self, policy: &Policy) -> bool {
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

    /// The branch is published with its pull request: what is next for its head.
    pub(super) fn head_shown(&mut self, id: JobId, goal: Goal, head: &Sha) {
        let policy = self.policy_of(id);
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if job.is_fit(head, &policy) {
            let unchecked = job.unchecked.as_ref() == Some(head);
            let message = if unchecked { unchecked_message(head) } else { passed_message(head) };
            if goal == Goal::Ci && job.session.is_some() {
                // It was told before: an agent that signals the same again and again is not at work.
                self.remind(id, &message, "the agent keeps asking for checks of a commit that needs none");
            } else {
                self.passed(id, goal, head.clone(), &message);
            }
            return;
        }
        // The reminders were for an agent that had nothing to show.
        job.reminders = 0;
        job.respawns = 0;
        // A project without any checks has to say so: their run does.
        if self.is_head_checked(&policy) || !policy.has_checks {
            self.check(id, goal, head.clone());
        } else {
            let text = format!("{} is not checked by itself: `heads` in [ci] says so", head.short());
            self.note_job(NoteKind::CiResult, id, text);
            self.is_unchecked(id, head);
            self.passed(id, goal, head.clone(), &unchecked_message(head));
        }
    }

    fn is_unchecked(&mut self, id: JobId, head: &Sha) {
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.unchecked = Some(head.clone());
        }
    }

    /// A run of the head ended red; whether it is run once more before anything is concluded.
    pub(super) fn is_run_again(&self, id: JobId, head: &Sha, report: &CiReport) -> bool {
        // Where nothing was run, a second time tells no more.
        let ran = matches!(report.verdict, CiVerdict::Red | CiVerdict::TimedOut) && report.steps_run > 0;
        ran && self.reds(id, head) + 1 < HEAD_RUNS_MAX
    }

    /// Red runs of the head so far.
    fn reds(&self, id: JobId, head: &Sha) -> u32 {
        let red = self.job(id).and_then(|j| j.red.as_ref()).filter(|red| red.head == *head);
        red.map_or(0, |red| red.runs)
    }

    pub(super) fn head_is_green(&mut self, id: JobId, head: &Sha) {
        let reds = self.reds(id, head);
        if reds > 0 {
            let text = format!("{} was red {reds} times and did not stay so", head.short());
            self.note_job(NoteKind::CiFlake, id, text);
        }
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.red = None;
        }
    }

    pub(super) fn head_is_red(&mut self, id: JobId, goal: Goal, head: &Sha, report: &CiReport) {
        let again = self.is_run_again(id, head, report);
        let runs = self.reds(id, head) + 1;
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.red = Some(RedHead { head: head.clone(), runs });
        if again {
            self.check(id, goal, head.clone());
            return;
        }
        let (queue, base) = (job.queue(), job.base.clone());
        let on = base.or_else(|| self.queue_of(&queue).plan.base().cloned());
        let (reason, message) = (describe(report), ci_message(report, head, runs));
        let parked = match on.filter(|_| report.steps_run > 0) {
            Some(on) => self.park_job(id, &on, &reason, &message),
            None => false,
        };
        if parked {
            self.enter(id, JobState::Parked { goal, head: head.clone() }, PARKED_WITHIN);
            // Where nobody knows of the primary branch, it is looked for; the plan then looks at who is parked.
            self.find_primary(&queue);
            self.look_at_parked(&queue);
        } else {
            self.head_failed(id, &reason, &message);
        }
    }

    /// It is the job's own fault: its agent is told.
    pub(super) fn head_failed(&mut self, id: JobId, reason: &str, message: &str) {
        let max = self.policy_of(id).ci_fixes_max;
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.ci_fixes += 1;
        if job.ci_fixes > max {
            self.block(id, &format!("CI failed {} times: {reason}", max + 1));
            return;
        }
        if message.starts_with(TIMED_OUT)
            && let Some(head) = job.head.clone()
        {
            let text = format!("the checks of {} timed out: {reason}", head.short());
            self.escalate_on_record(id, "ci_timeout", head.short(), &text);
        }
        self.tell(id, message);
    }

    /// The commit of the primary branch that the head stands on is red. Nobody is blamed; but the agent may be there
    /// to mend just that.
    pub(super) fn tell_why_it_waits(&mut self, id: JobId, parked: &Parked) {
        let Some(JobState::Parked { head, .. }) = self.job(id).map(|j| j.state.clone()) else { return };
        let branch = self.lands_on(id);
        let on = parked.on.as_ref().map_or_else(String::new, |on| format!(" ({on})"));
        let text = format!(
            "{} is red, and so is what it stands on of {branch}{on}: it waits until that is mended",
            head.short()
        );
        self.note_job(NoteKind::QueueState, id, text);
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if job.memo.waits_told.replace(head.clone()).as_ref() != Some(&head) {
            self.inform(id, &format!("CI waits\nCommit {head} failed the checks twice ({}), and so did the commit of {branch} it stands on{on}. That is held against nobody: wait until {branch} is mended, then it goes on by itself. Only if your issue is to mend it: go on, commit and signal awaiting_ci again.", parked.reason));
        }
    }

    /// The primary branch is green at `base`: what stands on a red one is checked on top of that, as it would land.
    pub(super) fn goes_on_unchecked(&mut self, id: JobId, base: &Sha) {
        let Some(JobState::Parked { goal, head }) = self.job(id).map(|j| j.state.clone()) else { return };
        let branch = self.lands_on(id);
        let text = format!("{branch} is mended at {}: {} goes on", base.short(), head.short());
        self.note_job(NoteKind::QueueState, id, text);
        self.is_unchecked(id, &head);
        let message = format!(
            "CI passed\nNot commit {head} by itself: it stands on a commit of {branch} that fails the checks, too. That is mended at {base}, and your change is checked on top of it as part of the merge; you are told if it fails there. Signal awaiting_review when it is ready to be reviewed."
        );
        self.passed(id, goal, head, &message);
    }

    fn lands_on(&self, id: JobId) -> String {
        self.job(id).map(|j| j.queue().branch_in_words()).unwrap_or_default()
    }

    pub(super) fn parked_due(&mut self, id: JobId, state: JobState) {
        let branch = self.lands_on(id);
        let text = format!(
            "it still waits for {branch}, on which it stands, to be mended or to be known to be green"
        );
        self.escalate_job(id, &text);
        self.enter(id, state, PARKED_WITHIN);
    }
}

fn unchecked_message(head: &Sha) -> String {
    format!(
        "CI passed\nNothing was run on commit {head} by itself: this project's checks run as part of the merge, on top of the primary branch, and you are told if they fail there. Signal awaiting_review when it is ready to be reviewed."
    )
}

fn ci_message(report: &CiReport, commit: &Sha, runs: u32) -> String {
    let first = if report.verdict == CiVerdict::TimedOut { TIMED_OUT } else { "CI failed" };
    let again = match runs {
        0 | 1 => String::new(),
        2 => ", and not only once: it was run a second time and failed again".to_owned(),
        n => format!(", as in each of {n} runs of this commit"),
    };
    format!(
        "{first}\nCommit {commit}: {}{again}. Fix it, commit and signal awaiting_ci again.\nThe whole log: {}\n\n{}",
        describe(report),
        report.log,
        report.excerpt
    )
}
