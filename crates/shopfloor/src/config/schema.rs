//! JSON schemas of the configuration files, for editors and for `shopfloor config schema`.

use super::formula::Formula;
use super::{FloorConfig, ProjectConfig};

/// The schema of `shopfloor.toml`.
pub fn project() -> String {
    pretty(&schemars::schema_for!(ProjectConfig))
}

/// The schema of `floor.toml`.
pub fn floor() -> String {
    pretty(&schemars::schema_for!(FloorConfig))
}

/// The schema of a formula.
pub fn formula() -> String {
    pretty(&schemars::schema_for!(Formula))
}

fn pretty(schema: &schemars::Schema) -> String {
    serde_json::to_string_pretty(schema).expect("a schema is plain JSON")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    #[test]
    fn the_schema_knows_every_key_and_allows_no_other() {
        let schema: Value = serde_json::from_str(&super::project()).unwrap();
        assert_eq!(schema["title"], "shopfloor.toml");
        assert_eq!(schema["additionalProperties"], false);
        let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "agents",
                "ci",
                "forge",
                "groom",
                "health",
                "limits",
                "merge",
                "project",
                "rescue",
                "review",
                "roles",
                "schedules",
                "secrets",
                "sessions",
                "steps",
                "verify",
                "worktree"
            ]
        );
        let limits = &schema["$defs"]["Limits"];
        assert_eq!(limits["additionalProperties"], false);
        assert_eq!(limits["properties"]["max_jobs"]["default"], 1);
        assert_eq!(limits["properties"]["idle"]["default"], "2h");
        assert_eq!(
            limits["properties"]["ci_fixes"]["description"],
            "Times an agent is asked to repair failing checks of one issue."
        );
        assert_eq!(schema["$defs"]["Project"]["required"], serde_json::json!(["name"]));
        let method = &schema["$defs"]["Merge"]["properties"]["method"];
        assert_eq!(method["enum"], serde_json::json!(["squash", "merge", "rebase"]));

        let floor: Value = serde_json::from_str(&super::floor()).unwrap();
        assert_eq!(floor["title"], "floor.toml");
        assert!(floor["$defs"]["Agent"].is_object());
    }
}
