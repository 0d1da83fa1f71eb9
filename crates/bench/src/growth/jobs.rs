//! One floor that works on issue after issue: whether it is as fast at the end as at the beginning, and what it keeps
//! of each.

use crate::Bench;
use crate::floor::{BenchFloor, Daemon, WORKER};
use crate::report::Report;
use crate::usage::FloorUse;
use anyhow::{Result, bail, ensure};
use shopfloor_core::state::{End, Job};
use shopfloor_core::table::Record;
use shopfloor_engine::Engine;
use shopfloor_store::Store;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

const PARTS: u64 = 10;
/// Between two looks at the floor.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// For one tenth of the jobs.
const PATIENCE: Duration = Duration::from_secs(3600);

/// What one tenth took.
struct Part {
    wall: Duration,
    cpu: f64,
}

pub fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let jobs = bench.scale.jobs;
    eprintln!("{jobs} issues, one after another …");
    let floor = bench.floor(WORKER)?;
    for n in 1..=jobs {
        floor.ask_for(&format!("Make change {n}"), "A file of its own.")?;
    }
    let daemon = floor.up()?;
    let parts = tenths(&floor, &daemon, jobs)?;
    let each = (jobs / PARTS) as f64;
    let rate = |part: &Part| 60.0 * each / part.wall.as_secs_f64();
    let cpu = |part: &Part| 1000.0 * part.cpu / each;
    if let (Some(first), Some(last)) = (parts.first(), parts.last()) {
        let all: Vec<String> = parts.iter().map(|part| format!("{:.0}", rate(part))).collect();
        let note = format!("of {jobs}; each tenth: {}", all.join(", "));
        report.add("issues a minute, first tenth", rate(first), "", note);
        let note = format!("{:.0} % of the first", 100.0 * rate(last) / rate(first));
        report.add("issues a minute, last tenth", rate(last), "", note);
        let note = "an issue, all processes of the floor, the agent's included";
        report.add("CPU, first tenth", cpu(first), "ms", note);
        report.add(
            "CPU, last tenth",
            cpu(last),
            "ms",
            format!("{note}; {:.2} times", cpu(last) / cpu(first)),
        );
    }
    drop(daemon);
    kept(&floor, jobs, report)
}

fn tenths(floor: &BenchFloor, daemon: &Daemon, jobs: u64) -> Result<Vec<Part>> {
    let mut engine = Engine::open(floor.store()?)?;
    let mut parts = Vec::new();
    let (mut begin, mut before) = (Instant::now(), FloorUse::of(floor, daemon.pid())?.total());
    while (parts.len() as u64) < PARTS {
        engine.refresh()?;
        let at_hand: Vec<&Job> = engine.floor().jobs.iter().filter(|job| !job.is_live()).collect();
        if let Some(job) = at_hand.iter().find(|job| job.end() != Some(End::Merged)) {
            bail!("the job for {} ended otherwise: {:?}", job.assignment, job.reason);
        }
        // Most of them are on the shelf by then.
        let ended = at_hand.len() + engine.store().shelf_of_kind(Job::KIND)?.len();
        if ended as u64 >= jobs * (parts.len() as u64 + 1) / PARTS {
            let cpu = FloorUse::of(floor, daemon.pid())?.total();
            parts.push(Part { wall: begin.elapsed(), cpu: cpu - before });
            (begin, before) = (Instant::now(), cpu);
        }
        ensure!(begin.elapsed() < PATIENCE, "a tenth of the jobs did not end within an hour");
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(parts)
}

/// What is there of each issue after its end.
fn kept(floor: &BenchFloor, jobs: u64, report: &mut Report) -> Result<()> {
    let each = |bytes: u64| bytes as f64 / 1024.0 / jobs as f64;
    let store = std::fs::metadata(floor.layout.database())?.len();
    report.add("kept an issue: store", each(store), "KiB", format!("after {jobs}"));
    let disk = on_disk(floor.layout.root())?;
    report.add("kept an issue: on disk", each(disk), "KiB", "all of the floor's home");
    let (project, layout) = (floor.project(), &floor.layout);
    let (mut refs, mut loose) = (0, 0);
    for repo in [layout.hub(&project), layout.clone_repo(&project), layout.queue_repo(&project)] {
        let git = |args: &[&str]| floor.output(floor.command("git").arg("--git-dir").arg(&repo).args(args));
        refs += git(&["for-each-ref"])?.lines().count();
        // "N objects, …"
        loose += git(&["count-objects"])?.split(' ').next().unwrap_or_default().parse::<usize>()?;
    }
    report.add(
        "kept an issue: refs",
        refs as f64 / jobs as f64,
        "",
        "in the hub, the keeper and the queue's repository",
    );
    report.add("kept an issue: loose objects", loose as f64 / jobs as f64, "", "in the same");
    Ok(())
}

fn on_disk(path: &Path) -> Result<u64> {
    let meta = std::fs::symlink_metadata(path)?;
    let mut bytes = meta.blocks() * 512;
    if meta.is_dir() {
        for entry in std::fs::read_dir(path)? {
            bytes += on_disk(&entry?.path())?;
        }
    }
    Ok(bytes)
}
