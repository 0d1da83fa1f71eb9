//! A floor's door: its store, and the daemon if one runs.

use crate::{Error, Exit, Result, Subscription, answer, door, now};
use serde::Serialize;
use shopfloor_adapters::archive::StoreArchive;
use shopfloor_adapters::forge::local::LocalForges;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ProjectName, Seq};
use shopfloor_core::state::{Pin, Project};
use shopfloor_core::texts::vault::somebody;
use shopfloor_engine::ports::{Forge, Forges};
use shopfloor_engine::{Applied, Engine};
use shopfloor_store::backend::{self, Backend};
use shopfloor_store::ci::CiRuns;
use shopfloor_store::{Store, StoreError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::sync::Arc;

#[derive(Clone)]
pub struct Desk {
    pub layout: Layout,
    /// Where this floor is kept.
    backend: Arc<dyn Backend>,
    /// What of the floor's own is asking; `None`: a person.
    asker: Option<String>,
    speaker: Speaker,
}

/// Who says what is said here, for the record.
#[derive(Clone, Debug)]
pub struct Speaker {
    pub name: String,
    /// The interface that they say it through; empty if that is not known.
    pub from: String,
}

impl Default for Speaker {
    fn default() -> Self {
        Speaker { name: somebody().to_owned(), from: String::new() }
    }
}

/// Whether a daemon answers, and which process it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DaemonView {
    pub running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What keeps agents and checks from everything else: the level in force, and why it is no higher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
}

impl Desk {
    pub fn new(layout: Layout) -> Self {
        let backend = backend::at_path(&layout.database());
        Desk::kept_in(layout, backend)
    }

    /// The desk of a floor that is kept elsewhere than in its home.
    pub fn kept_in(layout: Layout, backend: Arc<dyn Backend>) -> Self {
        Desk { layout, backend, asker: None, speaker: Speaker::default() }
    }

    /// Makes the home folder if it does not exist. It holds sockets and agents' work: ours alone.
    pub fn ensure_home(&self) -> Result<()> {
        let root = self.layout.root();
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(root)
            .map_err(|e| Error::failed(format!("the floor's home {} cannot be made: {e}", root.display())))?;
        let meta = std::fs::metadata(root)?;
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(Error::failed(format!(
                "the floor's home {} belongs to another user",
                root.display()
            ))
            .hint("set SHOPFLOOR_HOME to a folder of your own"));
        }
        if meta.mode() & 0o077 != 0 {
            std::fs::set_permissions(root, std::fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    fn existing(&self) -> Result<&dyn Backend> {
        if self.backend.exists() {
            return Ok(&*self.backend);
        }
        Err(Error::no_such(format!("there is no floor in {}", self.layout.root().display()))
            .hint("run `shopfloor init` in a git repository first"))
    }

    /// The floor as it is now, without the daemon.
    pub fn engine(&self) -> Result<Engine<Box<dyn Store>>> {
        Ok(Engine::open(self.existing()?.store()?)?)
    }

    /// The floor, created if there is none.
    pub fn new_engine(&self) -> Result<Engine<Box<dyn Store>>> {
        self.ensure_home()?;
        Ok(Engine::open(self.backend.store()?)?)
    }

    /// The projects' forges. `[forge] kind` knows only one kind, which is in the floor's own store.
    pub fn forges(&self) -> Result<LocalForges> {
        Ok(LocalForges::new(self.existing()?.forge()?))
    }

    /// One project's forge.
    pub fn forge(&self, project: &ProjectName) -> Result<Arc<dyn Forge>> {
        answer(self.forges()?.of(project))
    }

    pub fn ci(&self) -> Result<Box<dyn CiRuns>> {
        Ok(self.existing()?.ci()?)
    }

    /// What the floor's store keeps of the past.
    pub fn archive(&self) -> Result<StoreArchive> {
        self.existing()?;
        Ok(StoreArchive { backend: self.backend.clone(), layout: self.layout.clone() })
    }

    /// Gives back the room of what was removed from the store. Nobody can write meanwhile: for whoever holds the floor.
    pub fn compact(&self) -> Result<u64> {
        Ok(self.existing()?.store()?.compact()?)
    }

    /// The projects alone: for whoever needs to know which it is about, the rest of a large floor is a lot to read.
    pub fn projects(&self) -> Result<Vec<Project>> {
        Ok(shopfloor_engine::records(&mut *self.reader()?)?)
    }

    /// What people accepted of the projects' configurations.
    pub fn pins(&self) -> Result<Vec<Pin>> {
        Ok(shopfloor_engine::records(&mut *self.reader()?)?)
    }

    /// The floor's store, for reading only.
    pub fn reader(&self) -> Result<Box<dyn Store>> {
        let backend = self.existing()?;
        match backend.reader() {
            // An older store is migrated by whoever opens it for writing.
            Err(StoreError::Older { .. }) => Ok(backend.store()?),
            other => Ok(other?),
        }
    }

    /// Opens the store without changing or creating it.
    pub fn probe_store(&self) -> std::result::Result<Option<Box<dyn Store>>, StoreError> {
        let backend = &self.backend;
        if backend.exists() { backend.reader().map(Some) } else { Ok(None) }
    }

    /// Everything that happens after that position in the journal; `None`: from now on.
    pub fn subscribe(&self, after: Option<Seq>) -> Result<Subscription> {
        Subscription::new(self, after)
    }

    /// From now on, what is committed here is that asker's, who is no person.
    pub fn asked_by(&mut self, who: String) {
        self.asker = Some(who);
    }

    /// The same desk, for that speaker. It makes nobody a person: see [`Desk::asked_by`].
    pub fn heard_from(&self, name: String, from: &str) -> Desk {
        Desk { speaker: Speaker { name, from: from.to_owned() }, ..self.clone() }
    }

    pub fn speaker(&self) -> &Speaker {
        &self.speaker
    }

    /// Commits an event and tells the daemon, if one runs. Whatever command it came from, what is a person's to bring
    /// about is nobody else's.
    pub fn submit(&self, event: &Event) -> Result<Applied> {
        self.submit_and_see(event).map(|(applied, _)| applied)
    }

    /// The same, with the floor as it was right after that event, whatever others have committed since.
    pub(crate) fn submit_and_see(&self, event: &Event) -> Result<(Applied, Engine<Box<dyn Store>>)> {
        if let Some(who) = self.asker.as_ref().filter(|_| event.is_a_persons()) {
            return Err(Error::new(Exit::NeedsPerson, format!("this needs a person, and {who} asks")));
        }
        let mut engine = self.engine()?;
        let applied = engine.submit(now(), event)?;
        self.poke();
        match applied.set_aside {
            Some(why) => Err(Error::failed(format!("a bug in shopfloor: {why}"))
                .hint("nothing was done; `shopfloor events` has what was asked, for a report")),
            None => Ok((applied, engine)),
        }
    }

    /// Tells the daemon that something changed. Without a daemon, nobody needs to be told.
    pub fn poke(&self) {
        let _ = self.ask_daemon("poke");
    }

    /// Tells the daemon that there may be news on a project's forge. It finds out for itself what is new.
    pub fn hint(&self, project: &ProjectName) {
        let _ = self.ask_daemon(&format!("look {project}"));
    }

    /// One line to the daemon, one line back; `None` if no daemon runs.
    pub fn ask_daemon(&self, request: &str) -> Result<Option<String>> {
        door::ask(&self.layout.daemon_socket(), request)
            .map_err(|e| Error::new(Exit::Busy, format!("the daemon does not answer: {e}")))
    }

    pub fn daemon(&self) -> Result<DaemonView> {
        // `pong PID ISOLATION`
        let answer = self.ask_daemon("ping")?.unwrap_or_default();
        let mut words = answer.splitn(3, ' ');
        let running = words.next() == Some("pong");
        let pid = words.next().filter(|_| running).and_then(|pid| pid.parse().ok());
        let isolation = words.next().filter(|note| running && !note.is_empty()).map(str::to_owned);
        Ok(DaemonView { running, pid, isolation })
    }
}
