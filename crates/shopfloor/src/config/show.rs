//! The effective configuration, defaults filled in. Secrets appear as the references they are in
//! the file; their values are not part of it.

use serde::Serialize;

/// A [`ProjectConfig`](super::ProjectConfig) or [`FloorConfig`](super::FloorConfig) as TOML that
/// loads again to the same value.
pub fn as_toml(config: &impl Serialize) -> String {
    toml::to_string_pretty(config).expect("a configuration came from TOML")
}

pub fn as_json(config: &impl Serialize) -> String {
    serde_json::to_string_pretty(config).expect("a configuration is plain data")
}
