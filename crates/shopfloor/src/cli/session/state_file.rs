//! `--state-file`: the document that an orchestrating program keeps of its run. Shopfloor does not read it; it is
//! there for the project's own commands and checks, as `{state_file}`, and for the session.

use crate::cli::{CliError, CliResult};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Default)]
pub struct StateFile {
    /// The orchestration's own document; commands and checks in shopfloor.toml use it as {state_file}
    #[arg(long, value_name = "FILE")]
    state_file: Option<PathBuf>,
}

impl StateFile {
    /// Where it is, wherever it is used from.
    pub fn path(&self) -> CliResult<Option<String>> {
        let Some(file) = &self.state_file else { return Ok(None) };
        let shown = file.display();
        let found = std::fs::canonicalize(file).ok().filter(|found| found.is_file());
        let found = found.ok_or_else(|| CliError::no_such(format!("there is no state file {shown}")))?;
        let text = found.into_os_string().into_string();
        text.map(Some).map_err(|_| CliError::usage(format!("the path {shown} is not UTF-8")))
    }
}
