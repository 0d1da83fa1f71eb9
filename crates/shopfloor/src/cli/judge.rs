//! `shopfloor judge`: a verifier's checks, made where an agent works: in its jail, where there is neither a floor nor a
//! configuration. For the factory itself, when an agent says that a step of its run is done.

use super::{CliError, CliResult, Exit, error, output};
use crate::config::{Case, JUDGE};
use shopfloor_adapters::git::Git;
use shopfloor_adapters::host::env::clean_env;
use shopfloor_core::redact::Redactor;
use shopfloor_hand::key::StoryKey;
use shopfloor_hand::verify::Verifier;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// `judge CASE`: exits with 0 if every check holds, and else says which does not.
pub(super) fn at_once(mut words: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if words.next()?.to_str()? != JUDGE {
        return None;
    }
    let case = words.next()?;
    Some(match judge(case.as_encoded_bytes()) {
        Ok(exit) => exit.into(),
        Err(failed) => {
            error::print(&failed, false);
            failed.exit.into()
        }
    })
}

fn judge(case: &[u8]) -> CliResult<Exit> {
    let case: Case = serde_json::from_slice(case)
        .map_err(|e| CliError::usage(format!("what is to be judged is not understood: {e}")))?;
    let checks = case.checks.iter().map(|check| check.check(&case.primary_branch));
    let checks = checks.collect::<Result<Vec<_>, _>>().map_err(|(_, why, _)| CliError::usage(why))?;
    let key: StoryKey = case.key.parse().map_err(|e| CliError::usage(format!("{e}")))?;
    let verifier = Verifier {
        root: std::env::current_dir()?,
        git: Git::new(PathBuf::from("git"), std::env::vars_os()),
        env: clean_env(std::env::vars_os(), &[]),
        // Whoever reads this hides what is to be hidden.
        redactor: Redactor::default(),
        state_file: None,
    };
    let reasons = verifier.reasons(&checks, &key);
    for reason in reasons.iter().filter(|reason| !reason.ok) {
        output::line(format!("{}: {}", reason.check, reason.why));
    }
    Ok(if reasons.iter().all(|reason| reason.ok) { Exit::Fine } else { Exit::Failed })
}
