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
use std::collections::{BTreeMap, BTreeSet};
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
    /// "issue.create", "issue.comment" (on any issue), "issue.label", "issue.close", "vault.request", "question.ask".
    /// Without the line a role that the factory knows has what it is for, such as `dev` "issue.create" and "question.ask",
    /// and other roles have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "words")]
    pub may: Option<Vec<Capability>>,
    /// The labels that it may put on issues and take off. One with "backlog" or "action" has work begun. Without the line
    /// those of a role that the factory knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// Labels that every issue it adds has, whatever it asks for. Without the line `predictor` has
    /// "prediction/unreviewed", and other roles have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<Vec<String>>,
    /// It may close only issues with one of these labels, if it may close issues at all. Without the line `planner` may
    /// close predictions, and other roles any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes: Option<Vec<String>>,
    /// Whether what its runs change in the repository goes the way of any change. If not, it is kept on a rescue ref and
    /// goes no further. Without the line only `predictor` lands nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lands: Option<bool>,
    /// How many issues it may add, or have begun that are there, in one job or run, whichever of its sessions does.
    /// Without the line 10, and 5 for `predictor` and `planner`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000))]
    pub max_issues: Option<u32>,
    /// How many comments, changes of labels and closed issues it may have in one job or run, all together. Without the
    /// line 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000))]
    pub max_changes: Option<u32>,
}

fn words(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<&str> = Capability::GRANTED.iter().filter_map(|capability| capability.word()).collect();
    json_schema!({ "type": "array", "items": { "type": "string", "enum": words } })
}

impl RoleRights {
    /// As the core decides with it.
    pub(super) fn rights(&self, role: Role) -> Rights {
        let own = Rights::of(role);
        let words = |given: &Option<Vec<String>>, own: BTreeSet<String>| match given {
            Some(words) => words.iter().cloned().collect(),
            None => own,
        };
        Rights {
            may: self.may.as_ref().map_or(own.may, |may| may.iter().copied().collect()),
            labels: words(&self.labels, own.labels),
            always: words(&self.always, own.always),
            closes: words(&self.closes, own.closes),
            lands: self.lands.unwrap_or(own.lands),
            max_issues: self.max_issues.unwrap_or(own.max_issues),
            max_changes: self.max_changes.unwrap_or(own.max_changes),
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
        labels(source, role, "labels", rights.labels.as_deref().unwrap_or_default())?;
        labels(source, role, "always", rights.always.as_deref().unwrap_or_default())?;
        labels(source, role, "closes", rights.closes.as_deref().unwrap_or_default())?;
        for (key, value) in [("max_issues", rights.max_issues), ("max_changes", rights.max_changes)] {
            if let Some(value) = value.filter(|value| *value > COUNT_MAX) {
                let text = format!("`{key}` in [roles.{role}] is {value}: it must be from 0 to {COUNT_MAX}");
                return Err(source.at_key(&["roles", role.as_str(), key], text));
            }
        }
    }
    Ok(())
}

fn labels(source: &Source<'_>, role: &Role, key: &str, labels: &[String]) -> Result<(), ConfigError> {
    for (at, label) in labels.iter().enumerate() {
        let at = at.to_string();
        let wrong = |why: String| {
            source.at_key(&["roles", role.as_str(), key, &at], format!("the label {label:?} {why}"))
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
    Ok(())
}
