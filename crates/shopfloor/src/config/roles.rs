//! `[roles]`: what the agents of a role may have the factory do. How they are run is in `[agents]`.

use super::agents::check_name;
use super::error::ConfigError;
use super::source::Source;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use shopfloor_core::capability::{Capability, Rights};
use shopfloor_core::ids::Role;
use shopfloor_core::label::Label;
use shopfloor_core::text::one_line;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// By role.
pub type Roles = BTreeMap<Role, RoleRights>;

const LABEL_CHARS_MAX: usize = 50;
const COUNT_MAX: u32 = 1000;

/// What the agents of a role may have the factory do, beside looking at the project, doing the steps of their run and
/// commenting on their own issue, which all may. The factory refuses everything else, whatever a prompt says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleRights {
    /// "issue.create", "issue.comment" (on any issue), "issue.label", "issue.close", "issue.edit" (what it says),
    /// "vault.request", "question.ask". Without the line `dev` has "issue.create" and "question.ask", the built-in agents
    /// have what they are for, and other roles have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "words")]
    pub may: Option<Vec<Capability>>,
    /// The labels that it may put on issues and take off. One with "backlog" has work begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// How many issues it may add in one job or run, whichever of its sessions does.
    #[serde(default = "max_issues")]
    #[schemars(range(max = 1000))]
    pub max_issues: u32,
    /// How many comments, changes of labels and closed issues it may have in one job or run, all together.
    #[serde(default = "max_changes")]
    #[schemars(range(max = 1000))]
    pub max_changes: u32,
}

fn words(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<&str> = Capability::GRANTED.iter().filter_map(|capability| capability.word()).collect();
    json_schema!({ "type": "array", "items": { "type": "string", "enum": words } })
}

fn max_issues() -> u32 {
    Rights::of(Role::DEV).max_issues
}

fn max_changes() -> u32 {
    Rights::of(Role::DEV).max_changes
}

impl RoleRights {
    /// As the core decides with it.
    pub(super) fn rights(&self, role: Role) -> Rights {
        Rights {
            may: self.may.as_ref().map_or_else(|| Rights::of(role).may, |may| may.iter().copied().collect()),
            labels: self.labels.iter().cloned().collect(),
            max_issues: self.max_issues,
            max_changes: self.max_changes,
        }
    }
}

/// Checks what is said of roles. Their names first: of a mistyped one nothing else matters.
pub(super) fn check_names(source: &Source<'_>) -> Result<(), ConfigError> {
    let table = source.tree().get_ref().get("roles").and_then(|value| value.get_ref().as_table());
    for (name, value) in table.into_iter().flatten() {
        check_name(source, "roles", name.get_ref(), name.span())?;
        if !matches!(value.get_ref(), DeValue::Table(_)) {
            return Err(source.at(name.span(), format!("`{}` in [roles]: expected a table", name.get_ref())));
        }
    }
    Ok(())
}

pub(super) fn check(source: &Source<'_>, roles: &Roles) -> Result<(), ConfigError> {
    for (role, rights) in roles {
        for (at, label) in rights.labels.iter().enumerate() {
            let at = at.to_string();
            let wrong = |why: String| {
                source.at_key(&["roles", role.as_str(), "labels", &at], format!("the label {label:?} {why}"))
            };
            if label.is_empty() || one_line(label, LABEL_CHARS_MAX) != *label || label.contains(',') {
                return Err(wrong("cannot be one".to_owned())
                    .hint(format!("use 1 to {LABEL_CHARS_MAX} characters that can be seen, and no comma")));
            }
            let near = Label::ALL.iter().find(|known| known.as_str().eq_ignore_ascii_case(label));
            if let Some(known) = near.filter(|known| known.as_str() != label) {
                return Err(wrong(format!("differs from {:?} only in capitals", known.as_str()))
                    .hint(format!("did you mean {:?}? That one steers the factory", known.as_str())));
            }
        }
        for (key, value) in [("max_issues", rights.max_issues), ("max_changes", rights.max_changes)] {
            if value > COUNT_MAX {
                let text = format!("`{key}` in [roles.{role}] is {value}: it must be from 0 to {COUNT_MAX}");
                return Err(source.at_key(&["roles", role.as_str(), key], text));
            }
        }
    }
    Ok(())
}
