//! What one of something costs, beside what it would cost at least.

pub mod clients;
pub mod issue;
pub mod schedules;
pub mod starts;
pub mod together;
