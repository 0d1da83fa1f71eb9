//! What a snapshot of a large worktree costs, with nothing, one file and a hundred changed; beside it
//! the usual way, a stash made in the worktree itself, which needs its index and leaves it changed.

use crate::Scale;
use crate::floor::BenchFloor;
use crate::report::Report;
use crate::stats::{ms, percentile};
use anyhow::{Context, Result, bail};
use shopfloor_core::ids::{Assignment, IssueNumber, Role, branch_for};
use shopfloor_engine::ports::{Tree, Workspace};
use std::path::Path;
use std::time::{Duration, Instant};

const FILES: usize = 5_000;

pub fn measure(floor: &BenchFloor, scale: &Scale, report: &mut Report) -> Result<()> {
    floor.fill_checkout(FILES)?;
    let workspace = floor.workspace();
    let issue = IssueNumber(1);
    let tree = Tree::of_job(&floor.project(), Role::DEV, Assignment::Issue(issue));
    let path = workspace.prepare(&tree, &branch_for(issue), None)?.path;
    let worktree = Path::new(&path);
    if workspace.snapshot(&tree)?.is_none() {
        bail!("there is no worktree to snapshot");
    }
    for changed in [0, 1, 100] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..scale.snapshots {
            change(worktree, changed, &format!("ours {round}"))?;
            let begin = Instant::now();
            workspace.snapshot(&tree)?.context("a snapshot")?;
            ours.push(begin.elapsed());
            change(worktree, changed, &format!("theirs {round}"))?;
            theirs.push(stash(floor, worktree)?);
        }
        let note = format!(
            "p50 of {}; `git add -A && git stash create`: {:.1} ms",
            scale.snapshots,
            ms(percentile(&theirs, 50))
        );
        let what = format!("snapshot, {FILES} files, {changed} changed");
        report.add(what, ms(percentile(&ours, 50)), "ms", note);
    }
    Ok(())
}

fn change(worktree: &Path, count: usize, content: &str) -> Result<()> {
    for n in 0..count {
        std::fs::write(worktree.join(format!("d{}/f{n}", n % 50)), format!("{content} {n}\n"))?;
    }
    Ok(())
}

/// The work is not kept by a ref yet after this; that would cost one more process.
fn stash(floor: &BenchFloor, worktree: &Path) -> Result<Duration> {
    let begin = Instant::now();
    floor.must(floor.command("git").current_dir(worktree).args(["add", "--all"]))?;
    floor.must(floor.command("git").current_dir(worktree).args(["stash", "create"]))?;
    Ok(begin.elapsed())
}
