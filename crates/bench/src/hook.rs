//! What an agent's client waits for at every tool it uses: `shopfloor hook` with a recorded payload,
//! against a shell script that does as little as such a script can (stamp the payload and append it)
//! and against one that looks into it with jq. All are started the same way, one after the other.

use crate::Scale;
use crate::floor::BenchFloor;
use crate::report::Report;
use crate::stats::{ms, percentile};
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PAYLOAD: &str =
    include_str!("../../core/tests/fixtures/clients/claude-2.1.325/hooks/PreToolUse.Bash.json");
const EPOCH: u64 = 1;
const APPEND: &str = r#"in=$(cat); printf '{"t":%s,"in":%s}\n' "$(date +%s.%3N)" "$in" >> "$OUT""#;
const JQ: &str =
    r#"jq -c --arg t "$(date +%s.%3N)" '{t: $t, event: .hook_event_name, tool: .tool_name}' >> "$OUT""#;

pub fn measure(floor: &BenchFloor, scale: &Scale, report: &mut Report) -> Result<()> {
    let session = floor.layout.session(shopfloor_core::ids::Epoch(EPOCH));
    std::fs::create_dir_all(&session)?;
    let told = shopfloor_adapters::agent::spool::hooks_file(&session);
    let mut ours = floor.shopfloor();
    ours.arg("hook").env("SHOPFLOOR_SESSION", EPOCH.to_string());
    let mut rows = vec![("shopfloor hook", "the guard asked, the event kept", ours, told)];
    for (name, note, script) in
        [("hook as a script", "bash: stamped and appended", APPEND), ("hook with jq", "bash and jq", JQ)]
    {
        let out = session.join(format!("{name}.jsonl"));
        let mut command = Command::new("bash");
        command.args(["-c", script]).env_clear().env("OUT", &out);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let has_jq = || Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_ok();
        if script == JQ && !has_jq() {
            continue;
        }
        rows.push((name, note, command, out));
    }
    for (name, note, mut command, out) in rows {
        let times = wall_times(&mut command, scale.hook_calls).with_context(|| name.to_owned())?;
        ensure!(lines(&out)? > scale.hook_calls as usize, "{name} lost events");
        let calls = scale.hook_calls;
        report.add(name, ms(percentile(&times, 50)), "ms", format!("median of {calls} calls; {note}"));
        report.add(format!("{name}, p99"), ms(percentile(&times, 99)), "ms", note);
    }
    Ok(())
}

fn lines(file: &Path) -> Result<usize> {
    Ok(std::fs::read_to_string(file)?.lines().filter(|line| !line.is_empty()).count())
}

/// From the start of the process to its end, after one call that does not count.
fn wall_times(command: &mut Command, calls: u32) -> Result<Vec<Duration>> {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut times = Vec::new();
    for call in 0..=calls {
        let begin = Instant::now();
        let mut child = command.spawn()?;
        child.stdin.take().context("piped")?.write_all(PAYLOAD.as_bytes())?;
        let status = child.wait()?;
        if call > 0 {
            times.push(begin.elapsed());
        }
        ensure!(status.success(), "it ended with {status}");
    }
    Ok(times)
}
