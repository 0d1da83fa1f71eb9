//! `shopfloor ci`: what the project's checks did.

use super::{CliError, CliResult, Context, Exit, output};
use clap::{Args, Subcommand};
use serde::Serialize;
use shopfloor_core::ids::RunId;
use shopfloor_core::text;
use shopfloor_desk::now;
use shopfloor_desk::view::run::{self, FailureView, RunView, verdict};
use shopfloor_store::ci::{CiError, CiRun};
use std::fs::File;
use std::io::{BufRead, BufReader};

/// Show what the checks did
#[derive(Args)]
pub struct CiArgs {
    #[command(subcommand)]
    command: CiCommand,
}

#[derive(Subcommand)]
enum CiCommand {
    /// List the latest runs, newest first
    List {
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// Show one run, or those of a commit; default: the newest run
    Status {
        /// A run's number, or at least 4 digits of a commit
        #[arg(value_name = "COMMIT|RUN")]
        which: Option<String>,
    },
    /// Print a run's log
    Logs { run: RunId },
    /// List the latest runs that failed, newest first, with the end of what the failed step printed
    Failures {
        /// Only those of a pull request, the issue of a job, or a branch
        #[arg(value_name = "PR|ISSUE|BRANCH")]
        which: Option<String>,
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
}

#[derive(Serialize)]
struct LogView {
    run: RunId,
    log: String,
    text: String,
}

pub fn run(context: &Context, args: CiArgs) -> CliResult<Exit> {
    match args.command {
        CiCommand::List { limit } => {
            let runs = context.ci()?.list(&context.project()?.name, limit)?;
            list(context, runs);
        }
        CiCommand::Failures { which, limit } => {
            failures(context, &run::failures(context, &context.project()?.name, which.as_deref(), limit)?);
        }
        CiCommand::Status { which } => status(context, which.as_deref())?,
        CiCommand::Logs { run } => logs(context, run)?,
    }
    Ok(Exit::Fine)
}

fn took(run: &CiRun) -> String {
    output::span(run.finished_at.unwrap_or_else(now).since(run.started_at))
}

fn list(context: &Context, runs: Vec<CiRun>) {
    if context.json {
        return output::json(&runs.into_iter().map(RunView::from).collect::<Vec<_>>());
    }
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            vec![
                run.run.to_string(),
                output::or_dash(run.issue.map(|issue| format!("#{issue}"))),
                run.commit.short().to_owned(),
                verdict(run).to_owned(),
                output::or_dash(run.step.as_deref().map(|step| text::one_line(step, 30))),
                took(run),
                output::timestamp(run.started_at),
            ]
        })
        .collect();
    output::table(&["RUN", "ISSUE", "COMMIT", "VERDICT", "STEP", "TOOK", "STARTED"], &rows);
}

fn failures(context: &Context, failures: &[FailureView]) {
    if context.json {
        return output::json(&failures);
    }
    if failures.is_empty() {
        output::line("no run failed");
    }
    for FailureView { run, excerpt } in failures {
        let of = run.issue.map(|issue| format!(" of #{issue}")).unwrap_or_default();
        let step = run.step.as_deref().map_or_else(|| "?".to_owned(), |step| text::one_line(step, 80));
        output::line(format!("run {}: step {step} failed, {}{of}", run.run, run.commit.short()));
        match excerpt {
            Some(excerpt) => output::quoted(excerpt),
            None => output::line("  its log is gone"),
        }
    }
}

/// How many runs of one commit are shown.
const SAME_COMMIT_MAX: usize = 100;

fn status(context: &Context, which: Option<&str>) -> CliResult<()> {
    let mut ci = context.ci()?;
    let runs = match which {
        None => ci.list(&context.project()?.name, 1)?,
        Some(word) => {
            let by_number = match word.parse::<RunId>().map(|run| ci.get(run)) {
                Ok(Err(CiError::NoSuchRun(_))) | Err(_) => None,
                Ok(found) => Some(own(context, found?)?),
            };
            let hex = (4..=64).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_hexdigit());
            match by_number {
                Some(run) => vec![run],
                None if hex => {
                    ci.of_commit(&context.project()?.name, &word.to_ascii_lowercase(), SAME_COMMIT_MAX)?
                }
                None => vec![],
            }
        }
    };
    if let (Some(word), true) = (which, runs.is_empty()) {
        return Err(CliError::no_such(format!("there is no CI run or checked commit {word:?}"))
            .hint("`shopfloor ci list` shows the latest"));
    }
    if context.json {
        output::json(&runs.into_iter().map(RunView::from).collect::<Vec<_>>());
        return Ok(());
    }
    if runs.is_empty() {
        output::line("no run yet");
    }
    for run in &runs {
        print_run(run);
    }
    Ok(())
}

/// Numbers are the floor's, but what is asked for an agent is about its own project.
fn own(context: &Context, run: CiRun) -> CliResult<CiRun> {
    let theirs = context.inside().is_some() && context.project()?.name != run.project;
    if theirs { Err(CiError::NoSuchRun(run.run).into()) } else { Ok(run) }
}

fn print_run(run: &CiRun) {
    let of = run.issue.map(|issue| format!(" of #{issue}")).unwrap_or_default();
    output::line(format!("run {}: {}, {}{of}", run.run, verdict(run), run.commit.short()));
    output::line(format!("  started {}, took {}", output::timestamp(run.started_at), took(run)));
    for step in &run.steps {
        let exit = step.exit.map_or("did not end".to_owned(), |exit| format!("exit {exit}"));
        let took = output::span(std::time::Duration::from_millis(step.duration_ms));
        output::line(format!("  {}: {exit}, {took}", text::one_line(&step.name, 80)));
    }
    output::line(format!("  log: `shopfloor ci logs {}`", run.run));
}

fn logs(context: &Context, run: RunId) -> CliResult<()> {
    let run = own(context, context.ci()?.get(run)?)?;
    // A run under way has not said where its log is; it is where every run's is.
    let path = match &run.log {
        Some(log) => log.into(),
        None => context.layout.ci_run(&run.project, run.run).join("log"),
    };
    let file = File::open(&path).map_err(|e| {
        CliError::no_such(format!("the log of run {} cannot be read: {}: {e}", run.run, path.display()))
    })?;
    let lines = BufReader::new(file).split(b'\n').map(|line| {
        // Line by line: a log may be large, and an escape sequence must not swallow the next line.
        line.map(|bytes| text::neutralise(&String::from_utf8_lossy(&bytes)))
    });
    if context.json {
        let text = lines.collect::<Result<Vec<_>, _>>()?.join("\n");
        output::json(&LogView { run: run.run, log: path.display().to_string(), text });
        return Ok(());
    }
    for line in lines {
        output::line(line?);
    }
    Ok(())
}
