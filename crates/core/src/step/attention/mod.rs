//! Attention: what people are asked and told, and what they do by hand. Owns mutes.
//!
//! Others may ask it to put a question, and to report trouble or its end. Questions live in the job that asks,
//! troubles in their project: their owners keep them.
//!
//! Invariants:
//! - A question is answered once, by whoever is first: a person, or the clock with its default.
//! - Trouble ends nobody's job. It is shown while it lasts, and asked about once.
//! - What people do by hand counts: a job follows, and nobody's work is lost.

mod aside;
mod people;
mod question;
mod trouble;

pub(in crate::step) use question::{ANSWER_BYTES_MAX, QUESTION_BYTES_MAX, QUESTIONS_MAX, WITHIN_MIN, chosen};
pub(in crate::step) use trouble::waits_for;
pub use trouble::{READ_FORGE, is_wanted, read_lane};

/// The token required to change mutes.
pub struct Attention(());
