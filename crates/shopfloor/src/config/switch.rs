//! Switching the other agents on and off in the text of `shopfloor.toml`. Whatever else the file says stays as it is,
//! word for word.
//!
//! An agent is on if its project says how it is run (`[agents.NAME]`) and, unless issues ask for it, when
//! (`[schedules]`).

use super::source::Source;
use super::{Agent, ConfigError, ProjectConfig, template};
use shopfloor_core::ids::Role;
use std::ops::Range;
use std::path::Path;

/// The file with that agent switched on; run like the developer, unless the file says otherwise.
pub fn on(file: &Path, text: &str, config: &ProjectConfig, role: Role) -> Result<String, ConfigError> {
    let mut edited = text.to_owned();
    if role != Role::ACTION {
        let own: Vec<&String> = schedules_of(config, role).collect();
        for name in &own {
            edited = enabled(file, &edited, name, true)?;
        }
        if own.is_empty() {
            append(&mut edited, &template::schedule_of(role).replace("enabled = false", "enabled = true"));
        }
    }
    if config.agent(role).is_none() {
        let like = config.agent(Role::DEV).cloned().unwrap_or_else(Agent::demo);
        let table = toml::to_string(&Agent { prompt: None, ..like }).map_err(|e| whole(file, text, &e))?;
        append(&mut edited, &format!("[agents.{role}]\n{}", table.replace("pass_env = []\n", "")));
    }
    Ok(edited)
}

/// The file with that agent switched off.
pub fn off(file: &Path, text: &str, config: &ProjectConfig, role: Role) -> Result<String, ConfigError> {
    let mut edited = text.to_owned();
    for name in schedules_of(config, role) {
        edited = enabled(file, &edited, name, false)?;
    }
    if role == Role::ACTION && config.agent(role).is_some() {
        edited = without_table(&edited, &format!("[agents.{role}]")).ok_or_else(|| {
            let source = Source::parse(file, text);
            match source {
                Ok(source) => {
                    source.at_key(&["agents", role.as_str()], "this is what switches it on: take it out")
                }
                Err(e) => e,
            }
        })?;
    }
    Ok(edited)
}

/// Whether it would be started.
pub fn is_on(config: &ProjectConfig, role: Role) -> bool {
    let mut due = schedules_of(config, role).filter_map(|name| config.schedules.get(name));
    config.agent(role).is_some() && (role == Role::ACTION || due.any(|schedule| schedule.enabled))
}

fn schedules_of(config: &ProjectConfig, role: Role) -> impl Iterator<Item = &String> {
    let own = move |formula: &str| formula == role.as_str();
    config.schedules.iter().filter(move |(_, schedule)| own(schedule.formula.as_str())).map(|(name, _)| name)
}

fn enabled(file: &Path, text: &str, schedule: &str, on: bool) -> Result<String, ConfigError> {
    let source = Source::parse(file, text)?;
    let path = ["schedules", schedule, "enabled"];
    if let Some(value) = source.value_at(&path) {
        return Ok(replaced(text, value, if on { "true" } else { "false" }));
    }
    if on {
        return Ok(text.to_owned());
    }
    let formula = source.value_at(&["schedules", schedule, "formula"]);
    let formula = formula.ok_or_else(|| source.at_key(&path[..2], "it cannot be switched off here"))?;
    Ok(replaced(text, formula.end..formula.end, "\nenabled = false"))
}

fn replaced(text: &str, at: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..at.start], &text[at.end..])
}

fn append(text: &mut String, part: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if !text.is_empty() && !text.ends_with("\n\n") {
        text.push('\n');
    }
    text.push_str(part.trim_end());
    text.push('\n');
}

/// From its header to the next.
fn without_table(text: &str, header: &str) -> Option<String> {
    let mut lines = text.split_inclusive('\n').peekable();
    let mut kept = String::new();
    let mut found = false;
    while let Some(line) = lines.next() {
        if found || line.trim() != header {
            kept.push_str(line);
            continue;
        }
        found = true;
        while lines.next_if(|line| !line.trim_start().starts_with('[')).is_some() {}
    }
    found.then_some(kept)
}

fn whole(file: &Path, text: &str, e: &toml::ser::Error) -> ConfigError {
    match Source::parse(file, text) {
        Ok(source) => source.whole(e.to_string()),
        Err(other) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{FloorConfig, load};

    fn load(text: &str) -> ProjectConfig {
        load::project_from(Path::new("shopfloor.toml"), text, &FloorConfig::default())
            .unwrap_or_else(|e| panic!("{e}\n{text}"))
    }

    fn file() -> &'static Path {
        Path::new("shopfloor.toml")
    }

    #[test]
    fn each_of_the_others_can_be_switched_on_and_off_again() {
        let fresh = template::render(&"harb".parse().unwrap(), "main", &[]);
        for role in Role::OTHERS {
            let before = load(&fresh);
            assert!(!is_on(&before, role), "{role}");
            let text = on(file(), &fresh, &before, role).unwrap();
            let after = load(&text);
            assert!(is_on(&after, role), "{role}\n{text}");
            assert_eq!(
                after.agent(role).map(|agent| agent.runtime),
                after.agent(Role::DEV).map(|a| a.runtime)
            );
            assert_eq!(on(file(), &text, &after, role).unwrap(), text, "twice is once");
            let text = off(file(), &text, &after, role).unwrap();
            assert!(!is_on(&load(&text), role), "{role}\n{text}");
        }
    }

    #[test]
    fn what_else_the_file_says_stays() {
        let own = "[project]\nname = \"x\"\n\n[ci]\nno_checks = true # none\n\n[review]\nrequired = false\n\n[agents.dev]\nruntime = \"generic\"\ncommand = [\"bot\"]\n\n[schedules.weekly]\nformula = \"planner\"\ncron = \"0 7 * * mon\"";
        let text = on(file(), own, &load(own), Role::PLANNER).unwrap();
        assert!(text.starts_with(own), "{text}");
        assert!(text.contains("[agents.planner]\nruntime = \"generic\"\ncommand = [\"bot\"]\n"), "{text}");
        let text = on(file(), own, &load(own), Role::GARDENER).unwrap();
        assert!(text.contains("[schedules.gardener]\nformula = \"gardener\""), "{text}");
        let text = off(file(), own, &load(own), Role::PLANNER).unwrap();
        assert!(text.contains("formula = \"planner\"\nenabled = false\ncron"), "{text}");
    }
}
