//! The client a runtime needs: whether it is installed, and in a known version.

use crate::host::command;
use shopfloor_core::runtime::{Version, VersionCheck};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A client that does not report its version within this time does not work.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Identifies a file as it was when its version was asked for.
type Stamp = (PathBuf, u64, i64, i64);

/// Versions found so far; a client is asked again only when its file has changed.
static KNOWN: Mutex<BTreeMap<Stamp, Version>> = Mutex::new(BTreeMap::new());

/// Where a program is found: on `env`'s PATH or, if it is a path, from `cwd`.
pub fn find(program: &str, env: &[(OsString, OsString)], cwd: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(cwd.join(program)).filter(|path| command::is_executable(path));
    }
    let (_, path) = env.iter().find(|(name, _)| name == "PATH")?;
    command::on_path(program, path)
}

/// Asks the client for its version, once for each file. `Err` says what is wrong and what to do.
pub fn check_version(
    path: &Path,
    check: &VersionCheck,
    env: &[(OsString, OsString)],
) -> Result<Version, String> {
    let shown = path.display();
    let meta = std::fs::metadata(path).map_err(|e| format!("{shown}: {e}"))?;
    let stamp: Stamp = (path.to_owned(), meta.size(), meta.mtime(), meta.mtime_nsec());
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&stamp).cloned();
    let version = match known {
        Some(version) => version,
        None => {
            let version = ask(path, &check.argv, env)?;
            KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(stamp, version.clone());
            version
        }
    };
    if version < check.minimum {
        let minimum = &check.minimum;
        return Err(format!("{shown} is version {version}; at least {minimum} is needed: update it"));
    }
    Ok(version)
}

fn ask(path: &Path, argv: &[String], env: &[(OsString, OsString)]) -> Result<Version, String> {
    let shown = path.display();
    let mut command = Command::new(path);
    command.args(argv.get(1..).unwrap_or_default()).env_clear();
    command.envs(env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())));
    let answer = command::run(&mut command, ANSWER_WITHIN).map_err(|e| match e.kind() {
        ErrorKind::TimedOut => {
            let (asked, within) = (argv.join(" "), ANSWER_WITHIN.as_secs());
            format!("{shown} does not work: it gave no answer to `{asked}` in {within} s")
        }
        _ => format!("{shown} cannot be run: {e}"),
    })?;
    let said = format!("{}\n{}", answer.stdout, answer.stderr);
    Version::find(&said).filter(|_| answer.status.success()).ok_or_else(|| {
        let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing").trim();
        format!("{shown} names no version; it said: {first}")
    })
}

/// A variable of an environment.
pub fn variable<'e>(env: &'e [(OsString, OsString)], name: &str) -> Option<&'e OsStr> {
    env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
}
