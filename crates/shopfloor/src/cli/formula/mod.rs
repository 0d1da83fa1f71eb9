//! `shopfloor formula`: recipes of steps, and asking for one to be carried out.

mod check;
mod list;
mod run;
mod show;

use super::{CliResult, Context, Exit, output};
use crate::config::formula::{Found, Library};
use crate::config::{ConfigError, FILE_NAME, ProjectConfig, pinned, schema};
use crate::projects::Projects;
use clap::{Args, Subcommand};
use shopfloor_core::ids::FormulaName;
use shopfloor_core::state::Project;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Formulas: recipes of steps that are run by hand or by a schedule
///
/// A formula is a TOML file in .shopfloor/formulas of the repository, in force once a person accepted it, or one that
/// is built in. Each run of it has a worktree of its own. Steps with `run` are commands of the factory's, the others
/// are an agent's.
#[derive(Args)]
pub struct FormulaArgs {
    #[command(subcommand)]
    command: FormulaCommand,
}

#[derive(Subcommand)]
enum FormulaCommand {
    /// List the formulas there are
    List,
    Show(show::ShowArgs),
    Check(check::CheckArgs),
    Run(run::FormulaRunArgs),
    /// Print the JSON schema of a formula, for editors
    Schema,
}

impl FormulaArgs {
    /// What to do instead, if it is only for people.
    pub(super) fn persons(&self) -> Option<&'static str> {
        match &self.command {
            FormulaCommand::Run(args) if !args.is_dry() => Some(super::authority::ELSEWHERE),
            _ => None,
        }
    }

    pub(super) fn file(&self) -> Option<&Path> {
        match &self.command {
            FormulaCommand::Check(args) => args.file(),
            FormulaCommand::List
            | FormulaCommand::Show(_)
            | FormulaCommand::Run(_)
            | FormulaCommand::Schema => None,
        }
    }
}

pub fn run(context: &Context, args: FormulaArgs) -> CliResult<Exit> {
    match args.command {
        FormulaCommand::List => list::run(context),
        FormulaCommand::Show(args) => show::run(context, args),
        FormulaCommand::Check(args) => check::run(context, &args),
        FormulaCommand::Run(args) => run::run(context, args),
        FormulaCommand::Schema => {
            output::line(schema::formula());
            Ok(Exit::Fine)
        }
    }
}

/// A project with its formulas: those in force, and those that its files have now.
struct Shelf {
    project: Project,
    config: ProjectConfig,
    accepted: pinned::Files,
    now: pinned::Files,
}

impl Shelf {
    fn of(context: &Context) -> CliResult<Shelf> {
        let project = context.project()?;
        let checkout = PathBuf::from(&project.checkout);
        let (config, accepted) =
            Projects::files_in_force(&context.floor_config()?, &context.pins()?, &checkout)?;
        let now = pinned::files(&checkout, &config.agents)
            .map_err(|(path, e)| ConfigError::unreadable(&checkout.join(path), &e))?;
        Ok(Shelf { project, config, accepted, now })
    }

    fn library(&self) -> Library {
        Library::new(&self.accepted)
    }

    /// Whether what the file says now is what was accepted.
    fn is_accepted(&self, path: &str) -> bool {
        self.now.get(path) == self.accepted.get(path)
    }

    /// What its file says now and nobody has accepted, for people.
    fn pending(&self, name: &FormulaName) -> Option<&'static str> {
        let path = format!("{}/{name}.toml", crate::config::formula::FORMULAS);
        match (self.accepted.contains_key(&path), self.now.contains_key(&path)) {
            _ if self.is_accepted(&path) => None,
            (false, true) => Some("its file is new, and not accepted yet"),
            (true, false) => Some("its file is gone, and that is not accepted yet"),
            _ => Some("its file says something else now, which is not accepted yet"),
        }
    }

    /// A formula that is in force.
    fn formula<'l>(&self, library: &'l Library, name: &FormulaName) -> CliResult<&'l Found> {
        library.get(name).ok_or_else(|| {
            let missing = super::CliError::no_such(format!("there is no formula {name}"));
            match self.pending(name) {
                Some(why) => {
                    missing.hint(format!("{why}: `shopfloor config accept` shows it, and puts it in force"))
                }
                None => missing.hint(library.instead(name)),
            }
        })
    }
}

/// `--var NAME=VALUE`.
#[derive(Args)]
struct VarArgs {
    /// A variable of the formula; may be given for each
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = assignment)]
    vars: Vec<(String, String)>,
}

impl VarArgs {
    fn map(self) -> BTreeMap<String, String> {
        self.vars.into_iter().collect()
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

/// Where errors say that a project's configuration is.
fn settings(project: &Project) -> PathBuf {
    Path::new(&project.checkout).join(FILE_NAME)
}
