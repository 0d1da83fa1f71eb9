//! The start of an agent in a worktree of its own: one at a time, and many at once.

use crate::Bench;
use crate::floor::{BenchFloor, IDLE_AGENT};
use crate::report::Report;
use crate::usage::FloorUse;
use anyhow::Result;
use shopfloor_core::state::SessionState;
use std::time::Instant;

/// One at a time.
const ALONE: u64 = 5;

pub fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let at_once = bench.scale.starts;
    eprintln!("agents that start, {ALONE} one at a time and {at_once} at once …");
    let floor = bench.floor(IDLE_AGENT)?;
    floor.limit_jobs(ALONE + 1)?;
    let daemon = floor.up()?;
    // The first one finds everything new.
    start_one(&floor, 1)?;
    let before = FloorUse::of(&floor, daemon.pid())?;
    let begin = Instant::now();
    for number in 2..=ALONE + 1 {
        start_one(&floor, number)?;
    }
    let wall = 1000.0 * begin.elapsed().as_secs_f64() / ALONE as f64;
    let each = FloorUse::of(&floor, daemon.pid())?.each_since(before, ALONE as f64);
    let note = format!(
        "mean of {ALONE}, from the issue to a live session: {}; {wall:.0} ms by the clock",
        each.in_words()
    );
    report.add("start of an agent, CPU", 1000.0 * each.total(), "ms", note);
    drop(daemon);

    let floor = bench.floor(IDLE_AGENT)?;
    floor.limit_jobs(at_once)?;
    for number in 1..=at_once {
        floor.ask_for(&format!("Issue {number}"), "")?;
    }
    let begin = Instant::now();
    let daemon = floor.up()?;
    live(&floor, at_once)?;
    let wall = begin.elapsed().as_secs_f64();
    let cpu = 1000.0 * FloorUse::of(&floor, daemon.pid())?.total() / at_once as f64;
    let note = format!("from the start of the daemon until all are live; {cpu:.0} ms of CPU each");
    report.add(format!("start of {at_once} agents at once"), wall, "s", note);
    drop(daemon);
    Ok(())
}

fn start_one(floor: &BenchFloor, number: u64) -> Result<()> {
    let title = format!("Issue {number}");
    floor.must(floor.shopfloor().args(["issue", "add", &title, "--label", "backlog"]))?;
    live(floor, number)
}

fn live(floor: &BenchFloor, count: u64) -> Result<()> {
    floor.await_state("they are live", |state| {
        let live = state.sessions.iter().filter(|s| s.state == SessionState::Live).count() as u64;
        (live >= count).then_some(())
    })
}
