//! What it costs to watch many live sessions: agents at work whose screens show a clock, attended to
//! by the daemon; and the same screens looked at as scripts do it, with a process for each look.

use crate::Scale;
use crate::floor::{BenchFloor, Daemon, wait_until};
use crate::report::Report;
use crate::stats::{ms, percentile};
use crate::usage::{Spent, TICKS_A_SECOND, tmux_server};
use anyhow::{Context, Result, ensure};
use shopfloor_core::state::{Floor, MessageState, SessionState};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Scripts look this often; so do we, at an open turn.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The demo agent as a client in a terminal. It redraws its clock every second.
const RUNTIME: &str = r#"
[launch]
argv = ["shopfloor", "demo-agent", "{role}", "--terminal", "--session-id", "{session_id}"]
[version]
argv = ["shopfloor", "--version"]
minimum = "0.0.1"
[resume]
argv = ["shopfloor", "demo-agent", "{role}", "--terminal", "--session-id", "{session_id}"]
"#;

pub fn measure(floor: &BenchFloor, scale: &Scale, report: &mut Report) -> Result<()> {
    let wanted = scale.sessions;
    let daemon = start(floor, wanted, "demo: sleep 10m")?;
    let server = wait_until("the tmux server answers", || tmux_server(floor))?;

    let (before, server_before, begin) = (Spent::of(daemon.pid())?, Spent::of(server)?, Instant::now());
    // Nothing to wait for: this is the time that is measured.
    std::thread::sleep(scale.sessions_watched);
    let seconds = begin.elapsed().as_secs_f64();
    let (after, server_after) = (Spent::of(daemon.pid())?, Spent::of(server)?);
    let share = |ticks: u64| 100.0 * ticks as f64 / TICKS_A_SECOND / seconds;
    let what = format!("{wanted} live sessions");
    report.add(format!("{what}: daemon"), share(after.own - before.own), "% CPU", "of a core");
    let forked = (after.child_faults - before.child_faults) as f64;
    report.add(format!("{what}: daemon's children"), forked, "faults", "page faults; 0: none was started");
    recover(floor, scale, report)?;
    drop(daemon);

    let server_share = share(server_after.own - server_before.own);
    // Some have been replaced.
    let names = floor.await_state("who is there now", |state| Some(at_work(state)))?;
    let (forks, by_script, server_by_script) = by_forking(floor, &names, server, scale.sessions_watched)?;
    let note = "capture-pane every 10 s in a process of its own, for the same time";
    report.add(format!("{what}: by forking"), by_script, "% CPU", note);
    report.add(format!("{what}: forks"), forks, "/s", "by forking");
    let note = format!("of a core, under the daemon; {server_by_script:.1} % by forking; most is the clocks");
    report.add(format!("{what}: tmux server"), server_share, "% CPU", note);
    Ok(())
}

/// So many clients at work, each on an issue that tells it what to do.
pub fn start(floor: &BenchFloor, wanted: u64, body: &str) -> Result<Daemon> {
    let runtimes = floor.layout.runtimes();
    std::fs::create_dir_all(&runtimes)?;
    std::fs::write(runtimes.join("claude.toml"), RUNTIME)?;
    floor.write_config(&config(wanted))?;
    for number in 1..=wanted {
        floor.ask_for(&format!("Issue {number}"), body)?;
    }
    let daemon = floor.up()?;
    floor.await_state("all agents work", |state| (at_work(state).len() == wanted as usize).then_some(()))?;
    Ok(daemon)
}

/// Clients are killed, one after the other: how long until a successor has its prompt.
fn recover(floor: &BenchFloor, scale: &Scale, report: &mut Report) -> Result<()> {
    let mut times = Vec::new();
    for number in 1..=u64::from(scale.kills) {
        let live = |state: &Floor| {
            let job = state.jobs.iter().find(|j| j.number().is_some_and(|n| n.0 == number))?;
            let session = state.sessions.get(&job.session?).filter(|s| s.state == SessionState::Live)?;
            Some((session.epoch, session.process?))
        };
        let (killed, process) = floor.await_state("an agent to kill", live)?;
        let pid = rustix::process::Pid::from_raw(i32::try_from(process.pid)?).context("a pid")?;
        let begin = Instant::now();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
        floor.await_state("its successor is prompted", |state| {
            let (epoch, _) = live(state).filter(|(epoch, _)| *epoch != killed)?;
            let mut messages = state.messages.iter();
            messages.any(|m| m.to == Some(epoch) && m.prompt && m.state == MessageState::Taken).then_some(())
        })?;
        times.push(begin.elapsed());
    }
    let note = format!("{} clients killed -9; 1 s of it is the pause before a respawn", scale.kills);
    report.add("killed to successor prompted", ms(percentile(&times, 50)), "ms", note);
    report.add("killed to successor prompted, p99", ms(percentile(&times, 99)), "ms", "the same");
    Ok(())
}

fn at_work(state: &Floor) -> Vec<String> {
    let prompted = |epoch| {
        state.messages.iter().any(|m| m.to == Some(epoch) && m.prompt && m.state == MessageState::Taken)
    };
    let live = state.sessions.iter().filter(|s| s.state == SessionState::Live && prompted(s.epoch));
    live.map(|s| s.tmux.clone()).collect()
}

/// As a script watches sessions: forks a second, CPU of its children, CPU of the tmux server.
fn by_forking(floor: &BenchFloor, names: &[String], server: u32, time: Duration) -> Result<(f64, f64, f64)> {
    let me = std::process::id();
    let (before, server_before, begin) = (Spent::of(me)?, Spent::of(server)?, Instant::now());
    let mut forks = 0u32;
    while begin.elapsed() < time {
        let round = Instant::now();
        for name in names {
            let target = format!("={name}:");
            let mut capture = Command::new("tmux");
            capture.arg("-S").arg(floor.layout.tmux_socket()).args(["capture-pane", "-p", "-t", &target]);
            ensure!(capture.stdout(Stdio::null()).stdin(Stdio::null()).status()?.success(), "{name} is gone");
            forks += 1;
        }
        std::thread::sleep(
            LOOK_EVERY.saturating_sub(round.elapsed()).min(time.saturating_sub(begin.elapsed())),
        );
    }
    let seconds = begin.elapsed().as_secs_f64();
    let share = |ticks: u64| 100.0 * ticks as f64 / TICKS_A_SECOND / seconds;
    let (after, server_after) = (Spent::of(me)?, Spent::of(server)?);
    let own = share((after.own + after.children) - (before.own + before.children));
    Ok((f64::from(forks) / seconds, own, share(server_after.own - server_before.own)))
}

pub fn config(jobs: u64) -> String {
    format!(
        r#"[project]
name = "{}"
primary_branch = "main"

[ci]
steps = [{{ name = "true", run = "true" }}]

[agents.dev]
runtime = "claude"

[review]
required = false

[limits]
max_jobs = {jobs}
"#,
        crate::floor::PROJECT
    )
}
