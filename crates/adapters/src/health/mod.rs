//! How the machine and a project's surroundings are, and the records of that. Nothing is started to find out, and nobody
//! is waited for long: files of the kernel's, files of the floor's, and a container daemon that runs already.

mod diary;
mod docker;
mod measure;

pub use diary::Diary;
pub use measure::{machine, measure};
