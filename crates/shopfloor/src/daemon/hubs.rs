//! Watches branches of the hubs, by events of the kernel: git's files are read when they were written, and
//! no process is started for it. The primary branches are watched, and the branches that wait: of jobs, those
//! that people queued, and those with a pull request.
//! What the factory itself does there is known beforehand; anything else is news.

use shopfloor_adapters::git::hub;
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ProjectName, Sha, Target};
use shopfloor_core::state::{Entry, EntryState, Floor, Job, JobState, Pull, Queue};
use shopfloor_engine::{Handle, Input};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub struct HubWatch {
    layout: Layout,
    files: FileWatcher,
    shared: Arc<Shared>,
    /// Each watching of a branch has a number of its own.
    numbers: BTreeMap<Name, u64>,
    last: u64,
}

type Name = (ProjectName, String);

struct Shared {
    handle: Handle,
    branches: Mutex<BTreeMap<u64, Branch>>,
}

struct Branch {
    name: Name,
    hub: PathBuf,
    known: Known,
    /// Where it was seen last.
    seen: Option<Option<Sha>>,
}

/// Where a branch is expected to be.
#[derive(Clone, PartialEq, Eq)]
enum Known {
    /// The primary branch, or another that work lands on; where, once it is on record.
    Primary(Option<Target>, Option<Vec<Sha>>),
    /// A branch that waits, as it was left.
    Waiting(Sha),
}

/// Two files tell of a branch.
const FILES: u64 = 2;

impl HubWatch {
    pub fn start(layout: Layout, handle: Handle) -> io::Result<Self> {
        let shared = Arc::new(Shared { handle, branches: Mutex::default() });
        let for_files = shared.clone();
        let files = FileWatcher::spawn(move |key| for_files.look(key / FILES))?;
        Ok(HubWatch { layout, files, shared, numbers: BTreeMap::new(), last: 0 })
    }

    pub fn reconcile(&mut self, floor: &Floor) {
        // Whoever works on a branch pushes to it: that is no news before they say that they are done.
        // One that only reviews leaves it to whoever made it: the pull request is watched.
        let jobs = || floor.jobs.iter().filter(|job| !job.is_review());
        let carried = jobs().filter(|job| job.is_live());
        let carried: BTreeSet<Name> = carried.map(|j| (j.project.clone(), j.branch.clone())).collect();
        let pulls = floor.pulls.iter().filter_map(pulled).filter(|(name, _)| !carried.contains(name));
        let mut wanted: BTreeMap<Name, Known> = pulls.collect();
        wanted.extend(floor.entries.iter().filter_map(queued));
        wanted.extend(jobs().filter_map(waiting));
        for project in floor.projects.iter() {
            for queue in floor.queue_ids(&project.name) {
                let known = floor.queues.get(&queue).and_then(Queue::primary_known);
                let branch = project.policy.branch_of(queue.target.as_ref()).to_owned();
                wanted.insert((project.name.clone(), branch), Known::Primary(queue.target, known));
            }
        }
        let gone: Vec<Name> =
            self.numbers.keys().filter(|name| !wanted.contains_key(name)).cloned().collect();
        for name in gone {
            self.unwatch(&name);
        }
        for (name, known) in wanted {
            match self.numbers.get(&name) {
                Some(number) => self.shared.expect(*number, known),
                None => self.watch(name, known),
            }
        }
    }

    /// Arming a watch reports the file once, so nothing that came before is missed.
    fn watch(&mut self, name: Name, known: Known) {
        self.last += 1;
        let hub = self.layout.hub(&name.0);
        let files = hub::files_of(&hub, &name.1);
        self.numbers.insert(name.clone(), self.last);
        self.shared.branches().insert(self.last, Branch { name, hub, known, seen: None });
        for (n, file) in (0..FILES).zip(files) {
            let shown = file.display().to_string();
            if let Err(e) = self.files.watch(self.last * FILES + n, file) {
                eprintln!("warning: {shown} cannot be watched: {e}");
            }
        }
    }

    fn unwatch(&mut self, name: &Name) {
        if let Some(old) = self.numbers.remove(name) {
            self.shared.branches().remove(&old);
            (0..FILES).for_each(|n| self.files.unwatch(old * FILES + n));
        }
    }
}

/// The branch of a job that waits with it for somebody else.
fn waiting(job: &Job) -> Option<(Name, Known)> {
    let waits = matches!(
        job.state,
        JobState::Checking { .. }
            | JobState::Retrying { .. }
            | JobState::Parked { .. }
            | JobState::Reviewing { .. }
            | JobState::Merging { .. }
    );
    let head = job.head.clone().filter(|_| waits)?;
    Some(((job.project.clone(), job.branch.clone()), Known::Waiting(head)))
}

/// The branch of an open pull request, where it was seen.
fn pulled(pull: &Pull) -> Option<(Name, Known)> {
    let name = (pull.project.clone(), pull.branch.clone());
    Some((name, Known::Waiting(pull.head.clone()?)))
}

/// The branch that a person queued, until it lands.
fn queued(entry: &Entry) -> Option<(Name, Known)> {
    let waits = matches!(entry.state, EntryState::Queued | EntryState::Checking { .. });
    let name = (entry.project.clone(), entry.branch.clone());
    (waits && entry.job.is_none()).then(|| (name, Known::Waiting(entry.head.clone())))
}

impl Shared {
    fn branches(&self) -> MutexGuard<'_, BTreeMap<u64, Branch>> {
        self.branches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expect(&self, number: u64, known: Known) {
        let mut branches = self.branches();
        let Some(branch) = branches.get_mut(&number).filter(|branch| branch.known != known) else { return };
        branch.known = known;
        drop(branches);
        // It may have been moved before this was known.
        self.look(number);
    }

    fn look(&self, number: u64) {
        let mut branches = self.branches();
        let Some(branch) = branches.get_mut(&number) else { return };
        let head = hub::peek(&branch.hub, &branch.name.1);
        let before = branch.seen.replace(head.clone());
        let (project, name) = branch.name.clone();
        let event = match &branch.known {
            Known::Primary(_, Some(known)) if head.as_ref().is_some_and(|head| known.contains(head)) => {
                return;
            }
            // When it is seen for the first time it is put on record.
            Known::Primary(_, None) if before.is_some_and(|before| before == head) => return,
            Known::Primary(target, _) => Event::PrimaryTouched { project, target: target.clone() },
            Known::Waiting(known) if head.as_ref() == Some(known) => return,
            Known::Waiting(_) => Event::BranchTouched { project, branch: name, head },
        };
        drop(branches);
        self.handle.send(Input::Event(event));
    }
}
