//! The mirror: issues and pull requests as the forge shows them. Owns issues and pulls.
//!
//! Others may ask it to take in observations, label changes that we ordered, and what an agent or a review found
//! out. What follows for jobs and entries is for their owners to decide.
//!
//! Invariants:
//! - Anything older than what is known says nothing.
//! - While one of our label changes is under way, the labels are what we want them to be.

mod dependencies;
mod issues;
mod pulls;
mod said;

/// The token required to change issues and pull requests.
pub struct Mirror(());
