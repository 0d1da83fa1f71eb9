//! The floor at a glance.

use super::entry::{self, EntryView};
use super::job::{self, JobView};
use super::trouble::{self, TroubleView};
use super::vault::{self, RequestView};
use crate::time::{moment, span};
use crate::{DaemonView, Desk, Result, now};
use serde::Serialize;
use shopfloor_core::ids::{IssueNumber, ProjectName, Role, role_names};
use shopfloor_core::state::{Floor, Job, Outage, Project, Queue, Staff};
use shopfloor_core::step::{Standings, Waiting};
use shopfloor_core::text::one_line;
use shopfloor_core::texts::people;
use shopfloor_core::time::Time;

#[derive(Serialize)]
pub struct StatusView {
    pub floor: FloorView,
    pub jobs: Vec<JobView>,
    pub queue: Vec<EntryView>,
    pub waiting: Vec<WaitingView>,
    /// Requests to the vault that are open.
    pub vault: Vec<RequestView>,
    pub troubles: Vec<TroubleView>,
}

#[derive(Serialize)]
pub struct FloorView {
    pub home: String,
    pub daemon: DaemonView,
    pub projects: Vec<ProjectView>,
}

#[derive(Serialize)]
pub struct ProjectView {
    pub name: ProjectName,
    pub checkout: String,
    pub primary_branch: String,
    /// Why nothing new is started: a person or the configuration says so.
    pub paused: Option<String>,
    /// Since when a person has paused it.
    #[serde(skip)]
    pub since: Option<Time>,
    /// Why its merge queue is held: by a person, or until the primary branch is put right.
    pub queue_paused: Option<String>,
    pub queue_frozen: Option<String>,
    /// Which of its agents cannot work.
    pub held: Vec<OutageView>,
    /// Variables that its configuration passes on but the daemon lacks.
    pub unset: Vec<String>,
    /// Variables that it passes on but the floor does not grant.
    pub not_granted: Vec<String>,
    /// A configuration that nobody has accepted.
    pub config: Option<ConfigView>,
}

#[derive(Serialize)]
pub struct ConfigView {
    pub question: String,
    pub since: String,
    pub diff: String,
    #[serde(skip)]
    age: String,
}

#[derive(Serialize)]
pub struct OutageView {
    /// The first of the roles that share the cause.
    pub role: Role,
    pub roles: Vec<Role>,
    pub why: String,
    pub question: String,
    pub since: String,
    #[serde(skip)]
    pub age: String,
}

impl StatusView {
    /// For one project or for all; shows at most `ended_max` of the newest ended jobs.
    pub fn new(desk: &Desk, floor: &Floor, only: Option<&ProjectName>, ended_max: usize) -> Result<Self> {
        let mine = |project: &ProjectName| only.is_none_or(|p| p == project);
        let projects = floor.projects.iter().filter(|p| mine(&p.name)).map(|p| ProjectView::new(floor, p));
        let home = desk.layout.root().display().to_string();
        Ok(StatusView {
            floor: FloorView { home, daemon: desk.daemon()?, projects: projects.collect() },
            jobs: jobs(floor, mine, ended_max).into_iter().map(|job| JobView::new(floor, job)).collect(),
            queue: entry::queue(floor, only),
            waiting: waiting(floor, mine),
            vault: vault::all(floor, only, 0).into_iter().map(RequestView::from).collect(),
            troubles: trouble::all(desk, floor, mine)?,
        })
    }
}

impl OutageView {
    fn new(floor: &Floor, (outage, roles): (&Outage, Vec<Role>)) -> Self {
        // What a login dialog offers is the way out.
        let dialog = floor.login_dialog(outage).and_then(|s| s.asks.open.as_ref()).map(job::choices);
        OutageView {
            role: outage.role,
            roles,
            why: match dialog {
                Some(dialog) => format!("{}: {dialog}", outage.why),
                None => outage.why.clone(),
            },
            question: format!("q{}", floor.question_of(outage)),
            since: moment(outage.since),
            age: span(now().since(outage.since)),
        }
    }
}

impl ProjectView {
    pub fn new(floor: &Floor, project: &Project) -> ProjectView {
        let staff = floor.staff.get(&project.name);
        let queues = || floor.queues.iter().filter(|q| q.project == project.name);
        let of = |queue: &Queue, text: String| match &queue.target {
            None => text,
            Some(target) => format!("{}: {text}", target.branch()),
        };
        ProjectView {
            name: project.name.clone(),
            checkout: project.checkout.clone(),
            primary_branch: project.policy.primary_branch.clone(),
            paused: project.pause.as_ref().map(|pause| pause.why.clone()).or_else(|| project.paused.clone()),
            since: project.pause.as_ref().map(|pause| pause.since),
            queue_paused: queues().find_map(|q| Some(of(q, q.pause()?))),
            queue_frozen: queues().find_map(|q| Some(q.lost.as_ref()?.tell_of(q.target.as_ref()))),
            held: staff
                .into_iter()
                .flat_map(Staff::causes)
                .map(|cause| OutageView::new(floor, cause))
                .collect(),
            unset: staff.map(|staff| staff.unset.clone()).unwrap_or_default(),
            not_granted: project.policy.withheld.clone(),
            config: floor.pins.get(&project.name).and_then(|pin| pin.differs.as_ref()).map(|differs| {
                ConfigView {
                    question: format!("q{}", differs.question),
                    since: moment(differs.since),
                    diff: differs.diff.clone(),
                    age: span(now().since(differs.since)),
                }
            }),
        }
    }

    /// What people should know about it, one line each.
    pub fn troubles(&self) -> Vec<String> {
        let line = |what: &str, why: &str| format!("{what}: {}", one_line(why, 200));
        let paused = self.paused.as_deref().map(|why| match self.since {
            Some(since) => {
                let (age, why) = (span(now().since(since)), one_line(why, 80));
                format!("paused for {age} ({why}): `shopfloor resume {}` lets its agents continue", self.name)
            }
            None => line("nothing new is started", why),
        });
        let held = self.queue_paused.as_deref().map(|why| {
            format!("{} (`shopfloor merge-queue resume`)", line("the merge queue is paused", why))
        });
        let frozen = self.queue_frozen.as_deref().map(|why| line("the merge queue is frozen", why));
        let agents = self.held.iter().map(|OutageView { roles, why, question, age, .. }| {
            let roles = role_names(roles);
            format!("held for {age}, {question}: {roles} agents cannot work: {}", one_line(why, 300))
        });
        let unset = (!self.unset.is_empty()).then(|| line("not set for its agents", &self.unset.join(", ")));
        let not_granted =
            (!self.not_granted.is_empty()).then(|| people::not_granted(&self.name, &self.not_granted));
        let config = self.config.as_ref().map(|config| {
            let ConfigView { question, age, .. } = config;
            format!(
                "its configuration was changed {age} ago and is not in force, {question}: `shopfloor config diff` shows the change, `shopfloor config accept` puts it in force"
            )
        });
        let first = [paused, held, frozen].into_iter().flatten();
        first.chain(agents).chain(unset).chain(not_granted).chain(config).collect()
    }
}

/// An open issue that nobody works on.
#[derive(Serialize)]
pub struct WaitingView {
    pub project: ProjectName,
    pub issue: IssueNumber,
    pub title: String,
    pub why: String,
    pub depends_on: Vec<IssueNumber>,
}

/// The live jobs, then the newest ended ones. If an issue was worked on more than once, only the job that
/// counts is shown: a program that looks an issue up must find its present state.
pub fn jobs(floor: &Floor, mine: impl Fn(&ProjectName) -> bool, ended_max: usize) -> Vec<&Job> {
    let mut newest = std::collections::BTreeMap::new();
    for job in floor.jobs.iter().filter(|j| mine(&j.project)) {
        // An issue and the pull request of that number are one; a run is of itself.
        newest.insert((&job.project, job.number(), job.assignment.run()), job);
    }
    let (mut live, mut ended): (Vec<&Job>, Vec<&Job>) = newest.into_values().partition(|j| j.is_live());
    ended.sort_by_key(|j| std::cmp::Reverse(job::since(j)));
    ended.truncate(ended_max);
    live.extend(ended);
    live
}

/// The open issues that nobody works on.
pub fn waiting(floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> Vec<WaitingView> {
    let standings = Standings::of(floor);
    let issues = floor.issues.iter().filter(|i| mine(&i.project)).map(|i| (i, standings.why(i)));
    issues
        .filter(|(_, waiting)| !matches!(waiting, Waiting::AtWork | Waiting::Closed))
        .map(|(issue, waiting)| WaitingView {
            project: issue.project.clone(),
            issue: issue.number,
            title: issue.title.clone(),
            why: job::why_of(floor, issue, waiting),
            depends_on: issue.deps.clone(),
        })
        .collect()
}
