//! The way from an agent's client to the daemon, whether the daemon runs or not: files in the part of the session's
//! folder that is its own to write. `hooks.jsonl` holds every reported event, one per line, in order; `statusline.json` holds the
//! newest status line; `hook-errors.log` what went wrong in a hook, which must not trouble the agent. In the
//! other direction goes `protocol.md`: what a client is told again when it has forgotten it.
//!
//! Invariants:
//! - What was appended is read once a reader asks for it: [`trim`] empties the file only when all of it was
//!   read, and holds a lock that every appender shares.
//! - A writer that is killed while writing spoils only its own line: every line is written with a line end
//!   before it as well as after it.
//! - Nobody waits: an appender waits for a lock at most [`LOCK_WAIT`], a reader not at all.
//! - Everything is bounded: each text, each line, the file, what one call reads.
//!
//! An **offset** is a position in `hooks.jsonl`. One beyond the file's end is from before a [`trim`]: then
//! reading begins at 0. Whoever keeps an offset across restarts stores 0 *before* trimming. A crash in
//! between means that events are reported twice; the other way round some could be missed, if the file has
//! grown past the old offset by then.

use crate::host::atomic::write_replacing;
use crate::layout::own_part;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, fstat, ftruncate, open};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use shopfloor_core::liveness::{HookEvent, StatuslineFact};
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A prompt longer than this is cut.
pub const PROMPT_BYTES_MAX: usize = 256 * 1024;
/// An error's message is for people: its beginning is enough.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// Names of tools, events, errors and conversations.
const NAME_CHARS_MAX: usize = 200;
const PATH_BYTES_MAX: usize = 4096;
/// Nobody has read for a long time: nothing more is kept.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// From this size on, the file is worth emptying.
pub const TRIM_BYTES: u64 = 1024 * 1024;
/// How much one call reads at most. More than any line: a prompt grows at most sixfold in JSON.
const READ_BYTES_MAX: usize = 4 * 1024 * 1024;
const ERRORS_BYTES_MAX: u64 = 64 * 1024;
/// How much a client takes in from a hook: if there are more than 10,000 characters, Claude Code shows its
/// model the first 2 KiB and the name of a file.
pub const PROTOCOL_BYTES_MAX: usize = 8 * 1024;
/// How long an appender tries to get the lock. Only [`trim`] is in its way, for microseconds.
pub const LOCK_WAIT: Duration = Duration::from_millis(50);
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// One event, as a client reported it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookReport {
    /// When the hook was called.
    pub at: Time,
    /// The client's id for the conversation. Not only the session's own: a client that an agent starts in its
    /// session reports its events here too.
    pub conversation: String,
    /// The client's own log of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// One of the client's helpers reports it, not the session itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subagent: bool,
    pub event: HookEvent,
}

/// What a status line was drawn from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub at: Time,
    pub conversation: String,
    pub fact: StatuslineFact,
}

/// What was read, and where to continue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub told: Vec<HookReport>,
    pub offset: u64,
    /// Lines that are not events: torn by a crash, or not ours.
    pub skipped: u64,
    /// There is more than one call can read: ask again.
    pub more: bool,
}

pub fn hooks_file(dir: &Path) -> PathBuf {
    own_part(dir).join("hooks.jsonl")
}

pub fn statusline_file(dir: &Path) -> PathBuf {
    own_part(dir).join("statusline.json")
}

/// Appends an event in one write. The folder must exist.
pub fn append(dir: &Path, told: &HookReport) -> io::Result<()> {
    let mut line = vec![b'\n'];
    serde_json::to_writer(&mut line, &bounded(told))?;
    line.push(b'\n');
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let mut file = open_regular(&hooks_file(dir), flags)?;
    // Without the lock, only an event that arrives at the very moment of a trim can be lost; without the
    // write it is certainly lost.
    let _locked = lock_shared(&file);
    if file.metadata()?.len() > FILE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::StorageFull, "hooks.jsonl is full: nobody reads it"));
    }
    let written = file.write(&line)?;
    if written < line.len() {
        return Err(io::Error::new(io::ErrorKind::WriteZero, "hooks.jsonl took a part of the event only"));
    }
    Ok(())
}

/// The events from `offset` on, in whole lines.
pub fn read_new(dir: &Path, offset: u64) -> io::Result<Batch> {
    let file = match open_regular(&hooks_file(dir), OFlags::RDONLY) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Batch::default()),
        Err(e) => return Err(e),
    };
    let size = file.metadata()?.len();
    let offset = if offset > size { 0 } else { offset };
    let wanted = (size - offset).min(READ_BYTES_MAX as u64) as usize;
    let mut bytes = vec![0; wanted];
    let mut filled = 0;
    while filled < wanted {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    bytes.truncate(filled);
    let whole = match bytes.iter().rposition(|b| *b == b'\n') {
        Some(end) => end + 1,
        // No line of ours is as long as this.
        None if filled == READ_BYTES_MAX => filled,
        None => 0,
    };
    let mut batch = Batch { offset: offset + whole as u64, ..Batch::default() };
    for line in bytes[..whole].split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(told) => batch.told.push(told),
            Err(_) => batch.skipped += 1,
        }
    }
    batch.more = whole > 0 && batch.offset < size;
    Ok(batch)
}

/// Empties the file if it is large and was completely read up to `offset`. Returns the offset to continue
/// from.
pub fn trim(dir: &Path, offset: u64) -> io::Result<u64> {
    if offset < TRIM_BYTES {
        return Ok(offset);
    }
    let file = open_regular(&hooks_file(dir), OFlags::RDWR)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        // Somebody is appending: next time.
        Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(offset),
        Err(e) => return Err(e.into()),
    }
    if file.metadata()?.len() != offset {
        return Ok(offset);
    }
    ftruncate(&file, 0)?;
    Ok(0)
}

/// Replaces the status line; the newest wins.
pub fn write_line(dir: &Path, line: &Line) -> io::Result<()> {
    let line = Line { conversation: one_line(&line.conversation, NAME_CHARS_MAX), ..line.clone() };
    write_replacing(&statusline_file(dir), &serde_json::to_vec(&line)?, 0o600)
}

/// The newest status line. `None`: there is none, or the file does not hold one.
pub fn read_line(dir: &Path) -> io::Result<Option<Line>> {
    let text = read_small(&statusline_file(dir), MESSAGE_BYTES_MAX)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Notes what went wrong in a hook, if possible.
pub fn complain(dir: &Path, at: Time, what: &str) {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let Ok(mut file) = open_regular(&own_part(dir).join("hook-errors.log"), flags) else { return };
    if file.metadata().is_ok_and(|meta| meta.len() < ERRORS_BYTES_MAX) {
        let _ = file.write(format!("{} {}\n", at.0, one_line(what, NAME_CHARS_MAX)).as_bytes());
    }
}

/// What a session has to know, written at its start. If it is longer than [`PROTOCOL_BYTES_MAX`], only the
/// beginning is told.
pub fn protocol_file(dir: &Path) -> PathBuf {
    dir.join("protocol.md")
}

pub fn read_protocol(dir: &Path) -> io::Result<Option<String>> {
    read_small(&protocol_file(dir), PROTOCOL_BYTES_MAX)
}

/// The beginning of a file; `None` if there is none.
fn read_small(path: &Path, bytes_max: usize) -> io::Result<Option<String>> {
    let file = match open_regular(path, OFlags::RDONLY) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let mut bytes = Vec::new();
    file.take(bytes_max as u64).read_to_end(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The agent can put anything there: a link is not followed, and a pipe blocks nobody.
fn open_regular(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = open(path, flags, Mode::RUSR | Mode::WUSR)?;
    if !FileType::from_raw_mode(fstat(&fd)?.st_mode).is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok(File::from(fd))
}

/// Whether the lock was obtained in time. It ends with the descriptor.
fn lock_shared(file: impl AsFd) -> bool {
    let tries = LOCK_WAIT.as_millis() / LOCK_PAUSE.as_millis();
    for _ in 0..tries {
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => return true,
            // Nothing announces a free lock, except an unbounded wait for it.
            Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(LOCK_PAUSE),
            Err(_) => return false,
        }
    }
    false
}

/// The report with every text within its bound. A prompt is cut but otherwise unchanged: it is compared with
/// what was typed.
fn bounded(told: &HookReport) -> HookReport {
    let name = |text: &str| one_line(text, NAME_CHARS_MAX);
    let event = match &told.event {
        HookEvent::UserPromptSubmit { prompt, turn } => HookEvent::UserPromptSubmit {
            prompt: cut(prompt, PROMPT_BYTES_MAX),
            turn: turn.as_deref().map(name),
        },
        // What it asks was bounded when it was read.
        HookEvent::Stop { turn, tasks, asks } => {
            HookEvent::Stop { turn: turn.as_deref().map(name), tasks: tasks.clone(), asks: asks.clone() }
        }
        HookEvent::TurnComplete { thread, prompt } => HookEvent::TurnComplete {
            thread: name(thread),
            prompt: prompt.as_deref().map(|prompt| cut(prompt, PROMPT_BYTES_MAX)),
        },
        HookEvent::StopFailure { error, message, subagent } => HookEvent::StopFailure {
            error: name(error),
            message: cut(message, MESSAGE_BYTES_MAX),
            subagent: *subagent,
        },
        HookEvent::PreToolUse { tool } => HookEvent::PreToolUse { tool: name(tool) },
        HookEvent::PostToolUse { tool } => HookEvent::PostToolUse { tool: name(tool) },
        HookEvent::PostToolUseFailure { tool } => HookEvent::PostToolUseFailure { tool: name(tool) },
        HookEvent::PermissionRequest { tool } => HookEvent::PermissionRequest { tool: name(tool) },
        HookEvent::SessionEnd { reason } => HookEvent::SessionEnd { reason: name(reason) },
        HookEvent::Other { name: other } => HookEvent::Other { name: name(other) },
        other => other.clone(),
    };
    let transcript = told.transcript.clone().filter(|path| path.len() <= PATH_BYTES_MAX);
    let (at, subagent) = (told.at, told.subagent);
    HookReport { at, conversation: name(&told.conversation), transcript, subagent, event }
}

fn cut(text: &str, bytes_max: usize) -> String {
    let end = (0..=bytes_max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or(0)].to_owned()
}
