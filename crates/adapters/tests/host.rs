//! The host, terminal and CI adapters on real processes, a real tmux and a real git. Nothing here
//! sleeps: tests wait for what they caused, with an upper bound.

#[path = "host/ci.rs"]
mod ci;
#[path = "host/ci_crash.rs"]
mod ci_crash;
#[path = "host/ci_each.rs"]
mod ci_each;
#[path = "host/ci_poison.rs"]
mod ci_poison;
#[path = "host/client_settings.rs"]
mod client_settings;
#[path = "host/conformance.rs"]
mod conformance;
#[path = "host/files.rs"]
mod files;
#[path = "host/notices.rs"]
mod notices;
#[path = "host/process.rs"]
mod process;
#[path = "host/spool.rs"]
mod spool;
#[path = "host/support.rs"]
mod support;
#[path = "host/tmux.rs"]
mod tmux;
#[path = "host/tmux_control.rs"]
mod tmux_control;
#[path = "host/tmux_typing.rs"]
mod tmux_typing;
#[path = "host/vault.rs"]
mod vault;
