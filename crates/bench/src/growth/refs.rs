//! A hub that keeps the heads of many pull requests: what a fetch and a push take, with a file for each, and after the
//! floor's own upkeep.

use super::Grown;
use crate::Bench;
use crate::floor::{BenchFloor, IDLE_AGENT};
use crate::report::Report;
use crate::stats::{ms, percentile};
use anyhow::{Context, Result, ensure};
use shopfloor_engine::ports::Workspace;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

const ROUNDS: u32 = 9;

pub fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let rows = |how: &str| {
        let row =
            |what: &str| Grown::new(format!("hub: {what}, {how}"), "ms", format!("p50 of {ROUNDS}, refs"));
        (row("fetch"), row("push"))
    };
    let (mut loose, mut kept) = (rows("a file for each"), rows("after upkeep"));
    for count in bench.scale.refs {
        eprintln!("{count} pull requests' heads …");
        let floor = bench.floor(IDLE_AGENT)?;
        fill(&floor, count)?;
        for (name, rows) in [("loose", &mut loose), ("kept", &mut kept)] {
            if name == "kept" {
                floor.workspace().keep_up(&crate::fill::when_idle(&floor.project()))?;
            }
            let (fetched, pushed) = transfers(&floor, name)?;
            rows.0.at(count.into(), fetched);
            rows.1.at(count.into(), pushed);
        }
    }
    for row in [loose.0, loose.1, kept.0, kept.1] {
        row.report(report);
    }
    Ok(())
}

/// Heads that the hub keeps, each a commit of its own.
fn fill(floor: &BenchFloor, count: u32) -> Result<()> {
    let hub = floor.layout.hub(&floor.project());
    let mut stream = String::new();
    for n in 1..=count {
        let text = format!("change {n}");
        writeln!(stream, "commit refs/pull/{n}/head\ncommitter Bench <bench@example.org> {n} +0000")?;
        writeln!(stream, "data {}\n{text}\nM 100644 inline file\ndata {}\n{text}\n", text.len(), text.len())?;
    }
    let mut import = floor.command("git");
    import.arg("--git-dir").arg(&hub).args(["-c", "core.fsync=none", "fast-import", "--quiet"]);
    let mut child = import.stdin(Stdio::piped()).spawn()?;
    child.stdin.take().context("piped")?.write_all(stream.as_bytes())?;
    ensure!(child.wait()?.success(), "fast-import failed");
    Ok(())
}

/// What a fetch and a push take, as somebody does them in a checkout.
fn transfers(floor: &BenchFloor, name: &str) -> Result<(f64, f64)> {
    let (mut fetches, mut pushes) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        floor.must(floor.command("git").args(["commit", "--quiet", "--allow-empty", "-m", "one more"]))?;
        let to = format!("HEAD:refs/heads/{name}-{round}");
        pushes.push(timed(|| floor.must(floor.command("git").args(["push", "--quiet", "shopfloor", &to])))?);
        fetches.push(timed(|| floor.must(floor.command("git").args(["fetch", "--quiet", "shopfloor"])))?);
    }
    Ok((ms(percentile(&fetches, 50)), ms(percentile(&pushes, 50))))
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed())
}
