//! Watches branches on origins. By kernel events, files tell when a branch was seen to have moved, without
//! starting a process; an origin that does not tell by itself is looked at now and then, on a thread of its
//! own. Watched are the primary branches, and the branches that wait: those of jobs, those that people
//! queued, and those with a pull request. What the factory itself does there is known beforehand; anything
//! else is news.

use shopfloor_adapters::git::Git;
use shopfloor_adapters::git::origin::{self, Origin};
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ProjectName, Sha, Target};
use shopfloor_core::state::{Entry, EntryState, Floor, Job, JobState, Pull, Queue};
use shopfloor_engine::{Handle, Input};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub struct OriginWatch {
    layout: Layout,
    git: Git,
    files: FileWatcher,
    shared: Arc<Shared>,
    /// Each watch on a branch has a number of its own.
    numbers: BTreeMap<Name, u64>,
    last: u64,
    /// Projects whose origins are looked at; dropping the sender ends that.
    looked_at: BTreeMap<ProjectName, mpsc::Sender<()>>,
}

/// How often an origin that does not tell by itself is looked at. Whoever needs to know looks in any case.
const LOOK_EVERY: Duration = Duration::from_secs(30);

type Name = (ProjectName, String);

struct Shared {
    handle: Handle,
    branches: Mutex<BTreeMap<u64, Branch>>,
}

struct Branch {
    name: Name,
    origin: Arc<dyn Origin>,
    known: Known,
    /// Where the branch was last seen.
    seen: Option<Option<Sha>>,
}

/// Where a branch is expected to be.
#[derive(Clone, PartialEq, Eq)]
enum Known {
    /// The primary branch or a target; and where it is, once that is on record.
    Primary(Option<Target>, Option<Vec<Sha>>),
    /// A branch that waits, and the head at which it was left.
    Waiting(Sha),
}

/// Two files tell about a branch.
const FILES: u64 = 2;

impl OriginWatch {
    pub fn start(layout: Layout, git: Git, handle: Handle) -> io::Result<Self> {
        let shared = Arc::new(Shared { handle, branches: Mutex::default() });
        let for_files = shared.clone();
        let files = FileWatcher::spawn(move |key| for_files.look(key / FILES))?;
        let (numbers, looked_at) = (BTreeMap::new(), BTreeMap::new());
        Ok(OriginWatch { layout, git, files, shared, numbers, last: 0, looked_at })
    }

    pub fn reconcile(&mut self, floor: &Floor) {
        // Whoever works on a branch pushes to it: that is no news before they say that they are done. A job
        // that only reviews leaves the branch to its author: the pull request is watched.
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

    /// There may be news: look now.
    pub fn look(&self, project: &ProjectName) {
        if let Some(looker) = self.looked_at.get(project) {
            let _ = looker.send(());
        }
    }

    /// Arming a watch reports the file once, so nothing that came before is missed.
    fn watch(&mut self, name: Name, known: Known) {
        self.last += 1;
        let origin = origin::of(&self.git, &self.layout, &name.0);
        let files = origin.signs(&name.1);
        if !origin.tells() {
            let (project, origin) = (name.0.clone(), origin.clone());
            self.looked_at.entry(project.clone()).or_insert_with(|| look_now_and_then(project, origin));
        }
        self.numbers.insert(name.clone(), self.last);
        self.shared.branches().insert(self.last, Branch { name, origin, known, seen: None });
        for (n, file) in (0..FILES).zip(files) {
            let shown = file.display().to_string();
            if let Err(e) = self.files.watch(self.last * FILES + n, file) {
                tracing::warn!("{shown} cannot be watched: {e}");
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

/// Looks at an origin until the returned sender is dropped, and at once when something is sent. Files tell
/// what it finds.
fn look_now_and_then(project: ProjectName, origin: Arc<dyn Origin>) -> mpsc::Sender<()> {
    let (keep, kept) = mpsc::channel();
    std::thread::spawn(move || {
        let mut told = None;
        while kept.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Disconnected) {
            let why = origin.look().err().map(|e| e.to_string());
            if let Some(why) = why.as_ref().filter(|why| told.as_ref() != Some(*why)) {
                tracing::warn!(%project, "its origin cannot be looked at: {why}");
            }
            told = why;
        }
    });
    keep
}

/// The branch of a job that waits for somebody else.
fn waiting(job: &Job) -> Option<(Name, Known)> {
    let waits = matches!(
        job.state,
        JobState::Checking { .. }
            | JobState::Retrying { .. }
            | JobState::Parked { .. }
            | JobState::Reviewing { .. }
            | JobState::InQueue { .. }
    );
    let head = job.head.clone().filter(|_| waits)?;
    Some(((job.project.clone(), job.branch.clone()), Known::Waiting(head)))
}

/// The branch of an open pull request, and where it was seen.
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
        // It may have moved before this was known.
        self.look(number);
    }

    fn look(&self, number: u64) {
        let mut branches = self.branches();
        let Some(branch) = branches.get_mut(&number) else { return };
        let head = branch.origin.branch(&branch.name.1);
        let before = branch.seen.replace(head.clone());
        let (project, name) = branch.name.clone();
        let event = match &branch.known {
            Known::Primary(_, Some(known)) if head.as_ref().is_some_and(|head| known.contains(head)) => {
                return;
            }
            // The first sight of it is put on record.
            Known::Primary(_, None) if before.is_some_and(|before| before == head) => return,
            Known::Primary(target, _) => Event::PrimaryTouched { project, target: target.clone() },
            Known::Waiting(known) if head.as_ref() == Some(known) => return,
            Known::Waiting(_) => Event::BranchTouched { project, branch: name, head },
        };
        drop(branches);
        self.handle.send(Input::Event(event));
    }
}
