//! Notices what may have ended a hold: a client is installed, somebody logs in, a configuration is put right.
//! Watched by the kernel, and only while something is held; a look then says what it means.

use crate::projects::Projects;
use shopfloor_adapters::agent::mending_files;
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ProjectName, Role};
use shopfloor_core::state::Floor;
use shopfloor_engine::{Handle, Input};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many folders of a PATH and files of a client are watched; the others are retried in time.
const FILES_MAX: usize = 200;

pub struct Mending {
    files: FileWatcher,
    shared: Arc<Shared>,
    /// What is held, and what is watched for it.
    held: BTreeSet<(ProjectName, Role)>,
    next_key: u64,
}

struct Shared {
    handle: Handle,
    watched: Mutex<BTreeMap<u64, Watched>>,
}

struct Watched {
    project: ProjectName,
    path: PathBuf,
    /// The file's state when it was last looked at: clients touch their files all the time.
    stamp: Option<Stamp>,
}

type Stamp = (u64, u64, i64, i64);

fn stamp(path: &Path) -> Option<Stamp> {
    std::fs::metadata(path).ok().map(|m| (m.ino(), m.size(), m.mtime(), m.mtime_nsec()))
}

impl Mending {
    pub fn start(handle: Handle) -> io::Result<Mending> {
        let shared = Arc::new(Shared { handle, watched: Mutex::default() });
        let told = shared.clone();
        let files = FileWatcher::spawn(move |key| told.fired(key))?;
        Ok(Mending { files, shared, held: BTreeSet::new(), next_key: 0 })
    }

    pub fn reconcile(&mut self, floor: &Floor, configs: &Projects) {
        let held: BTreeSet<(ProjectName, Role)> =
            floor.outages().map(|(project, outage)| (project.clone(), outage.role)).collect();
        if held == self.held {
            return;
        }
        let before: Vec<u64> = std::mem::take(&mut *self.shared.watched()).into_keys().collect();
        before.into_iter().for_each(|key| self.files.unwatch(key));
        let lookup = configs.agent_lookup();
        for (project, role) in &held {
            let Some(config) = lookup(project, *role) else { continue };
            for path in mending_files(&config).into_iter().take(FILES_MAX) {
                self.next_key += 1;
                let watched = Watched { project: project.clone(), stamp: stamp(&path), path: path.clone() };
                self.shared.watched().insert(self.next_key, watched);
                // What cannot be watched is retried in time.
                let _ = self.files.watch(self.next_key, path);
            }
        }
        self.held = held;
    }
}

impl Shared {
    fn watched(&self) -> MutexGuard<'_, BTreeMap<u64, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fired(&self, key: u64) {
        let mut all = self.watched();
        let Some(watched) = all.get_mut(&key) else { return };
        let now = stamp(&watched.path);
        if now != watched.stamp {
            watched.stamp = now;
            self.handle.send(Input::Event(Event::StaffTouched { project: Some(watched.project.clone()) }));
        }
    }
}
