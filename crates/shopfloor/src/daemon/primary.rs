//! Watches the hubs' primary branches, by events of the kernel: git's files are read when they were written,
//! and no process is started for it. What the merge queue itself does is known beforehand; anything else
//! is news to it.

use shopfloor_adapters::git::hub;
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ProjectName, Sha};
use shopfloor_core::state::{Floor, Queue};
use shopfloor_engine::{Handle, Input};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub struct PrimaryWatch {
    layout: Layout,
    files: FileWatcher,
    shared: Arc<Shared>,
    /// Each watching of a project's hub has a number of its own.
    numbers: BTreeMap<ProjectName, u64>,
    last: u64,
}

struct Shared {
    handle: Handle,
    hubs: Mutex<BTreeMap<u64, Hub>>,
}

#[derive(Clone)]
struct Hub {
    project: ProjectName,
    path: PathBuf,
    branch: String,
    /// Where the queue knows the branch to be, if it needs to know.
    known: Option<Vec<Sha>>,
}

/// Two files tell of a branch.
const FILES: u64 = 2;

impl PrimaryWatch {
    pub fn start(layout: Layout, handle: Handle) -> io::Result<Self> {
        let shared = Arc::new(Shared { handle, hubs: Mutex::default() });
        let for_files = shared.clone();
        let files = FileWatcher::spawn(move |key| for_files.look(key / FILES))?;
        Ok(PrimaryWatch { layout, files, shared, numbers: BTreeMap::new(), last: 0 })
    }

    pub fn reconcile(&mut self, floor: &Floor) {
        for project in floor.projects.iter() {
            let branch = &project.policy.primary_branch;
            let known = floor.queues.get(&project.name).and_then(Queue::primary_known);
            let number = self.numbers.get(&project.name).copied();
            let hub = number.and_then(|number| self.shared.hubs().get(&number).cloned());
            match (number, hub) {
                (Some(number), Some(hub)) if hub.branch == *branch => {
                    if hub.known != known {
                        self.shared.hubs().insert(number, Hub { known, ..hub });
                        // It may have been moved before this was known.
                        self.shared.look(number);
                    }
                }
                _ => self.watch(&project.name, branch, known),
            }
        }
    }

    /// Arming a watch reports the file once, so nothing that came before is missed.
    fn watch(&mut self, project: &ProjectName, branch: &str, known: Option<Vec<Sha>>) {
        if let Some(old) = self.numbers.remove(project) {
            self.shared.hubs().remove(&old);
            (0..FILES).for_each(|n| self.files.unwatch(old * FILES + n));
        }
        self.last += 1;
        let path = self.layout.hub(project);
        let files = hub::files_of(&path, branch);
        let hub = Hub { project: project.clone(), path, branch: branch.to_owned(), known };
        self.shared.hubs().insert(self.last, hub);
        self.numbers.insert(project.clone(), self.last);
        for (n, file) in (0..FILES).zip(files) {
            let shown = file.display().to_string();
            if let Err(e) = self.files.watch(self.last * FILES + n, file) {
                eprintln!("warning: {shown} cannot be watched: {e}");
            }
        }
    }
}

impl Shared {
    fn hubs(&self) -> MutexGuard<'_, BTreeMap<u64, Hub>> {
        self.hubs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, number: u64) {
        let Some(Hub { project, path, branch, known }) = self.hubs().get(&number).cloned() else { return };
        let Some(known) = known else { return };
        if !hub::peek(&path, &branch).is_some_and(|head| known.contains(&head)) {
            self.handle.send(Input::Event(Event::PrimaryTouched { project }));
        }
    }
}
