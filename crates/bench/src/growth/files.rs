//! A large worktree: what it takes to make one, to take a snapshot of the work in it, and to remove it.

use super::Grown;
use crate::Bench;
use crate::floor::{BenchFloor, IDLE_AGENT};
use crate::report::Report;
use crate::stats::ms;
use crate::usage;
use anyhow::{Context, Result};
use shopfloor_core::ids::{Assignment, IssueNumber, Role, branch_for};
use shopfloor_engine::ports::{Tree, Workspace};
use shopfloor_engine::proof::RescueProof;
use std::path::Path;
use std::time::Instant;

const ROUNDS: u64 = 3;
/// What an agent has changed by then.
const CHANGED: usize = 10;

pub fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let mut rows = ["prepare", "checkpoint", "release"].map(|what| {
        let note = format!("mean of {ROUNDS}, {CHANGED} files changed");
        let wall = Grown::new(format!("worktree: {what}, files"), "ms", note);
        (wall, Grown::new(format!("worktree: {what}, CPU, files"), "ms", "git's"))
    });
    for files in bench.scale.files {
        eprintln!("a worktree of {files} files …");
        let floor = bench.floor(IDLE_AGENT)?;
        floor.fill_checkout(files)?;
        let mut sums = [(0.0, 0.0); 3];
        for number in 1..=ROUNDS {
            for (sum, (wall, cpu)) in sums.iter_mut().zip(one(&floor, IssueNumber(number))?) {
                *sum = (sum.0 + wall, sum.1 + cpu);
            }
        }
        for ((wall, cpu), sum) in rows.iter_mut().zip(sums) {
            wall.at(files as u64, sum.0 / ROUNDS as f64);
            cpu.at(files as u64, sum.1 / ROUNDS as f64);
        }
    }
    for (wall, cpu) in rows {
        wall.report(report);
        cpu.report(report);
    }
    Ok(())
}

/// By the clock and of CPU time, in milliseconds.
fn one(floor: &BenchFloor, issue: IssueNumber) -> Result<[(f64, f64); 3]> {
    let workspace = floor.workspace();
    let tree = Tree::of_job(&floor.project(), Role::DEV, Assignment::Issue(issue));
    let mut path = String::new();
    let prepared = timed(|| {
        path = workspace.prepare(&tree, &branch_for(issue), None)?.path;
        Ok(())
    })?;
    for n in 0..CHANGED {
        std::fs::write(Path::new(&path).join(format!("d{n}/f{n}")), format!("changed for {issue}\n"))?;
    }
    let kept = timed(|| workspace.snapshot(&tree)?.context("a snapshot").map(drop))?;
    let released = timed(|| Ok(workspace.remove(RescueProof::obtain(&workspace, &tree)?)?))?;
    Ok([prepared, kept, released])
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<(f64, f64)> {
    let (begin, before) = (Instant::now(), usage::of_children()?);
    work()?;
    Ok((ms(begin.elapsed()), 1000.0 * (usage::of_children()? - before)))
}
