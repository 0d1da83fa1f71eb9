//! Recipes: formulas with their variables filled in. A run carries one out, and keeps it: what becomes of the formula's
//! file meanwhile changes nothing.
//!
//! Invariant: a recipe without a [`Flaw`] has steps that can all be reached, in an order that its needs allow.

use crate::ids::{FormulaName, Role, StepId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// More than anybody reads.
pub const STEPS_MAX: usize = 64;

/// What a command ends with if there is nothing to do: the run is over, and nothing is wrong.
pub const NOTHING_TO_DO: i32 = 78;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    pub formula: FormulaName,
    /// As the formula has it, for people.
    #[serde(default)]
    pub version: String,
    #[serde(default)]
    pub description: String,
    /// Who carries out the steps that are not commands.
    pub role: Role,
    /// The model for it, instead of the role's own.
    #[serde(default)]
    pub model: Option<String>,
    /// The variables, as they were filled in.
    #[serde(default)]
    pub vars: BTreeMap<String, String>,
    /// How long it may take in all.
    pub lifetime: Duration,
    /// How long its agent may be silent; `None`: as long as any other.
    #[serde(default)]
    pub idle: Option<Duration>,
    #[serde(default)]
    pub context: Context,
    pub steps: Vec<Step>,
}

/// What the agent is shown besides the steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// Files of the worktree, by path or pattern.
    pub files: Vec<String>,
    /// Commands that are run in the worktree when a session begins; what they print is shown.
    pub commands: Vec<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub id: StepId,
    #[serde(default)]
    pub title: String,
    /// Steps that have to be over before it.
    #[serde(default)]
    pub needs: Vec<StepId>,
    /// What the agent is told to do, or what the command is for.
    #[serde(default)]
    pub description: String,
    /// Its condition does not hold: it is passed over.
    #[serde(default)]
    pub skipped: bool,
    /// A command of ours, without a shell; `None`: it is the agent's.
    #[serde(default)]
    pub run: Option<Vec<String>>,
    /// How long the command may take.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// The verifier that says whether it is done.
    #[serde(default)]
    pub verify: Option<String>,
    /// It is done when the agent has left an answer, in words that the factory understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerKind>,
}

/// What an agent's answer is about, and so how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// What is to become of issues: [`crate::groom::answer`].
    Groom,
}

/// For a command that does not say how long it may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);
/// On top of that, for starting it and for reading what it printed.
const SLACK: Duration = Duration::from_secs(60);

impl Step {
    pub fn command_timeout(&self) -> Duration {
        self.timeout.unwrap_or(COMMAND_TIMEOUT)
    }

    /// When the answer of its command is overdue.
    pub fn within(&self) -> Duration {
        self.command_timeout() + SLACK
    }
}

/// Why steps cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    NoSteps,
    TooManySteps(usize),
    /// Two steps have that name.
    Twice(StepId),
    /// The step needs one that there is not.
    Unknown {
        step: StepId,
        needs: StepId,
    },
    /// These wait for one another: each needs the next, and the last the first.
    Circle(Vec<StepId>),
    EmptyCommand(StepId),
}

impl Recipe {
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *id)
    }

    pub fn flaw(&self) -> Option<Flaw> {
        flaw(self.steps.iter().map(|step| (&step.id, step.needs.as_slice()))).or_else(|| {
            let empty = |step: &&Step| step.run.as_ref().is_some_and(Vec::is_empty);
            self.steps.iter().find(empty).map(|step| Flaw::EmptyCommand(step.id.clone()))
        })
    }
}

/// The first thing that is wrong with steps that need one another.
pub fn flaw<'a>(steps: impl Iterator<Item = (&'a StepId, &'a [StepId])>) -> Option<Flaw> {
    let mut needs: BTreeMap<&StepId, &[StepId]> = BTreeMap::new();
    let mut order = Vec::new();
    for (id, all) in steps {
        if needs.insert(id, all).is_some() {
            return Some(Flaw::Twice(id.clone()));
        }
        order.push(id);
    }
    match order.len() {
        0 => return Some(Flaw::NoSteps),
        many if many > STEPS_MAX => return Some(Flaw::TooManySteps(many)),
        _ => {}
    }
    for id in &order {
        if let Some(other) = needs[id].iter().find(|other| !needs.contains_key(other)) {
            return Some(Flaw::Unknown { step: (*id).clone(), needs: other.clone() });
        }
    }
    let mut known = BTreeSet::new();
    order.into_iter().find_map(|id| circle(id, &needs, &mut Vec::new(), &mut known)).map(Flaw::Circle)
}

/// A circle that the step leads to. At most [`STEPS_MAX`] deep. `known`: steps that lead to none.
fn circle<'a>(
    id: &'a StepId,
    needs: &BTreeMap<&'a StepId, &'a [StepId]>,
    path: &mut Vec<&'a StepId>,
    known: &mut BTreeSet<&'a StepId>,
) -> Option<Vec<StepId>> {
    if known.contains(id) {
        return None;
    }
    if let Some(at) = path.iter().position(|other| *other == id) {
        return Some(path[at..].iter().map(|id| (*id).clone()).collect());
    }
    path.push(id);
    let found = needs[id].iter().find_map(|next| circle(next, needs, path, known));
    path.pop();
    known.insert(id);
    found
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::NoSteps => f.write_str("it has no steps"),
            Flaw::TooManySteps(many) => write!(f, "it has {many} steps, more than {STEPS_MAX}"),
            Flaw::Twice(id) => write!(f, "two steps have the id `{id}`"),
            Flaw::Unknown { step, needs } => write!(f, "step `{step}` needs `{needs}`, which is no step"),
            Flaw::Circle(ids) => {
                let first = ids.first().into_iter();
                let path: Vec<&str> = ids.iter().chain(first).map(StepId::as_str).collect();
                write!(f, "steps wait for one another: {}", path.join(" -> "))
            }
            Flaw::EmptyCommand(id) => write!(f, "step `{id}` has an empty command"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(steps: &[(&str, &[&str])]) -> Option<String> {
        let id = |text: &&str| text.parse::<StepId>().expect("an id");
        let steps: Vec<(StepId, Vec<StepId>)> =
            steps.iter().map(|(step, needs)| (id(step), needs.iter().map(id).collect())).collect();
        flaw(steps.iter().map(|(step, needs)| (step, needs.as_slice()))).map(|flaw| flaw.to_string())
    }

    #[test]
    fn what_cannot_be_carried_out_is_named() {
        assert_eq!(found(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])]), None);
        assert_eq!(found(&[]).as_deref(), Some("it has no steps"));
        assert_eq!(found(&[("a", &[]), ("a", &[])]).as_deref(), Some("two steps have the id `a`"));
        assert_eq!(found(&[("a", &["b"])]).as_deref(), Some("step `a` needs `b`, which is no step"));
        assert_eq!(found(&[("a", &["a"])]).as_deref(), Some("steps wait for one another: a -> a"));
        let circle = found(&[("x", &["a"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a"])]);
        assert_eq!(circle.as_deref(), Some("steps wait for one another: a -> b -> c -> a"));
    }

    #[test]
    fn many_ways_to_one_step_are_looked_at_once() {
        let ids: Vec<StepId> = (0..STEPS_MAX).map(|n| format!("s{n}").parse().expect("an id")).collect();
        let needs: Vec<&[StepId]> = (0..STEPS_MAX).map(|n| &ids[..n]).collect();
        assert_eq!(flaw(ids.iter().zip(needs)), None);
    }
}
