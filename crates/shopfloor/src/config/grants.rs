//! `[config]` and `[grants]` of `floor.toml`: what a person says of projects' own files, where no repository can
//! say otherwise.

use super::source::Source;
use super::{ConfigError, FloorConfig, ProjectConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::ids::ProjectName;
use std::collections::BTreeSet;
use std::path::Path;

/// What becomes of a change to a project's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Acceptance {
    /// Whether a change of what executes or grants waits until a person accepts it ("ask"), or is in force as soon
    /// as a file says it, whoever wrote it ("always"). With "always" nothing in `[grants]` is needed either.
    pub accept: Accept,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Accept {
    /// `shopfloor config accept` puts it in force.
    #[default]
    Ask,
    /// It is in force at once.
    Always,
}

/// What a project may have of yours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Grants {
    /// Names of environment variables that its `pass_env` may pass on. `shopfloor config accept` adds those that are
    /// missing.
    pub pass_env: Vec<String>,
}

impl FloorConfig {
    /// Whether nobody is asked.
    pub fn accepts_all(&self) -> bool {
        self.config.accept == Accept::Always
    }

    /// Takes out of a configuration's `pass_env` what the floor does not grant, and says which names that were.
    pub fn withhold(&self, config: &mut ProjectConfig) -> Vec<String> {
        if self.accepts_all() {
            return Vec::new();
        }
        // What the floor's own defaults pass on is granted by them.
        let defaults = self.defaults.agents.values().flat_map(|agent| &agent.pass_env);
        let named = self.grants.get(&config.project.name).into_iter().flat_map(|grants| &grants.pass_env);
        let granted: BTreeSet<&String> = named.chain(defaults).collect();
        let mut withheld = BTreeSet::new();
        let agents = config.agents.values_mut().map(|agent| &mut agent.pass_env);
        let steps = config.steps.values_mut().filter_map(|step| step.pass_env.as_mut());
        for names in agents.chain(steps).chain([&mut config.ci.pass_env]) {
            names.retain(|name| {
                let is_granted = granted.contains(name);
                if !is_granted {
                    withheld.insert(name.clone());
                }
                is_granted
            });
        }
        withheld.into_iter().collect()
    }
}

/// The floor's file with those names granted. Everything else stays as it is, word for word.
pub fn added(
    file: &Path,
    text: &str,
    project: &ProjectName,
    names: &[String],
) -> Result<String, ConfigError> {
    let source = Source::parse(file, text)?;
    let root = source.tree().get_ref();
    let grants = root.get("grants").and_then(|grants| grants.get_ref().as_table());
    let own = grants.and_then(|grants| grants.get(project.as_str())?.get_ref().as_table());
    let Some(own) = own else {
        let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let value = toml::Value::from(names.to_vec());
        return Ok(format!("{text}{end}{gap}[grants.{project}]\npass_env = {value}\n"));
    };
    let Some(list) = own.get("pass_env") else {
        return Err(source
            .at_key(&["grants", project.as_str()], format!("[grants.{project}] has no `pass_env` yet"))
            .hint(format!("add it yourself: pass_env = {}", toml::Value::from(names.to_vec()))));
    };
    let known = list.get_ref().as_array().into_iter().flatten();
    let known = known.filter_map(|name| name.get_ref().as_str().map(str::to_owned));
    let mut all: Vec<String> = known.collect();
    all.extend(names.iter().filter(|name| !all.contains(name)).cloned().collect::<Vec<_>>());
    let mut text = text.to_owned();
    text.replace_range(list.span(), &toml::Value::from(all).to_string());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load::{floor_from, project_from};

    fn project() -> ProjectName {
        "greeter".parse().unwrap()
    }

    #[test]
    fn what_is_granted_is_added_to_the_file_and_nothing_else_changes() {
        let names = ["NPM_TOKEN".to_owned()];
        let add = |text: &str| added(Path::new("floor.toml"), text, &project(), &names).unwrap();
        assert_eq!(add(""), "[grants.greeter]\npass_env = [\"NPM_TOKEN\"]\n");
        let commented = "# mine\n[limits]\nmax_jobs = 2 # two";
        let more = add(commented);
        assert!(more.starts_with(commented), "{more}");
        let again = "[grants.greeter]\n# keys\npass_env = [\"A\"] # more\n[grants.other]\npass_env = []\n";
        assert_eq!(add(again), again.replace("[\"A\"]", "[\"A\", \"NPM_TOKEN\"]"));
        for text in [more.as_str(), &add(again)] {
            let floor = floor_from(Path::new("floor.toml"), text).unwrap();
            assert!(floor.grants[&project()].pass_env.contains(&names[0]));
        }
        let without = added(Path::new("floor.toml"), "[grants.greeter]\n", &project(), &names).unwrap_err();
        assert!(without.to_string().contains("add it yourself"), "{without}");
    }

    #[test]
    fn what_the_floor_does_not_grant_is_withheld() {
        let text = "[project]\nname = \"greeter\"\n[ci]\nno_checks = true\npass_env = [\"A\", \"B\"]\n\
                    [agents.dev]\nruntime = \"demo\"\npass_env = [\"C\", \"D\"]\n";
        let withheld = |floor: &str| {
            let floor = floor_from(Path::new("floor.toml"), floor).unwrap();
            let mut config = project_from(Path::new("shopfloor.toml"), text, &floor).unwrap();
            let withheld = floor.withhold(&mut config);
            (withheld.join(" "), config.ci.pass_env.join(" "))
        };
        assert_eq!(withheld(""), ("A B C D".to_owned(), String::new()));
        assert_eq!(withheld("[grants.other]\npass_env = [\"A\"]\n"), ("A B C D".to_owned(), String::new()));
        let some = "[grants.greeter]\npass_env = [\"A\"]\n[defaults.agents.x]\nruntime = \"demo\"\npass_env = [\"D\"]\n";
        assert_eq!(withheld(some), ("B C".to_owned(), "A".to_owned()));
        assert_eq!(withheld("[config]\naccept = \"always\"\n"), (String::new(), "A B".to_owned()));
    }
}
