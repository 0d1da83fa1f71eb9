//! A session's pane, as tmux lists it, and what its program printed.

use super::tmux::Probe;
use crate::host::process;

pub(super) struct Pane {
    pub(super) session: String,
    pub(super) pid: u32,
    server: u32,
    /// The terminal was closed, after everything printed was read.
    pub(super) closed: bool,
    status: Option<i32>,
    signal: Option<i32>,
}

impl Pane {
    pub(super) const FORMAT: &str =
        "#{session_name}|#{pane_pid}|#{pid}|#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}";

    pub(super) fn parse(line: &str) -> Option<Pane> {
        let mut fields = line.split('|');
        Some(Pane {
            session: fields.next()?.to_owned(),
            pid: fields.next()?.parse().ok()?,
            server: fields.next()?.parse().ok()?,
            closed: fields.next()? == "1",
            status: fields.next()?.parse().ok(),
            signal: fields.next()?.parse().ok(),
        })
    }

    /// Decided by the exit status that tmux collected, not by whether the terminal is closed: a program may
    /// close its terminal and keep running.
    pub(super) fn probe(&self) -> Probe {
        if let Some(status) = self.signal.map(|signal| 128 + signal).or(self.status) {
            return Probe::Dead { status: Some(status) };
        }
        // Not collected, so the pid is still the child's. tmux may never collect it: if built with
        // libutempter, it misses the end of a program that ends while it is being recorded there.
        match process::child(self.pid, self.server) {
            process::Child::Running(process) => Probe::Alive(process),
            process::Child::Ended(status) => Probe::Dead { status },
            process::Child::Gone => Probe::Dead { status: None },
        }
    }
}

/// The last lines that the program printed on a screen: the rows below are blank, and in a dead pane tmux
/// adds a line of its own at the bottom.
pub(super) fn printed(screen: &str, lines: usize) -> String {
    let screen = screen.trim_end();
    let printed = match screen.rsplit_once('\n') {
        Some((above, last)) if last.starts_with("Pane is dead") => above.trim_end(),
        _ => screen,
    };
    let all: Vec<&str> = printed.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
