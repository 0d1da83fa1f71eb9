//! What was escalated to people, in an append-only file.
//!
//! Invariants: a line is complete or not there, even after a crash in the middle of one; text is bounded and
//! safe to show, without secrets; the file and its predecessor are bounded; a line with a key is there only
//! once.

use crate::host::lock::FileLock;
use crate::layout::Layout;
use serde::Serialize;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::redact::Redactor;
use shopfloor_core::text::{head, neutralise, one_line};
use shopfloor_core::time::Time;
use shopfloor_engine::ports::{Escalation, Escalations, PortError, PortResult};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const TRIGGER_CHARS_MAX: usize = 80;
const CONTEXT_BYTES_MAX: usize = 4 * 1024;
/// A file of this size is put aside, replacing the one put aside before.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
const LOCK_WAIT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// RFC 3339.
    pub at: String,
    pub project: ProjectName,
    pub trigger: String,
    pub context: String,
    pub who: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueNumber>,
    /// Tells a repetition from another escalation of the same kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl Line {
    /// Makes the arguments safe to keep. An empty trigger stays empty.
    pub fn new(at: String, project: ProjectName, trigger: &str, context: &str, redactor: &Redactor) -> Line {
        Line {
            at,
            project,
            trigger: one_line(&redactor.redact(trigger), TRIGGER_CHARS_MAX),
            context: head(redactor.redact(&neutralise(context)).trim(), CONTEXT_BYTES_MAX),
            who: String::new(),
            issue: None,
            key: None,
        }
    }
}

/// Adds a line, unless there is one with its key.
pub fn append(path: &Path, line: &Line) -> io::Result<()> {
    let lock = FileLock::wait(&path.with_extension("lock"), LOCK_WAIT)?;
    if lock.is_none() {
        return Err(io::Error::new(io::ErrorKind::WouldBlock, "another command holds it"));
    }
    if let Some(key) = &line.key
        && (holds(path, key)? || holds(&aside(path), key)?)
    {
        return Ok(());
    }
    if std::fs::metadata(path).is_ok_and(|meta| meta.len() >= FILE_BYTES_MAX) {
        std::fs::rename(path, aside(path))?;
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    // A line that a crash cut short stays as it is, and this one starts on a new line.
    let start = if ends_in_newline(&mut file)? { "" } else { "\n" };
    file.write_all(format!("{start}{}\n", serde_json::to_string(line)?).as_bytes())?;
    file.sync_all()
}

fn aside(path: &Path) -> PathBuf {
    path.with_extension("jsonl.1")
}

fn holds(path: &Path, key: &str) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(e),
    };
    for line in BufReader::new(file).split(b'\n') {
        let line: Option<serde_json::Value> = serde_json::from_slice(&line?).ok();
        if line.is_some_and(|line| line["key"] == key) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn ends_in_newline(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Records the floor's own escalations, in their project's file.
pub struct EscalationFiles {
    pub layout: Layout,
    /// How a time is written.
    pub moment: fn(Time) -> String,
    pub redactor: Arc<dyn Fn(&ProjectName) -> Redactor + Send + Sync>,
}

impl Escalations for EscalationFiles {
    fn record(&self, escalation: &Escalation<'_>) -> PortResult<()> {
        let Escalation { job, project, assignment, trigger, context, about, at } = escalation;
        let redactor = (self.redactor)(project);
        let about = if about.is_empty() { String::new() } else { format!("-{about}") };
        let line = Line {
            who: "shopfloor".into(),
            issue: assignment.number(),
            key: Some(format!("job-{job}-{trigger}{about}")),
            ..Line::new((self.moment)(*at), (*project).clone(), trigger, context, &redactor)
        };
        append(&self.layout.escalations(project), &line).map_err(PortError::transient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::ids::{Assignment, JobId};

    #[test]
    fn what_is_performed_again_is_recorded_once() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let project: ProjectName = "harb".parse().unwrap();
        let files = EscalationFiles {
            layout: layout.clone(),
            moment: |t| t.0.to_string(),
            redactor: Arc::new(|_| Redactor::new(["hunter22".to_owned()])),
        };
        let record_about = |job: u64, context: &str, about: &str| {
            let escalation = Escalation {
                job: JobId(job),
                project: &project,
                assignment: Assignment::Issue(IssueNumber(7)),
                trigger: "job_failed",
                context,
                about,
                at: Time(5),
            };
            files.record(&escalation).unwrap();
        };
        let record = |job: u64, context: &str| record_about(job, context, "");
        let file = layout.escalations(&project);
        record(1, "hunter22 \u{1b}[2Jgone");
        // Cut short by a crash: it is not the same line, and does not spoil the next.
        OpenOptions::new().append(true).open(&file).unwrap().write_all(b"{\"key\":\"job-2-job_f").unwrap();
        record(1, "again");
        record(2, "another");
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].contains("[redacted] gone") && lines[2].contains("another"), "{text}");
        // Also when the file was put aside meanwhile.
        std::fs::rename(&file, aside(&file)).unwrap();
        record(2, "another");
        assert!(!file.exists());
        // Of the same trigger, but another commit.
        record_about(2, "third", "abc");
        record_about(2, "third", "abc");
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
    }
}
