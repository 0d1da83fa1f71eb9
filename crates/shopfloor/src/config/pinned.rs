//! The part of a project's configuration that executes or grants, as one text: what a person accepts, word for word.
//! It has all of `shopfloor.toml` but what only says how much, how long and how often; and the files beside it that
//! sessions are begun with.
//!
//! Invariant: what is in force of that part comes from the accepted text alone; what the file in the checkout says
//! adds only the rest.

use super::formula::FORMULAS;
use super::load::{project_from, unfilled, unfilled_from};
use super::{
    Agent, Agents, ConfigError, FILE_NAME, FloorConfig, McpServers, Merge, ProjectConfig, Rescue, show,
};
use shopfloor_core::protected::{in_the_repository, scripts};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use toml::{Table, Value};

/// Where a project's own prompts are, below its root.
pub const PROMPTS: &str = ".shopfloor/prompts";
/// Which ignored files are copied into worktrees.
pub const INCLUDE: &str = ".worktreeinclude";
/// The servers that agents' clients may be told to start.
pub const SERVERS: [&str; 2] = [".mcp.json", ".codex/config.toml"];

/// As for one prompt or formula.
const FILE_BYTES_MAX: u64 = 64 * 1024;
const FILES_MAX: usize = 256;

/// The key under which the text has the files.
const FILES: &str = "files";

/// The files beside the configuration, by their path below the project's root.
pub type Files = BTreeMap<String, String>;

/// How errors name the accepted text.
const ACCEPTED: &str = "the accepted configuration";

/// What a project's files say now.
pub struct Proposal {
    /// What would be in force.
    pub text: String,
    /// What would be, once the primary branch has what the checkout has.
    pub ahead: String,
}

/// The text for a configuration as its file has it, before the floor's defaults are filled in.
pub fn text(config: &ProjectConfig, files: &Files) -> String {
    let part = ProjectConfig {
        rescue: Rescue { push: config.rescue.push, ..Rescue::default() },
        merge: Merge { slots: Merge::default().slots, alarm: Merge::default().alarm, ..config.merge.clone() },
        ..config.clone()
    };
    let mut table = Table::try_from(&part).expect("a configuration came from TOML");
    for free in ["limits", "health", "sessions"] {
        table.remove(free);
    }
    if !files.is_empty() {
        let files = files.iter().map(|(path, text)| (path.clone(), Value::from(text.as_str())));
        table.insert(FILES.to_owned(), Value::Table(files.collect()));
    }
    show::as_toml(&table)
}

/// An accepted text as this program writes it: what an earlier one wrote may lack settings that have defaults.
pub fn in_todays_words(accepted: &str) -> Result<String, ConfigError> {
    let (config, files) = parse(accepted)?;
    Ok(text(&unfilled_from(Path::new(ACCEPTED), &config)?, &files))
}

/// What is in force: the accepted text, and of what the checkout's file says the rest.
pub fn in_force(
    accepted: &str,
    own: &ProjectConfig,
    floor: &FloorConfig,
) -> Result<(ProjectConfig, Files), ConfigError> {
    let (text, files) = parse(accepted)?;
    let config = project_from(Path::new(ACCEPTED), &text, floor)?;
    let config = ProjectConfig {
        limits: own.limits.clone(),
        health: own.health.clone(),
        sessions: own.sessions.clone(),
        rescue: Rescue { push: config.rescue.push, ..own.rescue.clone() },
        merge: Merge { slots: own.merge.slots, alarm: own.merge.alarm, ..config.merge },
        ..config
    };
    Ok((config, files))
}

/// An accepted text's configuration, as a file of its own would have it.
pub fn configuration(accepted: &str) -> Result<String, ConfigError> {
    parse(accepted).map(|(config, _)| config)
}

fn parse(accepted: &str) -> Result<(String, Files), ConfigError> {
    let bad = |why: String| {
        ConfigError::whole_file(Path::new(ACCEPTED), why)
            .hint("`shopfloor config accept` accepts what the files say now")
    };
    let mut table: Table = accepted.parse().map_err(|e: toml::de::Error| bad(e.message().to_owned()))?;
    let files = match table.remove(FILES) {
        None => Files::new(),
        Some(files) => files.try_into().map_err(|e: toml::de::Error| bad(e.message().to_owned()))?,
    };
    Ok((show::as_toml(&table), files))
}

/// What the files say: those in the checkout, and the primary branch's own configuration if it has one, which says
/// what the checks are. `branch` is how errors name that.
///
/// `program` reads a file of the primary branch: reviewers' programs are those that it has, as far as it has them.
pub fn proposal(
    checkout: &Path,
    defaults: &Agents,
    (branch, primary): (&str, Option<&str>),
    program: &dyn Fn(&str) -> Result<Option<String>, String>,
) -> Result<Proposal, ConfigError> {
    let own = unfilled(&checkout.join(FILE_NAME))?;
    let mut agents = defaults.clone();
    agents.extend(own.agents.clone());
    let later =
        files(checkout, &agents).map_err(|(path, e)| ConfigError::unreadable(&checkout.join(path), &e))?;
    let mut files = later.clone();
    for path in reviewers_programs(&agents) {
        let named = Path::new(branch).join(&path);
        if let Some(text) = program(&path).map_err(|e| ConfigError::whole_file(&named, e))? {
            files.insert(path, text);
        }
    }
    let ahead = text(&own, &later);
    let text = match primary {
        None => text(&own, &files),
        Some(theirs) => {
            let theirs = unfilled_from(Path::new(&format!("{branch}:{FILE_NAME}")), theirs)?;
            text(&ProjectConfig { ci: own.ci.accepting(theirs.ci), ..own }, &files)
        }
    };
    Ok(Proposal { text, ahead })
}

/// The files of the repository that reviewers' commands consist of: a reviewer runs them as they were accepted, never as
/// the change has them that it reviews.
pub fn reviewers_programs(agents: &Agents) -> Vec<String> {
    programs(agents.iter().filter(|(role, _)| role.reviews()).map(|(_, agent)| agent))
}

/// The files of the repository that these agents' commands consist of.
pub(super) fn programs<'a>(agents: impl Iterator<Item = &'a Agent>) -> Vec<String> {
    let words = agents.filter_map(|agent| agent.command.as_ref()).flatten();
    let mut paths: Vec<String> = words
        .filter_map(|word| {
            let path = in_the_repository(word)?;
            scripts(word).contains(&path).then_some(path)
        })
        .collect();
    paths.dedup();
    paths
}

/// The files that a person would accept with the configuration.
pub fn files(checkout: &Path, agents: &Agents) -> Result<Files, (String, io::Error)> {
    let mut paths = vec![INCLUDE.to_owned()];
    if agents.values().any(|agent| agent.mcp == Some(McpServers::Project)) {
        paths.extend(SERVERS.map(str::to_owned));
    }
    paths.extend(reviewers_programs(agents));
    paths.extend(in_folder(checkout, PROMPTS, ".md"));
    paths.extend(in_folder(checkout, FORMULAS, ".toml"));
    let mut files = Files::new();
    for path in paths {
        match read(&checkout.join(&path)) {
            Ok(text) => drop(files.insert(path, text)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err((path, e)),
        }
    }
    Ok(files)
}

/// The files of a folder that have that ending.
fn in_folder(checkout: &Path, folder: &str, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(checkout.join(folder)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> = names.filter(|name| name.ends_with(ending)).collect();
    found.sort_unstable();
    found.truncate(FILES_MAX);
    found.into_iter().map(|name| format!("{folder}/{name}")).collect()
}

fn read(path: &Path) -> io::Result<String> {
    // Asked before opening: opening a pipe would wait for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    Ok(text)
}
