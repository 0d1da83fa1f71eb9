//! Labels: one that the project has not is a typing mistake, unless the configuration gives it a meaning as an issue's
//! target. Those the project has without being told so.

use crate::cli::{CliError, CliResult, Context};
use crate::config;
use shopfloor_core::state::Project;
use shopfloor_desk::answer;
use shopfloor_engine::ports::Forge;
use shopfloor_store::forge::nearest;
use std::path::Path;

/// Refuses labels that the project has not. Those of them that name a target are made.
pub fn known(context: &Context, project: &Project, forge: &dyn Forge, labels: &[String]) -> CliResult<()> {
    let known = answer(forge.labels())?;
    let unknown: Vec<&String> = labels.iter().filter(|label| !known.contains(label)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    // The file may be newer than what the floor knows of it.
    let file = Path::new(&project.checkout).join(config::FILE_NAME);
    let config = context.floor_config().ok().and_then(|floor| config::load::project(&file, &floor).ok());
    let targets = config.map_or_else(|| project.policy.targets.clone(), |config| config.policy().targets);
    let is_target = |label: &&&String| targets.iter().any(|target| target.label == ***label);
    if let Some(name) = unknown.iter().find(|label| !is_target(label)) {
        let near = nearest(&known, name).map(|near| format!("did you mean {near:?}? ")).unwrap_or_default();
        return Err(CliError::no_such(format!("there is no label {name:?}"))
            .hint(format!("{near}this project has {}", known.join(", "))));
    }
    let new: Vec<String> = unknown.into_iter().cloned().collect();
    answer(forge.ensure_labels(&new))
}
