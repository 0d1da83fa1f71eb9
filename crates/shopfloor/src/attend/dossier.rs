//! What is known of one session: its evidence, and how far each source of it was read. Kept in the
//! session's folder, so that it outlives the daemon and `explain` needs none.
//!
//! Invariants:
//! - It follows from the files in the session's folder: if it is lost, reading them again makes it.
//! - Only what the session's own conversation tells counts. A client's helpers, and clients an agent
//!   starts itself, tell under other names.

use serde::{Deserialize, Serialize};
use shopfloor_adapters::agent::hooks::{TurnLine, parse_rollout_line};
use shopfloor_adapters::agent::spool::{self, Told};
use shopfloor_adapters::host::atomic::write_replacing;
use shopfloor_adapters::host::process::{Liveness, is_same};
use shopfloor_core::effect::ProcessId;
use shopfloor_core::liveness::{
    Evidence, Fact, HookEvent, Process, Source, StartSource, StatuslineFact, Transcript, TurnEnd, What,
};
use shopfloor_core::runtime::{Meaning, Reading, RuntimeSpec, TranscriptKind, screen};
use shopfloor_core::state::WorkPhase;
use shopfloor_core::time::Time;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is read of a client's log in one go.
const TRANSCRIPT_BYTES_MAX: u64 = 1024 * 1024;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dossier {
    pub evidence: Evidence,
    /// How far the spool was read.
    offset: u64,
    /// The client's id of the session's own conversation.
    conversation: Option<String>,
    transcript: Option<PathBuf>,
    transcript_offset: u64,
    turn: Option<(Time, TurnEnd)>,
    /// The writing of the phase file that was last taken in.
    phase_stamp: Option<String>,
}

/// What a look into the session's folder found.
#[derive(Debug, Default)]
pub struct Caught {
    /// Prompts the client took, in order.
    pub prompts: Vec<String>,
    /// What the newest tool that says anything says of the work.
    pub work: Option<WorkPhase>,
    pub anything: bool,
}

impl Dossier {
    /// Of a session that was launched at that time. `conversation` is its id, where we choose it.
    pub fn new(launched: Time, conversation: Option<String>) -> Dossier {
        Dossier {
            evidence: Evidence::new(launched),
            offset: 0,
            conversation,
            transcript: None,
            transcript_offset: 0,
            turn: None,
            phase_stamp: None,
        }
    }

    /// The one in the session's folder; one that cannot be read is made anew from the files.
    pub fn load(dir: &Path, launched: Time, conversation: Option<String>) -> Dossier {
        let read = std::fs::read(file(dir)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        read.unwrap_or_else(|| Dossier::new(launched, conversation))
    }

    pub fn save(&self, dir: &Path) -> io::Result<()> {
        write_replacing(&file(dir), &serde_json::to_vec(self)?, 0o600)
    }

    pub fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// Takes in what the session's files tell since the last time.
    pub fn catch_up(&mut self, dir: &Path, spec: &RuntimeSpec, now: Time) -> io::Result<Caught> {
        let mut caught = Caught::default();
        loop {
            let batch = spool::read_new(dir, self.offset)?;
            caught.anything |= batch.offset != self.offset;
            self.offset = batch.offset;
            for told in batch.told {
                self.told(told, &mut caught);
            }
            if !batch.more {
                break;
            }
        }
        if let Some(line) = spool::read_line(dir)?
            && self.conversation.as_deref().is_none_or(|own| own == line.conversation)
        {
            let newer = self.evidence.newest(Source::Statusline).is_none_or(|known| known.at < line.at);
            caught.anything |= newer;
            if newer {
                self.evidence.add(Fact::new(line.at.min(now), What::Statusline(line.fact)));
            }
        }
        // A log that cannot be read tells nothing; that is no reason to lose the rest.
        caught.anything |= self.read_transcript(spec, now).unwrap_or(false);
        Ok(caught)
    }

    /// The prompts the session took since then, by its files. A daemon may have read them and died
    /// before it acted on them.
    pub fn prompts_since(&self, dir: &Path, at: Time) -> io::Result<Vec<String>> {
        let (mut prompts, mut offset) = (Vec::new(), 0);
        loop {
            let batch = spool::read_new(dir, offset)?;
            for told in batch.told {
                if let HookEvent::UserPromptSubmit { prompt } = told.event
                    && told.at >= at
                    && self.conversation.as_ref() == Some(&told.conversation)
                {
                    prompts.push(prompt);
                }
            }
            offset = batch.offset;
            if !batch.more {
                return Ok(prompts);
            }
        }
    }

    fn told(&mut self, told: Told, caught: &mut Caught) {
        if !self.is_own(&told) {
            return;
        }
        if let Some(path) = told.transcript.filter(|path| self.transcript.as_deref() != Some(Path::new(path)))
        {
            self.transcript = Some(PathBuf::from(path));
            self.transcript_offset = 0;
        }
        if let HookEvent::PreToolUse { tool } = &told.event {
            caught.work = WorkPhase::of_tool(tool).or(caught.work);
        }
        if let HookEvent::UserPromptSubmit { prompt } = &told.event {
            caught.prompts.push(prompt.clone());
        }
        self.evidence.add(Fact::new(told.at, What::Hook(told.event)));
    }

    /// Whether the session itself tells it. A conversation that is cleared goes on under another id.
    fn is_own(&mut self, told: &Told) -> bool {
        let own = self.conversation.as_ref() == Some(&told.conversation);
        let begins = matches!(told.event, HookEvent::SessionStart { source: StartSource::Clear })
            || (self.conversation.is_none() && !matches!(told.event, HookEvent::TurnComplete { .. }));
        if begins && !own {
            self.conversation = Some(told.conversation.clone());
        }
        own || begins
    }

    fn read_transcript(&mut self, spec: &RuntimeSpec, now: Time) -> io::Result<bool> {
        let Some(path) = &self.transcript else { return Ok(false) };
        let meta = std::fs::metadata(path)?;
        if !meta.is_file() {
            return Ok(false);
        }
        let bytes = meta.len();
        let known = match self.evidence.newest(Source::Transcript).map(|fact| &fact.what) {
            Some(What::Transcript(known)) => known.bytes,
            _ => 0,
        };
        if bytes == known {
            return Ok(false);
        }
        if spec.transcript == TranscriptKind::Rollout {
            if self.transcript_offset > bytes {
                self.transcript_offset = 0;
            }
            // Of a long silence only the end matters.
            let start = self.transcript_offset.max(bytes.saturating_sub(TRANSCRIPT_BYTES_MAX));
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(start))?;
            let mut text = Vec::new();
            file.take(TRANSCRIPT_BYTES_MAX).read_to_end(&mut text)?;
            let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
            for line in String::from_utf8_lossy(&text[..whole]).lines() {
                match parse_rollout_line(line, |name| spec.error_kind(name)) {
                    Some(TurnLine::Begins) => self.turn = None,
                    Some(TurnLine::Ends(end)) => self.turn = Some((now, end)),
                    None => {}
                }
            }
            self.transcript_offset = start + whole as u64;
        }
        self.evidence.add(Fact::new(now, What::Transcript(Transcript { bytes, turn: self.turn })));
        Ok(true)
    }

    /// Whether its process runs, by the kernel.
    pub fn see_process(&mut self, process: Option<ProcessId>, now: Time) {
        let what = match process.map(is_same) {
            Some(Liveness::Alive) => Process::Alive,
            Some(Liveness::Gone) => Process::Gone { status: None, signal: None },
            Some(Liveness::Unknown) => Process::Unknown { why: "the kernel does not say".into() },
            None => Process::Unknown { why: "no process is on record".into() },
        };
        self.evidence.add(Fact::new(now, What::Process(what)));
    }

    /// What a session signalled; every writing counts, also of the same word.
    pub fn see_phase(&mut self, phase: Option<shopfloor_core::phase::Phase>, stamp: Option<&str>, now: Time) {
        if stamp.is_some() && self.phase_stamp.as_deref() != stamp {
            self.phase_stamp = stamp.map(str::to_owned);
            self.evidence.add(Fact::new(now, What::PhaseFile(phase)));
        }
    }

    pub fn see_title(&mut self, spec: &RuntimeSpec, title: &str, now: Time) {
        let claim = screen::read_title(spec, title);
        self.evidence.add(Fact::new(now, What::Title { text: title.to_owned(), claim }));
    }

    pub fn title_meaning(&self) -> Option<Meaning> {
        match &self.evidence.newest(Source::Title)?.what {
            What::Title { claim, .. } => claim.as_ref().map(|claim| claim.meaning),
            _ => None,
        }
    }

    pub fn see_screen(&mut self, spec: &RuntimeSpec, text: &str, now: Time) -> Reading {
        let reading = screen::read(spec, text, now, crate::cli::utc_offset());
        if let Some(line) = reading.statusline {
            self.see_clock(line, now);
        }
        self.evidence.add(Fact::new(now, What::Screen(reading.clone())));
        reading
    }

    /// The status line on the screen. What the client itself reported knows more: only the clock, and
    /// what is not known otherwise, is taken from here.
    fn see_clock(&mut self, line: shopfloor_core::runtime::statusline::Statusline, now: Time) {
        let known = match self.evidence.newest(Source::Statusline).map(|fact| &fact.what) {
            Some(What::Statusline(known)) => known.clone(),
            _ => StatuslineFact::default(),
        };
        let context_percent = line.context_percent.or(known.context_percent);
        let fact = StatuslineFact { clock: Some(line.clock), context_percent, ..known };
        self.evidence.add(Fact::new(now, What::Statusline(fact)));
    }

    /// Something that changes with every commit, checkout and `git add` in the worktree, without a
    /// process: git's own files.
    pub fn see_worktree(&mut self, worktree: &Path, now: Time) {
        let git = std::fs::read_to_string(worktree.join(".git")).unwrap_or_default();
        let Some(dir) = git.strip_prefix("gitdir: ").map(|dir| PathBuf::from(dir.trim())) else { return };
        let stamp = |name: &str| {
            let meta = std::fs::metadata(dir.join(name)).ok()?;
            Some(format!("{}.{}", meta.mtime(), meta.mtime_nsec()))
        };
        let digest =
            ["index", "logs/HEAD"].iter().filter_map(|name| stamp(name)).collect::<Vec<_>>().join(" ");
        self.evidence.add(Fact::new(now, What::Git { digest }));
    }

    pub fn cost_micros(&self) -> Option<u64> {
        match &self.evidence.newest(Source::Statusline)?.what {
            What::Statusline(line) => line.cost_micros,
            _ => None,
        }
    }

    /// Empties the spool once all of it was read and it has grown. A crash in between means that it is
    /// read again from its beginning, which leads to the same.
    pub fn trim(&mut self, dir: &Path) -> io::Result<()> {
        let read = self.offset;
        if read < spool::TRIM_BYTES {
            return Ok(());
        }
        self.offset = 0;
        self.save(dir)?;
        self.offset = spool::trim(dir, read)?;
        self.save(dir)
    }
}

fn file(dir: &Path) -> PathBuf {
    dir.join("evidence.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::runtimes::embedded;

    #[test]
    fn a_prompt_that_was_read_and_not_acted_on_is_found_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let (dir, spec) = (folder.path(), embedded("claude").expect("it is embedded"));
        for (at, conversation) in [(10, "own"), (20, "own"), (30, "a helper's")] {
            let event = HookEvent::UserPromptSubmit { prompt: format!("at {at}") };
            let told = Told { at: Time(at), conversation: conversation.into(), transcript: None, event };
            spool::append(dir, &told).expect("appended");
        }
        let mut dossier = Dossier::new(Time(0), Some("own".into()));
        let caught = dossier.catch_up(dir, &spec, Time(40)).expect("read");
        assert_eq!(caught.prompts, ["at 10", "at 20"]);
        dossier.save(dir).expect("kept");
        // The daemon dies here.
        let mut dossier = Dossier::load(dir, Time(0), Some("own".into()));
        assert!(dossier.catch_up(dir, &spec, Time(50)).expect("read").prompts.is_empty());
        assert_eq!(dossier.prompts_since(dir, Time(15)).expect("read"), ["at 20"]);
    }
}
