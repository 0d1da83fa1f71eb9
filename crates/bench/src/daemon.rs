//! The commands people wait for, and the daemon's memory, on a floor with many identities.

use crate::Scale;
use crate::floor::BenchFloor;
use crate::report::Report;
use crate::stats::{ms, percentile};
use anyhow::{Context, Result};
use std::process::Stdio;
use std::time::{Duration, Instant};

pub fn measure(floor: &BenchFloor, scale: &Scale, report: &mut Report) -> Result<()> {
    for command in ["status", "agents"] {
        let times = wall_times(floor, command, scale.command_runs)?;
        let note = format!("median of {} runs, {} identities", scale.command_runs, scale.identities);
        report.add(format!("shopfloor {command}"), ms(percentile(&times, 50)), "ms", note);
    }
    let daemon = floor.up()?;
    // It has read its forge and has nothing left to do once its answer to a poke is in.
    floor.must(floor.shopfloor().arg("status"))?;
    let rss = resident_mib(daemon.pid())?;
    report.add("daemon memory", rss, "MiB", format!("resident, idle, {} identities", scale.identities));
    Ok(())
}

fn wall_times(floor: &BenchFloor, command: &str, runs: u32) -> Result<Vec<Duration>> {
    // Once before it counts: the file cache is warm, as it is when somebody looks again.
    floor.must(floor.shopfloor().arg(command))?;
    let mut times = Vec::new();
    for _ in 0..runs {
        let mut run = floor.shopfloor();
        run.arg(command).stdout(Stdio::null()).stderr(Stdio::null());
        let begin = Instant::now();
        let status = run.status()?;
        times.push(begin.elapsed());
        anyhow::ensure!(status.success(), "shopfloor {command} ended with {status}");
    }
    Ok(times)
}

fn resident_mib(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1024.0)
}
