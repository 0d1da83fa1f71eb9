//! Labels that the configuration gives a meaning: an issue's target. The project has them without being told so.

use crate::cli::{CliResult, Context};
use crate::config;
use shopfloor_core::state::Project;
use shopfloor_store::forge::ForgeDb;
use std::path::Path;

/// Those of these labels that name a target are made known to the project.
pub fn know_targets(
    context: &Context,
    project: &Project,
    forge: &mut ForgeDb,
    labels: &[String],
) -> CliResult<()> {
    let known = forge.labels(&project.name)?;
    if labels.iter().all(|label| known.contains(label)) {
        return Ok(());
    }
    // The file may be newer than what the floor knows of it.
    let file = Path::new(&project.checkout).join(config::FILE_NAME);
    let config = context.floor_config().ok().and_then(|floor| config::load::project(&file, &floor).ok());
    let targets = config.map_or_else(|| project.policy.targets.clone(), |config| config.policy().targets);
    for label in labels.iter().filter(|label| targets.iter().any(|target| target.label == **label)) {
        forge.create_label(&project.name, label)?;
    }
    Ok(())
}
