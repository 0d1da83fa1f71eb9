//! What a CI run leaves on disk: the running process, for whoever comes after a crash, and the report, which
//! answers a run that is asked for again without running it again.

use super::local::CiStep;
use crate::host::atomic::write_atomic;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use shopfloor_core::digest::Digest;
use shopfloor_core::effect::{CiReport, ProcessId};
use shopfloor_core::ids::Sha;
use std::fs;
use std::io;
use std::path::Path;

#[derive(Serialize, Deserialize)]
struct Record {
    commit: Sha,
    steps: String,
    report: CiReport,
}

/// Identifies the steps a report is about; empty if there are none.
pub fn digest(steps: &[CiStep]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let digest = steps.iter().fold(Digest::new(), |digest, step| {
        let timeout = step.timeout.as_millis().to_le_bytes();
        digest.field(step.name.as_bytes()).field(step.run.as_bytes()).field(&timeout)
    });
    format!("{:016x}", digest.finish())
}

/// The report of this run, if it is about that commit and those steps. An unreadable report counts as none:
/// the run is repeated.
pub(super) fn load_report(folder: &Path, commit: &Sha, steps: &[CiStep]) -> io::Result<Option<CiReport>> {
    let record: Option<Record> = load(&folder.join("report.json"))?;
    Ok(record.filter(|r| r.commit == *commit && r.steps == digest(steps)).map(|r| r.report))
}

pub(super) fn save_report(
    folder: &Path,
    commit: &Sha,
    steps: &[CiStep],
    report: &CiReport,
) -> io::Result<()> {
    let record = Record { commit: commit.clone(), steps: digest(steps), report: report.clone() };
    save(&folder.join("report.json"), &record)
}

/// A run that is begun again has none until it has ended again.
pub(super) fn remove_report(folder: &Path) -> io::Result<()> {
    remove(&folder.join("report.json"))
}

/// Whether the run in that folder came to its end, after which nothing of it is running.
pub(super) fn has_ended(folder: &Path) -> bool {
    folder.join("report.json").exists()
}

/// Notes that nobody wants the run any more: written before its processes are ended, and checked after each
/// one is started.
pub(crate) fn cancel(folder: &Path) -> io::Result<()> {
    write_atomic(&folder.join("cancelled"), b"", 0o600)
}

pub(super) fn is_cancelled(folder: &Path) -> bool {
    folder.join("cancelled").exists()
}

/// The process (and group leader) of the step that runs, or ran when the machine went down.
pub fn load_process(folder: &Path) -> io::Result<Option<ProcessId>> {
    load(&folder.join("process.json"))
}

pub(super) fn save_process(folder: &Path, process: ProcessId) -> io::Result<()> {
    save(&folder.join("process.json"), &process)
}

pub(crate) fn remove_process(folder: &Path) -> io::Result<()> {
    remove(&folder.join("process.json"))
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

pub(crate) fn save(path: &Path, value: &impl Serialize) -> io::Result<()> {
    write_atomic(path, &serde_json::to_vec(value)?, 0o600)
}
