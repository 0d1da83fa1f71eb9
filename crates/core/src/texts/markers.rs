//! Marks of comments. A comment with a mark is written once, whatever happens in between: the spellings are stored, and
//! never change.

use crate::digest::Digest;
use crate::effect::EntryEnd;
use crate::ids::{ActId, EntryId, Epoch, JobId, QuestionId, Sha};

pub fn question(id: QuestionId) -> String {
    format!("question-{id}")
}

pub fn answer(id: QuestionId) -> String {
    format!("question-{id}-answer")
}

pub fn default_answer(id: QuestionId) -> String {
    format!("question-{id}-default")
}

pub fn act(id: ActId) -> String {
    format!("act-{id}")
}

/// Of an issue that an act makes beside others.
pub fn part(id: ActId, part: usize) -> String {
    format!("act-{id}-part-{part}")
}

pub fn undone(id: ActId) -> String {
    format!("act-{id}-undone")
}

/// One part of a question with several.
pub fn decided(id: QuestionId, part: usize) -> String {
    format!("question-{id}-{part}-answer")
}

pub fn job_end(job: JobId) -> String {
    format!("job-{job}-end")
}

pub fn no_review(job: JobId, head: &Sha) -> String {
    format!("no-review-{job}-{}", head.short())
}

pub fn review_failed(job: JobId, epoch: Epoch) -> String {
    format!("review-failed-{job}-{epoch}")
}

pub fn pull_review_failed(job: JobId) -> String {
    format!("review-failed-{job}")
}

pub fn objection(job: JobId, review: u64, head: &Sha) -> String {
    format!("objection-{job}-{review}-{}", head.short())
}

pub fn persons_word(job: JobId, head: &Sha) -> String {
    format!("persons-word-{job}-{}", head.short())
}

pub fn entry_end(entry: EntryId, end: EntryEnd) -> String {
    format!("merge-queue-entry-{entry}-{}", end.as_str())
}

/// The same for the same title, however often it is suggested.
pub fn follow_up(title: &str) -> String {
    format!("follow-up-{:016x}", Digest::new().field(title.as_bytes()).finish())
}

/// `key` says what the trouble is, and of which issues.
pub fn dependencies(key: &str) -> String {
    format!("dependencies-{key}")
}
