//! Hand sessions on the floor's tmux server, and what is kept about each in a folder of its own.
//!
//! Invariants:
//! - A record is written before its session is started and completed afterwards. One that was not completed,
//!   because its writer died, is finished or removed by the next look ([`HandSessions::settle`]).
//! - Numbers grow, under a lock that is held only for moments; no two sessions of a floor share one.
//! - Only sessions with a hand session's name are ever ended here. A session on the socket with such a name
//!   but no record is still found: whoever started it died in the middle.
//! - What is kept after the end (output, how it ended) is bounded: the newest [`KEPT_MAX`].

use crate::name::{self, Parts};
use crate::record::{self, Ended, Finish, Record, Stand};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_adapters::host::lock::FileLock;
use shopfloor_adapters::host::process::{Liveness, is_same};
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::phase_file;
use shopfloor_adapters::terminal::tmux::{Probe, SpawnSpec, Tmux, TmuxError};
use shopfloor_core::effect::ProcessId;
use shopfloor_core::ids::HandName;
use shopfloor_core::phase::{Phase, PhaseReport};
use shopfloor_core::time::Time;
use shopfloor_engine::ports::Tree;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many ended sessions are remembered.
pub const KEPT_MAX: usize = 50;
/// The lock is held for milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// In the session's environment: its name.
pub const NAME_VARIABLE: &str = "SHOPFLOOR_HAND";

#[derive(Debug, thiserror::Error)]
pub enum HandError {
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    #[error("another command holds {}", .0.display())]
    Busy(PathBuf),
    #[error("the worktree of {name} cannot be made ready: {why}")]
    Tree { name: HandName, why: String },
    #[error("{what}: {source}")]
    Io {
        what: String,
        #[source]
        source: io::Error,
    },
}

impl HandError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> HandError {
        let what = path.display().to_string();
        move |source| HandError::Io { what, source }
    }
}

pub type HandResult<T> = Result<T, HandError>;

/// What to start.
pub struct Spawn<'a> {
    pub parts: Parts<'a>,
    pub runtime: &'a str,
    /// Where it runs; with `branch`, in a worktree of its own instead.
    pub cwd: &'a Path,
    /// That worktree's branch; if empty, it is named after the session.
    pub branch: Option<&'a str>,
    /// The hub had that branch already.
    pub taken_over: bool,
    pub forked_from: Option<&'a str>,
    pub argv: Vec<String>,
    /// The words to put before `argv`: a program that stays until everything printed was read.
    pub leader: Vec<OsString>,
    /// The whole environment, except for what names the session.
    pub env: Vec<(OsString, OsString)>,
    pub now: Time,
    /// The process that starts it.
    pub by: ProcessId,
}

/// A hand session as it is found.
#[derive(Debug)]
pub struct Hand {
    pub name: HandName,
    /// `None`: there is no record, or it cannot be read.
    pub record: Option<Record>,
    /// `Err`: tmux could not be asked, so nothing is known.
    pub probe: Result<Probe, String>,
}

impl Hand {
    /// The process on record, unless it had ended before anybody looked.
    pub fn process(&self) -> Option<ProcessId> {
        match (&self.probe, self.record.as_ref().map(|record| &record.stand)) {
            (Ok(Probe::Alive(process)), _) => Some(*process),
            (_, Some(Stand::Started { process })) => Some(*process).filter(|process| process.start > 0),
            _ => None,
        }
    }

    pub fn ended(&self) -> Option<&Ended> {
        match &self.record.as_ref()?.stand {
            Stand::Ended(ended) => Some(ended),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct HandSessions {
    pub layout: Layout,
    pub tmux: Tmux,
}

impl HandSessions {
    /// Starts a session, with a number of its own, in the folder given.
    pub fn spawn(&self, spawn: Spawn<'_>) -> HandResult<Record> {
        self.spawn_in(spawn, |_, _| Ok(Vec::new()))
    }

    /// Like [`HandSessions::spawn`], but `prepare` readies its folder once the session is on record, so
    /// nothing is lost if the process dies meanwhile. It returns what it adds to the session's environment.
    pub fn spawn_in(
        &self,
        spawn: Spawn<'_>,
        prepare: impl FnOnce(&HandName, &str) -> Result<Vec<(OsString, OsString)>, String>,
    ) -> HandResult<Record> {
        let name = self.claim(&spawn)?;
        let folder = self.layout.hand_session(&name);
        let mut record = record::read(&folder)?.ok_or_else(|| {
            HandError::io(&folder)(io::Error::new(io::ErrorKind::NotFound, "the record vanished"))
        })?;
        let mut env = spawn.env;
        match prepare(&name, record.branch.as_deref().unwrap_or_default()) {
            Ok(more) => env.extend(more),
            Err(why) => {
                // Half of it may be there; then its record says so.
                match Path::new(&record.cwd).exists() && record.branch.is_some() {
                    true => self.end(&name, Ended { at: spawn.now, why: why.clone(), result: None })?,
                    false => remove(&folder)?,
                }
                return Err(HandError::Tree { name, why });
            }
        }
        env.push((NAME_VARIABLE.into(), name.to_string().into()));
        env.push(("PHASE_FILE".into(), self.phase_file(&name).into()));
        if let Some(branch) = &record.branch {
            env.retain(|(known, _)| known != "PROJECT_REPO_ROOT");
            env.push(("PROJECT_REPO_ROOT".into(), (&record.cwd).into()));
            env.push(("SHOPFLOOR_BRANCH".into(), branch.into()));
        }
        let spec = SpawnSpec {
            name: name.to_string(),
            cwd: PathBuf::from(&record.cwd),
            argv: spawn.leader.into_iter().chain(spawn.argv.into_iter().map(OsString::from)).collect(),
            env,
        };
        match self.tmux.spawn(&spec) {
            Ok(process) => {
                record.stand = Stand::Started { process };
                record::write(&folder, &record)?;
                Ok(record)
            }
            Err(error) => {
                // Unless it was refused, it may have been started all the same. If it cannot be ended, the
                // record stays; it also stays for a worktree.
                let over = !error.is_transient() || self.tmux.end(&spec.name).is_ok();
                if over && record.branch.is_some() {
                    let why = format!("it could not be started: {error}");
                    self.end(&name, Ended { at: spawn.now, why, result: None })?;
                } else if over {
                    let _ = fs::remove_dir_all(&folder);
                }
                Err(error.into())
            }
        }
    }

    /// Claims a number, a folder and a record.
    fn claim(&self, spawn: &Spawn<'_>) -> HandResult<HandName> {
        let _lock = self.lock()?;
        let counter = self.layout.hand().join("number");
        let stored = match fs::read_to_string(&counter) {
            Ok(text) => text.trim().parse().unwrap_or(0),
            Err(e) if e.kind() == io::ErrorKind::NotFound => 0,
            Err(e) => return Err(HandError::io(&counter)(e)),
        };
        let newest = self.folders()?.into_iter().map(|name| name.number()).max().unwrap_or(0);
        let number = newest.max(stored) + 1;
        write_atomic(&counter, format!("{number}\n").as_bytes(), 0o600).map_err(HandError::io(&counter))?;
        let name = HandName::new(name::stem(&spawn.parts), number);
        let folder = self.layout.hand_session(&name);
        make_folder(&folder)?;
        let own = spawn.branch.map(|_| self.layout.tree(&Tree::of_hand(spawn.parts.project, name.clone())));
        record::write(&folder, &Record::new(&name, spawn, own.as_deref().unwrap_or(spawn.cwd)))?;
        Ok(name)
    }

    /// Every existing hand session, oldest first, including those that left a worktree; with `ended`, also
    /// those that are only remembered.
    pub fn all(&self, ended: bool) -> HandResult<Vec<Hand>> {
        self.settle()?;
        let listed = self.tmux.list().map_err(|e| e.to_string());
        let mut names = self.folders()?;
        let on_socket = listed.iter().flatten().filter_map(|(name, _)| HandName::parse(name));
        names.extend(on_socket);
        names.sort_by_key(|name| (name.number(), name.stem().to_owned()));
        names.dedup();
        let hand = |name: HandName| {
            let shown = name.to_string();
            let probe = listed.as_ref().map_err(Clone::clone).map(|all| {
                all.iter().find(|(other, _)| *other == shown).map_or(Probe::Absent, |(_, probe)| *probe)
            });
            let record = record::read(&self.layout.hand_session(&name)).ok().flatten();
            Hand { name, record, probe }
        };
        let all = names.into_iter().map(hand);
        let open = |hand: &Hand| hand.ended().is_none() || hand.record.as_ref().is_some_and(Record::has_tree);
        Ok(all.filter(|hand| ended || open(hand) || is_there(&hand.probe)).collect())
    }

    /// Every hand session on record, ended or not, oldest first; tmux is not asked.
    pub fn recorded(&self) -> HandResult<Vec<Hand>> {
        let mut names = self.folders()?;
        names.sort_by_key(HandName::number);
        let hand = |name: HandName| {
            let record = record::read(&self.layout.hand_session(&name)).ok().flatten();
            Hand { name, record, probe: Err("tmux was not asked".to_owned()) }
        };
        Ok(names.into_iter().map(hand).collect())
    }

    /// The session of that name, or the newest of that stem.
    pub fn find(&self, who: &str) -> HandResult<Option<Hand>> {
        if !HandName::is_stem(who) {
            return Ok(None);
        }
        let all = self.all(true)?;
        let (mut exact, mut newest) = (None, None);
        for hand in all {
            if hand.name.to_string() == who {
                exact = Some(hand);
            } else if hand.name.stem() == who {
                newest = Some(hand);
            }
        }
        Ok(exact.or(newest))
    }

    /// The same session, looked at again.
    pub fn look(&self, name: &HandName) -> Hand {
        let record = record::read(&self.layout.hand_session(name)).ok().flatten();
        Hand {
            name: name.clone(),
            record,
            probe: self.tmux.probe(&name.to_string()).map_err(|e| e.to_string()),
        }
    }

    /// Ends all of a session's processes and removes it from tmux; how it ended is kept. Repeating this is
    /// fine.
    pub fn end(&self, name: &HandName, ended: Ended) -> HandResult<()> {
        self.tmux.end(&name.to_string())?;
        let _lock = self.lock()?;
        let folder = self.layout.hand_session(name);
        match record::read(&folder) {
            Ok(Some(mut record)) => {
                record.stand = Stand::Ended(ended);
                record::write(&folder, &record)?;
            }
            // Nothing is known about it, so only its output is worth keeping.
            _ if self.output_file(name).exists() => {}
            _ => remove(&folder)?,
        }
        self.trim()
    }

    /// Records what becomes of a session's worktree.
    pub fn put_finish(&self, name: &HandName, finish: Finish) -> HandResult<()> {
        let _lock = self.lock()?;
        let folder = self.layout.hand_session(name);
        let missing = || HandError::io(&folder)(io::ErrorKind::NotFound.into());
        let mut record = record::read(&folder)?.ok_or_else(missing)?;
        record.finish = Some(finish);
        record::write(&folder, &record)
    }

    /// Only one process at a time finishes a session. The lock is released if its holder dies.
    pub fn finishing(&self, name: &HandName) -> HandResult<FileLock> {
        let path = self.layout.hand_session(name).join("finish.lock");
        FileLock::wait(&path, LOCK_WAIT).map_err(HandError::io(&path))?.ok_or(HandError::Busy(path))
    }

    /// Keeps what a session printed. The text must be safe to show.
    pub fn keep_output(&self, name: &HandName, text: &str) -> HandResult<PathBuf> {
        let file = self.output_file(name);
        make_folder(&self.layout.hand_session(name))?;
        write_atomic(&file, text.as_bytes(), 0o600).map_err(HandError::io(&file))?;
        Ok(file)
    }

    pub fn output_file(&self, name: &HandName) -> PathBuf {
        self.layout.hand_session(name).join("output.txt")
    }

    /// Where the session signals its phase, if it does.
    pub fn phase_file(&self, name: &HandName) -> PathBuf {
        self.layout.hand_session(name).join("phase")
    }

    /// What the session signalled last.
    pub fn phase(&self, name: &HandName) -> Option<Phase> {
        let (_, content) = phase_file::read(&self.phase_file(name)).ok().flatten()?;
        PhaseReport::parse(&content).ok().flatten().map(|report| report.phase)
    }

    /// Finishes or removes what somebody who died in the middle left behind.
    fn settle(&self) -> HandResult<()> {
        let unfinished = |name: &HandName| match record::read(&self.layout.hand_session(name)) {
            Ok(Some(record)) => matches!(record.stand, Stand::Starting { .. }),
            Ok(None) => !self.output_file(name).exists(),
            Err(_) => false,
        };
        if !self.folders()?.iter().any(unfinished) {
            return Ok(());
        }
        let _lock = self.lock()?;
        for name in self.folders()?.iter().filter(|name| unfinished(name)) {
            let folder = self.layout.hand_session(name);
            let mut record = record::read(&folder).ok().flatten();
            if let Some(Stand::Starting { by }) = record.as_ref().map(|record| &record.stand)
                && is_same(*by) != Liveness::Gone
            {
                continue;
            }
            let process = match self.tmux.probe(&name.to_string()) {
                Ok(Probe::Alive(process)) => process,
                Ok(Probe::Dead { .. }) => ProcessId { pid: 0, start: 0 },
                // It was never started, or has left nothing but a launch file.
                Ok(Probe::Absent) => {
                    self.tmux.end(&name.to_string())?;
                    match &mut record {
                        // Its worktree may exist, so it has to stay visible.
                        Some(record) if record.has_tree() => {
                            let why = "it was never started".to_owned();
                            record.stand = Stand::Ended(Ended { at: record.created, why, result: None });
                            record::write(&folder, record)?;
                        }
                        _ => remove(&folder)?,
                    }
                    continue;
                }
                // Unknown now: the next look may tell.
                Err(_) => continue,
            };
            if let Some(record) = &mut record {
                record.stand = Stand::Started { process };
                record::write(&folder, record)?;
            }
        }
        Ok(())
    }

    /// Forgets the oldest ended sessions, except those that left a worktree.
    fn trim(&self) -> HandResult<()> {
        let mut ended: Vec<HandName> = self.folders()?;
        ended.retain(|name| {
            let record = record::read(&self.layout.hand_session(name));
            let over = |record: &Record| matches!(record.stand, Stand::Ended(_)) && !record.has_tree();
            record.is_ok_and(|record| record.as_ref().is_none_or(over))
        });
        ended.sort_by_key(HandName::number);
        let surplus = ended.len().saturating_sub(KEPT_MAX);
        ended.iter().take(surplus).try_for_each(|name| remove(&self.layout.hand_session(name)))
    }

    fn lock(&self) -> HandResult<FileLock> {
        let folder = self.layout.hand();
        make_folder(&folder)?;
        let path = folder.join("lock");
        FileLock::wait(&path, LOCK_WAIT).map_err(HandError::io(&path))?.ok_or(HandError::Busy(path))
    }

    fn folders(&self) -> HandResult<Vec<HandName>> {
        let folder = self.layout.hand();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(HandError::io(&folder)(e)),
        };
        Ok(entries.flatten().filter_map(|entry| HandName::parse(entry.file_name().to_str()?)).collect())
    }
}

fn is_there(probe: &Result<Probe, String>) -> bool {
    matches!(probe, Ok(Probe::Alive(_) | Probe::Dead { .. }))
}

fn make_folder(folder: &Path) -> HandResult<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(HandError::io(folder))
}

fn remove(folder: &Path) -> HandResult<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(HandError::io(folder)(e)),
        _ => Ok(()),
    }
}
