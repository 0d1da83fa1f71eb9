//! Commands on a floor with a large backlog: each is a process of its own, and reads what it shows.

use crate::Scale;
use crate::floor::BenchFloor;
use crate::report::Report;
use crate::stats::{ms, percentile};
use crate::usage;
use anyhow::{Context, Result};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What people wait for, and how it is called.
pub const COMMANDS: [(&str, &[&str]); 3] = [
    ("status", &["status"]),
    ("issue list", &["issue", "list"]),
    ("issue add", &["issue", "add", "One more, with a body of a usual length"]),
];
/// Who commits at once, and how often each.
const PROCESSES: usize = 50;
const COMMITS: usize = 2;

pub fn measure(floor: &BenchFloor, scale: &Scale, report: &mut Report) -> Result<()> {
    for (name, args) in COMMANDS {
        let used = used_by(floor, args, scale.command_runs)?;
        let note = format!(
            "p50 of {} runs, {} issues, no daemon; {:.1} ms of CPU",
            scale.command_runs, scale.issues, used.cpu
        );
        report.add(name, used.wall, "ms", note);
    }
    Ok(())
}

/// What a run of a command takes, in milliseconds: by the clock, the median; of CPU time, the mean.
pub struct Used {
    pub wall: f64,
    pub cpu: f64,
}

pub fn used_by(floor: &BenchFloor, args: &[&str], runs: u32) -> Result<Used> {
    // Once before it counts: the file cache is warm, as it is when somebody looks again.
    floor.must(floor.shopfloor().args(args))?;
    let before = usage::of_children()?;
    let mut samples = Vec::new();
    for _ in 0..runs {
        let begin = Instant::now();
        floor.must(floor.shopfloor().args(args))?;
        samples.push(begin.elapsed());
    }
    let cpu = 1000.0 * (usage::of_children()? - before) / f64::from(runs);
    Ok(Used { wall: ms(percentile(&samples, 50)), cpu })
}

/// Several processes commit at once. None may fail: whoever is late computes its step again.
pub fn together(floor: &BenchFloor, scale: &Scale, report: &mut Report) -> Result<()> {
    let begin = Instant::now();
    let mut failed = 0;
    for _ in 0..COMMITS {
        let mut running = Vec::new();
        for n in 0..PROCESSES {
            let mut command = floor.shopfloor();
            command.args(["escalate", "bench", &format!("number {n} of many")]);
            running.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("a command")?);
        }
        for mut child in running {
            failed += usize::from(!child.wait()?.success());
        }
    }
    let took: Duration = begin.elapsed();
    let note = format!("by {PROCESSES} processes at once, {} issues; {failed} failed", scale.issues);
    report.add(format!("{} commits", PROCESSES * COMMITS), ms(took), "ms", note);
    Ok(())
}
