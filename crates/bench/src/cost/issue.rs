//! An issue from its claim to its end, in CPU time, beside the same by hand in plain git.

use crate::Bench;
use crate::floor::{BenchFloor, WORKER};
use crate::report::Report;
use crate::usage::{self, FloorUse};
use anyhow::{Result, bail};
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::End;

/// Before it counts: the first ones find everything new.
const WARM: u32 = 3;

/// A worktree, a change, a check on a clean checkout, a merge, and nothing left of it.
const BY_HAND: &str = r#"
git worktree add --quiet -b "fix-$1" "../work-$1" main
cd "../work-$1"
echo "made for $1" > "by-hand-$1"
git add --all
git commit --quiet --message "Change $1"
git push --quiet shopfloor "fix-$1"
git worktree add --quiet --detach "../check-$1" "fix-$1"
(cd "../check-$1" && sh -c true)
git worktree remove --force "../check-$1"
cd ../project
git merge --quiet --no-ff --message "Merge $1" "fix-$1"
git push --quiet shopfloor main
git worktree remove --force "../work-$1"
git branch --quiet -D "fix-$1"
git push --quiet shopfloor --delete "fix-$1"
"#;

pub fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let rounds = bench.scale.issue_rounds;
    eprintln!("{rounds} issues, one at a time …");
    let by_hand = by_hand(&bench.floor(WORKER)?, rounds)?;
    let floor = bench.floor(WORKER)?;
    floor.limit_jobs(1)?;
    let daemon = floor.up()?;
    work_through(&floor, WARM)?;
    let before = FloorUse::of(&floor, daemon.pid())?;
    work_through(&floor, rounds)?;
    let each = FloorUse::of(&floor, daemon.pid())?.each_since(before, f64::from(rounds));
    let ours = 1000.0 * each.total();
    let note = format!(
        "mean of {rounds}: {}; by hand in plain git {by_hand:.0} ms: {:.1} times",
        each.in_words(),
        ours / by_hand
    );
    report.add("an issue, CPU", ours, "ms", note);
    Ok(())
}

fn work_through(floor: &BenchFloor, count: u32) -> Result<()> {
    for n in 1..=count {
        let title = format!("Make change {n}");
        // "#N"
        let made = floor.output(floor.shopfloor().args(["issue", "add", &title, "--label", "backlog"]))?;
        let issue: IssueNumber = made.trim_start_matches('#').parse()?;
        let end = floor.await_state("the issue is done", |state| {
            state.jobs.iter().find(|job| job.number() == Some(issue))?.end()
        })?;
        if end != End::Merged {
            bail!("issue {issue} ended {}", end.name());
        }
    }
    Ok(())
}

fn by_hand(floor: &BenchFloor, rounds: u32) -> Result<f64> {
    let mut before = 0.0;
    for n in 1..=WARM + rounds {
        if n == WARM + 1 {
            before = usage::of_children()?;
        }
        floor.must(floor.command("sh").args(["-euc", BY_HAND, "by-hand", &n.to_string()]))?;
    }
    Ok(1000.0 * (usage::of_children()? - before) / f64::from(rounds))
}
