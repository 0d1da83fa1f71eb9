//! `shopfloor formula check`.

use super::super::{CliError, CliResult, Context, Exit, output};
use super::{Shelf, settings};
use crate::config::formula::{FORMULAS, Formula, Library};
use crate::config::{ConfigError, ProjectConfig, load};
use clap::Args;
use shopfloor_adapters::host::theirs;
use shopfloor_core::ids::FormulaName;
use shopfloor_core::state::Project;
use shopfloor_core::text::one_line;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// No longer one can be accepted.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Check a formula's file, or all that the project's checkout has
///
/// Says what is wrong with line and column: unknown keys, steps that wait for one another, variables that there are
/// not. Also whether the project has the role and the verifiers that are named.
#[derive(Args)]
pub struct CheckArgs {
    /// A formula's file; default: all of .shopfloor/formulas, and the built-in ones
    file: Option<PathBuf>,
}

impl CheckArgs {
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

pub fn run(context: &Context, args: &CheckArgs) -> CliResult<Exit> {
    let errors = match &args.file {
        Some(file) => {
            let bytes = theirs::read(file, FILE_BYTES_MAX).map_err(|e| ConfigError::unreadable(file, &e))?;
            let formula = Formula::parse(file, &bytes);
            // A file may be checked where there is no floor.
            let says = context.project().ok().map(|project| says_now(context, &project)).transpose()?;
            let errors = wrong(&formula, says.as_ref(), file, &bytes);
            BTreeMap::from([(file.display().to_string(), errors)])
        }
        None => in_the_project(context)?,
    };
    let bad = errors.values().flatten().count();
    if context.json {
        output::json(&serde_json::json!({ "fine": bad == 0, "formulas": errors }));
    } else {
        for (name, wrong) in &errors {
            if wrong.is_empty() {
                output::line(format!("{name}: fine"));
            }
            wrong.iter().for_each(output::line);
        }
    }
    Ok(if bad == 0 { Exit::Fine } else { Exit::Usage })
}

/// What the project's own file says now, accepted or not: formulas and what they name are written together.
fn says_now(context: &Context, project: &Project) -> CliResult<ProjectConfig> {
    Ok(load::project(&settings(project), &context.floor_config()?)?)
}

fn in_the_project(context: &Context) -> CliResult<BTreeMap<String, Vec<String>>> {
    let shelf = Shelf::of(context)?;
    let says = says_now(context, &shelf.project)?;
    let library = Library::new(&shelf.now);
    let found = library.iter().map(|(name, found)| {
        let shown =
            found.file.as_ref().map_or_else(|| format!("{name} (built in)"), |f| f.display().to_string());
        // A project need not have what a built-in one asks for, until it is run.
        let says = found.file.as_ref().map(|_| &says);
        let text = shelf.now.get(&shown).map_or("", String::as_str);
        let errors = wrong(&found.formula, says, Path::new(&shown), text.as_bytes());
        (shown, errors)
    });
    let misnamed = shelf.now.keys().filter_map(|path| {
        let stem = path.strip_prefix(FORMULAS)?.strip_prefix('/')?.strip_suffix(".toml")?;
        let why = stem.parse::<FormulaName>().err()?;
        Some((path.clone(), vec![format!("{path}: {why}")]))
    });
    Ok(found.chain(misnamed).collect())
}

/// What is wrong with a formula, by itself and beside what its project says.
fn wrong(
    formula: &Result<Formula, ConfigError>,
    says: Option<&ProjectConfig>,
    file: &Path,
    text: &[u8],
) -> Vec<String> {
    match formula {
        Err(e) => vec![e.to_string()],
        Ok(formula) => {
            let lacks = says.map(|says| formula.lacking(file, text, says)).unwrap_or_default();
            lacks.iter().map(ToString::to_string).collect()
        }
    }
}

/// Whether the accepted configuration has what the formula names.
pub(super) fn usable(
    name: &FormulaName,
    formula: &Formula,
    config: &ProjectConfig,
    file: &Path,
) -> CliResult<()> {
    match formula.lacks(config).into_iter().next() {
        Some(lack) => {
            let name = one_line(name.as_str(), 80);
            let text = format!("{}: formula `{name}`: {}", file.display(), lack.message);
            Err(CliError::usage(text).hint(format!(
                "add it, and accept it with `shopfloor config accept`; or name another: {}",
                lack.hint
            )))
        }
        None => Ok(()),
    }
}
