//! `shopfloor health`: how the floor is doing.

use super::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::text::{one_line, size};
use shopfloor_desk::view::health::{HealthView, MachineView, PressureView, QueueHealth};
use std::time::Duration;

/// Show how the floor is doing: its machine, its agents, what waits and what fails
///
/// Of all projects, unless --project names one. Nothing is started to find out.
#[derive(Args)]
pub struct HealthArgs {}

pub fn run(context: &Context, _: &HealthArgs) -> CliResult<Exit> {
    let health = HealthView::new(context, context.named_project()?.as_ref())?;
    match context.json {
        true => output::json(&health),
        false => print(&health),
    }
    Ok(Exit::Fine)
}

fn print(health: &HealthView) {
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
    for trouble in &health.troubles {
        let what = trouble.what.replace('_', " ");
        output::line(format!("fails     {what}: {}", one_line(&trouble.why, 160)));
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
