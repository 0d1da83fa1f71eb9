//! `shopfloor doctor`: looks at everything the floor needs and says what to do about what is
//! wrong. It changes nothing.

mod agents;
mod checks;
mod live;
mod programs;
mod projects;
mod queues;
mod scratch;

use super::{CliResult, Context, Exit, output};
use clap::{Args, Subcommand};
use serde::Serialize;
use shopfloor_core::text::neutralise;

/// Check the machine, the floor and its projects; exit code 1 if something fails
#[derive(Args)]
pub struct DoctorArgs {
    #[command(subcommand)]
    command: Option<DoctorCommand>,
}

#[derive(Subcommand)]
enum DoctorCommand {
    Agents(agents::AgentsArgs),
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Grade {
    Ok,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Serialize)]
struct Check {
    name: String,
    status: Grade,
    detail: String,
    hint: Option<String>,
}

impl Check {
    fn new(name: impl Into<String>, status: Grade, detail: impl Into<String>) -> Self {
        Check { name: name.into(), status, detail: detail.into(), hint: None }
    }

    fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(name, Grade::Ok, detail)
    }

    fn warn(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(name, Grade::Warn, detail)
    }

    fn fail(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(name, Grade::Fail, detail)
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

#[derive(Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
}

pub fn run(context: &Context, args: DoctorArgs) -> CliResult<Exit> {
    if let Some(DoctorCommand::Agents(args)) = args.command {
        return agents::run(context, &args);
    }
    let mut checks = vec![programs::git(context), programs::tmux()];
    checks.extend(checks::home(context));
    checks.push(checks::disk(context));
    checks.push(checks::memory());
    checks.push(checks::sockets(context));
    checks.push(checks::isolation(context));
    let (store, engine) = checks::store(context);
    checks.extend(store);
    checks.push(checks::daemon(context));
    let floor = engine.as_ref().map(|engine| engine.floor());
    checks.extend(projects::checks(context, floor));
    checks.extend(queues::checks(context, floor));
    Ok(report(context, checks))
}

fn report(context: &Context, checks: Vec<Check>) -> Exit {
    let ok = checks.iter().all(|check| check.status != Grade::Fail);
    if context.json {
        output::json(&Report { ok, checks });
    } else {
        checks.iter().for_each(print);
    }
    if ok { Exit::Fine } else { Exit::Failed }
}

fn print(check: &Check) {
    let (word, colour) = match check.status {
        Grade::Ok => ("ok  ", 32),
        Grade::Warn => ("warn", 33),
        Grade::Fail => ("fail", 31),
    };
    // A configuration error is several lines: the place in the file.
    let detail = neutralise(&check.detail).replace('\n', "\n      ");
    output::line(format!("{}  {}: {detail}", output::paint(word, colour), neutralise(&check.name)));
    if let Some(hint) = &check.hint {
        output::line(format!("      hint: {}", neutralise(hint)));
    }
}
