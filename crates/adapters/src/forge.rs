//! The forge port: where issues and pull requests live.

pub mod local;
