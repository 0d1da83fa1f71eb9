//! Formulas: recipes of steps in TOML, in `.shopfloor/formulas` of a repository, or built in. Here is their structure;
//! [`check`] says what is wrong with one, [`fill`] makes a recipe of one and its variables, [`library`] finds them.
//!
//! A formula runs commands and tells agents what to do, so a repository's count as they were accepted, like the rest
//! of its configuration.

mod check;
mod fill;
mod library;
#[cfg(test)]
mod tests;
mod vars;
mod verifiers;
mod wanted;

use check::check;
pub use fill::{Place, fill};
pub use library::{Found, Library};
pub use vars::{Var, VarKind};
pub use wanted::Wanted;

use super::ProjectConfig;
use super::duration::Span;
use super::error::ConfigError;
use super::hand::Scalar;
use super::load::{self, choose, text};
use super::source::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::ids::{FormulaName, Role, StepId};
use shopfloor_core::recipe::AnswerKind;
use std::collections::BTreeMap;
use std::path::Path;

/// Where a project's own formulas are, below its root.
pub const FORMULAS: &str = ".shopfloor/formulas";

/// A formula: what is done in a run, step by step. Texts, arguments and patterns may hold `{{ variables }}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "a formula")]
pub struct Formula {
    /// Its name: 1 to 40 of a-z, 0-9, '-' and '_', beginning with a letter. Without it that of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub name: Option<FormulaName>,
    /// What a run of it brings about, in a line.
    #[serde(default)]
    pub description: String,
    /// Whatever tells its versions apart, for people.
    #[serde(default = "first")]
    pub version: Scalar,
    /// Who carries out the steps that are not commands: a role of `[agents]`.
    #[serde(default = "Role::dev")]
    #[schemars(with = "String")]
    pub role: Role,
    /// The model for it, instead of the role's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long a run may take until its steps are over.
    #[serde(default = "lifetime")]
    pub timeout: Span,
    /// What is filled in when it is run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vars: BTreeMap<String, Var>,
    #[serde(default)]
    pub context: FormulaContext,
    #[serde(default)]
    pub limits: FormulaLimits,
    pub steps: Vec<FormulaStep>,
}

fn first() -> Scalar {
    Scalar::Number(1)
}

fn lifetime() -> Span {
    Span::mins(8 * 60)
}

/// What the agent is shown besides its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FormulaContext {
    /// Files of the repository, by path or pattern: "AGENTS.md", "docs/**/*.md".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Programs with their arguments, run in the worktree when a session begins; what they print is shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Vec<String>>,
}

/// Limits of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FormulaLimits {
    /// How long its agent may show no sign of life; without it as long as any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Span>,
}

/// One step: a command of the factory's if it has `run`, else the agent's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FormulaStep {
    /// Its name: 1 to 40 of a-z, 0-9, '-' and '_', beginning with a letter.
    #[schemars(with = "String")]
    pub id: StepId,
    #[serde(default)]
    pub title: String,
    /// Steps that have to be over before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub needs: Vec<StepId>,
    /// What the agent is to do, or what the command is for.
    #[serde(default)]
    pub description: String,
    /// A condition on the variables, such as `full and area != ""`. If it does not hold, the step is passed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// A program and its arguments, run in the run's worktree without a shell. Exit code 0: continue; 78: there is
    /// nothing to do, and the run is over; any other: the run has failed. What it prints is shown to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<String>>,
    /// How long the command may take; 10m without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// For a step of the agent's: the verifier, one of `[verify]`, that looks whether it is really done. {key} in it
    /// is `run-` and the run's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    /// For a step of the agent's: what it leaves as its answer, which the factory reads when the agent says that the step
    /// is done. "groom": what is to become of issues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "answers")]
    pub answer: Option<AnswerKind>,
}

fn answers(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["string", "null"], "enum": ["groom", null] })
}

impl Formula {
    /// Reads a formula from its text and checks it. `file` is how errors name it, and names the formula.
    pub fn parse(file: &Path, bytes: &[u8]) -> Result<Formula, ConfigError> {
        let source = Source::parse(file, text(file, bytes)?)?;
        check::shapes(&source)?;
        let formula: Formula = load::deserialize(&source)?;
        check(&source, &formula, file)?;
        Ok(formula)
    }

    pub fn has_agent_steps(&self) -> bool {
        self.steps.iter().any(|step| step.run.is_none())
    }

    /// What a project's configuration lacks of what the formula names.
    pub fn lacks(&self, config: &ProjectConfig) -> Vec<Lack> {
        let mut lacks = Vec::new();
        if self.has_agent_steps() && config.agent(self.role).is_none() {
            let roles: Vec<String> =
                config.agents.keys().filter(|role| !role.reviews()).map(ToString::to_string).collect();
            let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
            lacks.push(Lack {
                path: vec!["role".to_owned()],
                message: format!("there is no [agents.{}], which carries out its steps", self.role),
                hint: choose(self.role.as_str(), &roles, "roles"),
            });
        }
        let known: Vec<&str> = config.verify.keys().map(String::as_str).collect();
        for (at, step) in self.steps.iter().enumerate() {
            let Some(verifier) = step.verify.as_ref().filter(|name| config.verifier(name).is_none()) else {
                continue;
            };
            lacks.push(Lack {
                path: vec!["steps".to_owned(), at.to_string(), "verify".to_owned()],
                message: format!("there is no [verify.{verifier}], which step `{}` names", step.id),
                hint: match known.is_empty() {
                    true => format!("add a table [verify.{verifier}] to shopfloor.toml"),
                    false => choose(verifier, &known, "verifiers"),
                },
            });
        }
        lacks
    }

    /// The same, each at its place in the formula's text.
    pub fn lacking(&self, file: &Path, bytes: &[u8], config: &ProjectConfig) -> Vec<ConfigError> {
        let source = text(file, bytes).and_then(|text| Source::parse(file, text));
        let error = |lack: Lack| {
            let path: Vec<&str> = lack.path.iter().map(String::as_str).collect();
            let error = match &source {
                Ok(source) => source.at_value(&path, lack.message),
                Err(_) => ConfigError::whole_file(file, lack.message),
            };
            error.hint(lack.hint)
        };
        self.lacks(config).into_iter().map(error).collect()
    }
}

/// Something that a formula names, and a project's configuration has not.
pub struct Lack {
    /// Where the formula names it.
    path: Vec<String>,
    pub message: String,
    pub hint: String,
}
