//! `shopfloor health`: how the floor is doing, what is wrong, and what people say of that.

mod acks;

use super::{CliResult, Context, Exit, authority, output};
use crate::config::Span;
use clap::{Args, Subcommand};
use serde::Serialize;
use shopfloor_core::health::{FindingKey, Priority};
use shopfloor_core::text::{neutralise, one_line, size};
use shopfloor_core::texts::health::nothing_for_an_agent;
use shopfloor_desk::view::finding::{FindingView, LetterView};
use shopfloor_desk::view::health::{HealthView, MachineView, PressureView, QueueHealth, SupervisorView};
use std::time::Duration;

/// Show how the floor is doing: what is wrong, its machine, its agents, what waits and what fails
///
/// Of all projects, unless --project names one. Nothing is started to find out. What is wrong has a priority: P0 the
/// machine is about to fail, P1 it soon will, P2 the factory or something in it has stopped, P3 something gets on worse
/// than it should, P4 housekeeping. From when on, [health] in shopfloor.toml and floor.toml says.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct HealthArgs {
    /// Show it again whenever something changes
    #[arg(long, short, conflicts_with_all = ["check", "remedy"])]
    watch: bool,
    /// For formulas: print only what the supervisor's agent has to look into; exit code 78 if that is nothing
    #[arg(long, conflicts_with = "remedy")]
    check: bool,
    /// Have the daemon look now, tell people what is urgent, and do what it safely can about the rest
    #[arg(long)]
    remedy: bool,
    #[command(subcommand)]
    command: Option<HealthCommand>,
}

#[derive(Subcommand)]
enum HealthCommand {
    /// Say nothing of a finding for a while, unless it gets worse
    Ack {
        /// As `shopfloor health` shows it, such as disk
        key: FindingKey,
        /// For how long, such as 7d; 90 days at the most
        #[arg(value_name = "DURATION")]
        within: Span,
    },
    /// Show a finding again that was acknowledged
    Unack { key: FindingKey },
    /// List what is acknowledged, until when and by whom
    Acks,
}

/// What happens meanwhile is shown, but not more often than anybody can read.
const WATCH_PAUSE: Duration = Duration::from_secs(1);
/// The machine says nothing when it changes.
const WATCH_EVERY: Duration = Duration::from_secs(30);

impl HealthArgs {
    /// What to do instead, if it is only for people.
    pub(super) fn persons(&self) -> Option<&'static str> {
        let acks = matches!(self.command, Some(HealthCommand::Ack { .. } | HealthCommand::Unack { .. }));
        (acks || self.remedy).then_some(authority::ELSEWHERE)
    }
}

pub fn run(context: &Context, args: HealthArgs) -> CliResult<Exit> {
    match args.command {
        Some(HealthCommand::Ack { key, within }) => acks::ack(context, &key, within.0),
        Some(HealthCommand::Unack { key }) => acks::unack(context, &key),
        Some(HealthCommand::Acks) => acks::list(context),
        None if args.check => check(context),
        None if args.remedy => remedy(context),
        None if args.watch => watch(context),
        None => {
            show(context, output::json)?;
            Ok(Exit::Fine)
        }
    }
}

fn show(context: &Context, as_json: fn(&HealthView)) -> CliResult<()> {
    let health = HealthView::new(context, context.named_project()?.as_ref())?;
    match context.json {
        true => as_json(&health),
        false => print(&health),
    }
    Ok(())
}

fn watch(context: &Context) -> CliResult<Exit> {
    let mut changes = context.subscribe(None)?;
    loop {
        if !context.json && output::is_terminal() {
            // From the top of a cleared screen.
            output::line("\x1b[H\x1b[2J");
        }
        show(context, output::json_line)?;
        std::thread::sleep(WATCH_PAUSE);
        changes.next(WATCH_EVERY)?;
    }
}

/// What is for the supervisor's agent.
#[derive(Serialize)]
struct CheckView<'a> {
    findings: Vec<&'a FindingView>,
    letters: Vec<LetterView>,
}

/// What the supervisor's agent is shown, if there is anything for it.
fn check(context: &Context) -> CliResult<Exit> {
    let project = context.project()?.name;
    let (health, looked) = HealthView::with(context, Some(&project))?;
    let briefing = looked.briefing();
    if context.json {
        let findings = health.findings.iter().filter(|finding| finding.unexplained).collect();
        let mut letters = LetterView::all(context.engine()?.floor(), |other| *other == project);
        letters.retain(|letter| letter.answer.is_none());
        output::json(&CheckView { findings, letters });
    } else {
        output::line(neutralise(briefing.as_deref().unwrap_or(nothing_for_an_agent())).trim_end());
    }
    Ok(if briefing.is_some() { Exit::Fine } else { Exit::NothingToDo })
}

fn remedy(context: &Context) -> CliResult<Exit> {
    let project = context.project()?.name;
    context.check_up(&project)?;
    if !context.json {
        output::line("the daemon looks, and does what it can; `shopfloor events --follow` shows it");
    }
    Ok(Exit::Fine)
}

fn print(health: &HealthView) {
    let several = health.supervisors.len() > 1;
    health.findings.iter().for_each(|known| finding(known, several));
    machine(&health.machine);
    if !health.running {
        output::line("daemon    none runs: `shopfloor up` starts it");
    }
    let sessions: Vec<String> =
        health.sessions.iter().map(|(state, count)| format!("{count} {state}")).collect();
    let sessions = if sessions.is_empty() { "none".to_owned() } else { sessions.join(", ") };
    output::line(format!("sessions  {sessions}"));
    output::line(format!(
        "jobs      {}, {} of them runs; {} checks",
        health.jobs, health.runs, health.checks
    ));
    for queue in &health.queues {
        output::line(format!("queue     {}", one_line(&in_words(queue, health.queues.len() > 1), 200)));
    }
    for question in &health.questions {
        let about = question.issue.map(|issue| format!(" on #{issue}")).unwrap_or_default();
        let age = output::span(Duration::from_secs(question.age_s));
        output::line(format!(
            "question  {}{about}: {}, {age} old",
            question.id,
            one_line(&question.kind, 80)
        ));
    }
    for issue in &health.blocked {
        output::line(format!("blocked   #{} {}", issue.issue, one_line(&issue.title, 80)));
    }
    for supervisor in &health.supervisors {
        output::line(format!("looks     {}", looks(supervisor, several)));
    }
    for trouble in &health.troubles {
        let what = trouble.what.replace('_', " ");
        output::line(format!("fails     {what}: {}", one_line(&trouble.why, 160)));
    }
}

fn finding(finding: &FindingView, several: bool) {
    let code = match finding.priority {
        Priority::P0 | Priority::P1 => 31,
        Priority::P2 => 33,
        Priority::P3 | Priority::P4 => 0,
    };
    let project = finding.project.as_ref().filter(|_| several);
    let project = project.map(|project| format!("{project}: ")).unwrap_or_default();
    let until = finding.acknowledged_until.as_ref();
    let until = until.map(|until| format!(" (acknowledged until {until})")).unwrap_or_default();
    let what = one_line(&finding.what, 200);
    let priority = output::paint(finding.priority.name(), code);
    output::line(format!("{priority}        {}{}: {what}{until}", project, finding.key));
}

fn looks(supervisor: &SupervisorView, several: bool) -> String {
    let project = if several { format!("{}: ", supervisor.project) } else { String::new() };
    let at = |at: &Option<String>| at.clone().unwrap_or_else(|| "never".to_owned());
    let letters = match supervisor.letters {
        0 => String::new(),
        n => format!("; {n} letters wait"),
    };
    match supervisor.enabled {
        true => {
            let (looked, next) = (at(&supervisor.looked), at(&supervisor.next));
            format!("{project}the supervisor looked last {looked}, and will {next}{letters}")
        }
        false => format!("{project}the supervisor is switched off{letters}"),
    }
}

fn machine(machine: &MachineView) {
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "?".to_owned(), size);
    let memory = bytes(machine.memory_available);
    let (swap, all) = (bytes(machine.swap_free), bytes(machine.swap_total));
    output::line(format!("memory    {memory} available, {swap} of {all} swap free"));
    output::line(format!("disk      {} of {} free", bytes(machine.disk_free), bytes(machine.disk_total)));
    if let Some([one, five, fifteen]) = machine.load {
        let cpus = machine.cpus.map(|cpus| format!(" on {cpus} processors")).unwrap_or_default();
        output::line(format!("load      {one:.2}, {five:.2}, {fifteen:.2}{cpus}"));
    }
    if let Some(PressureView { cpu, memory, io }) = &machine.pressure {
        let share =
            |share: &Option<f64>| share.map_or_else(|| "?".to_owned(), |share| format!("{share:.0} %"));
        output::line(format!(
            "waiting   for processors {}, memory {}, disks {}",
            share(cpu),
            share(memory),
            share(io)
        ));
    }
}

fn in_words(queue: &QueueHealth, several: bool) -> String {
    let whose = if several { format!("{} ", queue.project) } else { String::new() };
    let oldest = queue.oldest_age_s.map(Duration::from_secs).map(output::span);
    let oldest = oldest.map(|age| format!(", the oldest for {age}")).unwrap_or_default();
    let held = queue.held.as_ref().map(|why| format!("; held: {why}")).unwrap_or_default();
    format!("{whose}{}: {} waiting{oldest}{held}", queue.branch, queue.waiting)
}
