//! The command line as users and scripts see it: the real program, in an environment of its own.

#[path = "cli/book.rs"]
mod book;
#[path = "cli/doctor.rs"]
mod doctor;
#[path = "cli/errors.rs"]
mod errors;
#[path = "cli/events.rs"]
mod events;
#[path = "cli/floor.rs"]
mod floor;
#[path = "cli/hand.rs"]
mod hand;
#[path = "cli/hooks.rs"]
mod hooks;
#[path = "cli/issues.rs"]
mod issues;
#[path = "cli/jobs.rs"]
mod jobs;
#[path = "cli/lessons.rs"]
mod lessons;
#[path = "cli/many.rs"]
mod many;
#[path = "cli/prompts.rs"]
mod prompts;
#[path = "cli/pulls.rs"]
mod pulls;
#[path = "cli/questions.rs"]
mod questions;
#[path = "cli/queue.rs"]
mod queue;
#[path = "cli/reference.rs"]
mod reference;
#[path = "cli/seams.rs"]
mod seams;
#[path = "cli/settings.rs"]
mod settings;
