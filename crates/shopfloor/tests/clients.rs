//! Real agent clients in real tmux, against the scripted model: what we believe of their hooks,
//! screens and files, checked on the clients themselves (`claude`, `codex`); and the whole factory
//! with them at work, end to end.
//!
//! `cargo xtask test` fetches the clients and says where they are. Without that, each test here says
//! that it was skipped.

#[path = "clients/boss.rs"]
mod boss;
#[path = "clients/claude.rs"]
mod claude;
#[expect(dead_code, reason = "the factory's tests use the rest of it")]
#[path = "factory/client.rs"]
mod client;
#[path = "clients/codex.rs"]
mod codex;
#[path = "clients/dialogs.rs"]
mod dialogs;
#[path = "clients/doctor.rs"]
mod doctor;
#[path = "clients/expansion.rs"]
mod expansion;
#[expect(dead_code, reason = "the factory's tests use the rest of it")]
#[path = "factory/floor.rs"]
mod floor;
#[path = "clients/good_way.rs"]
mod good_way;
#[path = "clients/hand.rs"]
mod hand;
#[path = "clients/home.rs"]
mod home;
#[path = "clients/isolation.rs"]
mod isolation;
#[path = "clients/lab.rs"]
mod lab;
#[path = "clients/pane.rs"]
mod pane;
#[path = "clients/people.rs"]
mod people;
#[path = "clients/plant.rs"]
mod plant;
#[path = "clients/reviewed.rs"]
mod reviewed;
#[path = "clients/staff.rs"]
mod staff;
#[path = "clients/trouble.rs"]
mod trouble;
#[path = "clients/waiting.rs"]
mod waiting;
