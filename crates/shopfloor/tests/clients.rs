//! Real agent clients in real tmux, against the scripted model: what we believe of their hooks,
//! screens and files, checked on the clients themselves.
//!
//! `cargo xtask test` fetches the clients and says where they are. Without that, each test here says
//! that it was skipped.

#[path = "clients/claude.rs"]
mod claude;
#[path = "clients/codex.rs"]
mod codex;
#[path = "clients/isolation.rs"]
mod isolation;
#[path = "clients/lab.rs"]
mod lab;
#[path = "clients/pane.rs"]
mod pane;
