//! How long a daemon takes to take in a forge that it sees for the first time.

use crate::Scale;
use crate::floor::BenchFloor;
use crate::report::Report;
use anyhow::{Result, bail};
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::label::Label;
use shopfloor_engine::Engine;
use shopfloor_store::forge::{ForgeDb, NewIssue};
use std::time::{Duration, Instant};

/// Makes the issues. `chained`: each waits for the one before it, and asks for work.
pub fn fill(floor: &BenchFloor, issues: u64, chained: bool) -> Result<()> {
    let mut forge = ForgeDb::open(&floor.layout.database())?;
    for n in 1..=issues {
        let mut new = issue(n);
        if chained {
            new.labels.push(Label::Backlog.as_str().into());
            new.deps.extend((n > 1).then(|| IssueNumber(n - 1)));
        }
        forge.create_issue(&floor.project(), &new)?;
    }
    Ok(())
}

/// An issue of a usual size, without labels.
pub fn issue(n: u64) -> NewIssue {
    NewIssue {
        title: format!("Issue number {n} of the bench"),
        body: "What is wanted, in a few words.\n".repeat(20),
        author: "bench".into(),
        labels: Vec::new(),
        deps: Vec::new(),
    }
}

pub fn measure(floor: &BenchFloor, scale: &Scale, report: &mut Report) -> Result<()> {
    fill(floor, scale.issues, false)?;
    let mut engine = Engine::open(floor.store()?)?;
    let begin = Instant::now();
    let daemon = floor.up()?;
    while (engine.floor().issues.len() as u64) < scale.issues {
        if begin.elapsed() > Duration::from_secs(600) {
            bail!("the forge was not read within ten minutes");
        }
        std::thread::sleep(Duration::from_millis(20));
        engine.refresh()?;
    }
    let took = begin.elapsed();
    drop(daemon);
    let note = format!("{} issues, from the start of the daemon", scale.issues);
    report.add("first reading of a forge", took.as_secs_f64() * 1000.0, "ms", note);
    Ok(())
}
