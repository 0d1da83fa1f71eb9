//! Misbehaviour that any program in a terminal is capable of.

use super::client::Client;
use super::repo::{once, write};
use super::script::Script;
use crate::cli::CliResult;
use rustix::process::{Signal, getpid, kill_process};
use std::process::{Command, Stdio};

/// What `demo: flood` prints.
const FLOOD_BYTES: usize = 50 * 1024 * 1024;
const FLOOD_CHUNK: usize = 64 * 1024;

/// Titles, the clipboard, another screen, bracketed paste off and on, mouse, colours, a bell, a row of
/// nonsense, and sequences that never end.
const ESCAPES: &[u8] = b"\x1b]2;\xe2\x9c\xb3 not the \x1b[31mtitle\x07\x1b]0;evil\x1b\\\x1b]52;c;cHduZWQ=\x07\
\x1b[?1049h\x1b[2J\x1b[?2004l\x1b[?1000h\x1b[?25l\x1b[31;1mred\x1b[0m\x07\x08\x08\x7f\x00\x0e\x0f\x9b31m\xff\xfe\
\x1b[?1000l\x1b[?2004h\x1b[?1049l\x1bPq#0;2;0;0;0\x1b\\\x1b_G\x1b\\\x1b[999;999H\x1b[6n\x1b[c\x1b[38;2;1;2\x18\r\n";

/// Before it does anything: what it is not to be ended by, and who is to outlive it.
pub fn at_start(script: &Script, client: &dyn Client) -> CliResult<()> {
    if script.has("ignore-sigterm") {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        for signal in [SIGTERM, SIGHUP, SIGINT] {
            signal_hook::flag::register(signal, std::sync::Arc::default())?;
        }
        client.say("deaf to SIGTERM");
    }
    if script.has("grandchildren") {
        for _ in 0..2 {
            let mut child = Command::new("setsid");
            child.args(["--fork", "sleep", "3600"]);
            child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        }
        client.say("children with sessions of their own");
    }
    Ok(())
}

/// In the middle of its first turn, once for each issue.
pub fn in_turn(script: &Script, client: &dyn Client) -> CliResult<()> {
    if script.has("escapes") && once(client, "escapes")? {
        client.print(ESCAPES);
        client.say("\x1b[31mred\x1b[0m \x1b]2;a title\x07 in a line");
    }
    if script.has("flood") && once(client, "flood")? {
        // Coloured lines, of no more columns than an agent's terminal has: beyond, tmux is slow.
        let line = format!("\x1b[32m{}\x1b[0m\r\n", "flood ".repeat(30));
        let chunk: Vec<u8> = line.bytes().cycle().take(FLOOD_CHUNK).collect();
        (0..FLOOD_BYTES / FLOOD_CHUNK).for_each(|_| client.print(&chunk));
        client.say("that was all");
    }
    let dies = script.has("die") && once(client, "die")?;
    let freezes = script.has("freeze") && once(client, "freeze")?;
    if dies || freezes {
        // Work that no commit holds: the successor finds it.
        write("half-done.tmp", "interrupted\n")?;
        client.before("make half of it");
    }
    if dies {
        kill_process(getpid(), Signal::KILL).map_err(std::io::Error::from)?;
    }
    if freezes {
        client.freeze();
    }
    Ok(())
}
