//! What the daemon watches: the processes of live sessions, their phase files, their branches, what their
//! clients report, reviewers' result files and the projects' configuration files. All by kernel events;
//! brought in line with the floor after each commit, so that what is watched follows from the state alone.

use super::checkouts::CheckoutWatch;
use super::mending::Mending;
use super::origins::OriginWatch;
use super::panes::PaneListener;
use super::people::People;
use super::seed_files::SeedWatch;
use super::signs::Signs;
use crate::attend::{Attendants, Brief, Due, News, ToAnswer};
use crate::config::formula::FORMULAS;
use crate::config::{FILE_NAME, pinned};
use crate::projects::Projects;
use shopfloor_adapters::agent::{result_file, seal, spool};
use shopfloor_adapters::git::{Git, branch_file, origin};
use shopfloor_adapters::host::exit_watch::ExitWatcher;
use shopfloor_adapters::host::file_watch::{FileWatcher, When};
use shopfloor_adapters::host::theirs;
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::phase_file::{self, Look};
use shopfloor_adapters::terminal::control::sightings::PaneEvent;
use shopfloor_adapters::terminal::tmux::{Probe, Tmux};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, ProjectName, Sha, agent_name, branch_for};
use shopfloor_core::phase::PhaseReport;
use shopfloor_core::redact::Redactor;
use shopfloor_core::state::{About, Floor, Project, Session, SessionState};
use shopfloor_core::text::one_line;
use shopfloor_desk::mirror::Mirror;
use shopfloor_engine::ports::Tree;
use shopfloor_engine::{Handle, Input, Watches};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub struct FloorWatches {
    layout: Layout,
    exits: ExitWatcher,
    files: FileWatcher,
    shared: Arc<Shared>,
    /// What is watched: sessions by epoch, configuration files by project.
    sessions: BTreeMap<Epoch, Watched>,
    projects: BTreeMap<ProjectName, ConfigWatch>,
    /// How many configuration files were ever watched: each gets a key of its own.
    configs: u64,
    /// What the attendants were last told about each session.
    briefs: BTreeMap<Epoch, Brief>,
    mirror: Mirror,
    git: Git,
    origins: OriginWatch,
    checkouts: CheckoutWatch,
    seeds: Option<SeedWatch>,
    mending: Mending,
}

/// Of a file that says where a branch is.
const REF_BYTES_MAX: u64 = 4096;

/// How long tmux may take to learn how a program ended whose end the kernel has reported to us. Nobody waits
/// longer for the news; a later answer is filled in.
const COLLECTED_WITHIN: Duration = Duration::from_millis(50);

/// What the watchers' threads need to turn a key into an event.
pub(super) struct Shared {
    handle: Handle,
    tmux: Tmux,
    configs: Projects,
    attendants: Attendants,
    signs: Signs,
    people: People,
    keys: Mutex<BTreeMap<u64, Key>>,
}

#[derive(Clone)]
enum Key {
    Exit {
        epoch: Epoch,
        tmux: String,
    },
    Phase(PhaseKey),
    Result {
        epoch: Epoch,
        path: PathBuf,
    },
    Config {
        project: ProjectName,
        checkout: PathBuf,
    },
    /// Where a dev session's branch is, as last passed on.
    Branch {
        epoch: Epoch,
        path: PathBuf,
        head: Option<Sha>,
    },
    /// Something that a session's client reports.
    HookReport {
        epoch: Epoch,
    },
    /// The store's file, and its identity when it was watched.
    Store {
        path: PathBuf,
        was: Option<FileId>,
    },
}

/// The key of no session and no project.
const STORE_KEY: u64 = u64::MAX;

/// A file's device and inode.
type FileId = (u64, u64);

fn file_id(path: &Path) -> Option<FileId> {
    std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

#[derive(Clone)]
struct PhaseKey {
    epoch: Epoch,
    project: ProjectName,
    path: PathBuf,
    /// Knows what has been passed on.
    reader: phase_file::Reader,
}

/// The keys of one session's watches.
struct Watched(Vec<u64>);

/// The watches of one project's configuration.
struct ConfigWatch {
    keys: Vec<u64>,
    files: Vec<PathBuf>,
}

/// The files that say how a project is configured: those in its checkout, those of its primary branch, and the
/// floor's own.
fn config_files(layout: &Layout, git: &Git, project: &Project, prompts: &[String]) -> Vec<PathBuf> {
    let checkout = Path::new(&project.checkout);
    let files =
        [FILE_NAME, pinned::INCLUDE].into_iter().chain(pinned::SERVERS).map(|file| checkout.join(file));
    let prompts = prompts.iter().map(|name| checkout.join(pinned::PROMPTS).join(format!("{name}.md")));
    let branch = origin::of(git, layout, &project.name).signs(&project.policy.primary_branch);
    files.chain(prompts).chain(branch).chain([checkout.join(FORMULAS), layout.config()]).collect()
}

/// Each kind of watch has its own keys, so none is ever mistaken for another.
const KINDS: u64 = 6;
fn exit_key(epoch: Epoch) -> u64 {
    epoch.0 * KINDS
}
fn phase_key(epoch: Epoch) -> u64 {
    epoch.0 * KINDS + 1
}
fn result_key(epoch: Epoch) -> u64 {
    epoch.0 * KINDS + 2
}
fn config_key(number: u64) -> u64 {
    number * KINDS + 3
}
fn hooks_key(epoch: Epoch) -> u64 {
    epoch.0 * KINDS + 4
}
fn branch_key(epoch: Epoch) -> u64 {
    epoch.0 * KINDS + 5
}

impl FloorWatches {
    pub(super) fn new(
        layout: Layout,
        git: Git,
        tmux: Tmux,
        configs: Projects,
        handle: Handle,
        panes: &PaneListener,
    ) -> io::Result<Self> {
        let events = handle.clone();
        let attendants = Attendants::start(
            layout.clone(),
            tmux.clone(),
            configs.runtimes(),
            shopfloor_desk::now,
            move |event| {
                events.send(Input::Event(event));
            },
        )?;
        let shared = Arc::new(Shared {
            handle,
            tmux,
            configs,
            attendants,
            signs: Signs::default(),
            people: People::default(),
            keys: Mutex::default(),
        });
        panes.listen(&shared);
        let (for_exits, for_files) = (shared.clone(), shared.clone());
        let files = FileWatcher::spawn_patient(move |key| for_files.fired(key))?;
        let store = layout.database();
        shared.put(STORE_KEY, Key::Store { was: file_id(&store), path: store.clone() });
        files.watch(STORE_KEY, store)?;
        Ok(FloorWatches {
            mirror: Mirror::start(layout.clone())?,
            origins: OriginWatch::start(layout.clone(), git.clone(), shared.handle.clone())?,
            checkouts: CheckoutWatch::start(layout.clone(), git.clone(), shared.handle.clone())?,
            git,
            mending: Mending::start(shared.handle.clone())?,
            layout,
            exits: ExitWatcher::spawn(move |key| {
                for_exits.fired(key);
            })?,
            files,
            shared,
            sessions: BTreeMap::new(),
            projects: BTreeMap::new(),
            configs: 0,
            briefs: BTreeMap::new(),
            seeds: None,
        })
    }

    pub(super) fn with_seeds(self, seeds: Option<SeedWatch>) -> Self {
        FloorWatches { seeds, ..self }
    }
}

impl Watches for FloorWatches {
    fn look(&mut self, project: &ProjectName) {
        self.origins.look(project);
    }

    fn reconcile(&mut self, floor: &Floor) {
        self.shared.configs.follow(floor).into_iter().for_each(|event| self.shared.send(event));
        self.mirror.reconcile(floor);
        self.origins.reconcile(floor);
        self.checkouts.reconcile(floor);
        if let Some(seeds) = &mut self.seeds {
            seeds.reconcile(floor);
        }
        self.shared.people.reconcile(floor);
        self.mending.reconcile(floor, &self.shared.configs);
        let gone: Vec<Epoch> = self
            .sessions
            .keys()
            .filter(|e| !floor.sessions.get(e).is_some_and(is_watched))
            .copied()
            .collect();
        for epoch in gone {
            self.unwatch(epoch);
        }
        for session in floor.sessions.iter().filter(|s| is_watched(s)) {
            if !self.sessions.contains_key(&session.epoch) {
                self.watch(floor, session);
            }
            if session.state == SessionState::Live {
                self.brief(floor, session);
            }
        }
        for project in floor.projects.iter() {
            let checkout = PathBuf::from(&project.checkout);
            let files = {
                let prompts = self.shared.configs.prompts(&project.name);
                config_files(&self.layout, &self.git, project, &prompts)
            };
            if self.projects.get(&project.name).is_none_or(|known| known.files != files) {
                self.watch_config(&project.name, checkout, files);
            }
        }
    }
}

/// A person's answer to the dialog that a session shows.
fn answer_of(session: &Session) -> Option<ToAnswer> {
    let ask = session.asks.open.as_ref()?;
    let About::Dialog { view: Some(view), .. } = &ask.about else { return None };
    let text = ask.answer.clone()?;
    Some(ToAnswer { question: ask.id, fingerprint: view.fingerprint.clone(), text })
}

/// Includes a session that could not be ended: its end is still awaited.
fn is_watched(session: &Session) -> bool {
    matches!(session.state, SessionState::Live | SessionState::Unended)
}

impl FloorWatches {
    fn watch(&mut self, floor: &Floor, session: &Session) {
        let epoch = session.epoch;
        if !self.shared.configs.tells(&session.client.runtime) {
            self.shared.signs.watch(floor, session);
        }
        // The session may be from an earlier daemon.
        self.shared.tmux.want_connection();
        let mut keys = Vec::new();
        if let Some(process) = session.process {
            let key = exit_key(epoch);
            self.shared.put(key, Key::Exit { epoch, tmux: session.tmux.clone() });
            if let Err(e) = self.exits.watch(key, process) {
                tracing::warn!("session {epoch} cannot be watched: {e}");
                return;
            }
            keys.push(key);
        }
        if let Some(path) = &session.phase_file {
            let key = phase_key(epoch);
            let project = session.project.clone();
            let stamp = session.phase_stamp.clone();
            let path = PathBuf::from(path);
            self.shared.put(
                key,
                Key::Phase(PhaseKey {
                    epoch,
                    project,
                    path: path.clone(),
                    reader: phase_file::Reader::after(stamp),
                }),
            );
            self.watch_when(key, path, When::Written);
            keys.push(key);
        }
        if self.shared.configs.tells(&session.client.runtime) {
            // Not the status line: it changes all the time, and is read whenever the session is attended to.
            let key = hooks_key(epoch);
            self.shared.put(key, Key::HookReport { epoch });
            self.watch_file(key, spool::hooks_file(&self.layout.session(epoch)));
            keys.push(key);
        }
        if session.role.develops() {
            let record = floor.records.get(&agent_name(session.role, &session.project, session.assignment));
            let head = record.and_then(|record| record.head.clone());
            let job = floor.jobs.get(&session.job);
            let branch =
                job.map(|job| job.branch.clone()).or_else(|| session.assignment.issue().map(branch_for));
            if let Some(branch) = branch {
                let tree = Tree::of_job(&session.project, session.role, session.assignment);
                let path = branch_file(&self.layout, &tree, &branch);
                let key = branch_key(epoch);
                self.shared.put(key, Key::Branch { epoch, path: path.clone(), head });
                self.watch_file(key, path);
                keys.push(key);
            }
        }
        if session.role.reviews() {
            let key = result_key(epoch);
            let path = result_file(&self.layout, epoch);
            self.shared.put(key, Key::Result { epoch, path: path.clone() });
            self.watch_when(key, path, When::Written);
            keys.push(key);
        }
        self.sessions.insert(epoch, Watched(keys));
    }

    fn watch_file(&self, key: u64, path: PathBuf) {
        self.watch_when(key, path, When::Changed);
    }

    fn watch_when(&self, key: u64, path: PathBuf, when: When) {
        let shown = path.display().to_string();
        if let Err(e) = self.files.watch_when(key, path, when) {
            tracing::warn!("{shown} cannot be watched: {e}");
        }
    }

    /// Tells the attendants what is new about a session, if its client is one to attend to.
    fn brief(&mut self, floor: &Floor, session: &Session) {
        if !self.shared.configs.tells(&session.client.runtime) {
            return;
        }
        let next = floor.next_message(session.epoch).filter(|_| session.client.typed);
        let answer = answer_of(session);
        let known = self.briefs.get(&session.epoch);
        // Most commits concern other sessions: compare before anything is copied.
        let same = known.is_some_and(|b| {
            b.phase_stamp == session.phase_stamp
                && b.process == session.process
                && b.handed_back == session.handed_back
                && b.answer == answer
                && b.held.is_some() == floor.held(session).is_some()
                && b.due.as_ref().map(|due| due.message) == next.map(|m| m.id)
        });
        if same {
            return;
        }
        let due = next.map(|m| Due {
            message: m.id,
            text: seal::sealed(&self.layout.session(session.epoch), &m.text),
            receipts: m.receipts.len(),
            held: m.held.clone(),
        });
        let brief = Brief {
            epoch: session.epoch,
            tmux: session.tmux.clone(),
            runtime: session.client.runtime.clone(),
            launched: session.created_at,
            process: session.process,
            worktree: self.layout.worktree(&session.project, session.role, session.assignment),
            phase: session.phase,
            phase_stamp: session.phase_stamp.clone(),
            conversation: session.client.conversation.clone(),
            resumed: session.client.resumed,
            due,
            held: floor.held(session).map(|held| held.to_string()),
            handback: floor.policy(&session.project).handback,
            handed_back: session.handed_back,
            answer,
        };
        self.briefs.insert(session.epoch, brief.clone());
        self.shared.attendants.tell(News::Brief(Box::new(brief)));
    }

    fn unwatch(&mut self, epoch: Epoch) {
        if self.briefs.remove(&epoch).is_some() {
            self.shared.attendants.tell(News::Gone(epoch));
        }
        self.shared.signs.unwatch(epoch);
        for key in self.sessions.remove(&epoch).map(|w| w.0).unwrap_or_default() {
            self.exits.unwatch(key);
            self.files.unwatch(key);
            self.shared.remove(key);
        }
    }

    /// Also called for a project that is new, or whose checkout has moved: arming the watch reports the file
    /// once, so it is read.
    fn watch_config(&mut self, project: &ProjectName, checkout: PathBuf, files: Vec<PathBuf>) {
        for old in self.projects.remove(project).into_iter().flat_map(|old| old.keys) {
            self.files.unwatch(old);
            self.shared.remove(old);
        }
        let mut keys = Vec::new();
        for file in &files {
            self.configs += 1;
            let key = config_key(self.configs);
            self.shared.put(key, Key::Config { project: project.clone(), checkout: checkout.clone() });
            self.watch_file(key, file.clone());
            keys.push(key);
        }
        self.projects.insert(project.clone(), ConfigWatch { keys, files });
    }
}

impl Shared {
    fn keys(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Key>> {
        self.keys.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn put(&self, key: u64, value: Key) {
        self.keys().insert(key, value);
    }

    fn remove(&self, key: u64) {
        self.keys().remove(&key);
    }

    fn send(&self, event: Event) {
        self.handle.send(Input::Event(event));
    }

    /// Usually the kernel has reported a death long before; but tmux knows how the program ended.
    pub(super) fn pane(&self, event: &PaneEvent) {
        if let PaneEvent::Appeared { session, title } | PaneEvent::Title { session, title } = event {
            self.attendants.tell(News::Title { tmux: session.clone(), title: title.clone() });
        }
        if let PaneEvent::Output { session } = event {
            match self.signs.written(session, shopfloor_desk::now()) {
                Some(event) => self.send(event),
                None => self.attendants.tell(News::Output { tmux: session.clone() }),
            }
        }
        if let PaneEvent::Appeared { session, .. } | PaneEvent::Used { session } = event
            && let Some(epoch) = self.epoch_of(session)
            && let Some(event) = self.people.look(&self.tmux, epoch, session, shopfloor_desk::now())
        {
            self.send(event);
        }
        if let PaneEvent::Died { session, status } = event
            && let Some(epoch) = self.epoch_of(session)
        {
            self.exited(epoch, Some(*status));
        }
    }

    /// The session of that name in tmux, if it is watched.
    fn epoch_of(&self, session: &str) -> Option<Epoch> {
        self.keys().values().find_map(|key| match key {
            Key::Exit { epoch, tmux } if tmux == session => Some(*epoch),
            _ => None,
        })
    }

    fn exited(&self, epoch: Epoch, status: Option<i32>) {
        // Its last signal came before its end.
        let phase = self.keys().get(&phase_key(epoch)).cloned();
        if let Some(Key::Phase(phase)) = phase {
            self.phase(phase_key(epoch), phase, true);
        }
        self.send(Event::SessionExited { epoch, status });
    }

    /// On a watcher's thread: something happened to what the key stands for. Returns when to look again, if
    /// at all.
    fn fired(&self, key: u64) -> Option<Duration> {
        let found = self.keys().get(&key).cloned();
        match found {
            Some(Key::Exit { epoch, tmux }) => {
                // It is proven gone; only tmux can say how it ended, once it has reaped it.
                let known = || match self.tmux.probe(&tmux) {
                    Ok(Probe::Dead { status }) => status,
                    _ => None,
                };
                let again = || {
                    std::thread::sleep(COLLECTED_WITHIN / 5);
                    known()
                };
                self.exited(epoch, known().or_else(|| (0..5).find_map(|_| again())));
            }
            Some(Key::Phase(phase)) => return self.phase(key, phase, false),
            // It is watched before it exists: a missing file says nothing.
            Some(Key::Result { epoch, path }) if path.exists() => self.send(Event::ResultWritten { epoch }),
            Some(Key::Result { .. }) => {}
            Some(Key::Branch { epoch, path, head }) => {
                // If git has packed the ref, or is about to write it, the file says nothing.
                let now = theirs::read_to_string(&path, REF_BYTES_MAX)
                    .ok()
                    .and_then(|t| Sha::try_from(t.trim().to_owned()).ok());
                if let Some(now) = now.filter(|now| head.as_ref() != Some(now)) {
                    self.put(key, Key::Branch { epoch, path, head: Some(now.clone()) });
                    self.send(Event::Committed { epoch, head: now });
                }
            }
            // The store itself finds out that the open file is no longer the right one.
            Some(Key::Store { path, was }) if file_id(&path) != was => {
                self.handle.send(Input::Poke);
            }
            Some(Key::Store { .. }) => {}
            Some(Key::HookReport { epoch }) => self.attendants.tell(News::Written(epoch)),
            Some(Key::Config { project, checkout }) => match self.configs.reload(&project, &checkout) {
                Ok(events) => events.into_iter().for_each(|event| self.send(event)),
                Err(why) => {
                    let text = format!(
                        "its configuration was not taken over, what was before holds: {}",
                        one_line(&why, 500)
                    );
                    tracing::warn!("{project}: {text}");
                    self.send(Event::Escalated { project, text });
                }
            },
            None => {}
        }
        None
    }

    /// Reads a phase file and passes on what it says, once. Returns when to look again if it may be
    /// incomplete, unless `is_final`: then nobody is left to write more.
    fn phase(&self, key: u64, mut watched: PhaseKey, is_final: bool) -> Option<Duration> {
        let look = watched.reader.look(&watched.path, is_final, Instant::now());
        let (stamp, content) = match look {
            Ok(Look::Nothing) => return None,
            Ok(Look::Half(wait)) => {
                self.put(key, Key::Phase(watched));
                return Some(wait);
            }
            Ok(Look::Whole { stamp, content }) => (stamp, content),
            Err(e) => {
                tracing::warn!("the phase file {} cannot be read: {e}", watched.path.display());
                return None;
            }
        };
        let epoch = watched.epoch;
        // Reasons and questions end up in the journal, in comments and on screens.
        let redactor = self.configs.get(&watched.project).map_or_else(Redactor::blind, |p| p.redactor);
        self.put(key, Key::Phase(watched));
        match PhaseReport::parse(&content) {
            Ok(Some(report)) => {
                let report = report.redacted(&redactor);
                self.send(Event::PhaseWritten { epoch, stamp, report });
            }
            Ok(None) => {}
            Err(_) => {
                let first_line = one_line(&redactor.redact(content.lines().next().unwrap_or("")), 80);
                self.send(Event::PhaseUnreadable { epoch, stamp, first_line });
            }
        }
        None
    }
}
