//! Views: what there is, as values. Texts for people are here, in one place, whoever shows them; text by
//! others is passed on as it was written, and neutralised by whoever shows it (the command line does; JSON
//! escapes it).

pub mod agent;
pub mod awaiting;
pub mod beside;
pub mod branch;
pub mod entry;
pub mod explanation;
pub mod finding;
pub mod formula_run;
pub mod health;
pub mod held;
pub mod issue;
pub mod job;
pub mod note;
pub mod prediction;
pub mod pull;
pub mod question;
pub mod queue;
pub mod run;
pub mod run_explanation;
pub mod schedule;
pub mod session;
pub mod stats;
pub mod status;
pub mod tidied;
pub mod timer;
pub mod trends;
pub mod tries;
pub mod trouble;
pub mod vault;
