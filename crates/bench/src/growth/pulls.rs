//! A floor with a slot to fill, and much to choose from: open issues that nobody may begin yet, open pull requests,
//! and jobs that ended. Every event asks again what could be begun.

use super::past;
use crate::Bench;
use crate::fill;
use crate::floor::{BenchFloor, IDLE_AGENT};
use crate::phase::{self, Rounds};
use crate::report::Report;
use crate::stats::{exponent, ms, percentile};
use crate::sync;
use anyhow::Result;
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::label::Label;
use shopfloor_store::forge::{ForgeDb, NewPr};

pub fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let mut before: Option<(u64, f64)> = None;
    for (issues, pulls) in bench.scale.backlogs {
        let ended = bench.scale.ended;
        eprintln!("a backlog of {issues} issues and {pulls} pull requests …");
        let floor = bench.floor(IDLE_AGENT)?;
        fill(&floor, issues, pulls, ended)?;
        let Rounds { times, cpu } = phase::rounds(&floor, bench.scale.phase_rounds)?;
        let p50 = ms(percentile(&times, 50));
        let grown = before.map_or(String::new(), |(few, little)| {
            format!("; n^{:.2} in the issues", exponent((few as f64, little), (issues as f64, p50)))
        });
        let note =
            format!("p50, with a free slot and {ended} ended jobs; {cpu:.2} ms of the daemon's CPU{grown}");
        report.add(format!("backlog: event, {issues} issues, {pulls} pull requests"), p50, "ms", note);
        before = Some((issues, p50));
    }
    Ok(())
}

/// Half of the issues ask for work, and wait for one that does not. One is worked on.
fn fill(floor: &BenchFloor, issues: u64, pulls: u64, ended: u64) -> Result<()> {
    fill::identities(floor, ended)?;
    past::closed(floor, ended)?;
    let mut forge = ForgeDb::open(&floor.layout.database())?;
    let project = floor.project();
    let blocker = IssueNumber(ended + 1);
    for n in 1..=issues {
        let mut new = sync::issue(ended + n);
        let is_live = n == issues;
        if is_live || n % 2 == 0 {
            new.labels.push(Label::Backlog.as_str().into());
        }
        if !is_live && n % 2 == 0 {
            new.deps.push(blocker);
        }
        forge.create_issue(&project, &new)?;
    }
    for n in 1..=pulls {
        let new = NewPr {
            title: format!("Pull request {n} of the bench"),
            body: "What it does, in a few words.\n".repeat(5),
            branch: format!("persons-{n}"),
            head: format!("{n:040x}").parse()?,
            issue: None,
            author: "somebody".into(),
        };
        forge.open_pr(&project, &new)?;
    }
    Ok(())
}
