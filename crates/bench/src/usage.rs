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

/// The seconds of CPU time that a floor has used, by whom.
#[derive(Clone, Copy)]
pub struct FloorUse {
    daemon: f64,
    /// What the daemon waited for: git, checks.
    its_children: f64,
    tmux: f64,
    /// What the tmux server waited for: agents, and what they ran.
    agents: f64,
}

impl FloorUse {
    pub fn of(floor: &BenchFloor, daemon: u32) -> Result<FloorUse> {
        let seconds = |ticks: u64| ticks as f64 / TICKS_A_SECOND;
        let daemon = Spent::of(daemon)?;
        let server = tmux_server(floor)?.map(Spent::of).transpose()?;
        Ok(FloorUse {
            daemon: seconds(daemon.own),
            its_children: seconds(daemon.children),
            tmux: seconds(server.map_or(0, |s| s.own)),
            agents: seconds(server.map_or(0, |s| s.children)),
        })
    }

    pub fn total(self) -> f64 {
        self.daemon + self.its_children + self.tmux + self.agents
    }

    /// What was used since, divided by a number of things that were done.
    pub fn each_since(self, before: FloorUse, count: f64) -> FloorUse {
        let each = |now: f64, then: f64| (now - then) / count;
        FloorUse {
            daemon: each(self.daemon, before.daemon),
            its_children: each(self.its_children, before.its_children),
            tmux: each(self.tmux, before.tmux),
            agents: each(self.agents, before.agents),
        }
    }

    /// In milliseconds, for a note.
    pub fn in_words(self) -> String {
        let [daemon, children, tmux, agents] =
            [self.daemon, self.its_children, self.tmux, self.agents].map(|seconds| 1000.0 * seconds);
        format!("daemon {daemon:.0}, its children {children:.0}, tmux {tmux:.0}, agents {agents:.0}")
    }
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
