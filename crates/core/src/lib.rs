//! The pure core of the factory.
pub mod deps;
pub mod effect;
pub mod event;
pub mod ids;
pub mod phase;
pub mod policy;
pub mod text;
pub mod time;
