//! `shopfloor status`: the floor at a glance.

use super::context::now;
use super::merge_queue::{self, EntryView};
use super::troubles::{self, TroubleView};
use super::view::{self, JobView};
use super::{CliResult, Context, Exit, output, timers};
use clap::Args;
use serde::Serialize;
use shopfloor_core::ids::{IssueNumber, ProjectName, Role, role_names};
use shopfloor_core::state::{Floor, Job, Outage, Project, Queue, Staff};
use shopfloor_core::step::{Standings, Waiting};
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;

/// Show the floor: the daemon, jobs, the merge queue, and what waits and why
#[derive(Args)]
pub struct StatusArgs {
    /// Also all the jobs that ended, not only the latest
    #[arg(long)]
    all: bool,
    /// Only what is done next if nothing happens, and when
    #[arg(long)]
    timers: bool,
}

/// Ended jobs shown without `--all`: the newest ones, of people and of programs that wait for one.
const ENDED_HUMAN: usize = 5;
const ENDED_JSON: usize = 100;
/// The last column: a question with its options is to be read whole.
const WAITS_CHARS: usize = 240;

#[derive(Serialize)]
struct StatusView {
    floor: FloorView,
    jobs: Vec<JobView>,
    queue: Vec<EntryView>,
    waiting: Vec<WaitingView>,
    troubles: Vec<TroubleView>,
}

#[derive(Serialize)]
struct FloorView {
    home: String,
    daemon: Daemon,
    projects: Vec<ProjectView>,
}

#[derive(Serialize)]
pub struct Daemon {
    pub running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

#[derive(Serialize)]
struct ProjectView {
    name: ProjectName,
    checkout: String,
    primary_branch: String,
    /// Why nothing new is begun: by a person, or by its configuration.
    paused: Option<String>,
    /// A person paused it since then.
    #[serde(skip)]
    since: Option<Time>,
    /// Why its merge queue is held, by a person or until the primary branch is put right.
    queue_paused: Option<String>,
    queue_frozen: Option<String>,
    /// Which of its agents cannot work.
    held: Vec<OutageView>,
    /// Variables that its configuration passes on and that the daemon has not.
    unset: Vec<String>,
}

#[derive(Serialize)]
struct OutageView {
    /// The first of those that one cause keeps.
    role: Role,
    roles: Vec<Role>,
    why: String,
    question: String,
    since: String,
    #[serde(skip)]
    age: String,
}

impl OutageView {
    fn new(floor: &Floor, (outage, roles): (&Outage, Vec<Role>)) -> Self {
        // What a login dialog offers is the way out.
        let dialog = floor.login_dialog(outage).and_then(|s| s.asks.as_ref()).map(view::choices);
        OutageView {
            role: outage.role,
            roles,
            why: match dialog {
                Some(dialog) => format!("{}: {dialog}", outage.why),
                None => outage.why.clone(),
            },
            question: format!("q{}", floor.question_of(outage)),
            since: output::moment(outage.since),
            age: output::span(now().since(outage.since)),
        }
    }
}

impl ProjectView {
    fn new(floor: &Floor, project: &Project) -> ProjectView {
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
        }
    }

    /// What people should know of it, a line each.
    fn troubles(&self) -> Vec<String> {
        let line = |what: &str, why: &str| format!("{what}: {}", one_line(why, 200));
        let paused = self.paused.as_deref().map(|why| match self.since {
            Some(since) => {
                let (age, why) = (output::span(now().since(since)), one_line(why, 80));
                format!("paused for {age} ({why}): `shopfloor resume {}` lets its agents go on", self.name)
            }
            None => line("nothing new is begun", why),
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
        [paused, held, frozen].into_iter().flatten().chain(agents).chain(unset).collect()
    }
}

/// An open issue that nobody works on.
#[derive(Serialize)]
struct WaitingView {
    project: ProjectName,
    issue: IssueNumber,
    title: String,
    why: String,
    depends_on: Vec<IssueNumber>,
}

/// Whether a daemon answers, and which process it is.
pub fn daemon(context: &Context) -> CliResult<Daemon> {
    // `pong PID`
    let answer = context.ask_daemon("ping")?.unwrap_or_default();
    let mut words = answer.split_whitespace();
    let running = words.next() == Some("pong");
    Ok(Daemon { running, pid: words.next().filter(|_| running).and_then(|pid| pid.parse().ok()) })
}

pub fn run(context: &Context, args: StatusArgs) -> CliResult<Exit> {
    let floor = view::floor(context)?;
    let only = context.named_project()?;
    let mine = |project: &ProjectName| only.as_ref().is_none_or(|p| p == project);
    if args.timers {
        return timers::run(context, &floor, mine);
    }
    let ended = match (args.all, context.json) {
        (true, _) => usize::MAX,
        (false, true) => ENDED_JSON,
        (false, false) => ENDED_HUMAN,
    };
    let jobs = jobs(&floor, mine, ended);
    let waiting = waiting(&floor, mine);
    let troubles = troubles::troubles(context, &floor, mine)?;
    let daemon = daemon(context)?;
    if !context.json {
        print_human(context, &daemon, &floor, &jobs, &waiting);
        troubles::print(&floor, &troubles);
        return Ok(Exit::Fine);
    }
    let projects = floor.projects.iter().filter(|p| mine(&p.name)).map(|p| ProjectView::new(&floor, p));
    let home = context.layout.root().display().to_string();
    output::json(&StatusView {
        floor: FloorView { home, daemon, projects: projects.collect() },
        jobs: jobs.into_iter().map(|job| JobView::new(&floor, job)).collect(),
        queue: merge_queue::queue(&floor, only.as_ref()),
        waiting,
        troubles,
    });
    Ok(Exit::Fine)
}

/// The live jobs, then the newest ended ones. Of an issue that was worked on more than once only
/// the job that counts is shown: a program that looks an issue up must find its present state.
fn jobs(floor: &Floor, mine: impl Fn(&ProjectName) -> bool, ended_max: usize) -> Vec<&Job> {
    let mut newest = std::collections::BTreeMap::new();
    for job in floor.jobs.iter().filter(|j| mine(&j.project)) {
        newest.insert((&job.project, job.issue), job);
    }
    let (mut live, mut ended): (Vec<&Job>, Vec<&Job>) = newest.into_values().partition(|j| j.is_live());
    ended.sort_by_key(|j| std::cmp::Reverse(view::since(j)));
    ended.truncate(ended_max);
    live.extend(ended);
    live
}

fn waiting(floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> Vec<WaitingView> {
    let standings = Standings::of(floor);
    let issues = floor.issues.iter().filter(|i| mine(&i.project)).map(|i| (i, standings.why(i)));
    issues
        .filter(|(_, waiting)| !matches!(waiting, Waiting::AtWork | Waiting::Closed))
        .map(|(issue, waiting)| WaitingView {
            project: issue.project.clone(),
            issue: issue.number,
            title: issue.title.clone(),
            why: view::why_of(floor, issue, waiting),
            depends_on: issue.deps.clone(),
        })
        .collect()
}

fn print_human(context: &Context, daemon: &Daemon, floor: &Floor, jobs: &[&Job], waiting: &[WaitingView]) {
    output::line(format!("floor   {}", context.layout.root().display()));
    output::line(match (daemon.running, daemon.pid) {
        (true, Some(pid)) => format!("daemon  runs, pid {pid}"),
        (true, None) => "daemon  runs".to_owned(),
        (false, _) => "daemon  does not run: `shopfloor up` starts it".to_owned(),
    });
    for project in floor.projects.iter() {
        output::line(format!("project {} in {}", project.name, one_line(&project.checkout, 200)));
        for trouble in ProjectView::new(floor, project).troubles() {
            output::line(format!("        {trouble}"));
        }
    }
    let several = floor.projects.len() > 1;
    let name = |project: &ProjectName, issue: IssueNumber| {
        if several { format!("{project}#{issue}") } else { format!("#{issue}") }
    };
    output::line("");
    if jobs.is_empty() {
        output::line("no jobs");
    } else {
        let rows: Vec<Vec<String>> = jobs.iter().map(|job| job_row(floor, job, &name)).collect();
        output::table(&["ISSUE", "TITLE", "STATE", "PHASE", "PR", "SESSION", "WAITS FOR"], &rows);
    }
    if !waiting.is_empty() {
        output::line("");
        let row = |w: &WaitingView| {
            vec![name(&w.project, w.issue), one_line(&w.title, view::TITLE_CHARS), w.why.clone()]
        };
        output::table(
            &["ISSUE", "TITLE", "WHY NOTHING HAPPENS"],
            &waiting.iter().map(row).collect::<Vec<_>>(),
        );
    }
}

fn job_row(floor: &Floor, job: &Job, name: &impl Fn(&ProjectName, IssueNumber) -> String) -> Vec<String> {
    let shown = JobView::new(floor, job);
    let age = output::span(now().since(view::since(job)));
    let ago = if job.is_live() { age } else { format!("{age} ago") };
    vec![
        name(&job.project, job.issue),
        view::title(job),
        format!("{}, {ago}", shown.state),
        view::or_dash(shown.phase),
        view::or_dash(job.pr.map(|pr| format!("#{pr}"))),
        view::or_dash(shown.session),
        one_line(&shown.waits_for.unwrap_or_default(), WAITS_CHARS),
    ]
}
