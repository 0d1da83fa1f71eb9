//! Commands on a floor with a large backlog: each is a process of its own, and reads what it shows.

use crate::Scale;
use crate::floor::BenchFloor;
use crate::report::Report;
use crate::stats::{ms, percentile};
use anyhow::{Context, Result};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Who commits at once, and how often each.
const PROCESSES: usize = 50;
const COMMITS: usize = 2;

pub fn measure(floor: &BenchFloor, what: &str, scale: &Scale, report: &mut Report) -> Result<()> {
    let add = ["issue", "add", "One more, with a body of a usual length"];
    for (name, args) in [("status", &["status"][..]), ("issue list", &["issue", "list"]), ("issue add", &add)]
    {
        let mut samples = Vec::new();
        for _ in 0..scale.command_runs {
            let begin = Instant::now();
            floor.must(floor.shopfloor().args(args))?;
            samples.push(begin.elapsed());
        }
        let note = format!("p50 of {} runs, {} issues{what}, no daemon", scale.command_runs, scale.issues);
        report.add(format!("{name}{what}"), ms(percentile(&samples, 50)), "ms", note);
    }
    Ok(())
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
