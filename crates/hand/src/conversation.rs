//! Which conversation a hand session's client has: the one that `session fork` continues.
//!
//! Hand sessions have no hooks of ours, so the conversation is looked up where the client keeps it.
//! Invariants:
//! - What is found is a word that can be an argument of the client, and nothing else: clients write these
//!   files, for agents.
//! - If two could be meant, that is an error that names both, never a guess.

use crate::sessions::Hand;
use serde_json::Value;
use shopfloor_adapters::host::process::descendants;
use shopfloor_core::runtime::Setup;
use shopfloor_core::time::Time;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A transcript's first line says where the client ran; it may hold a page or so of instructions.
const FIRST_LINE_MAX: u64 = 1024 * 1024;
const STATE_BYTES_MAX: u64 = 64 * 1024;
/// How many transcripts are looked at.
const FILES_MAX: usize = 5_000;
const ID_CHARS_MAX: usize = 64;

/// Where clients keep their conversations.
#[derive(Clone, Debug)]
pub struct ClientHomes {
    pub claude: PathBuf,
    pub codex: PathBuf,
}

/// The conversation's id, or why there is none to continue.
pub fn find(setup: Setup, hand: &Hand, homes: &ClientHomes) -> Result<String, String> {
    let record = hand.record.as_ref().ok_or("nothing is on record of it")?;
    let (now, kept) = match setup {
        Setup::Nothing => return Err("its program keeps no conversation that is known".to_owned()),
        Setup::Claude => {
            let folder: String =
                record.cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            let transcripts = names(&homes.claude.join("projects").join(folder), 0);
            (claude_now(hand, &homes.claude), transcripts)
        }
        Setup::Codex => {
            let all = names(&homes.codex.join("sessions"), 3);
            let here = all.into_iter().filter(|file| codex_folder(file).as_deref() == Some(&record.cwd));
            (codex_now(hand), here.collect())
        }
    };
    if let Some(id) = now {
        return Ok(id);
    }
    let since = kept.iter().filter(|file| changed(file).is_some_and(|at| at >= record.created));
    let mut ids: BTreeSet<String> = since.filter_map(|file| id_of(file)).collect();
    match (ids.pop_first(), ids.is_empty()) {
        (None, _) => Err("it has no conversation yet, or its client keeps it elsewhere".to_owned()),
        (Some(only), true) => Ok(only),
        (Some(first), false) => {
            let all: Vec<String> = std::iter::once(first).chain(ids).take(5).collect();
            Err(format!("several conversations were held in its folder since: {}", all.join(", ")))
        }
    }
}

/// Whether a text can be a conversation's id.
pub fn is_id(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (8..=ID_CHARS_MAX).contains(&text.len()) && text.chars().all(good) && !text.starts_with('-')
}

/// The session's processes, while it lives.
fn pids(hand: &Hand) -> Vec<u32> {
    let Some(process) = hand.process() else { return Vec::new() };
    let below = descendants(process.pid).unwrap_or_default();
    std::iter::once(process.pid).chain(below.into_iter().map(|process| process.pid)).collect()
}

/// Claude Code records which conversation a process has.
fn claude_now(hand: &Hand, home: &Path) -> Option<String> {
    pids(hand).into_iter().find_map(|pid| {
        let file = File::open(home.join("sessions").join(format!("{pid}.json"))).ok()?;
        let value: Value = serde_json::from_reader(file.take(STATE_BYTES_MAX)).ok()?;
        value.get("sessionId")?.as_str().filter(|id| is_id(id)).map(str::to_owned)
    })
}

/// Codex has its rollout file open.
fn codex_now(hand: &Hand) -> Option<String> {
    pids(hand).into_iter().find_map(|pid| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
        open.flatten().find_map(|fd| id_of(&fs::read_link(fd.path()).ok()?))
    })
}

fn codex_folder(rollout: &Path) -> Option<String> {
    let mut line = String::new();
    BufReader::new(File::open(rollout).ok()?.take(FIRST_LINE_MAX)).read_line(&mut line).ok()?;
    let value: Value = serde_json::from_str(&line).ok()?;
    Some(value.pointer("/payload/cwd")?.as_str()?.to_owned())
}

/// The transcripts in a folder, and in folders below it to that depth.
fn names(folder: &Path, depth: u8) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => found.extend(names(&path, depth - 1)),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|ext| ext == "jsonl") => {
                found.push(path);
            }
            _ => {}
        }
        if found.len() >= FILES_MAX {
            break;
        }
    }
    found
}

/// `ID.jsonl`, or `rollout-TIME-ID.jsonl`, where an id is a UUID.
fn id_of(file: &Path) -> Option<String> {
    let stem = file.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    let id = match stem.strip_prefix("rollout-") {
        Some(rest) => rest.get(rest.len().checked_sub(36)?..)?,
        None => stem,
    };
    (id.len() == 36 && is_id(id)).then(|| id.to_owned())
}

fn changed(file: &Path) -> Option<Time> {
    let at = fs::metadata(file).and_then(|meta| meta.modified()).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Time(at.as_millis() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_from_names_and_nothing_else_is_one() {
        let uuid = "0193a2bc-1234-7abc-8def-0123456789ab";
        assert_eq!(id_of(Path::new(&format!("/x/{uuid}.jsonl"))).as_deref(), Some(uuid));
        let rollout = format!("/x/rollout-2026-11-15T10-00-00-{uuid}.jsonl");
        assert_eq!(id_of(Path::new(&rollout)).as_deref(), Some(uuid));
        for other in ["/x/agent-a1b2.jsonl", "/x/rollout-.jsonl", "/x/rollout-é.jsonl", "/dev/null"] {
            assert_eq!(id_of(Path::new(other)), None, "{other}");
        }
        for bad in ["", "--resume-evil", "a b c d e f g h", "../../../x", &"a".repeat(65)] {
            assert!(!is_id(bad), "{bad:?}");
        }
    }
}
