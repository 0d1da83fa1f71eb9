//! What a project's configuration needs of the environment: variables it names, and which are not set.

use super::{FILE_NAME, FloorConfig, ProjectConfig, SecretRef, load, secrets};
use shopfloor_core::ids::Role;
use std::collections::BTreeSet;
use std::path::Path;

/// Variables that are passed on to a role's agents, and to checks, and are not set.
pub fn unset(config: &ProjectConfig, role: Role, is_set: &dyn Fn(&str) -> bool) -> Vec<String> {
    let Some(agent) = config.agent(role) else { return Vec::new() };
    let asked = agent.key_command.as_ref().and_then(|_| agent.key_variable());
    let checks: &[String] = if role.develops() { &config.ci.pass_env } else { &[] };
    let names = agent.pass_env.iter().filter(|name| Some(name.as_str()) != asked).chain(checks);
    names.filter(|name| !is_set(name)).cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

/// What a person should know before anything is begun, each a line.
pub fn warnings(config: &ProjectConfig, folder: &Path, env: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Err(e) = secrets::resolve(config, folder, env) {
        lines.push(format!("{e}: nothing starts without it"));
    }
    let is_set = |name: &str| env(name).is_some();
    let names: BTreeSet<String> =
        config.agents.keys().flat_map(|role| unset(config, *role, &is_set)).collect();
    lines.extend(names.into_iter().map(|name| format!("{name} is in pass_env, but is not set")));
    lines
}

/// The variables that a project's file names, those that the vault gets, and the one that programs are found by. None if the file
/// cannot be read.
pub fn named_variables(checkout: &Path, floor: &FloorConfig) -> BTreeSet<String> {
    let Ok(config) = load::project(&checkout.join(FILE_NAME), floor) else { return BTreeSet::new() };
    let passed = config.agents.values().flat_map(|agent| &agent.pass_env).chain(&config.ci.pass_env).cloned();
    let secrets = config.secrets.values().filter_map(|secret| match secret {
        SecretRef::Env(name) => Some(name.clone()),
        SecretRef::File(_) => None,
    });
    passed.chain(secrets).chain(floor.vault_secrets()).chain(["PATH".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> ProjectConfig {
        let text = format!("[project]\nname = \"a\"\n[ci]\nno_checks = true\npass_env = [\"CACHE\"]\n{text}");
        load::project_from(Path::new(FILE_NAME), &text, &FloorConfig::default()).expect("good")
    }

    #[test]
    fn what_is_named_and_not_set_is_told_of() {
        let config = config(
            "[agents.dev]\nruntime = \"claude\"\npass_env = [\"A\", \"KEY\"]\nkey_command = [\"x\"]\nkey_env = \"KEY\"\n\
             [agents.review]\nruntime = \"demo\"\npass_env = [\"B\"]\n[secrets]\nT = { env = \"TOK\" }\n",
        );
        let none = |_: &str| None;
        let told = warnings(&config, Path::new("/"), &none);
        assert_eq!(told[0], "secret `T`: the environment variable TOK is not set: nothing starts without it");
        let names: Vec<&str> = told[1..].iter().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(names, ["A", "B", "CACHE"]);
        assert!(warnings(&config, Path::new("/"), &|_| Some("value".into())).is_empty());
    }
}
