//! What the daemon spends on clients in terminals: on those that do nothing, and on those that draw and tell
//! something every second.

use crate::Bench;
use crate::floor::IDLE_AGENT;
use crate::report::Report;
use crate::sessions;
use crate::usage::{Spent, TICKS_A_SECOND};
use anyhow::Result;
use std::time::Instant;

pub fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let (clients, time) = (bench.scale.clients, bench.scale.sessions_watched);
    // One that freezes in its turn shows nothing new and tells nothing.
    for (kind, body) in [("silent", "demo: freeze"), ("busy", "demo: sleep 10m")] {
        eprintln!("{clients} {kind} clients, {} s …", time.as_secs());
        let floor = bench.floor(IDLE_AGENT)?;
        let daemon = sessions::start(&floor, clients, body)?;
        let (before, begin) = (Spent::of(daemon.pid())?, Instant::now());
        // Nothing to wait for: this is the time that is measured.
        std::thread::sleep(time);
        let after = Spent::of(daemon.pid())?;
        let minutes = begin.elapsed().as_secs_f64() / 60.0;
        let cpu = (after.own - before.own) as f64 / TICKS_A_SECOND / minutes;
        let faults = after.child_faults - before.child_faults;
        let note = format!("a minute; its children had {faults} page faults: without any, none was started");
        report.add(format!("{clients} {kind} clients: daemon's CPU"), cpu, "s", note);
        drop(daemon);
    }
    Ok(())
}
