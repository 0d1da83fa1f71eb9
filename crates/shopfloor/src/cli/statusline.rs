//! `shopfloor statusline`: what Claude Code draws at the bottom of its screen, and calls again every
//! few seconds. The line's clock shows whoever sees the screen that the client lives; in a session of
//! ours the daemon learns the same, and how full the context is, from the session's folder.
//!
//! As a hook it never fails the agent; unlike one it is of use outside of our sessions too.

use super::hook::{OwnSession, read_input};
use super::{CliResult, Exit, now};
use shopfloor_adapters::agent::hooks::{StatuslinePayload, parse_statusline};
use shopfloor_adapters::agent::spool::{Line, write_line};
use shopfloor_adapters::agent::through;
use shopfloor_core::runtime::statusline::{Clock, render};
use shopfloor_core::text::one_line;
use std::io::Write;
use std::path::Path;

const FOLDER_CHARS_MAX: usize = 40;

pub fn run() -> CliResult<Exit> {
    let session = OwnSession::from_environment();
    let input = read_input().map(Option::unwrap_or_default);
    let bytes = input.clone().unwrap_or_default();
    let parsed = input.and_then(|bytes| parse_statusline(&bytes).map_err(|e| format!("not understood: {e}")));
    let clock = clock();
    let percent = parsed.as_ref().ok().and_then(|payload| payload.fact.context_percent);
    let shown = render(&folder(parsed.as_ref().ok()), percent, clock);
    if let Some(session) = &session {
        let written = parsed.and_then(|payload| {
            let mut fact = payload.fact;
            fact.clock = Some(clock);
            let line = Line { at: now(), conversation: payload.session_id, fact };
            write_line(&session.dir, &line).map_err(|e| format!("not kept: {e}"))
        });
        if let Err(what) = written {
            session.complain(&format!("the status line: {what}"));
        }
    }
    // The person's own comes first: ours is looked for from below.
    let own = session.and_then(|session| Some((session, std::env::var(through::STATUS_LINE).ok()?)));
    let own = own.map(|(session, own)| {
        through::line(&own, &bytes).unwrap_or_else(|e| {
            session.complain(&format!("your own status line: {e}"));
            Vec::new()
        })
    });
    for line in own.unwrap_or_default().iter().chain([&shown]) {
        // Not println: a client that is gone is no reason to panic.
        let _ = writeln!(std::io::stdout(), "{line}");
    }
    Ok(Exit::Fine)
}

/// The last part of where the client is, safe to show.
fn folder(payload: Option<&StatuslinePayload>) -> String {
    let cwd = payload.and_then(|payload| payload.cwd.as_deref()).unwrap_or_default();
    let name = Path::new(cwd).file_name().map(|name| one_line(&name.to_string_lossy(), FOLDER_CHARS_MAX));
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "?".into())
}

/// This machine's time of day.
fn clock() -> Clock {
    let time = jiff::Zoned::now().time();
    let part = |value: i8| u32::from(value.unsigned_abs());
    Clock(part(time.hour()) * 3600 + part(time.minute()) * 60 + part(time.second()))
}
