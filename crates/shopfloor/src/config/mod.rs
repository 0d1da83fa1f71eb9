//! Configuration: `shopfloor.toml` of a repository and `floor.toml` of a floor.
//!
//! [`load`] reads a file and either gives a value that every later part can rely on, or one
//! [`ConfigError`] that shows the place and says what to write instead. Nothing in here reads the
//! environment or prints; [`secrets`] is handed a lookup.
//!
//! The keys are an interface: add, never rename.

mod agents;
mod case;
mod check;
mod ci;
mod duration;
mod error;
mod floor;
pub mod formula;
pub mod grants;
mod hand;
mod health;
mod isolation;
pub mod load;
mod merge;
mod model;
pub mod needs;
pub mod pinned;
mod policy;
mod ports;
mod retention;
mod roles;
mod runnable;
pub mod runtimes;
pub mod schedule;
pub mod schema;
pub mod secrets;
mod sessions;
mod settings;
pub mod show;
mod source;
pub mod switch;
pub mod template;
mod vault;

/// The file in a repository.
pub const FILE_NAME: &str = "shopfloor.toml";

pub use agents::*;
pub use case::{Case, JUDGE};
pub use ci::*;
pub use duration::Span;
pub use error::{ConfigError, Place};
pub use floor::*;
pub use grants::{Accept, Acceptance, Grants};
pub use hand::*;
pub use health::{Health, MachineHealth};
pub use isolation::{Isolation, IsolationLevel};
pub use merge::*;
pub use model::*;
pub use ports::PortRange;
pub use retention::{Keep, Retention};
pub use roles::{RoleRights, Roles};
pub use schedule::ScheduleConfig;
pub use sessions::ProjectSessions;
pub use vault::{Vault, VaultType};

#[cfg(test)]
mod tests;
