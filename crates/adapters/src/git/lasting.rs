//! Answers that never change, because the question names every object by its content: what a commit says,
//! where two commits part. They are kept for as long as the process runs, so that git is asked once.
//!
//! Only for questions whose objects are known to be there: an answer that is kept says nothing about whether
//! a repository still has them.

use super::call::{Call, Output};
use super::run::GitResult;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, PoisonError};

/// When there are more, all are forgotten.
const ANSWERS_MAX: usize = 4_096;
/// A longer answer is not kept.
const BYTES_MAX: usize = 8 * 1024;

#[derive(Debug, Default)]
pub(super) struct Lasting {
    answers: Mutex<HashMap<String, Output>>,
    /// Of this process alone: nobody else can tell what a mark was made of, or make another thing with the same.
    marks: RandomState,
}

impl Lasting {
    /// Stands in a question for what must not be written there.
    pub(super) fn mark(&self, of: &impl Hash) -> u64 {
        self.marks.hash_one(of)
    }

    /// The answer to that call, which ends with one of these codes.
    pub(super) fn ask(&self, question: String, call: Call, codes: &[i32]) -> GitResult<Output> {
        if let Some(known) = self.get(&question) {
            return Ok(known);
        }
        let output = call.ending(codes)?;
        self.put(question, &output);
        Ok(output)
    }

    pub(super) fn get(&self, question: &str) -> Option<Output> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(question).cloned()
    }

    pub(super) fn put(&self, question: String, answer: &Output) {
        if answer.stdout.len() > BYTES_MAX {
            return;
        }
        let mut all = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= ANSWERS_MAX {
            all.clear();
        }
        all.insert(question, answer.clone());
    }
}
