//! `shopfloor config`: look at the configuration, and accept it.

pub(super) mod accept;

use super::output;
use super::{CliResult, Context, Exit, authority};
use crate::config::{self, needs};
use clap::{Args, Subcommand};
use shopfloor_core::text::neutralise;
use std::path::{Path, PathBuf};

/// Show, check, describe or accept the configuration
#[derive(Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Print the effective configuration, defaults filled in
    Show,
    /// Check shopfloor.toml and the floor's own file
    Check,
    /// Show what a project's files say and nobody has accepted
    ///
    /// What executes or grants (checks, setup, agents, review rules, prompts) is in force as a person accepted it,
    /// whatever was merged or edited since.
    Diff,
    /// Put in force what a project's files say now
    ///
    /// Shows the change first, and asks at a terminal. What `pass_env` names and floor.toml does not grant yet is
    /// granted there. Only a person may do this.
    Accept(accept::AcceptArgs),
    /// Print the JSON schema, for editors
    Schema {
        /// For floor.toml instead of shopfloor.toml
        #[arg(long)]
        floor: bool,
    },
}

impl ConfigArgs {
    pub(super) fn only_shows_the_difference(&self) -> bool {
        matches!(self.command, ConfigCommand::Diff)
    }

    /// What to do instead, if it is only for people.
    pub(super) fn persons(&self) -> Option<&'static str> {
        matches!(self.command, ConfigCommand::Accept(_)).then_some(authority::ELSEWHERE)
    }
}

pub fn run(context: &Context, args: ConfigArgs) -> CliResult<Exit> {
    match args.command {
        ConfigCommand::Diff => return accept::diff(context),
        ConfigCommand::Accept(args) => return accept::accept(context, &args),
        ConfigCommand::Show => {
            let config = config::load::project(&project_file(context)?, &context.floor_config()?)?;
            if context.json {
                output::line(config::show::as_json(&config));
            } else {
                output::line(config::show::as_toml(&config).trim_end());
            }
        }
        ConfigCommand::Check => {
            let floor = context.floor_config()?;
            let file = project_file(context)?;
            let config = config::load::project(&file, &floor)?;
            let folder = file.parent().unwrap_or(Path::new("."));
            let mut warnings = needs::warnings(&config, folder, &|name| std::env::var(name).ok());
            let files = config::pinned::files(folder, &config.agents)
                .map_err(|(path, e)| config::ConfigError::unreadable(&folder.join(path), &e))?;
            for (enabled, error) in config::load::schedules(&file, &config, &files)? {
                match enabled {
                    true => return Err(error.into()),
                    false => warnings.push(format!("of a schedule that is switched off: {error}")),
                }
            }
            if context.json {
                let file = file.display().to_string();
                output::json(&serde_json::json!({ "file": file, "fine": true, "warnings": warnings }));
            } else {
                output::line(format!("{}: fine", file.display()));
                for warning in warnings {
                    output::line(format!("warning: {}", neutralise(&warning)));
                }
            }
        }
        ConfigCommand::Schema { floor: true } => output::line(config::schema::floor()),
        ConfigCommand::Schema { floor: false } => output::line(config::schema::project()),
    }
    Ok(Exit::Fine)
}

/// The file of the repository this folder is in, else of the project that is meant.
fn project_file(context: &Context) -> CliResult<PathBuf> {
    let here = std::env::current_dir()?;
    if let Ok(checkout) = shopfloor_adapters::git::repos::find_checkout(&context.git()?, &here)
        && !context.names_a_project()
    {
        return Ok(checkout.join(config::FILE_NAME));
    }
    Ok(PathBuf::from(context.project()?.checkout).join(config::FILE_NAME))
}
