//! The primary branch of each user's checkout: what users commit there is taken in. Watched in git's files,
//! as origins are; also if the checkout is a worktree of another.

use shopfloor_adapters::git::origin::{self, Origin};
use shopfloor_adapters::git::{Git, checkout};
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ProjectName, Sha};
use shopfloor_core::state::{Floor, Project};
use shopfloor_engine::{Handle, Input};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub struct CheckoutWatch {
    layout: Layout,
    git: Git,
    files: FileWatcher,
    shared: Arc<Shared>,
    /// What is watched of each project: its checkout, its primary branch and the number of the watch.
    known: BTreeMap<ProjectName, (String, String, u64)>,
    last: u64,
}

struct Shared {
    handle: Handle,
    watched: Mutex<BTreeMap<u64, Watched>>,
}

struct Watched {
    project: ProjectName,
    branch: String,
    /// Where the checkout's branches are, and its project's origin.
    refs: PathBuf,
    origin: Arc<dyn Origin>,
    /// Where the branch was when that was last passed on.
    told: Option<Sha>,
    /// Where the branch was last seen, and since when.
    seen: Option<(Sha, Instant)>,
}

/// Two files tell about a branch.
const FILES: u64 = 2;

/// How long a commit is left to its author before it is taken in.
const SETTLE: Duration = Duration::from_secs(1);

/// Events for the projects in whose checkouts the primary branch is elsewhere than on origin.
pub fn touched(layout: &Layout, git: &Git, floor: &Floor) -> Vec<Event> {
    let parted = |project: &&Project| {
        let branch = &project.policy.primary_branch;
        let refs = checkout::branches_of(git, Path::new(&project.checkout));
        let ours = refs.and_then(|refs| checkout::branch(&refs, branch));
        ours.is_some() && ours != origin::of(git, layout, &project.name).branch(branch)
    };
    let found = floor.projects.iter().filter(parted);
    found.map(|project| Event::CheckoutTouched { project: project.name.clone() }).collect()
}

impl CheckoutWatch {
    pub fn start(layout: Layout, git: Git, handle: Handle) -> io::Result<Self> {
        let shared = Arc::new(Shared { handle, watched: Mutex::default() });
        let for_files = shared.clone();
        let files = FileWatcher::spawn_patient(move |key| for_files.look(key / FILES))?;
        Ok(CheckoutWatch { layout, git, files, shared, known: BTreeMap::new(), last: 0 })
    }

    pub fn reconcile(&mut self, floor: &Floor) {
        for project in floor.projects.iter() {
            let primary = &project.policy.primary_branch;
            let known = self.known.get(&project.name);
            if known.is_some_and(|(at, branch, _)| *at == project.checkout && branch == primary) {
                continue;
            }
            if let Some((_, _, old)) = self.known.remove(&project.name) {
                self.shared.watched().remove(&old);
                (0..FILES).for_each(|n| self.files.unwatch(old * FILES + n));
            }
            self.last += 1;
            self.known.insert(project.name.clone(), (project.checkout.clone(), primary.clone(), self.last));
            self.watch(&project.name, Path::new(&project.checkout), primary);
        }
    }

    /// Arming a watch reports the file once: what was committed before the daemon started is taken in.
    fn watch(&self, project: &ProjectName, at: &Path, branch: &str) {
        // Where there is no checkout there is nothing to take in.
        let Some(refs) = checkout::branches_of(&self.git, at) else { return };
        let watched = Watched {
            project: project.clone(),
            branch: branch.to_owned(),
            origin: origin::of(&self.git, &self.layout, project),
            refs: refs.clone(),
            told: None,
            seen: None,
        };
        self.shared.watched().insert(self.last, watched);
        for (n, file) in (0..FILES).zip(checkout::files_of(&refs, branch)) {
            let shown = file.display().to_string();
            if let Err(e) = self.files.watch(self.last * FILES + n, file) {
                tracing::warn!("{shown} cannot be watched: {e}");
            }
        }
    }
}

impl Shared {
    fn watched(&self) -> MutexGuard<'_, BTreeMap<u64, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports that the branch is at a commit that origin's branch is not at and that was not reported yet,
    /// once it has been there for a moment: people often push right after committing, and two who push the
    /// same at once would get in each other's way. Returns when to look again.
    fn look(&self, number: u64) -> Option<Duration> {
        let mut all = self.watched();
        let watched = all.get_mut(&number)?;
        let head = checkout::branch(&watched.refs, &watched.branch)?;
        // Usually it is we who have just brought it there.
        if watched.told.as_ref() == Some(&head)
            || watched.origin.branch(&watched.branch).as_ref() == Some(&head)
        {
            return None;
        }
        let now = Instant::now();
        let since = match &watched.seen {
            Some((seen, since)) if *seen == head => *since,
            _ => now,
        };
        let left = SETTLE.saturating_sub(now - since);
        if !left.is_zero() {
            watched.seen = Some((head, since));
            return Some(left);
        }
        watched.told = Some(head);
        let project = watched.project.clone();
        drop(all);
        self.handle.send(Input::Event(Event::CheckoutTouched { project }));
        None
    }
}
