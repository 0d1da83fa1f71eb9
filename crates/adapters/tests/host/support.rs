//! Waiting, with an upper bound, for what a test caused.

use rustix::fs::{CWD, FileType, Mode, mknodat};
use shopfloor_adapters::host::exit_watch::ExitWatcher;
use shopfloor_adapters::host::process::{Liveness, end_tree, identify, is_same, start_time};
use shopfloor_core::effect::ProcessId;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

pub const BOUND: Duration = Duration::from_secs(30);

/// A shell script in its own process group; ended with all it started when dropped.
pub struct Script {
    pub child: Child,
    pub id: ProcessId,
    lines: BufReader<ChildStdout>,
}

impl Script {
    pub fn start(script: &str, env: &[(&str, &str)]) -> Script {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("sh starts");
        // It may have ended, but is not collected.
        let start = start_time(child.id()).expect("read").expect("not collected");
        let id = ProcessId { pid: child.id(), start };
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Script { child, id, lines }
    }

    /// The pid that the script prints next, as a process.
    pub fn process(&mut self) -> ProcessId {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        identify(line.trim().parse().expect("a pid")).expect("it runs")
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = end_tree(self.id, Duration::ZERO);
        let _ = self.child.wait();
    }
}

pub fn wait_gone(process: ProcessId) {
    let (tx, rx) = mpsc::channel();
    let watcher = ExitWatcher::spawn(move |key| tx.send(key).unwrap_or_default()).expect("a watcher");
    watcher.watch(0, process).expect("watched");
    rx.recv_timeout(BOUND).expect("the process ends");
    assert_eq!(is_same(process), Liveness::Gone);
}

/// A named pipe, through which a program somewhere says something once.
pub struct Fifo(pub PathBuf);

impl Fifo {
    pub fn make(folder: &Path, name: &str) -> Fifo {
        let path = folder.join(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a named pipe");
        Fifo(path)
    }

    pub fn read(&self) -> Vec<u8> {
        let (tx, rx) = mpsc::channel();
        let path = self.0.clone();
        std::thread::spawn(move || tx.send(std::fs::read(path)));
        rx.recv_timeout(BOUND).expect("something is said in time").expect("read")
    }

    /// A pid that is said, as a process.
    pub fn process(&self) -> ProcessId {
        let said = String::from_utf8(self.read()).expect("text");
        identify(said.trim().parse().expect("a pid")).expect("it runs")
    }
}

pub fn path_variable() -> std::ffi::OsString {
    std::env::var_os("PATH").expect("a PATH")
}
