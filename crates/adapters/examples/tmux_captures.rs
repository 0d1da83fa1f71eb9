//! What a look at an agent's screen costs: by a process each, and over one connection.
//!
//! `cargo run --release -p shopfloor-adapters --example tmux_captures [SESSIONS]` starts that many
//! sessions (100) on a private server, prints the times, and ends them all.

use shopfloor_adapters::terminal::control::sightings::PaneEvent;
use shopfloor_adapters::terminal::tmux::{SpawnSpec, Tmux};
use std::error::Error;
use std::os::unix::fs::DirBuilderExt;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let sessions: usize = std::env::args().nth(1).map_or(Ok(100), |arg| arg.parse())?;
    let folder = std::env::temp_dir().join(format!("shopfloor-captures-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let measured = measure(&Tmux::new(folder.join("tmux.sock"), path), sessions);
    let _ = Command::new("tmux").arg("-S").arg(folder.join("tmux.sock")).arg("kill-server").output();
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

fn measure(forked: &Tmux, sessions: usize) -> Result<(), Box<dyn Error>> {
    let (tx, events) = channel();
    let connected = forked.connect(move |event| tx.send(event).unwrap_or_default())?;
    let names: Vec<String> = (0..sessions).map(|number| format!("dev-bench-{number}-e{number}")).collect();
    for name in &names {
        connected.spawn(&SpawnSpec {
            name: name.clone(),
            cwd: "/".into(),
            argv: vec!["sleep".into(), "600".into()],
            env: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        })?;
    }
    while events.recv_timeout(Duration::from_secs(30))? != PaneEvent::Connected {}
    for (how, tmux) in [("a process each", forked), ("one connection", &connected)] {
        let began = Instant::now();
        for name in &names {
            tmux.capture(name, 50)?;
        }
        let captures = began.elapsed();
        let began = Instant::now();
        for name in &names {
            tmux.probe(name)?;
        }
        println!("{how}: {sessions} captures {captures:.1?}, {sessions} probes {:.1?}", began.elapsed());
    }
    connected.close();
    Ok(())
}
