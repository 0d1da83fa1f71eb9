//! The merge queue's planner in a virtual world: real answers to its orders, without git or checks.

mod cost;
mod properties;
#[path = "../../../sim/src/rng.rs"]
mod rng;
mod stories;
mod truth;
mod world;
