//! What formulas and schedules cost: a look at many files, many schedules while none is due, and how long after its time
//! a run begins.

use crate::Bench;
use crate::backlog::used_by;
use crate::floor::{BenchFloor, IDLE_AGENT};
use crate::report::Report;
use crate::usage::{Spent, TICKS_A_SECOND};
use anyhow::Result;
use shopfloor_core::time::Time;
use std::fmt::Write;
use std::time::Instant;

const FORMULAS: usize = 200;
const SCHEDULES: usize = 1000;
/// A schedule without seconds is due at full minutes.
const MINUTE_MS: u64 = 60_000;
const LOOK: &str = "[vars.area]\ndefault = \"docs\"\n[[steps]]\nid = \"look\"\nrun = [\"true\", \"{{ area }}\"]\n\
                    [[steps]]\nid = \"write\"\nneeds = [\"look\"]\nwhen = \"area == 'src'\"\ndescription = \"About {{ area }}\"\n";

pub fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let floor = bench.floor(IDLE_AGENT)?;
    formulas(&floor, bench.scale.command_runs, report)?;
    let config = std::fs::read_to_string(floor.checkout().join("shopfloor.toml"))?;
    let mut many = format!("{config}\n[limits]\nmin_memory = 0\nmax_load = 0\n");
    for n in 0..SCHEDULES {
        let minute = n % 60;
        write!(many, "[schedules.s{n}]\nformula = \"f0\"\ncron = \"{minute} 6 1 1 *\"\ntz = \"UTC\"\n")?;
    }
    floor.write_config(&many)?;
    let daemon = floor.up()?;
    floor.await_state("schedules that know when they are due", |floor| {
        let known = floor.schedules.iter().filter(|schedule| schedule.next.is_some()).count();
        (known == SCHEDULES).then_some(())
    })?;
    eprintln!("{SCHEDULES} schedules, {} s …", bench.scale.sessions_watched.as_secs());
    let (before, begin) = (Spent::of(daemon.pid())?, Instant::now());
    // Nothing to wait for: this is the time that is measured.
    std::thread::sleep(bench.scale.sessions_watched);
    let after = Spent::of(daemon.pid())?;
    let minutes = begin.elapsed().as_secs_f64() / 60.0;
    let cpu = (after.own - before.own) as f64 / TICKS_A_SECOND / minutes;
    let faults = after.child_faults - before.child_faults;
    let note = format!("a minute, none due; its children had {faults} page faults");
    report.add(format!("{SCHEDULES} schedules: daemon's CPU"), cpu, "s", note);

    floor.write_config(&format!("{many}[schedules.now]\nformula = \"f0\"\ncron = \"* * * * *\"\n"))?;
    let begun =
        floor.await_state("a run that is due", |floor| floor.runs.iter().find_map(|run| run.started_at))?;
    let Time(at) = begun;
    let note = format!("of its minute, beside {SCHEDULES} other schedules");
    report.add("a run begins after the time that it is due", (at % MINUTE_MS) as f64, "ms", note);
    Ok(())
}

fn formulas(floor: &BenchFloor, runs: u32, report: &mut Report) -> Result<()> {
    let folder = floor.checkout().join(".shopfloor/formulas");
    std::fs::create_dir_all(&folder)?;
    for n in 0..FORMULAS {
        std::fs::write(folder.join(format!("f{n}.toml")), LOOK)?;
    }
    floor.must(floor.shopfloor().args(["config", "accept"]))?;
    let used = used_by(floor, &["formula", "check"], runs)?;
    let note = format!("p50 of {runs} runs; {:.1} ms of CPU", used.cpu);
    report.add(format!("formula check, {FORMULAS} formulas"), used.wall, "ms", note);
    Ok(())
}
