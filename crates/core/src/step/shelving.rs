//! What is at hand and what is on the shelf: a step loads and looks at what live work may need, and at no more
//! history than a few of each kind.
//!
//! Invariants:
//! - Whatever is live, or waits for something, is at hand; so is whatever an open issue or a live entry refers to.
//! - What an event is about is taken down before its step ([`wanted`]), so no step concludes from a record on the
//!   shelf that it does not exist.
//! - A job and all that belongs to it are shelved together.

use super::Turn;
use crate::effect::{Outcome, Taken};
use crate::event::{Event, Observation};
use crate::forge::Subject;
use crate::ids::{Assignment, EntryId, IssueNumber, JobId, ProjectName, RequestNumber, RunNumber};
use crate::state::{Entry, Floor, Issue, Job, Kept, SessionState, Shelf};
use std::collections::{BTreeMap, BTreeSet};

/// How many jobs of one open issue are at hand: enough to see how often it was tried.
const OF_AN_ISSUE: usize = 10;

/// How many requests of a project that have ended are at hand: enough for a list, since each is long.
const REQUESTS_AT_HAND: usize = 20;

type Number = (ProjectName, IssueNumber);

/// The shelves that an event may be about, without those that are known to be empty. What is taken down may lead to
/// others: ask again until there is nothing new.
pub fn wanted(floor: &Floor, event: &Event) -> BTreeSet<Shelf> {
    let mut wanted = Wanted { floor, shelves: BTreeSet::new() };
    match event {
        Event::Observed { project, page } => {
            page.seen.0.iter().for_each(|observation| wanted.seen(project, observation));
        }
        Event::Taken { project, issue }
        | Event::HandedBack { project, issue }
        | Event::Answered { project, issue: Some(issue), .. }
        | Event::Cancelled { project, issue }
        | Event::MergeAsked { project, issue, .. }
        | Event::MergeRefused { project, issue } => wanted.all_of(project, *issue),
        Event::RunCancelled { project, run } => {
            wanted.shelves.insert(Shelf::Run(project.clone(), *run));
        }
        Event::VaultDecided { project, request, .. } => {
            wanted.shelves.insert(Shelf::Request(project.clone(), *request));
        }
        Event::ReviewAsked { project, pr, branch, .. } => {
            wanted.all_of(project, IssueNumber(pr.0));
            wanted.branch(project, branch);
        }
        Event::BranchAsked { project, ask } => {
            ask.after.iter().chain([&ask.branch]).for_each(|name| wanted.branch(project, name));
        }
        // What was tried once is not tried again.
        Event::Performed { action, outcome: Outcome::CheckoutTaken(taken) } => {
            if let (Some(project), Taken::Parted { branch, .. }) = (action.project(), &taken.taken) {
                wanted.branch(project, branch);
            }
        }
        _ => {}
    }
    wanted.shelves
}

struct Wanted<'a> {
    floor: &'a Floor,
    shelves: BTreeSet<Shelf>,
}

impl Wanted<'_> {
    fn seen(&mut self, project: &ProjectName, observation: &Observation) {
        match observation {
            Observation::Issue { number, deps, hints, .. } => {
                self.all_of(project, *number);
                // What an agent found has to come before it holds for the same text.
                let found = self.floor.issues.get(&(project.clone(), *number)).map(|issue| &issue.deps);
                deps.iter().chain(found.into_iter().flatten()).for_each(|dep| self.issue(project, *dep));
                hints.after.iter().for_each(|name| self.branch(project, name));
            }
            Observation::Comment { on: Subject::Issue(issue), .. } => self.issue(project, *issue),
            Observation::Pr { number, open, branch, fixes, .. } => {
                self.all_of(project, IssueNumber(number.0));
                if *open {
                    self.branch(project, branch);
                    fixes.iter().for_each(|issue| self.issue(project, *issue));
                }
            }
            Observation::Review { .. } | Observation::Comment { on: Subject::Pr(_), .. } => {}
        }
    }

    /// The issue itself.
    fn issue(&mut self, project: &ProjectName, number: IssueNumber) {
        if self.floor.issues.get(&(project.clone(), number)).is_none() {
            self.shelves.insert(Shelf::Number(project.clone(), number));
        }
    }

    /// The issue and its jobs. Those of a closed issue may be on the shelf although it is at hand.
    fn all_of(&mut self, project: &ProjectName, number: IssueNumber) {
        if self.floor.issues.get(&(project.clone(), number)).is_none_or(|issue| !issue.open) {
            self.shelves.insert(Shelf::Number(project.clone(), number));
        }
    }

    fn branch(&mut self, project: &ProjectName, name: &str) {
        self.shelves.insert(Shelf::Branch(project.clone(), name.to_owned()));
    }
}

impl Turn<'_> {
    /// Puts on the shelf whatever this step touched and nothing needs any more; a daemon that starts looks at
    /// everything.
    pub(super) fn shelve_what_is_over(&mut self, event: &Event) {
        let floor = &*self.floor;
        let (places, projects) = match event {
            Event::Resumed => everything(floor),
            _ => touched(floor),
        };
        if places.is_empty() && projects.is_empty() {
            return;
        }
        let needed = Needed::of(floor);
        let among = |project: &ProjectName| projects.contains(project);
        let jobs = floor.jobs.iter().filter(|job| among(&job.project) && needed.is_over(job));
        let jobs: BTreeMap<JobId, (ProjectName, Assignment)> =
            jobs.map(|job| (job.id, (job.project.clone(), job.assignment))).collect();
        let gone = |entry: &&Entry| match entry.job {
            Some(job) => jobs.contains_key(&job),
            None => among(&entry.project) && needed.is_past(entry),
        };
        let entries: Vec<EntryId> = floor.entries.iter().filter(gone).map(|entry| entry.id).collect();
        let staying: BTreeSet<Number> =
            floor.jobs.iter().filter(|job| !jobs.contains_key(&job.id)).filter_map(Job::place).collect();
        let numbered =
            |(project, assignment): &(ProjectName, Assignment)| Some((project.clone(), assignment.number()?));
        let places = places.into_iter().chain(jobs.values().filter_map(numbered));
        let over = |place: &Number| {
            let settled = floor.issues.get(place).is_none_or(is_settled);
            settled && !staying.contains(place) && !needed.numbers.contains(place)
        };
        let places: BTreeSet<Number> = places.filter(over).collect();
        let runs = runs_over(floor, &projects, &jobs);
        let requests = requests_over(floor, &projects);
        entries.into_iter().for_each(|entry| self.shelve_entry(entry));
        for job in jobs.into_keys() {
            self.shelve_sessions(job);
            self.shelve_job(job);
        }
        for (project, number) in places {
            self.shelve_agents(&project, Assignment::Issue(number));
            self.shelve_records(&project, Assignment::Issue(number));
            self.shelve_issue(&project, number);
        }
        for (project, run) in runs {
            self.shelve_agents(&project, Assignment::Run(run));
            self.shelve_records(&project, Assignment::Run(run));
            self.shelve_run(run);
        }
        requests.into_iter().for_each(|request| self.shelve_request(request));
    }
}

/// Issues that may be over, and the projects in which a job or an entry may be: one that ends takes the place of the
/// oldest that is at hand.
type Candidates = (Vec<Number>, BTreeSet<ProjectName>);

fn everything(floor: &Floor) -> Candidates {
    let places = floor.issues.iter().map(|issue| (issue.project.clone(), issue.number));
    (places.collect(), floor.projects.iter().map(|project| project.name.clone()).collect())
}

/// Those that this step touched. What takes longer to find out is not asked here: most steps touch nothing that is
/// over.
fn touched(floor: &Floor) -> Candidates {
    let closed = floor.issues.touched().filter_map(|place| floor.issues.get(place)).filter(|i| is_settled(i));
    // What it waited for may be at hand only because of that.
    let places = closed.flat_map(|issue| {
        let with_deps = issue.deps.iter().chain([&issue.number]);
        with_deps.map(|number| (issue.project.clone(), *number))
    });
    let jobs = floor.jobs.touched().filter_map(|id| floor.jobs.get(id)).filter(|job| !job.is_live());
    let entries = floor.entries.touched().filter_map(|id| floor.entries.get(id));
    let entries = entries.filter(|entry| entry.job.is_none() && !entry.state.is_live());
    let runs = floor.runs.touched().filter_map(|run| floor.runs.get(run)).filter(|run| !run.is_live());
    let projects = jobs.map(|job| job.project.clone()).chain(entries.map(|entry| entry.project.clone()));
    let requests = floor.requests.touched().filter_map(|request| floor.requests.get(request));
    let requests = requests.filter(|request| !request.is_live()).map(|request| request.project.clone());
    (places.collect(), projects.chain(runs.map(|run| run.project.clone())).chain(requests).collect())
}

fn is_settled(issue: &Issue) -> bool {
    !issue.open && issue.edits_pending == 0 && issue.deps_due.is_none()
}

/// What has to stay at hand, whatever its own state is.
struct Needed<'a> {
    floor: &'a Floor,
    /// Issues that open ones wait for, and open pull requests.
    numbers: BTreeSet<Number>,
    /// Branches that something is to land after.
    branches: BTreeSet<(&'a ProjectName, &'a str)>,
    /// Jobs with a session, an entry or a message that is not over.
    jobs: BTreeSet<JobId>,
    /// The newest of each project, and of each open issue.
    newest: BTreeSet<JobId>,
    newest_entries: BTreeSet<EntryId>,
}

impl<'a> Needed<'a> {
    fn of(floor: &'a Floor) -> Needed<'a> {
        let open = || floor.issues.iter().filter(|issue| issue.open);
        let waited_for = open().flat_map(|i| i.deps.iter().map(|dep| (i.project.clone(), *dep)));
        let pulls = floor.pulls.iter().map(|pull| (pull.project.clone(), IssueNumber(pull.number.0)));
        let entries = || floor.entries.iter().filter(|entry| entry.state.is_live());
        let named = |(project, names): (&'a ProjectName, &'a [String])| {
            names.iter().map(move |name| (project, name.as_str()))
        };
        let after = open().map(|i| (&i.project, &*i.hints.after));
        let branches = after.chain(entries().map(|e: &Entry| (&e.project, &*e.after))).flat_map(named);
        let unended = floor.sessions.iter().filter(|s| s.state != SessionState::Ended).map(|s| s.job);
        let messages = floor.messages.iter().map(|message| message.job);
        Needed {
            floor,
            numbers: waited_for.chain(pulls).collect(),
            branches: branches.collect(),
            jobs: unended.chain(messages).chain(entries().filter_map(|e| e.job)).collect(),
            newest: newest(floor),
            newest_entries: newest_entries(floor),
        }
    }

    /// Whether a person's branch has left the queue, and nobody lands after it.
    fn is_past(&self, entry: &Entry) -> bool {
        !entry.state.is_live()
            && !self.newest_entries.contains(&entry.id)
            && !self.branches.contains(&(&entry.project, &*entry.branch))
    }

    fn is_over(&self, job: &Job) -> bool {
        let needed = job.is_live()
            || job.kept() != Kept::default()
            || self.jobs.contains(&job.id)
            || self.newest.contains(&job.id)
            || self.branches.contains(&(&job.project, &*job.branch))
            || (job.is_review() && job.place().is_some_and(|place| self.numbers.contains(&place)));
        let issue = job.place().and_then(|place| self.floor.issues.get(&place));
        !needed && issue.is_none_or(|issue| issue.open || is_settled(issue))
    }
}

fn at_hand(floor: &Floor, project: &ProjectName) -> usize {
    floor.projects.get(project).map_or(0, |p| p.policy.jobs_at_hand)
}

/// Runs that have ended and are not among their project's newest; `jobs` go to the shelf now. A run goes with its job.
fn runs_over(
    floor: &Floor,
    projects: &BTreeSet<ProjectName>,
    jobs: &BTreeMap<JobId, (ProjectName, Assignment)>,
) -> Vec<(ProjectName, RunNumber)> {
    let mut of_project: BTreeMap<&ProjectName, usize> = BTreeMap::new();
    let ended = floor.runs.iter().rev().filter(|run| !run.is_live() && projects.contains(&run.project));
    let over = ended.filter(|run| {
        let seen = of_project.entry(&run.project).or_default();
        *seen += 1;
        match run.job() {
            Some(job) => jobs.contains_key(&job) || floor.jobs.get(&job).is_none(),
            None => *seen > at_hand(floor, &run.project),
        }
    });
    over.map(|run| (run.project.clone(), run.number)).collect()
}

/// Requests to the vault that have ended and are not among their project's newest.
fn requests_over(floor: &Floor, projects: &BTreeSet<ProjectName>) -> Vec<RequestNumber> {
    let mut of_project: BTreeMap<&ProjectName, usize> = BTreeMap::new();
    let ended = floor.requests.iter().rev().filter(|r| !r.is_live() && projects.contains(&r.project));
    let over = ended.filter(|request| {
        let seen = of_project.entry(&request.project).or_default();
        *seen += 1;
        *seen > at_hand(floor, &request.project).min(REQUESTS_AT_HAND)
    });
    over.map(|request| request.number).collect()
}

fn newest_entries(floor: &Floor) -> BTreeSet<EntryId> {
    let mut of_project: BTreeMap<&ProjectName, usize> = BTreeMap::new();
    let ended = floor.entries.iter().rev().filter(|entry| entry.job.is_none() && !entry.state.is_live());
    let newest = ended.filter(|entry| {
        let seen = of_project.entry(&entry.project).or_default();
        *seen += 1;
        *seen <= at_hand(floor, &entry.project)
    });
    newest.map(|entry| entry.id).collect()
}

fn newest(floor: &Floor) -> BTreeSet<JobId> {
    let mut of_project: BTreeMap<(&ProjectName, bool), usize> = BTreeMap::new();
    let mut of_issue: BTreeMap<Number, usize> = BTreeMap::new();
    let mut newest = BTreeSet::new();
    for job in floor.jobs.iter().rev().filter(|job| !job.is_live()) {
        let seen = of_project.entry((&job.project, job.is_review())).or_default();
        *seen += 1;
        let open = job.place().filter(|place| floor.issues.get(place).is_some_and(|issue| issue.open));
        let again = open.is_some_and(|place| {
            let tries = of_issue.entry(place).or_default();
            *tries += 1;
            *tries <= OF_AN_ISSUE
        });
        if *seen <= at_hand(floor, &job.project) || again {
            newest.insert(job.id);
        }
    }
    newest
}
