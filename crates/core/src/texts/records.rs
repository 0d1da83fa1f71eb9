//! What a work record says, and what a successor reads there.

use crate::ids::{Assignment, Sha};
use crate::phase::Phase;
use crate::state::{SeenReview, WorkPhase, WorkRecord};
use crate::text::one_line;

pub fn begun(assignment: Assignment, title: &str) -> String {
    format!("{assignment}: {}", one_line(title, 120))
}

pub fn signalled(assignment: Assignment, phase: Phase, detail: &str) -> String {
    format!("{assignment}, {phase}: {detail}")
}

pub fn tests_not_run() -> &'static str {
    "not run"
}

pub fn tests_failed_in_queue(reason: &str) -> String {
    format!("failed on top of the primary branch: {}", one_line(reason, 200))
}

/// How to continue. How it begins stays: successors and other tools look for that.
pub fn instructions(record: &WorkRecord) -> String {
    let next = match record.work_phase {
        WorkPhase::Investigation => "read the issue and the code it is about",
        WorkPhase::Planning => "make the plan and begin",
        WorkPhase::Implementation => "continue with what is in the worktree",
        WorkPhase::Testing => "wait for the checks, or fix what they object to",
        WorkPhase::Completion => "wait for the review and the merge queue",
        WorkPhase::Merged => "there is nothing left to do",
    };
    let next = match &record.rework {
        Some(rework) => format!("{} ({})", rework.next, rework.after),
        None => next.to_owned(),
    };
    let resume = resume(&record.work_phase.to_string(), &record.work_summary);
    format!("{resume}. Next: {next}. Tests: {}.", record.tests_status)
}

/// The line by which work is taken up again.
pub fn resume(phase: &str, last: &str) -> String {
    format!("Resume from phase: {phase}, last working on: {last}")
}

// ---- what to do about rework ---------------------------------------------------------------------

pub fn resolve_conflict(with: &Sha, files: &[String]) -> String {
    format!("merge {} into the branch and resolve {}", with.short(), files.join(", "))
}

pub fn fix_on_primary(reason: &str) -> String {
    format!("merge the primary branch in and fix what fails on top of it: {reason}")
}

pub fn address_review(review: &SeenReview) -> String {
    format!("address the review of {} by {}", review.head.short(), review.author)
}

/// In the journal, when a record changes.
pub fn changed(record: &WorkRecord) -> String {
    format!("{}: {}, tests {}", record.agent, record.work_phase, record.tests_status)
}
