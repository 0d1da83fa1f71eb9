//! How the floor is doing, as one value: its machine, its agents, what it waits for and what fails. Nothing is started to
//! find out, and each part is a reader of its own.

use super::finding::{FindingView, Looked};
use super::{agent, question, trouble};
use crate::time::moment;
use crate::{Desk, Result, now};
use serde::Serialize;
use shopfloor_adapters::host::machine::{self, Pressure};
use shopfloor_adapters::layout::Layout;
use shopfloor_core::health::Containers;
use shopfloor_core::ids::{IssueNumber, ProjectName, QueueId, Role};
use shopfloor_core::label::Label;
use shopfloor_core::state::{EntryState, Floor, JobState, Schedule, SessionState};
use shopfloor_core::time::Time;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub struct HealthView {
    pub at: String,
    /// Whether a daemon answers: without one nothing is done.
    pub running: bool,
    pub machine: MachineView,
    /// Live sessions, by what they are doing.
    pub sessions: BTreeMap<&'static str, usize>,
    /// Jobs under way, and runs among them.
    pub jobs: usize,
    pub runs: usize,
    /// Checks that run or are about to.
    pub checks: usize,
    pub queues: Vec<QueueHealth>,
    pub questions: Vec<OpenQuestion>,
    pub blocked: Vec<BlockedIssue>,
    pub troubles: Vec<trouble::TroubleView>,
    /// What is not as it should be, most urgent first; what people acknowledged comes last.
    pub findings: Vec<FindingView>,
    /// Of docker, if it runs.
    pub containers: Option<Containers>,
    /// The schedules of supervisors, which look by themselves.
    pub supervisors: Vec<SupervisorView>,
}

#[derive(Serialize)]
pub struct SupervisorView {
    pub project: ProjectName,
    pub enabled: bool,
    /// When it looked last, and when it will again.
    pub looked: Option<String>,
    pub next: Option<String>,
    /// Letters of people's that wait for it.
    pub letters: usize,
}

/// Bytes. What is not known is `null`.
#[derive(Serialize)]
pub struct MachineView {
    pub memory_available: Option<u64>,
    pub swap_total: Option<u64>,
    pub swap_free: Option<u64>,
    /// Of the file system that the floor's home is on.
    pub disk_free: Option<u64>,
    pub disk_total: Option<u64>,
    /// Over one, five and fifteen minutes.
    pub load: Option<[f64; 3]>,
    pub cpus: Option<usize>,
    pub pressure: Option<PressureView>,
}

/// For how much of the last ten seconds something had to wait, in per cent.
#[derive(Serialize)]
pub struct PressureView {
    pub cpu: Option<f64>,
    pub memory: Option<f64>,
    pub io: Option<f64>,
}

#[derive(Serialize)]
pub struct QueueHealth {
    pub project: ProjectName,
    pub branch: String,
    pub waiting: usize,
    /// Since when the oldest entry has been in it.
    pub oldest: Option<String>,
    pub oldest_age_s: Option<u64>,
    /// Why nothing lands.
    pub held: Option<String>,
}

#[derive(Serialize)]
pub struct OpenQuestion {
    pub id: String,
    pub project: ProjectName,
    pub issue: Option<IssueNumber>,
    pub kind: String,
    pub age_s: u64,
}

#[derive(Serialize)]
pub struct BlockedIssue {
    pub project: ProjectName,
    pub issue: IssueNumber,
    pub title: String,
}

impl HealthView {
    /// Of one project, or of all of the floor.
    pub fn new(desk: &Desk, only: Option<&ProjectName>) -> Result<HealthView> {
        Ok(HealthView::with(desk, only)?.0)
    }

    /// The same, and what its findings were made of.
    pub fn with(desk: &Desk, only: Option<&ProjectName>) -> Result<(HealthView, Looked)> {
        let floor = desk.floor()?;
        let looked = Looked::at(desk, &floor, only)?;
        let mine = |project: &ProjectName| only.is_none_or(|only| only == project);
        let live = || floor.jobs.iter().filter(|job| job.is_live() && mine(&job.project));
        let view = HealthView {
            at: moment(now()),
            running: desk.daemon()?.running,
            machine: MachineView::new(&desk.layout),
            sessions: sessions(&floor, mine),
            jobs: live().count(),
            runs: live().filter(|job| job.assignment.run().is_some()).count(),
            checks: checks(&floor, mine),
            queues: queues(&floor, mine),
            questions: questions(&floor, mine),
            blocked: blocked(&floor, mine),
            troubles: trouble::all(desk, &floor, mine)?,
            findings: looked.findings(),
            containers: looked.measured.as_ref().and_then(|measured| measured.containers.clone()),
            supervisors: supervisors(&floor, mine),
        };
        Ok((view, looked))
    }
}

impl MachineView {
    fn new(layout: &Layout) -> MachineView {
        let (memory, disk) = (machine::memory(), machine::disk(layout.root()));
        let pressure = |Pressure { cpu, memory, io }| PressureView { cpu, memory, io };
        MachineView {
            memory_available: memory.available,
            swap_total: memory.swap_total,
            swap_free: memory.swap_free,
            disk_free: disk.map(|(free, _)| free),
            disk_total: disk.map(|(_, total)| total),
            load: machine::load(),
            cpus: std::thread::available_parallelism().ok().map(usize::from),
            pressure: machine::pressure().map(pressure),
        }
    }
}

fn supervisors(floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> Vec<SupervisorView> {
    let is_its = |schedule: &&Schedule| schedule.plan.formula.as_str() == Role::SUPERVISOR.as_str();
    let schedules = floor.schedules.iter().filter(is_its).filter(|schedule| mine(&schedule.project));
    let view = |schedule: &Schedule| {
        let row = floor.health.get(&Some(schedule.project.clone()));
        SupervisorView {
            project: schedule.project.clone(),
            enabled: schedule.is_in_force(),
            looked: row.and_then(|row| row.checked_at).map(moment),
            next: schedule.next.map(moment),
            letters: row.map_or(0, |row| row.open_letters().count()),
        }
    };
    schedules.map(view).collect()
}

fn sessions(floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> BTreeMap<&'static str, usize> {
    let mut by_state = BTreeMap::new();
    for session in floor.sessions.iter().filter(|session| mine(&session.project)) {
        let state = match session.state {
            SessionState::Starting => "starting",
            SessionState::Live => {
                agent::status(Some(session)).map_or("unknown", |status| status.state.as_str())
            }
            SessionState::Exited => "exited",
            SessionState::Ending => "ending",
            SessionState::Unended => "unended",
            SessionState::Ended => continue,
        };
        *by_state.entry(state).or_default() += 1;
    }
    by_state
}

fn checks(floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> usize {
    let of_jobs = floor.jobs.iter().filter(|job| mine(&job.project));
    let of_jobs = of_jobs.filter(|job| matches!(job.state, JobState::Checking { .. })).count();
    let entries = floor.entries.iter().filter(|entry| mine(&entry.project));
    let of_entries = entries.filter(|entry| matches!(entry.state, EntryState::Checking { .. })).count();
    let queues = floor.queues.iter().filter(|queue| mine(&queue.project));
    of_jobs + of_entries + queues.map(|queue| queue.runs.len()).sum::<usize>()
}

fn queues(floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> Vec<QueueHealth> {
    let projects = floor.projects.iter().filter(|project| mine(&project.name));
    let queues = projects.flat_map(|project| floor.queue_ids(&project.name));
    queues.map(|id| queue(floor, &id)).collect()
}

fn queue(floor: &Floor, id: &QueueId) -> QueueHealth {
    let entries = || floor.entries.iter().filter(|entry| entry.queue() == *id && entry.state.is_live());
    let oldest: Option<Time> = entries().map(|entry| entry.requested_at).min();
    let row = floor.queues.get(id);
    let held =
        row.and_then(|queue| queue.lost.as_ref().map(|_| "frozen".to_owned()).or(queue.paused.clone()));
    QueueHealth {
        project: id.project.clone(),
        branch: floor.policy(&id.project).branch_of(id.target.as_ref()).to_owned(),
        waiting: entries().count(),
        oldest: oldest.map(moment),
        oldest_age_s: oldest.map(|at| now().since(at).as_secs()),
        held,
    }
}

fn questions(floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> Vec<OpenQuestion> {
    let open = question::all(floor).into_iter().filter(|question| mine(&question.project));
    open.map(|question| OpenQuestion {
        id: format!("q{}", question.id),
        project: question.project,
        issue: question.issue,
        kind: question.kind,
        age_s: now().since(question.asked_at).as_secs(),
    })
    .collect()
}

fn blocked(floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> Vec<BlockedIssue> {
    let open = floor.issues.iter().filter(|issue| issue.open && mine(&issue.project));
    open.filter(|issue| issue.labels.contains(Label::Blocked.as_str()))
        .map(|issue| BlockedIssue {
            project: issue.project.clone(),
            issue: issue.number,
            title: issue.title.clone(),
        })
        .collect()
}
