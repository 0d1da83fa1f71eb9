//! `shopfloor status`: the floor at a glance.

use super::{CliResult, Context, Exit, output, timers, troubles};
use clap::Args;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::state::{Floor, Job};
use shopfloor_core::text::one_line;
use shopfloor_desk::view::job::{self, JobView};
use shopfloor_desk::view::status::{ProjectView, StatusView, WaitingView, jobs, waiting};
use shopfloor_desk::view::{trouble, vault};
use shopfloor_desk::{DaemonView, now};

/// Show the floor: the daemon, jobs, the merge queue, and what waits and why
#[derive(Args)]
pub struct StatusArgs {
    /// Show all jobs that ended, not only the latest
    #[arg(long)]
    all: bool,
    /// Show only what will be done next if nothing happens, and when
    #[arg(long)]
    timers: bool,
}

/// Ended jobs shown without `--all`: the newest ones, of people and of programs that wait for one.
const ENDED_HUMAN: usize = 5;
const ENDED_JSON: usize = 100;
/// The last column: a question with its options is to be read whole.
const WAITS_CHARS: usize = 240;

pub fn run(context: &Context, args: StatusArgs) -> CliResult<Exit> {
    let floor = context.floor()?;
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
    if context.json {
        output::json(&StatusView::new(context, &floor, only.as_ref(), ended)?);
        return Ok(Exit::Fine);
    }
    let daemon = context.daemon()?;
    print_human(context, &daemon, &floor, only.as_ref(), &jobs(&floor, mine, ended), &waiting(&floor, mine));
    troubles::print(&floor, &trouble::all(context, &floor, mine)?);
    Ok(Exit::Fine)
}

fn print_human(
    context: &Context,
    daemon: &DaemonView,
    floor: &Floor,
    only: Option<&ProjectName>,
    jobs: &[&Job],
    waiting: &[WaitingView],
) {
    output::line(format!("floor   {}", context.layout.root().display()));
    output::line(match (daemon.running, daemon.pid) {
        (true, Some(pid)) => format!("daemon  runs, pid {pid}"),
        (true, None) => "daemon  runs".to_owned(),
        (false, _) => "daemon  does not run: `shopfloor up` starts it".to_owned(),
    });
    if let Some(isolation) = &daemon.isolation {
        output::line(format!("agents  {isolation}"));
    }
    for project in floor.projects.iter().filter(|project| only.is_none_or(|only| *only == project.name)) {
        output::line(format!("project {} in {}", project.name, one_line(&project.checkout, 200)));
        for trouble in ProjectView::new(floor, project).troubles() {
            output::line(format!("        {trouble}"));
        }
    }
    let several = floor.projects.len() > 1;
    for request in vault::all(floor, only, 0) {
        let name = if several { format!("{}, ", request.project) } else { String::new() };
        output::line(format!("vault   {name}{}", one_line(&vault::in_short(request), 200)));
    }
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
            vec![name(&w.project, w.issue), one_line(&w.title, job::TITLE_CHARS), w.why.clone()]
        };
        output::table(
            &["ISSUE", "TITLE", "WHY NOTHING HAPPENS"],
            &waiting.iter().map(row).collect::<Vec<_>>(),
        );
    }
}

fn job_row(floor: &Floor, job: &Job, name: &impl Fn(&ProjectName, IssueNumber) -> String) -> Vec<String> {
    let shown = JobView::new(floor, job);
    let age = output::span(now().since(job::since(job)));
    let ago = if job.is_live() { age } else { format!("{age} ago") };
    vec![
        job.number().map_or_else(|| job.assignment.to_string(), |number| name(&job.project, number)),
        job::title(job),
        format!("{}, {ago}", shown.state),
        output::or_dash(shown.phase),
        output::or_dash(job.pr.map(|pr| format!("#{pr}"))),
        output::or_dash(shown.session),
        one_line(&shown.waits_for.unwrap_or_default(), WAITS_CHARS),
    ]
}
