//! What a JSON value has to look like: the part of JSON Schema that a payload needs, and no more.
//!
//! Invariants:
//! - Every keyword means what the standard says. One that is not known here is an error where the schema is read, and
//!   is never passed over: what a schema seems to demand, it demands.
//! - Checking looks at each part of a value once.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Deeper schemas are not read.
pub const DEPTH_MAX: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    Null,
}

impl Type {
    fn covers(self, value: &Value) -> bool {
        match self {
            Type::Object => value.is_object(),
            Type::Array => value.is_array(),
            Type::String => value.is_string(),
            Type::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            Type::Number => value.is_number(),
            Type::Boolean => value.is_boolean(),
            Type::Null => value.is_null(),
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Type::Object => "an object",
            Type::Array => "an array",
            Type::String => "a string",
            Type::Integer => "a whole number",
            Type::Number => "a number",
            Type::Boolean => "true or false",
            Type::Null => "null",
        }
    }
}

/// A value that is one of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Choice {
    Boolean(bool),
    Integer(i64),
    String(String),
}

impl Choice {
    fn is(&self, value: &Value) -> bool {
        match self {
            Choice::Boolean(this) => value.as_bool() == Some(*this),
            Choice::Integer(this) => value.as_i64() == Some(*this),
            Choice::String(this) => value.as_str() == Some(this),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Boolean(this) => this.fmt(f),
            Choice::Integer(this) => this.fmt(f),
            Choice::String(this) => write!(f, "{this:?}"),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Schema {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<Type>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#enum: Option<Vec<Choice>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, Schema>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// As in the standard, others are allowed unless this is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_properties: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Schema>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// In characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<i64>,
}

/// What is wrong with a value, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// `payload`, `payload.a`, `payload.list[2]`.
    pub at: String,
    pub why: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at, self.why)
    }
}

impl Schema {
    pub fn depth(&self) -> usize {
        let inner = self.properties.values().chain(self.items.as_deref());
        1 + inner.map(Schema::depth).max().unwrap_or(0)
    }

    /// Whether whatever fits has a value at that path of properties.
    pub fn ensures(&self, path: &[&str]) -> bool {
        let [first, rest @ ..] = path else { return true };
        let inner =
            || rest.is_empty() || self.properties.get(*first).is_some_and(|inner| inner.ensures(rest));
        self.r#type == Some(Type::Object) && self.required.iter().any(|name| name == first) && inner()
    }

    /// The first thing that does not fit. `at`: what the value is called.
    pub fn check(&self, value: &Value, at: &str) -> Result<(), Misfit> {
        let misfit = |why: String| Err(Misfit { at: at.to_owned(), why });
        if let Some(wanted) = self.r#type.filter(|wanted| !wanted.covers(value)) {
            return misfit(format!("has to be {}", wanted.in_words()));
        }
        if let Some(choices) = self.r#enum.as_ref().filter(|all| !all.iter().any(|choice| choice.is(value))) {
            let all: Vec<String> = choices.iter().map(Choice::to_string).collect();
            return misfit(format!("has to be one of {}", all.join(", ")));
        }
        match value {
            Value::Object(members) => {
                if let Some(name) = self.required.iter().find(|name| !members.contains_key(*name)) {
                    return misfit(format!("lacks `{name}`"));
                }
                for (name, member) in members {
                    match self.properties.get(name) {
                        Some(inner) => inner.check(member, &format!("{at}.{name}"))?,
                        None if self.additional_properties == Some(false) => {
                            return misfit(format!("has `{name}`, which nothing asks for"));
                        }
                        None => {}
                    }
                }
                Ok(())
            }
            Value::Array(items) => {
                let count = items.len() as u64;
                if let Some(why) = out_of(count, self.min_items, self.max_items, "elements") {
                    return misfit(why);
                }
                let Some(inner) = &self.items else { return Ok(()) };
                items
                    .iter()
                    .enumerate()
                    .try_for_each(|(at_item, item)| inner.check(item, &format!("{at}[{at_item}]")))
            }
            Value::String(text) => {
                let count = text.chars().count() as u64;
                out_of(count, self.min_length, self.max_length, "characters").map_or(Ok(()), misfit)
            }
            Value::Number(number) => {
                let below = |limit: i64| match number.as_i64() {
                    Some(number) => number < limit,
                    None => number.as_f64().is_none_or(|number| number < limit as f64),
                };
                let above = |limit: i64| match number.as_i64() {
                    Some(number) => number > limit,
                    None => number.as_f64().is_none_or(|number| number > limit as f64),
                };
                if let Some(limit) = self.minimum.filter(|limit| below(*limit)) {
                    return misfit(format!("has to be at least {limit}"));
                }
                match self.maximum.filter(|limit| above(*limit)) {
                    Some(limit) => misfit(format!("has to be at most {limit}")),
                    None => Ok(()),
                }
            }
            Value::Bool(_) | Value::Null => Ok(()),
        }
    }
}

fn out_of(count: u64, min: Option<u64>, max: Option<u64>, what: &str) -> Option<String> {
    let few = min.filter(|min| count < *min).map(|min| format!("has to have at least {min} {what}"));
    few.or_else(|| max.filter(|max| count > *max).map(|max| format!("may have at most {max} {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema(value: Value) -> Schema {
        serde_json::from_value(value).expect("a schema")
    }

    fn said(of: &Schema, value: &Value) -> String {
        of.check(value, "payload").map_or_else(|misfit| misfit.to_string(), |()| "fits".into())
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let deploy = schema(json!({
            "type": "object",
            "required": ["version"],
            "additionalProperties": false,
            "properties": {
                "version": { "type": "string", "minLength": 1, "maxLength": 5 },
                "stage": { "enum": ["test", "live", 3, true] },
                "hosts": { "type": "array", "maxItems": 2, "items": { "type": "string" } },
                "count": { "type": "integer", "minimum": 1, "maximum": 9 },
                "share": { "type": "number", "minimum": 0, "maximum": 1 },
            },
        }));
        let all = json!({"version": "1.2", "stage": "test", "hosts": ["a"], "count": 9, "share": 0.5});
        assert_eq!(said(&deploy, &all), "fits");
        for (value, why) in [
            (json!([]), "payload has to be an object"),
            (json!({}), "payload lacks `version`"),
            (json!({"version": 1}), "payload.version has to be a string"),
            (json!({"version": ""}), "payload.version has to have at least 1 characters"),
            (json!({"version": "äöüäöü"}), "payload.version may have at most 5 characters"),
            (json!({"version": "1", "x": 1}), "payload has `x`, which nothing asks for"),
            (
                json!({"version": "1", "stage": "x"}),
                "payload.stage has to be one of \"test\", \"live\", 3, true",
            ),
            (json!({"version": "1", "hosts": ["a", "b", "c"]}), "payload.hosts may have at most 2 elements"),
            (json!({"version": "1", "hosts": ["a", 1]}), "payload.hosts[1] has to be a string"),
            (json!({"version": "1", "count": 0}), "payload.count has to be at least 1"),
            (json!({"version": "1", "count": 1.5}), "payload.count has to be a whole number"),
            (
                json!({"version": "1", "count": 18_446_744_073_709_551_615_u64}),
                "payload.count has to be at most 9",
            ),
            (json!({"version": "1", "share": 1.5}), "payload.share has to be at most 1"),
        ] {
            assert_eq!(said(&deploy, &value), why, "{value}");
        }
    }

    #[test]
    fn as_in_the_standard_what_is_not_mentioned_is_allowed() {
        let loose = schema(json!({ "properties": { "a": { "type": "string" } } }));
        for value in [json!({"b": 1}), json!(3), json!(null), json!({"a": "x"})] {
            assert_eq!(said(&loose, &value), "fits", "{value}");
        }
        assert_eq!(said(&loose, &json!({"a": 1})), "payload.a has to be a string");
    }

    #[test]
    fn a_keyword_that_is_not_known_is_not_passed_over() {
        for bad in [json!({"pattern": "^a"}), json!({"type": ["string", "null"]}), json!({"$ref": "#"})] {
            assert!(serde_json::from_value::<Schema>(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_schema_ensures_what_it_requires_all_the_way() {
        let nested = schema(json!({
            "type": "object", "required": ["a"],
            "properties": { "a": { "type": "object", "required": ["b"] }, "c": { "type": "string" } },
        }));
        for (path, expected) in
            [(&["a"][..], true), (&["a", "b"], true), (&["c"], false), (&["a", "x"], false)]
        {
            assert_eq!(nested.ensures(path), expected, "{path:?}");
        }
        assert!(!schema(json!({"required": ["a"]})).ensures(&["a"]), "an array would fit as well");
        assert_eq!(nested.depth(), 2);
    }
}
