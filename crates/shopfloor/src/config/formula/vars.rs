//! A formula's variables: what they may be, and the values that a run is given.

use crate::config::hand::Scalar;
use crate::config::load::choose;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::text::neutralise;
use std::collections::BTreeMap;

/// What a value may be at most; it becomes part of prompts and command lines.
const VALUE_BYTES_MAX: usize = 16 * 1024;

/// A variable: `{{ name }}` stands for its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Var {
    #[serde(default, rename = "type")]
    pub kind: VarKind,
    /// Its value if a run is given none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Scalar>,
    /// Whether a run has to be given one.
    #[serde(default)]
    pub required: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VarKind {
    #[default]
    String,
    Integer,
    Boolean,
}

impl VarKind {
    pub fn in_words(self) -> &'static str {
        match self {
            VarKind::String => "a text",
            VarKind::Integer => "a whole number",
            VarKind::Boolean => "true or false",
        }
    }

    pub fn has(self, value: &Scalar) -> bool {
        matches!(
            (self, value),
            (VarKind::String, Scalar::Text(_))
                | (VarKind::Integer, Scalar::Number(_))
                | (VarKind::Boolean, Scalar::Truth(_))
        )
    }

    fn read(self, text: &str) -> Option<Scalar> {
        match self {
            VarKind::String => Some(Scalar::Text(text.to_owned())),
            VarKind::Integer => text.trim().parse().ok().map(Scalar::Number),
            VarKind::Boolean => text.trim().parse().ok().map(Scalar::Truth),
        }
    }
}

/// Every variable of a formula with its value.
pub type Values = BTreeMap<String, Scalar>;

/// Fills in what is given, and the defaults. What comes from outside has no character that steers a terminal or hides
/// another.
pub fn values(vars: &BTreeMap<String, Var>, given: &BTreeMap<String, String>) -> Result<Values, String> {
    let names: Vec<&str> = vars.keys().map(String::as_str).collect();
    if let Some(unknown) = given.keys().find(|name| !vars.contains_key(*name)) {
        return Err(match names.is_empty() {
            true => format!("it has no variable `{unknown}`; it has none at all"),
            false => format!("it has no variable `{unknown}`: {}", choose(unknown, &names, "names")),
        });
    }
    let value = |(name, var): (&String, &Var)| {
        let value = match given.get(name) {
            Some(text) if text.len() > VALUE_BYTES_MAX => {
                return Err(format!("the variable `{name}` has more than {VALUE_BYTES_MAX} bytes"));
            }
            Some(text) => (var.kind.read(&neutralise(text)))
                .ok_or_else(|| format!("the variable `{name}` is {}, not {text:?}", var.kind.in_words()))?,
            None if var.required => return Err(format!("the variable `{name}` is required")),
            None => var.default.clone().unwrap_or(Scalar::Text(String::new())),
        };
        match &value {
            Scalar::Text(text) if var.required && text.trim().is_empty() => {
                Err(format!("the variable `{name}` is required, and empty"))
            }
            _ => Ok((name.clone(), value)),
        }
    };
    vars.iter().map(value).collect()
}
