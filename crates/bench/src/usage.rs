//! What processes have used, from `/proc`. CPU time says more than the clock on a machine where others work too.

use crate::floor::BenchFloor;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::{Command, Stdio};

/// In all of Linux: what the times of `/proc/PID/stat` are counted in.
pub const TICKS_A_SECOND: f64 = 100.0;

/// What a process has used, in ticks, and what the children it waited for have.
#[derive(Clone, Copy)]
pub struct Spent {
    pub own: u64,
    pub children: u64,
    pub child_faults: u64,
}

impl Spent {
    pub fn of(pid: u32) -> Result<Spent> {
        let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"))?;
        // The name, in parentheses, may hold anything.
        let (_, rest) = stat.rsplit_once(") ").context("an odd /proc/PID/stat")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let number = |at: usize| -> Result<u64> {
            // Counted from 1 and from the pid, as proc(5) does; the rest begins with the third.
            Ok(fields.get(at - 3).context("a short /proc/PID/stat")?.parse()?)
        };
        Ok(Spent {
            own: number(14)? + number(15)?,
            children: number(16)? + number(17)?,
            child_faults: number(11)? + number(13)?,
        })
    }

    /// In seconds, its children's included.
    pub fn seconds(self) -> f64 {
        (self.own + self.children) as f64 / TICKS_A_SECOND
    }
}

/// The seconds of CPU time that a floor has used: its daemon, its tmux server, and whatever either waited for.
pub fn of_floor(floor: &BenchFloor, daemon: u32) -> Result<f64> {
    let server = tmux_server(floor)?.map_or(Ok(0.0), |pid| Spent::of(pid).map(Spent::seconds))?;
    Ok(Spent::of(daemon)?.seconds() + server)
}

/// The seconds of CPU time of whatever this process started and waited for.
pub fn of_children() -> Result<f64> {
    Ok(Spent::of(std::process::id())?.children as f64 / TICKS_A_SECOND)
}

/// The floor's tmux server, if it runs.
pub fn tmux_server(floor: &BenchFloor) -> Result<Option<u32>> {
    let mut ask = Command::new("tmux");
    ask.arg("-S").arg(floor.layout.tmux_socket()).args(["display-message", "-p", "#{pid}"]);
    let answer = ask.stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&answer.stdout).trim().parse().ok())
}
