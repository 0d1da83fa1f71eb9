//! What is known about one session: its evidence, and how far each source of it was read. Kept in the
//! session's folder, so that it outlives the daemon and `explain` needs none.
//!
//! Invariants:
//! - It follows from the files in the session's folder: if it is lost, reading them again restores it.
//! - Only what the session's own conversation reports counts. A client's helpers, and clients an agent starts
//!   itself, report under other names.

mod log;

use log::Log;
use serde::{Deserialize, Serialize};
use shopfloor_adapters::agent::spool::{self, HookReport};
use shopfloor_adapters::host::atomic::write_replacing;
use shopfloor_adapters::host::process::{Liveness, is_same};
use shopfloor_adapters::host::theirs;
use shopfloor_core::effect::ProcessId;
use shopfloor_core::liveness::{
    Evidence, Fact, HookEvent, Process, Source, StartSource, StatuslineFact, What,
};
use shopfloor_core::runtime::{Meaning, Reading, RuntimeSpec, screen};
use shopfloor_core::state::{Tokens, WorkPhase};
use shopfloor_core::time::Time;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Of a file that names a git directory.
const POINTER_BYTES_MAX: u64 = 16 * 1024;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dossier {
    pub evidence: Evidence,
    /// How far the spool was read.
    offset: u64,
    /// The client's id for the session's own conversation.
    conversation: Option<String>,
    /// The client's own log.
    #[serde(default)]
    log: Log,
    /// The stamp of the phase file's version that was last taken in.
    phase_stamp: Option<String>,
    /// The screen as it was last looked at, and how it was read. Every look at a session is by the same rules.
    #[serde(skip)]
    shown: Option<(String, Reading)>,
}

/// What a look into the session's folder found.
#[derive(Debug, Default)]
pub struct Caught {
    /// Prompts the client took, in order.
    pub prompts: Vec<String>,
    /// What the newest tool that says anything says about the work.
    pub work: Option<WorkPhase>,
    pub anything: bool,
}

impl Dossier {
    /// For a session that was launched at that time. `conversation` is its id, if we choose it.
    pub fn new(launched: Time, conversation: Option<String>) -> Dossier {
        Dossier {
            evidence: Evidence::new(launched),
            offset: 0,
            conversation,
            log: Log::default(),
            phase_stamp: None,
            shown: None,
        }
    }

    /// The dossier in the session's folder; an unreadable one is rebuilt from the files.
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

    /// Takes in what the session's files have reported since the last call.
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
        // A log that cannot be read says nothing; that is no reason to lose the rest.
        if let Ok(Some(transcript)) = self.log.read(spec, self.evidence.launched, now) {
            caught.anything = true;
            self.evidence.add(Fact::new(now, What::Transcript(transcript)));
        }
        Ok(caught)
    }

    /// The prompts the session has taken since then, according to its files. A daemon may have read them and
    /// died before it acted on them.
    pub fn prompts_since(&self, dir: &Path, at: Time) -> io::Result<Vec<String>> {
        let (mut prompts, mut offset) = (Vec::new(), 0);
        loop {
            let batch = spool::read_new(dir, offset)?;
            for told in batch.told {
                if let HookEvent::UserPromptSubmit { prompt, .. } = told.event
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

    fn told(&mut self, told: HookReport, caught: &mut Caught) {
        if !self.is_own(&told) {
            return;
        }
        if let Some(path) = told.transcript {
            self.log.is_at(PathBuf::from(path));
        }
        if let HookEvent::PreToolUse { tool } = &told.event {
            caught.work = WorkPhase::of_tool(tool).or(caught.work);
        }
        if let HookEvent::UserPromptSubmit { prompt, .. } = &told.event {
            caught.prompts.push(prompt.clone());
        }
        let event = match told.event {
            // A helper's step is a sign of life, but not a step of the turn; its dialog is a dialog.
            event @ (HookEvent::PreToolUse { .. }
            | HookEvent::PostToolUse { .. }
            | HookEvent::PostToolUseFailure { .. })
                if told.subagent =>
            {
                HookEvent::Other { name: format!("{event} of a subagent") }
            }
            event => event,
        };
        self.evidence.add(Fact::new(told.at, What::Hook(event)));
    }

    /// Whether the session itself reports it. A cleared conversation continues under another id.
    fn is_own(&mut self, told: &HookReport) -> bool {
        let own = self.conversation.as_ref() == Some(&told.conversation);
        let begins = matches!(told.event, HookEvent::SessionStart { source: StartSource::Clear })
            || (self.conversation.is_none() && !matches!(told.event, HookEvent::TurnComplete { .. }));
        if begins && !own {
            self.conversation = Some(told.conversation.clone());
        }
        own || begins
    }

    /// Whether its process runs, according to the kernel.
    pub fn see_process(&mut self, process: Option<ProcessId>, now: Time) {
        let what = match process.map(is_same) {
            Some(Liveness::Alive) => Process::Alive,
            Some(Liveness::Gone) => Process::Gone { status: None, signal: None },
            Some(Liveness::Unknown) => Process::Unknown { why: "the kernel does not say".into() },
            None => Process::Unknown { why: "no process is on record".into() },
        };
        self.evidence.add(Fact::new(now, What::Process(what)));
    }

    /// What a session signalled; every write counts, even of the same word.
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
        // Most looks show what the one before did. What that says depends on the time only where it names one.
        let again = self.shown.take().filter(|(known, reading)| {
            known == text && reading.claim.as_ref().is_none_or(|claim| claim.until.is_none())
        });
        let (_, reading) =
            self.shown.insert(again.unwrap_or_else(|| {
                (text.to_owned(), screen::read(spec, text, now, crate::time::utc_offset()))
            }));
        let reading = reading.clone();
        if let Some(line) = reading.statusline {
            self.see_clock(line, now);
        }
        self.evidence.add(Fact::new(now, What::Screen(reading.clone())));
        reading
    }

    /// The status line on the screen. What the client itself reported is more precise: only the clock, and
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

    /// A value that changes with every commit, checkout and `git add` in the worktree, without a process: it
    /// is read from git's own files.
    pub fn see_worktree(&mut self, worktree: &Path, now: Time) {
        let link = worktree.join(".git");
        let named = || {
            let text = theirs::read_to_string(&link, POINTER_BYTES_MAX).ok()?;
            text.strip_prefix("gitdir: ").map(|dir| PathBuf::from(dir.trim()))
        };
        let Some(dir) = Some(link.clone()).filter(|link| link.is_dir()).or_else(named) else { return };
        let stamp = |name: &&str| {
            let meta = std::fs::metadata(dir.join(name)).ok()?;
            Some((meta.mtime(), meta.mtime_nsec()))
        };
        let stamps: Vec<(i64, i64)> = ["index", "logs/HEAD"].iter().filter_map(stamp).collect();
        // It is as old as the files, not as the look at them.
        let millis = |(seconds, nanos): &(i64, i64)| (seconds * 1000 + nanos / 1_000_000).max(0) as u64;
        let written = stamps.iter().map(millis).max().map_or(now, |at| Time(at).min(now));
        let digest = stamps.iter().map(|(s, n)| format!("{s}.{n}")).collect::<Vec<_>>().join(" ");
        let at = written.max(self.evidence.launched);
        self.evidence.add(Fact::new(at, What::Git { digest }));
    }

    pub fn cost_micros(&self) -> Option<u64> {
        match &self.evidence.newest(Source::Statusline)?.what {
            What::Statusline(line) => line.cost_micros,
            _ => None,
        }
    }

    /// What its client has used, as its log says.
    pub fn tokens(&self) -> Option<Tokens> {
        self.log.tokens()
    }

    /// Empties the spool once all of it was read and it has grown. After a crash in between, it is read again
    /// from its beginning, with the same result.
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
    use serde_json::json;

    #[test]
    fn a_prompt_that_was_read_and_not_acted_on_is_found_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path();
        let spec: RuntimeSpec = serde_json::from_value(json!({
            "name": "client", "launch": { "argv": ["client"] }, "readiness": "hook",
            "capabilities": {
                "resume": false, "hooks": true, "statusline": false, "context": false, "cost": false,
                "delivery": "inbox",
            },
        }))
        .expect("a runtime");
        for (at, conversation) in [(10, "own"), (20, "own"), (30, "a helper's")] {
            let event = HookEvent::UserPromptSubmit { prompt: format!("at {at}"), turn: None };
            let told = HookReport {
                at: Time(at),
                conversation: conversation.into(),
                transcript: None,
                subagent: false,
                event,
            };
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
