//! From a signal to a verdict: the branch is pushed, has a pull request, and its exact head is
//! checked.

use super::Turn;
use super::scheduler::START_WITHIN;
use crate::effect::{Action, CiAbout, CiPurpose, CiReport, CiVerdict, CommitSource, Outcome, StatusState};
use crate::event::NoteKind;
use crate::ids::{JobId, RunId, Sha};
use crate::policy::Policy;
use crate::state::{Goal, JobState};
use crate::verdict::Green;
use std::time::Duration;

const INFRA_COOLDOWN_MAX: Duration = Duration::from_secs(3600);
/// Fixes are counted anew after each green run; an agent that goes back and forth ends here.
const CI_RUNS_MAX: u32 = 40;
const OUTDATED: &str = "the project's checks were changed while they ran: they run again";
/// On top of the project's own limit, for checkout and clean-up.
const CHECKS_SLACK: Duration = Duration::from_secs(120);

impl Turn<'_> {
    /// `each_commit`: that it makes the same change as another was asked commit by commit.
    pub(super) fn branch_published(&mut self, id: JobId, each_commit: bool, outcome: &Outcome) {
        let Outcome::Branch { head, ahead, dirty, note, same_as, base } = outcome else { return };
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        let JobState::Publishing { goal } = job.state else { return };
        if goal == Goal::Nothing {
            self.nothing_to_do(id, *ahead, *dirty);
            return;
        }
        job.head = Some(head.clone());
        job.base.clone_from(base);
        job.makes_same_change(head, same_as, each_commit);
        let branch = job.branch.clone();
        if let Some(note) = note {
            // The branch could not be pushed: the agent has to sort that out.
            self.record_unready(id);
            self.remind(
                id,
                &format!(
                    "CI failed\nThe branch {branch} could not be pushed, so nothing was checked: {note}"
                ),
                "the agent's branch cannot be pushed",
            );
            return;
        }
        if *ahead == 0 {
            self.record_unready(id);
            let loose = match dirty {
                0 => String::new(),
                n => format!(" {n} changed files are not committed."),
            };
            self.remind(
                id,
                &format!("CI failed\nThe branch {branch} has no commits beyond the primary branch, so there is nothing to check.{loose} Commit your work and signal awaiting_ci again."),
                "the agent signals, but its branch is empty",
            );
            return;
        }
        let Some(job) = self.job(id) else { return };
        let action = Action::OpenPr {
            job: id,
            project: job.project.clone(),
            issue: job.issue,
            branch,
            head: head.clone(),
        };
        self.act(action);
    }

    pub(super) fn pr_open(&mut self, id: JobId, head: &Sha, outcome: &Outcome) {
        let Outcome::PrOpen { pr } = outcome else { return };
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.pr = Some(*pr);
        let JobState::Publishing { goal } = job.state else { return };
        if job.head.as_ref() != Some(head) {
            return;
        }
        job.ci_retries = 0;
        self.head_shown(id, goal, head);
    }

    /// Runs the checks on the exact head.
    pub(super) fn check(&mut self, id: JobId, goal: Goal, head: Sha) {
        let within = self.policy_of(id).ci_timeout + CHECKS_SLACK;
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.ci_runs += 1;
        if job.ci_runs > CI_RUNS_MAX {
            self.block(id, &format!("{CI_RUNS_MAX} runs of the checks did not bring it to an end"));
            return;
        }
        let run = RunId(self.number(|c| &mut c.run));
        let Some(job) = self.job(id) else { return };
        let (project, issue) = (job.project.clone(), job.issue);
        let (branch, pr, stands_on, queue) = (job.branch.clone(), job.pr, job.base.clone(), job.queue());
        self.enter(id, JobState::Checking { goal, run, head: head.clone() }, within);
        self.act(Action::PostStatus {
            project: project.clone(),
            commit: head.clone(),
            run,
            state: StatusState::Pending,
            text: "checks run".into(),
        });
        // Whatever comes of it is compared with the primary branch.
        self.find_primary(&queue);
        let base = stands_on.or_else(|| self.queue_of(&queue).plan.base().cloned());
        let about = CiAbout { base, branch: Some(branch), pr, target: queue.target, each: Vec::new() };
        self.act(Action::RunCi {
            job: Some(id),
            project,
            issue: Some(issue),
            run,
            commit: head,
            source: CommitSource::Hub,
            purpose: CiPurpose::Head,
            about,
        });
    }

    pub(super) fn checks_finished(&mut self, id: JobId, run: RunId, commit: &Sha, report: &CiReport) {
        let policy = self.policy_of(id);
        let Some(job) = self.job(id) else { return };
        let project = job.project.clone();
        let current = match &job.state {
            JobState::Checking { goal, run: expected, .. } if *expected == run => Some(*goal),
            _ => None,
        };
        let green = Green::judge(&policy, commit, run, report);
        let again = current.is_some() && self.is_run_again(id, commit, report);
        // Checks that are not the project's any more say nothing of the commit.
        let outdated = report.verdict == CiVerdict::Green && report.checks != policy.checks;
        let (state, text) = match (&green, report.verdict) {
            (None, _) if outdated => (StatusState::Error, OUTDATED.to_owned()),
            (Some(_), CiVerdict::Skipped) => (StatusState::Success, describe(report)),
            (Some(_), _) => (StatusState::Success, "checks passed".to_owned()),
            (None, CiVerdict::Infra | CiVerdict::Cancelled) => {
                (StatusState::Error, "the checks could not run".to_owned())
            }
            (None, _) if again => {
                (StatusState::Failure, format!("{}; it is run once more", describe(report)))
            }
            (None, _) => (StatusState::Failure, describe(report)),
        };
        if let (Some(green), Some(job)) = (&green, self.floor.jobs.edit(&id)) {
            job.green = Some(green.clone());
            job.ci_fixes = 0;
            self.head_is_green(id, commit);
        }
        // What is not concluded yet is nobody's to read, and what is not waited for any more is concluded from no more.
        if green.is_some() || (current.is_some() && !again) {
            self.record_checks(id, commit, report);
        }
        self.act(Action::PostStatus { project, commit: commit.clone(), run, state, text: text.clone() });
        self.note_job(NoteKind::CiResult, id, format!("run {run} on {}: {text}", commit.short()));
        let Some(goal) = current else {
            self.stale(id, format!("run {run} is not the one waited for"));
            return;
        };
        if green.is_some() {
            self.passed(id, goal, commit.clone(), &passed_message(commit));
            return;
        }
        if matches!(report.verdict, CiVerdict::Infra | CiVerdict::Cancelled) || outdated {
            let Some(job) = self.floor.jobs.edit(&id) else { return };
            job.ci_retries += 1;
            let retries = job.ci_retries;
            if retries > policy.infra_retries_max {
                let why = if outdated { OUTDATED.to_owned() } else { describe(report) };
                self.block(id, &format!("the checks cannot run: {why}"));
            } else {
                // Not at once: what is down is not up again a moment later.
                let pause = cooldown(&policy, retries);
                self.enter(id, JobState::Retrying { goal, head: commit.clone() }, pause);
            }
            return;
        }
        if report.verdict == CiVerdict::Skipped {
            // Its configuration has changed since: what may not be skipped any more is run.
            self.check(id, goal, commit.clone());
            return;
        }
        if report.verdict == CiVerdict::NoChecks {
            self.block(
                id,
                "the project has no checks configured: add [ci] steps to shopfloor.toml, or say no_checks = true",
            );
            return;
        }
        self.head_is_red(id, goal, commit, report);
    }

    /// The head is fit to go on: to the agent, or straight on.
    pub(super) fn passed(&mut self, id: JobId, goal: Goal, head: Sha, message: &str) {
        let agent_there = self.job(id).is_some_and(|j| j.session.is_some());
        match goal {
            // The agent answers with awaiting_review. One that left has said all it had to say.
            Goal::Ci if agent_there => {
                self.tell(id, message);
            }
            Goal::Ci | Goal::Review | Goal::Nothing => self.await_review(id, head),
        }
    }

    /// The branch moved under a queued entry: look at it again.
    pub(super) fn republish(&mut self, id: JobId) {
        self.publish(id, Goal::Review);
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.deadline = Some(self.now + START_WITHIN);
        }
    }
}

/// The pause before checks that could not run are tried again for the nth time.
pub(super) fn cooldown(policy: &Policy, retries: u32) -> Duration {
    let pause = policy.infra_cooldown * 2u32.saturating_pow(retries - 1).min(1 << 16);
    pause.min(INFRA_COOLDOWN_MAX)
}

/// A report in a line.
pub(super) fn describe(report: &CiReport) -> String {
    let step = report.step.as_deref().unwrap_or("checks");
    let at =
        report.at.as_ref().map(|at| format!(" at an inner commit of the branch, {at}")).unwrap_or_default();
    match report.verdict {
        CiVerdict::Green => "checks passed".into(),
        CiVerdict::Red => format!("step {step:?} failed{at}"),
        CiVerdict::TimedOut => format!("step {step:?} took too long{at}"),
        CiVerdict::Infra => format!("{step}: {}", crate::text::one_line(&report.excerpt, 200)),
        CiVerdict::NoChecks => "no checks are configured".into(),
        CiVerdict::Cancelled => "the run was cancelled".into(),
        CiVerdict::Skipped => format!("checks skipped: {}", crate::text::one_line(&report.excerpt, 200)),
    }
}

pub(super) fn passed_message(head: &Sha) -> String {
    format!("CI passed\nCommit {head} is green. Signal awaiting_review when it is ready to be reviewed.")
}
