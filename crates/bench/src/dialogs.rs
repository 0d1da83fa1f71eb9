//! How long a dialog stands on a screen before `shopfloor questions` shows it, in the slowest case: no hook
//! tells of it and no rule knows it, so that it has to be seen, and seen to stand still.

use crate::Scale;
use crate::floor::BenchFloor;
use crate::report::Report;
use crate::stats::{ms, percentile};
use anyhow::Result;
use shopfloor_core::state::{About, Floor, SessionAsk, SessionState};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

/// A client that tells nothing, and asks when a file is there.
fn client(gates: &Path) -> String {
    format!(
        r#"#!/bin/sh
[ "$1" = --version ] && echo 1.0.0 && exit
until [ -e "{}/$(basename "$PWD")" ]; do sleep 0.01; done
printf 'Which way?\n> 1. Left\n  2. Right\n'
exec sleep 600
"#,
        gates.display()
    )
}

fn runtime(client: &Path) -> String {
    format!("[launch]\nargv = [{:?}]\n[version]\nminimum = \"0.0.1\"\n", client.display().to_string())
}

pub fn measure(floor: &BenchFloor, scale: &Scale, report: &mut Report) -> Result<()> {
    let wanted = u64::from(scale.dialogs);
    let (runtimes, gates) = (floor.layout.runtimes(), floor.dir.join("gates"));
    std::fs::create_dir_all(&runtimes)?;
    std::fs::create_dir(&gates)?;
    let program = floor.dir.join("client");
    std::fs::write(&program, client(&gates))?;
    std::fs::set_permissions(&program, Permissions::from_mode(0o755))?;
    std::fs::write(runtimes.join("claude.toml"), runtime(&program))?;
    floor.write_config(&crate::sessions::config(wanted))?;
    for number in 1..=wanted {
        let title = format!("Issue {number}");
        floor.must(floor.shopfloor().args(["issue", "add", &title, "--body", "", "--label", "backlog"]))?;
    }
    let daemon = floor.up()?;
    let live = |state: &Floor| state.sessions.iter().filter(|s| s.state == SessionState::Live).count() as u64;
    floor.await_state("all clients run", |state| (live(state) == wanted).then_some(()))?;
    let mut times = Vec::new();
    for number in 1..=wanted {
        let begin = Instant::now();
        std::fs::write(gates.join(format!("issue-{number}")), "")?;
        floor.await_state("it is a question", |state| {
            let asks = state
                .sessions
                .iter()
                .find(|s| s.assignment.number().is_some_and(|n| n.0 == number))?
                .asks
                .open
                .as_ref()?;
            matches!(asks, SessionAsk { about: About::Dialog { view: Some(_), .. }, .. }).then_some(())
        })?;
        times.push(begin.elapsed());
    }
    drop(daemon);
    let note =
        format!("{wanted} that no hook tells of and no rule knows; 500 ms of it is that it stands still");
    report.add("dialog on the screen to questions", ms(percentile(&times, 50)), "ms", note);
    report.add("dialog on the screen to questions, p99", ms(percentile(&times, 99)), "ms", "the same");
    Ok(())
}
