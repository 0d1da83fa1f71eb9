//! `shopfloor merge-queue try`: would it land? Whoever holds the floor's lock does the work: this process, or the
//! daemon, which is then only watched.

use super::branch;
use super::change::Change;
use super::process::{self, Followed};
use crate::cli::{CliError, CliResult, Context, Exit, body, output};
use crate::daemon::Daemon;
use clap::Args;
use serde::Serialize;
use shopfloor_adapters::git::hub;
use shopfloor_core::event::{Event, TryAsk};
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName, RunId, Sha, Target, TryId};
use shopfloor_core::state::{Floor, Project, Try, TryState};
use shopfloor_core::step::may_try;
use shopfloor_core::text::one_line;
use shopfloor_engine::{Stop, Until};

/// Check a branch as it would land, without landing it
///
/// Puts the branch on top of the primary branch, or of another one, the way it would land there, and runs the
/// checks on that. It needs nobody's approval, holds up nothing that is to land, and counts for nothing that lands:
/// `merge-queue add` queues it. Without a daemon the checks are run here. Exit code 0: it passes, 3: it does not,
/// 6: it conflicts, 1: that could not be found out.
#[derive(Args)]
pub struct TryArgs {
    /// An issue's number, or a branch
    change: Change,
    /// The branch that it is put on, or the name of a target; else the primary branch
    #[arg(long, value_name = "BRANCH")]
    on: Option<String>,
    /// Only ask; `merge-queue list` and `explain` show what comes of it
    #[arg(long)]
    no_wait: bool,
    /// Do not try it any more
    #[arg(long, conflicts_with_all = ["on", "no_wait"])]
    cancel: bool,
}

/// A try as `--json` shows it.
#[derive(Serialize)]
pub struct TryView {
    #[serde(rename = "try")]
    id: TryId,
    pub project: ProjectName,
    pub branch: String,
    head: Sha,
    issue: Option<IssueNumber>,
    pr: Option<PrNumber>,
    /// What it is put on: the branch, and where that was.
    on: String,
    base: Sha,
    /// building, testing, green, red, conflicted or unknown.
    pub state: &'static str,
    /// What was checked.
    commit: Option<Sha>,
    run: Option<RunId>,
    reason: Option<String>,
    /// The files in conflict.
    files: Vec<String>,
    log: Option<String>,
    excerpt: Option<String>,
    by: String,
    asked_at: String,
    ended_at: Option<String>,
}

impl TryView {
    pub fn new(floor: &Floor, context: &Context, row: &Try) -> TryView {
        let mut view = TryView {
            id: row.id,
            project: row.project.clone(),
            branch: row.branch.clone(),
            head: row.head.clone(),
            issue: row.issue,
            pr: row.pr,
            on: floor.policy(&row.project).branch_of(row.on.as_ref()).to_owned(),
            base: row.base.clone(),
            state: row.state.name(),
            commit: None,
            run: None,
            reason: None,
            files: Vec::new(),
            log: None,
            excerpt: None,
            by: row.by.clone(),
            asked_at: output::moment(row.asked_at),
            ended_at: row.ended_at.map(output::moment),
        };
        let mut said = String::new();
        match &row.state {
            TryState::Building => {}
            TryState::Testing { run, commit } => {
                (view.run, view.commit) = (Some(*run), Some(commit.clone()));
            }
            TryState::Green { run, commit, log } => {
                (view.run, view.commit) = (*run, Some(commit.clone()));
                said.clone_from(log);
            }
            TryState::Red { run, commit, reason, log, excerpt } => {
                (view.run, view.commit, view.reason) = (*run, commit.clone(), Some(reason.clone()));
                view.excerpt = Some(excerpt.clone()).filter(|excerpt| !excerpt.is_empty());
                said.clone_from(log);
            }
            TryState::Conflicted { files, hunks } => {
                view.files.clone_from(files);
                view.excerpt = Some(hunks.clone()).filter(|hunks| !hunks.is_empty());
            }
            TryState::Unknown { reason, log } => {
                view.reason = Some(reason.clone());
                said.clone_from(log);
            }
        }
        let by_run = view.run.map(|run| context.layout.ci_run(&row.project, run).join("log"));
        let by_run = by_run.map(|log| log.display().to_string());
        view.log = Some(said).filter(|log| !log.is_empty()).or(by_run);
        view
    }

    /// In a line.
    pub fn tell(&self) -> String {
        let run = self.run.map(|run| format!("CI run {run}"));
        let log = self.log.as_ref().map(|log| format!("the log: {log}"));
        let files = Some(one_line(&self.files.join(", "), 200)).filter(|files| !files.is_empty());
        let nothing = self.state == "green" && self.run.is_none();
        let nothing = nothing.then(|| "it brings nothing that is not there".to_owned());
        let reason = self.reason.as_ref().map(|reason| one_line(reason, 300));
        let parts: Vec<String> = [reason, files, nothing, run, log].into_iter().flatten().collect();
        let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        let (head, on, base) = (self.head.short(), &self.on, self.base.short());
        format!("{} at {head}, on top of {on} at {base}: {}{parts}", self.branch, self.state)
    }

    fn exit(&self) -> Exit {
        match self.state {
            "green" => Exit::Fine,
            "red" => Exit::Unfinished,
            "conflicted" => Exit::NeedsPerson,
            _ => Exit::Failed,
        }
    }
}

pub fn run(context: &Context, args: &TryArgs) -> CliResult<Exit> {
    let project = context.project()?;
    let engine = context.engine()?;
    let (name, of_agent) = match &args.change {
        Change::Branch(name) => {
            // One that ended has left its branch to people.
            let carried = engine.floor().live_jobs(&project.name).any(|job| job.branch == *name);
            (name.clone(), carried)
        }
        issue @ Change::Issue(_) => (issue.job(engine.floor(), &project.name)?.branch.clone(), true),
    };
    if args.cancel {
        let branch = name.clone();
        context.submit(&Event::TryDropped { project: project.name.clone(), branch })?;
        return report(context, &project.name, &name, Exit::Fine);
    }
    let ask = ask(context, &project, engine.floor(), &name, args.on.as_deref(), of_agent)?;
    let (head, base) = (ask.head.clone(), ask.base.clone());
    may_try(engine.floor(), &project.name).map_err(|why| {
        CliError::failed(format!("{name} cannot be tried: {why}"))
            .hint("`shopfloor merge-queue list` shows what is being tried")
    })?;
    context.submit(&Event::TryAsked { project: project.name.clone(), ask })?;
    let engine = context.engine()?;
    let made = engine.floor().newest_try(&project.name, &name);
    let Some(id) = made.filter(|t| t.head == head && t.base == base).map(|t| t.id) else {
        return Err(CliError::failed(format!("{name} is not tried")).hint("`shopfloor events` says why"));
    };
    if !args.no_wait {
        wait(context, id)?;
    }
    let engine = context.engine()?;
    let Some(row) = engine.floor().tries.get(&id) else {
        return Err(CliError::no_such(format!("try {id} is gone")));
    };
    let view = TryView::new(engine.floor(), context, row);
    let exit = if args.no_wait { Exit::Fine } else { view.exit() };
    show(context, &view);
    Ok(exit)
}

fn ask(
    context: &Context,
    project: &Project,
    floor: &Floor,
    name: &str,
    on: Option<&str>,
    of_agent: bool,
) -> CliResult<TryAsk> {
    let on = on.map(|on| on.strip_prefix("refs/heads/").unwrap_or(on));
    let named = on.and_then(|on| project.policy.targets.iter().find(|t| t.name == on));
    let on: Option<Target> = match (named, on) {
        (Some(target), _) => Some(target.branch.clone()),
        (None, Some(on)) if on != project.policy.primary_branch => {
            let target = Target::try_from(on.to_owned());
            Some(target.map_err(|_| CliError::usage(format!("{on:?} is not a valid branch name")))?)
        }
        _ => None,
    };
    let found = branch::look(context, project, name, on.as_ref())?;
    let branch = project.policy.branch_of(on.as_ref());
    let base = hub::primary(&context.git()?, &context.layout.hub(&project.name), branch, None);
    let base = base.map_err(|e| CliError::failed(e.to_string()))?;
    let Some((base, _)) = base else {
        return Err(CliError::no_such(format!("the hub has no branch {branch}")));
    };
    let pull = floor.pulls.iter().find(|p| p.project == project.name && p.branch == name);
    let job = floor.job_on(&project.name, name);
    Ok(TryAsk {
        branch: name.to_owned(),
        head: found.head,
        title: found.subject,
        on,
        base,
        issue: job.map(|job| job.issue),
        pr: pull.map(|pull| pull.number).or(job.and_then(|job| job.pr)),
        of_agent,
        by: body::author(),
    })
}

fn wait(context: &Context, id: TryId) -> CliResult<()> {
    let mut nobody = 0;
    let mut told = None;
    let mut ended = |floor: &Floor| {
        let Some(row) = floor.tries.get(&id) else { return true };
        if !context.json && told != Some(row.state.name()) && row.state.is_live() {
            told = Some(row.state.name());
            output::line(TryView::new(floor, context, row).tell());
        }
        !row.state.is_live()
    };
    ended(context.engine()?.floor());
    loop {
        match Daemon::take(context, Until::Tried(id)) {
            Ok(mut daemon) => {
                if daemon.runner.run()? == Stop::Asked {
                    return Err(CliError::failed("stopped before it was known")
                        .hint("nothing is lost: the next daemon goes on with it; so does the same command"));
                }
                return Ok(());
            }
            Err(error) if error.exit == Exit::Busy => match process::follow(context, &mut ended)? {
                Followed::Decided => return Ok(()),
                Followed::Ended => nobody = 0,
                Followed::Nobody if nobody == process::TRIES_MAX => return Err(error),
                Followed::Nobody => nobody += 1,
            },
            Err(error) => return Err(error),
        }
    }
}

fn report(context: &Context, project: &ProjectName, branch: &str, exit: Exit) -> CliResult<Exit> {
    let engine = context.engine()?;
    let Some(row) = engine.floor().newest_try(project, branch) else {
        return Err(CliError::no_such(format!("{branch} is not being tried")));
    };
    show(context, &TryView::new(engine.floor(), context, row));
    Ok(exit)
}

fn show(context: &Context, view: &TryView) {
    if context.json {
        output::json(view);
        return;
    }
    output::line(view.tell());
    if let Some(excerpt) = &view.excerpt {
        output::quoted(excerpt);
    }
}
