//! `[vault]` of `floor.toml`: what people and agents may ask to have done that is dangerous or cannot be undone. No
//! repository says any of it.

use super::FloorConfig;
use super::check::{deadline, env_names};
use super::duration::Span;
use super::error::ConfigError;
use super::load::{choose, kind};
use super::runnable::{Becomes, becomes};
use super::source::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::ids::RequestType;
use shopfloor_core::schema::{DEPTH_MAX, Schema};
use shopfloor_core::vault::{Risk, Spec, field, is_unfillable};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// What can be asked of the vault.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Vault {
    /// The types of requests, by their names, which are what `shopfloor vault request` is given.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, VaultType>")]
    pub types: BTreeMap<RequestType, VaultType>,
}

/// A type of requests to the vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VaultType {
    /// The program and its arguments, without a shell. An argument that is `{payload.NAME}` and nothing else is replaced
    /// by that value of the payload; the whole payload is the program's standard input.
    pub run: Vec<String>,
    /// How much harm it can do: "low" is carried out at once, "medium" too if it can be undone (people are told), and
    /// everything else waits for a person.
    #[schemars(with = "String", extend("enum" = ["low", "medium", "high"]))]
    pub risk: Risk,
    /// Whether it can be undone.
    pub reversible: bool,
    /// It waits for a person, whatever its risk.
    #[serde(default)]
    pub requires_human: bool,
    /// Doing it twice does no more than doing it once: what a crash cut short is done again without asking.
    #[serde(default)]
    pub idempotent: bool,
    /// Names of environment variables of yours that it gets, and nothing else does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// How long it may take.
    #[serde(default = "ten_minutes")]
    pub timeout: Span,
    /// The folder that it runs in; an absolute path. Without it: the project's checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What a payload has to look like, in JSON Schema: `type`, `enum`, `properties`, `required`,
    /// `additionalProperties`, `items`, `minItems`, `maxItems`, `minLength`, `maxLength`, `minimum`, `maximum`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, serde_json::Value>>")]
    pub schema: Option<Schema>,
}

fn ten_minutes() -> Span {
    Span::mins(10)
}

impl VaultType {
    pub fn spec(&self) -> Spec {
        Spec {
            run: self.run.clone(),
            risk: self.risk,
            reversible: self.reversible,
            requires_human: self.requires_human,
            idempotent: self.idempotent,
            secrets: self.secrets.clone(),
            timeout: self.timeout.0,
            cwd: self.cwd.clone(),
            schema: self.schema.clone(),
        }
    }
}

impl FloorConfig {
    /// How a type is declared; `None`: it is not.
    pub fn vault_spec(&self, of: &RequestType) -> Option<Spec> {
        self.vault.types.get(of).map(VaultType::spec)
    }

    /// What there is instead of a type that there is not; `None`: nothing at all.
    pub fn vault_types_like(&self, of: &RequestType) -> Option<String> {
        let names: Vec<&str> = self.vault.types.keys().map(RequestType::as_str).collect();
        (!names.is_empty()).then(|| choose(of.as_str(), &names, "types"))
    }

    /// The variables that the vault's types get.
    pub fn vault_secrets(&self) -> BTreeSet<String> {
        self.vault.types.values().flat_map(|declared| &declared.secrets).cloned().collect()
    }
}

/// Serde takes an array for a struct, and an empty one would be a schema that anything fits.
pub(super) fn shapes(source: &Source<'_>) -> Result<(), ConfigError> {
    fn table<'t, 'a>(of: &'t DeTable<'a>, name: &str) -> Option<&'t DeTable<'a>> {
        of.get(name)?.get_ref().as_table()
    }
    let vault = table(source.tree().get_ref(), "vault");
    let Some(types) = vault.and_then(|vault| table(vault, "types")) else { return Ok(()) };
    for (name, declared) in types {
        let DeValue::Table(table) = declared.get_ref() else {
            let found = kind(declared.get_ref());
            let what = format!("`{}` in [vault.types]: expected a table, found {found}", name.get_ref());
            return Err(source.at(name.span(), what));
        };
        if let Some((key, schema)) = table.get_key_value("schema") {
            is_schema(source, key.span(), schema.get_ref())?;
        }
    }
    Ok(())
}

fn is_schema(
    source: &Source<'_>,
    range: std::ops::Range<usize>,
    value: &DeValue<'_>,
) -> Result<(), ConfigError> {
    let DeValue::Table(table) = value else {
        return Err(source.at(range, format!("a schema: expected a table, found {}", kind(value))));
    };
    if let Some((key, items)) = table.get_key_value("items") {
        is_schema(source, key.span(), items.get_ref())?;
    }
    let properties = table.get("properties").and_then(|properties| properties.get_ref().as_table());
    properties
        .into_iter()
        .flatten()
        .try_for_each(|(name, inner)| is_schema(source, name.span(), inner.get_ref()))
}

pub(super) fn check(source: &Source<'_>, config: &FloorConfig) -> Result<(), ConfigError> {
    config.vault.types.iter().try_for_each(|(name, declared)| of_type(source, name.as_str(), declared))?;
    let secrets = config.vault_secrets();
    for (project, grants) in &config.grants {
        if let Some(index) = grants.pass_env.iter().position(|name| secrets.contains(name)) {
            let what =
                format!("{:?} is a secret of the vault, and granted to {project}", grants.pass_env[index]);
            return Err(source
                .at_key(&["grants", project.as_str(), "pass_env", &index.to_string()], what)
                .hint("what agents have needs no vault: remove it from one of the two"));
        }
    }
    Ok(())
}

fn of_type(source: &Source<'_>, name: &str, declared: &VaultType) -> Result<(), ConfigError> {
    let path = ["vault", "types", name];
    let table = path.join(".");
    let at = |key: &str, why: String| source.at_key(&[&path[..], &[key]].concat(), why);
    let program = declared.run.first().map_or("", String::as_str);
    if program.trim().is_empty() {
        return Err(at("run", format!("`run` in [{table}] names no program"))
            .hint("write a program and its arguments: run = [\"deploy\", \"{payload.version}\"]"));
    }
    let words: Vec<&str> = declared.run.iter().map(String::as_str).collect();
    if let Some(what) = becomes(&words, |word| field(word).is_some()) {
        let (index, what) = match what {
            Becomes::Program(index) => (index, "takes the program from the payload"),
            Becomes::Code(index) => (index, "has an interpreter run what a payload says"),
        };
        let index = index.to_string();
        return Err(source
            .at_key(&[&path[..], &["run", &index]].concat(), format!("`run` in [{table}] {what}"))
            .hint("whoever asks says what it is done with, and not what is done"));
    }
    // What is in the checkout changes with what lands, and that is others' work.
    if program.contains('/') && !Path::new(program).is_absolute() {
        return Err(at("run", format!("`run` in [{table}] names a program by a part of its path"))
            .hint("write the whole path: what is in a checkout changes with what lands there"));
    }
    for (index, argument) in declared.run.iter().enumerate() {
        let index = index.to_string();
        let at = |why: &str| {
            source
                .at_key(&[&path[..], &["run", &index]].concat(), format!("{argument:?} in [{table}]: {why}"))
        };
        if argument.contains('\0') {
            return Err(at("it holds a NUL character"));
        }
        if is_unfillable(argument) {
            return Err(at("only a whole argument is taken from the payload").hint(
                "write \"{payload.NAME}\" as an argument of its own, such as [\"deploy\", \"--version\", \"{payload.version}\"]",
            ));
        }
        let Some(fields) = field(argument) else { continue };
        if !declared.schema.as_ref().is_some_and(|schema| schema.ensures(&fields)) {
            return Err(at("no payload has to have that").hint(
                "require it: schema = { type = \"object\", required = [\"version\"], properties = { version = { type = \"string\" } } }",
            ));
        }
    }
    if declared.schema.as_ref().is_some_and(|schema| schema.depth() > DEPTH_MAX) {
        return Err(at("schema", format!("`schema` in [{table}] is deeper than {DEPTH_MAX}")));
    }
    if declared.cwd.as_ref().is_some_and(|folder| !Path::new(folder).is_absolute()) {
        return Err(at("cwd", format!("`cwd` in [{table}] must be an absolute path"))
            .hint("leave it out to run it in the project's checkout"));
    }
    env_names(source, &[&path[..], &["secrets"]].concat(), &declared.secrets)?;
    deadline(source, &[&path[..], &["timeout"]].concat(), declared.timeout)
}
