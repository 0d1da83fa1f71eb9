//! From a signal to a verdict: the branch is pushed, gets a pull request, and its exact head is checked.

use super::START_WITHIN;
use crate::effect::outcome;
use crate::effect::{Action, CiAbout, CiPurpose, CiReport, CiVerdict, CommitSource, StatusState};
use crate::event::NoteKind;
use crate::ids::{JobId, PrNumber, Role, RunId, Sha};
use crate::policy::Policy;
use crate::protected::of_a_planner;
use crate::state::{End, Goal, JobState, ProtectedFiles};
use crate::step::Turn;
use crate::texts::{agents, checks, reasons};
use crate::verdict::Green;
use std::time::Duration;

const INFRA_COOLDOWN_MAX: Duration = Duration::from_secs(3600);
/// Fixes are counted afresh after each green run; an agent that goes back and forth is stopped here.
const CI_RUNS_MAX: u32 = 40;
/// On top of the project's own limit, for checkout and clean-up.
const CHECKS_SLACK: Duration = Duration::from_secs(120);

impl Turn<'_> {
    /// `each_commit`: whether it makes the same change as another was asked commit by commit.
    /// `by`: the patterns by which its protected files were looked for.
    pub(in crate::step) fn branch_pushed(
        &mut self,
        id: JobId,
        each_commit: bool,
        by: &[String],
        branch: &outcome::Branch,
    ) {
        let outcome::Branch { head, ahead, dirty, note, same_as, base, protected } = branch;
        let Some(job) = self.floor.job_mut(id) else { return };
        let JobState::Pushing { goal } = job.state else { return };
        if goal == Goal::Nothing {
            self.nothing_to_do(id, *ahead, *dirty);
            return;
        }
        if goal == Goal::Land {
            if *ahead == 0 {
                return self.nothing_to_land(id, *dirty);
            }
            job.state = JobState::Pushing { goal: Goal::Review };
        }
        job.head = Some(head.clone());
        job.known.base.clone_from(base);
        job.known.makes_same_change(head, same_as, each_commit);
        let plans = job.role == Role::PLANNER && job.assignment.run().is_some();
        let files = if plans { of_a_planner(protected.clone()) } else { protected.clone() };
        let by = by.to_vec();
        job.known.protected = Some(ProtectedFiles { head: head.clone(), by, files });
        let branch = job.branch.clone();
        if let Some(note) = note {
            // The branch could not be pushed: the agent has to sort that out.
            self.record_unready(id);
            self.remind(id, &agents::branch_not_pushed(&branch, note), reasons::branch_not_pushed());
            return;
        }
        if *ahead == 0 {
            self.record_unready(id);
            self.remind(id, &agents::nothing_to_check(&branch, *dirty), reasons::branch_empty());
            return;
        }
        let Some(job) = self.job(id) else { return };
        let (project, assignment) = (job.project.clone(), job.assignment);
        let title = assignment.run().map(|_| job.title.clone());
        let action = Action::OpenPr { job: id, project, assignment, title, branch, head: head.clone() };
        self.act(action);
    }

    /// A run left nothing on its branch. What is not committed was perhaps meant to be.
    fn nothing_to_land(&mut self, id: JobId, dirty: u32) {
        let max = self.policy_of(id).reminders_max;
        let Some(job) = self.job(id) else { return };
        let branch = job.branch.clone();
        match job.session.is_some() && job.rounds.reminders < max {
            true if dirty > 0 => {
                self.remind(id, &agents::not_committed(&branch, dirty), &reasons::not_committed(dirty));
            }
            _ if dirty > 0 => self.finish(id, End::Done, &reasons::not_committed(dirty)),
            _ => self.finish(id, End::Done, ""),
        }
    }

    pub(in crate::step) fn pr_open(&mut self, id: JobId, head: &Sha, pr: PrNumber) {
        let Some(job) = self.floor.job_mut(id) else { return };
        job.pr = Some(pr);
        let JobState::Pushing { goal } = job.state else { return };
        if job.head.as_ref() != Some(head) {
            return;
        }
        job.rounds.ci_retries = 0;
        self.head_shown(id, goal, head);
    }

    /// Runs the checks on the exact head.
    pub(super) fn check(&mut self, id: JobId, goal: Goal, head: Sha) {
        let within = self.policy_of(id).ci_timeout + CHECKS_SLACK;
        let Some(job) = self.floor.job_mut(id) else { return };
        job.rounds.ci_runs += 1;
        if job.rounds.ci_runs > CI_RUNS_MAX {
            self.block(id, &reasons::checked_too_often(CI_RUNS_MAX));
            return;
        }
        let run = RunId(self.number(|c| &mut c.run));
        let Some(job) = self.job(id) else { return };
        let (project, issue) = (job.project.clone(), job.issue());
        let (branch, pr, stands_on, queue) =
            (job.branch.clone(), job.pr, job.known.base.clone(), job.queue());
        self.enter(id, JobState::Checking { goal, run, head: head.clone() }, within);
        self.act(Action::PostStatus {
            project: project.clone(),
            commit: head.clone(),
            run,
            state: StatusState::Pending,
            text: checks::running().into(),
        });
        // Whatever the result, it is compared with the primary branch.
        self.find_primary(&queue);
        let base = stands_on.or_else(|| self.floor.base_of(&queue));
        let about = CiAbout { base, branch: Some(branch), pr, target: queue.target, each: Vec::new() };
        self.act(Action::RunCi {
            job: Some(id),
            project,
            issue,
            run,
            commit: head,
            source: CommitSource::Hub,
            purpose: CiPurpose::Head,
            about,
        });
    }

    pub(in crate::step) fn checks_finished(
        &mut self,
        id: JobId,
        run: RunId,
        commit: &Sha,
        report: &CiReport,
    ) {
        let policy = self.policy_of(id);
        let Some(job) = self.job(id) else { return };
        let project = job.project.clone();
        let current = match &job.state {
            JobState::Checking { goal, run: expected, .. } if *expected == run => Some(*goal),
            _ => None,
        };
        let green = Green::judge(&policy, commit, run, report);
        let again = current.is_some() && self.is_run_again(id, commit, report);
        // Checks that are no longer the project's say nothing of the commit.
        let outdated = report.verdict == CiVerdict::Green && report.checks != policy.checks;
        let (state, text) = match (&green, report.verdict) {
            (None, _) if outdated => (StatusState::Error, checks::outdated().to_owned()),
            (Some(_), CiVerdict::Skipped) => (StatusState::Success, checks::describe(report)),
            (Some(_), _) => (StatusState::Success, checks::passed().to_owned()),
            (None, CiVerdict::Infra | CiVerdict::Cancelled) => {
                (StatusState::Error, checks::could_not_run().to_owned())
            }
            (None, _) if again => (StatusState::Failure, checks::runs_once_more(report)),
            (None, _) => (StatusState::Failure, checks::describe(report)),
        };
        if let (Some(green), Some(job)) = (&green, self.floor.job_mut(id)) {
            job.known.green = Some(green.clone());
            job.rounds.ci_fixes = 0;
            self.head_is_green(id, commit);
        }
        // A run that nothing is concluded from yet is not recorded, nor is one that is no longer waited for.
        if green.is_some() || (current.is_some() && !again) {
            self.record_checks(id, commit, report);
        }
        self.act(Action::PostStatus { project, commit: commit.clone(), run, state, text: text.clone() });
        self.note_job(NoteKind::CiResult, id, checks::run(run, commit.short(), &text));
        let Some(goal) = current else {
            self.stale(id, checks::run_not_waited_for(run));
            return;
        };
        if green.is_some() {
            self.passed(id, goal, commit.clone(), &agents::ci_passed(commit));
            return;
        }
        if matches!(report.verdict, CiVerdict::Infra | CiVerdict::Cancelled) || outdated {
            let Some(job) = self.floor.job_mut(id) else { return };
            job.rounds.ci_retries += 1;
            let retries = job.rounds.ci_retries;
            if retries > policy.infra_retries_max {
                let why = if outdated { checks::outdated().to_owned() } else { checks::describe(report) };
                self.block(id, &reasons::checks_cannot_run(&why));
            } else {
                // Not at once: what is down will not be up a moment later.
                let pause = cooldown(&policy, retries);
                self.enter(id, JobState::Retrying { goal, head: commit.clone() }, pause);
            }
            return;
        }
        if report.verdict == CiVerdict::Skipped {
            // The configuration has changed since then: what may no longer be skipped is run.
            self.check(id, goal, commit.clone());
            return;
        }
        if report.verdict == CiVerdict::NoChecks {
            self.block(id, reasons::no_checks());
            return;
        }
        self.head_is_red(id, goal, commit, report);
    }

    /// The head may proceed: to the agent, or straight on.
    pub(super) fn passed(&mut self, id: JobId, goal: Goal, head: Sha, message: &str) {
        let agent_there = self.job(id).is_some_and(|j| j.session.is_some());
        match goal {
            // The agent answers with awaiting_review. An agent that has left has said all it had to say.
            Goal::Ci if agent_there => {
                self.tell(id, message);
            }
            Goal::Ci | Goal::Review | Goal::Nothing | Goal::Land => self.await_review(id, head),
        }
    }

    /// The branch moved under a queued entry: look at it again.
    pub(in crate::step) fn republish(&mut self, id: JobId) {
        self.push(id, Goal::Review);
        self.wait_until(id, self.now + START_WITHIN);
    }
}

/// The pause before the nth retry of checks that could not run.
pub(in crate::step) fn cooldown(policy: &Policy, retries: u32) -> Duration {
    let pause = policy.infra_cooldown * 2u32.saturating_pow(retries - 1).min(1 << 16);
    pause.min(INFRA_COOLDOWN_MAX)
}
