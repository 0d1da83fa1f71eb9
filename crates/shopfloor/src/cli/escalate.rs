//! `shopfloor escalate`: put something before people, in a file that is only ever added to.
//!
//! Invariants: a line is whole or not there, also after a crash in the middle of one; text is bounded and
//! safe to show, without secrets; the file and the one before it are bounded.

use super::{CliError, CliResult, Context, Exit, body, now, output};
use clap::Args;
use serde::Serialize;
use shopfloor_adapters::host::lock::FileLock;
use shopfloor_core::event::Event;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::text::{head, neutralise, one_line};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Tell people that something needs them
///
/// The line is added to escalations-PROJECT.jsonl in the floor's home, and `shopfloor events` shows it. Any trigger will do, such as
/// retry_limit or review_cycles.
#[derive(Args)]
pub struct EscalateArgs {
    /// What happened, in a word
    trigger: String,
    /// What it is about; `-` is standard input
    #[arg(allow_hyphen_values = true)]
    context: String,
}

#[derive(Serialize)]
struct Line<'a> {
    at: String,
    project: &'a ProjectName,
    trigger: &'a str,
    context: &'a str,
    who: &'a str,
}

#[derive(Serialize)]
struct Escalated<'a> {
    escalate: bool,
    #[serde(flatten)]
    line: Line<'a>,
    file: String,
}

const TRIGGER_CHARS_MAX: usize = 80;
const CONTEXT_BYTES_MAX: usize = 4 * 1024;
/// A file of this size is put aside, in place of the one put aside before.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
const LOCK_WAIT: Duration = Duration::from_secs(10);

pub fn run(context: &Context, args: EscalateArgs) -> CliResult<Exit> {
    let project = context.project()?.name;
    let redactor = context.redactor()?;
    let given = if args.context == "-" { body::read_file(Path::new("-"))? } else { args.context };
    let trigger = one_line(&redactor.redact(&args.trigger), TRIGGER_CHARS_MAX);
    if trigger.is_empty() {
        return Err(CliError::usage("the trigger is empty"));
    }
    let about = head(redactor.redact(&neutralise(&given)).trim(), CONTEXT_BYTES_MAX);
    let who = body::author();
    let line =
        Line { at: output::moment(now()), project: &project, trigger: &trigger, context: &about, who: &who };
    let file = context.layout.escalations(&project);
    append(&file, &output::json_text(&line))
        .map_err(|e| CliError::failed(format!("{} cannot be written: {e}", file.display())))?;
    let text = format!("{trigger}: {}", one_line(&about, 500));
    context.submit(&Event::Escalated { project: project.clone(), text })?;
    if context.json {
        output::json(&Escalated { escalate: true, line, file: file.display().to_string() });
    } else {
        output::line(format!("escalated {trigger} to {}", file.display()));
    }
    Ok(Exit::Fine)
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    let lock = FileLock::wait(&path.with_extension("lock"), LOCK_WAIT)?;
    if lock.is_none() {
        return Err(io::Error::new(io::ErrorKind::WouldBlock, "another command holds it"));
    }
    if std::fs::metadata(path).is_ok_and(|meta| meta.len() >= FILE_BYTES_MAX) {
        std::fs::rename(path, path.with_extension("jsonl.1"))?;
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    // A line that was cut short by a crash stays what it is, and this one begins anew.
    let start = if ends_in_newline(&mut file)? { "" } else { "\n" };
    file.write_all(format!("{start}{line}\n").as_bytes())?;
    file.sync_all()
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
