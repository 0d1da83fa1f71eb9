//! Several floors on one machine: what a check takes that does nothing, alone and with the others at work.

use crate::Bench;
use crate::floor::{BenchFloor, IDLE_AGENT};
use crate::report::Report;
use crate::stats::{ms, percentile};
use crate::usage;
use anyhow::{Result, ensure};
use shopfloor_adapters::ci::local::{CiConfig, CiProgress, CiStep, LocalCi};
use shopfloor_core::ci::SkipPaths;
use shopfloor_core::effect::{CiAbout, CiPurpose, CiVerdict, CommitSource};
use shopfloor_core::ids::{ProjectName, RunId, Sha};
use shopfloor_core::redact::Redactor;
use shopfloor_core::state::SessionState;
use shopfloor_engine::ports::{Ci, CiRequest};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

pub fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let runs = bench.scale.ci_runs;
    let first = bench.floor(IDLE_AGENT)?;
    let _daemon = at_work(&first)?;
    let mut beside = Vec::new();
    let mut done = 0;
    for floors in [0, bench.scale.floors] {
        eprintln!("a check beside {floors} other floors …");
        while beside.len() < floors {
            let other = bench.floor(IDLE_AGENT)?;
            // Ends before its floor goes.
            beside.push((at_work(&other)?, other));
        }
        let used = checks(&first, done, runs)?;
        done += u64::from(runs);
        let what = format!("check `true`, {floors} other floors");
        let note = format!(
            "p50 of {runs}, with the checkout, an agent on each floor; {:.1} ms of its processes' CPU",
            used.cpu
        );
        report.add(&what, used.wall, "ms", note);
        report.add(format!("{what}: the step"), used.step, "ms", "p50 of the same, without the checkout");
    }
    Ok(())
}

/// Its daemon runs, and an agent has been started.
fn at_work(floor: &BenchFloor) -> Result<crate::floor::Daemon> {
    floor.must(floor.shopfloor().args(["issue", "add", "Something to do", "--label", "backlog"]))?;
    let daemon = floor.up()?;
    floor.await_state("a session is live", |state| {
        state.sessions.iter().any(|s| s.state == SessionState::Live).then_some(())
    })?;
    Ok(daemon)
}

/// In milliseconds: the medians by the clock, of the run and of its step, and the mean of the CPU time.
struct Used {
    wall: f64,
    step: f64,
    cpu: f64,
}

fn checks(floor: &BenchFloor, done: u64, runs: u32) -> Result<Used> {
    let steps: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let (project, ci) = (floor.project(), ci(floor, steps.clone())?);
    let commit: Sha = floor.output(floor.command("git").args(["rev-parse", "HEAD"]))?.parse()?;
    let about = CiAbout::default();
    let mut times = Vec::new();
    let before = usage::of_children()?;
    for run in 1..=u64::from(runs) {
        let request = CiRequest {
            project: &project,
            issue: None,
            // The daemon's own runs have small numbers.
            run: RunId(1_000_000 + done + run),
            commit: &commit,
            source: CommitSource::Hub,
            purpose: CiPurpose::Head,
            about: &about,
        };
        let begin = Instant::now();
        let found = ci.run(&request)?;
        times.push(begin.elapsed());
        ensure!(found.verdict == CiVerdict::Green, "`true` is not green: {found:?}");
    }
    let cpu = 1000.0 * (usage::of_children()? - before) / f64::from(runs);
    let steps = steps.lock().expect("nobody panicked");
    Ok(Used { wall: ms(percentile(&times, 50)), step: ms(percentile(&steps, 50)), cpu })
}

fn ci(floor: &BenchFloor, steps: Arc<Mutex<Vec<Duration>>>) -> Result<LocalCi> {
    let config = CiConfig {
        steps: vec![CiStep { name: "true".into(), run: "true".into(), timeout: MINUTE }],
        timeout: MINUTE,
        env: floor.environment(),
        log_bytes_max: 64 * 1024,
        redactor: Redactor::default(),
        infra: Vec::new(),
        skip: SkipPaths::new(&[]).map_err(anyhow::Error::msg)?,
        primary_branch: "main".into(),
        own: None,
        isolation: Arc::default(),
        network: shopfloor_adapters::jail::Network::All,
    };
    let project = floor.project();
    let configs = move |name: &ProjectName| (*name == project).then(|| config.clone());
    let observer = move |progress: &CiProgress| {
        if let CiProgress::StepEnded { duration_ms, .. } = progress {
            steps.lock().expect("nobody panicked").push(Duration::from_millis(*duration_ms));
        }
    };
    Ok(LocalCi::new(floor.layout.clone(), Arc::new(configs), Some(Arc::new(observer))))
}
