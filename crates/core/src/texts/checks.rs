//! What is said of a run of the checks: in statuses of commits, notes and reasons.

use crate::effect::{CiReport, CiVerdict};
use crate::ids::{RunId, Sha};
use crate::text::one_line;

/// A report in a line.
pub fn describe(report: &CiReport) -> String {
    let step = report.step.as_deref().unwrap_or("checks");
    let at =
        report.at.as_ref().map(|at| format!(" at an inner commit of the branch, {at}")).unwrap_or_default();
    match report.verdict {
        CiVerdict::Green => passed().into(),
        CiVerdict::Red => format!("step {step:?} failed{at}"),
        CiVerdict::TimedOut => format!("step {step:?} took too long{at}"),
        CiVerdict::Infra => format!("{step}: {}", one_line(&report.excerpt, 200)),
        CiVerdict::NoChecks => "no checks are configured".into(),
        CiVerdict::Cancelled => "the run was cancelled".into(),
        CiVerdict::Skipped => format!("checks skipped: {}", one_line(&report.excerpt, 200)),
    }
}

/// The same for a work record, which says on which commit.
pub fn on_record(report: &CiReport, commit: &Sha) -> String {
    let verdict = match report.verdict {
        CiVerdict::Green => "passed".to_owned(),
        CiVerdict::Red => format!("failed at {}", report.step.as_deref().unwrap_or("a step")),
        CiVerdict::TimedOut => "timed out".to_owned(),
        CiVerdict::Infra | CiVerdict::Cancelled => "could not be run".to_owned(),
        CiVerdict::NoChecks => "there are none".to_owned(),
        CiVerdict::Skipped => "not needed".to_owned(),
    };
    format!("{verdict} on {}", commit.short())
}

// ---- statuses ------------------------------------------------------------------------------------

pub fn running() -> &'static str {
    "checks run"
}

pub fn passed() -> &'static str {
    "checks passed"
}

pub fn passed_on_candidate() -> &'static str {
    "checks passed on the merge candidate"
}

pub fn could_not_run() -> &'static str {
    "the checks could not run"
}

pub fn failed() -> &'static str {
    "the checks failed"
}

pub fn outdated() -> &'static str {
    "the project's checks changed while they ran: they run again"
}

pub fn runs_once_more(report: &CiReport) -> String {
    format!("{}; it runs once more", describe(report))
}

// ---- notes ---------------------------------------------------------------------------------------

/// `on` is what was checked: a commit, a candidate, a branch.
pub fn run(run: RunId, on: &str, said: &str) -> String {
    format!("run {run} on {on}: {said}")
}

pub fn run_of_branch(id: RunId, branch: &str, head: &Sha, report: &CiReport) -> String {
    run(id, &format!("{branch} at {}", head.short()), &describe(report))
}

pub fn run_of_candidate(id: RunId, commit: &Sha, report: &CiReport) -> String {
    run(id, &format!("candidate {}", commit.short()), &describe(report))
}

pub fn run_not_waited_for(run: RunId) -> String {
    format!("run {run} is not the one waited for")
}

pub fn flaky(commit: &Sha, reds: u32) -> String {
    format!("{} was red {reds} times, then green", commit.short())
}

pub fn not_checked(head: &Sha) -> String {
    format!("{} is not checked by itself: `heads` in [ci] says so", head.short())
}

pub fn timed_out(head: &Sha, reason: &str) -> String {
    format!("the checks of {} timed out: {reason}", head.short())
}
