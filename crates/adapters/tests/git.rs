//! The git adapter on real git: every story is told with each git program found on PATH.

#[path = "git/asked.rs"]
mod asked;
#[path = "git/bounds.rs"]
mod bounds;
#[path = "git/checkout.rs"]
mod checkout;
#[path = "git/conformance.rs"]
mod conformance;
#[path = "git/crash.rs"]
mod crash;
#[path = "git/diff.rs"]
mod diff;
#[path = "git/floor.rs"]
mod floor;
#[path = "git/hazards.rs"]
mod hazards;
#[path = "git/http.rs"]
mod http;
#[path = "git/hub.rs"]
mod hub;
#[path = "git/jailed.rs"]
mod jailed;
#[path = "git/joining.rs"]
mod joining;
#[path = "git/merger.rs"]
mod merger;
#[path = "git/origin.rs"]
mod origin;
#[path = "git/ours.rs"]
mod ours;
#[path = "git/own.rs"]
mod own;
#[path = "git/planted.rs"]
mod planted;
#[path = "git/prune.rs"]
mod prune;
#[path = "git/publish.rs"]
mod publish;
#[path = "git/repos.rs"]
mod repos;
#[path = "git/rescue.rs"]
mod rescue;
#[path = "git/restore.rs"]
mod restore;
#[path = "git/setup.rs"]
mod setup;
#[path = "git/upkeep.rs"]
mod upkeep;
#[path = "git/workspace.rs"]
mod workspace;
