//! `shopfloor status`: the floor at a glance.

use super::context::now;
use super::merge_queue::{self, EntryView};
use super::troubles::{self, TroubleView};
use super::view::{self, JobView};
use super::{CliResult, Context, Exit, output};
use clap::Args;
use serde::Serialize;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::state::{Floor, Job};
use shopfloor_core::step::{Standings, Waiting};
use shopfloor_core::text::one_line;

/// Show the floor: the daemon, jobs, the merge queue, and what waits and why
#[derive(Args)]
pub struct StatusArgs {
    /// Also all the jobs that ended, not only the latest
    #[arg(long)]
    all: bool,
}

/// Ended jobs shown without `--all`: the newest ones, of people and of programs that wait for one.
const ENDED_HUMAN: usize = 5;
const ENDED_JSON: usize = 100;

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
    // `pong PID`; a daemon that ends while it is asked answers nothing.
    let answer = context.ask_daemon("ping")?.unwrap_or_default();
    let mut words = answer.split_whitespace();
    let running = words.next() == Some("pong");
    Ok(Daemon { running, pid: words.next().filter(|_| running).and_then(|pid| pid.parse().ok()) })
}

pub fn run(context: &Context, args: StatusArgs) -> CliResult<Exit> {
    let floor = view::floor(context)?;
    let only = context.named_project()?;
    let mine = |project: &ProjectName| only.as_ref().is_none_or(|p| p == project);
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
    let projects = floor.projects.iter().filter(|p| mine(&p.name)).map(|p| ProjectView {
        name: p.name.clone(),
        checkout: p.checkout.clone(),
        primary_branch: p.policy.primary_branch.clone(),
    });
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
        one_line(&job.title, view::TITLE_CHARS),
        format!("{}, {ago}", shown.state),
        view::or_dash(shown.phase),
        view::or_dash(job.pr.map(|pr| format!("#{pr}"))),
        view::or_dash(shown.session),
        one_line(&shown.waits_for.unwrap_or_default(), 80),
    ]
}
