//! Where formulas are found: a project's own first, then those that are built in.

use super::{FORMULAS, Formula};
use crate::config::ConfigError;
use crate::config::load::choose;
use crate::config::pinned::Files;
use shopfloor_core::ids::FormulaName;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The formulas that come with the program.
const BUILT_IN: [(&str, &str); 5] = [
    ("action", include_str!("built_in/action.toml")),
    ("planner", include_str!("built_in/planner.toml")),
    ("predictor", include_str!("built_in/predictor.toml")),
    ("supervisor", include_str!("built_in/supervisor.toml")),
    ("task", include_str!("built_in/task.toml")),
];

/// A formula, or why it is none.
pub struct Found {
    /// The file of the repository; `None`: it is built in.
    pub file: Option<PathBuf>,
    pub formula: Result<Formula, ConfigError>,
}

/// All formulas of a project, by name.
pub struct Library(BTreeMap<FormulaName, Found>);

impl Library {
    /// `files`: the project's files that are in force, or those that are to be looked at.
    pub fn new(files: &Files) -> Library {
        let built_in =
            BUILT_IN.iter().map(|(name, text)| (None, PathBuf::from(format!("{name}.toml")), *text));
        let own = files.iter().filter_map(|(path, text)| {
            let file = Path::new(path);
            (file.parent() == Some(Path::new(FORMULAS)))
                .then(|| (Some(file.to_owned()), file.to_owned(), text.as_str()))
        });
        // What is read later wins.
        let all = built_in.chain(own).filter_map(|(file, path, text)| {
            let name = path.file_stem()?.to_str()?.parse().ok()?;
            Some((name, Found { file, formula: Formula::parse(&path, text.as_bytes()) }))
        });
        Library(all.collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&FormulaName, &Found)> {
        self.0.iter()
    }

    pub fn get(&self, name: &FormulaName) -> Option<&Found> {
        self.0.get(name)
    }

    /// What else there is instead of a name that there is not.
    pub fn instead(&self, name: &FormulaName) -> String {
        let names: Vec<&str> = self.0.keys().map(FormulaName::as_str).collect();
        choose(name.as_str(), &names, "formulas")
    }
}
