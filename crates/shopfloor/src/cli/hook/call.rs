//! A client's call: its event goes to the session's spool, and sometimes there is an answer.
//!
//! Invariants: it never fails the agent (whatever goes wrong, it says nothing and the exit code is
//! 0; only a command that cannot be looked at is refused), it never blocks it (input is bounded in size and time; there is no database, no daemon and
//! no configuration), and outside of our sessions it does nothing.

use super::session::OwnSession;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;
use shopfloor_adapters::agent::hooks::{
    self, HookError, HookPayload, PAYLOAD_BYTES_MAX, parse_hook, parse_notify,
};
use shopfloor_adapters::agent::spool::{self, HookReport};
use shopfloor_adapters::agent::through;
use shopfloor_core::liveness::{HookEvent, StartSource};
use shopfloor_core::texts::agents;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A client writes its payload at once. One that does not is not waited for.
const INPUT_WAIT: Duration = Duration::from_secs(5);
/// What is read and thrown away of a payload that is too large, so that the client's write succeeds.
const DRAIN_BYTES_MAX: usize = 256 * 1024 * 1024;

/// A hook, with its payload on standard input.
pub fn hook() {
    in_session(|session| {
        let Some(bytes) = read_input()? else { return Ok(()) };
        let payload = match parse_hook(&bytes) {
            Ok(payload) => payload,
            Err(why) => {
                // What the guard cannot read it does not let through.
                let refusal = match why {
                    HookError::TooLarge => hooks::may_ask_for_a_tool(&bytes).then(agents::command_too_large),
                    _ => hooks::names_a_tool_call(&bytes).then(agents::command_unreadable),
                };
                if let Some(refusal) = refusal {
                    let _ = writeln!(io::stdout(), "{}", deny(refusal));
                }
                return Err(format!("a payload was not understood: {why}"));
            }
        };
        let answer = answer(session, &payload);
        // What is answered here asks nobody.
        if matches!(payload.event, HookEvent::PermissionRequest { .. }) && answer.is_some() {
            let _ = writeln!(io::stdout(), "{}", answer.unwrap_or_default());
            return Ok(());
        }
        // The answer even if the spool is full or gone.
        let told = tell(session, payload);
        if let Some(answer) = answer {
            let _ = writeln!(io::stdout(), "{answer}");
        }
        told
    });
}

/// Codex's `notify`. The person's own, for which ours stands in, is called too.
pub fn notify(payload: Option<&(impl AsRef<OsStr> + ?Sized)>) {
    in_session(|session| {
        let own = std::env::var(through::NOTIFY).ok().zip(payload);
        let told = told_of_notify(session, payload);
        if let Some((own, payload)) = own {
            through::notify(&own, payload.as_ref()).map_err(|e| format!("your own notify: {e}"))?;
        }
        told
    });
}

fn told_of_notify(
    session: &OwnSession,
    payload: Option<&(impl AsRef<OsStr> + ?Sized)>,
) -> Result<(), String> {
    let text = payload.and_then(|p| p.as_ref().to_str()).ok_or("notify's argument is not text")?;
    let payload = parse_notify(text).map_err(|e| format!("notify was not understood: {e}"))?;
    tell(session, payload)
}

/// Runs `work` if this is a session of ours. What goes wrong is noted there and nowhere else.
pub fn in_session(work: impl FnOnce(&OwnSession) -> Result<(), String>) {
    let Some(session) = OwnSession::from_environment() else { return };
    std::panic::set_hook(Box::new(|_| {}));
    match catch_unwind(AssertUnwindSafe(|| work(&session))) {
        Ok(Ok(())) => {}
        Ok(Err(what)) => session.complain(&what),
        Err(_) => session.complain("a bug: the hook panicked"),
    }
}

fn tell(session: &OwnSession, payload: HookPayload) -> Result<(), String> {
    let told = HookReport {
        at: session.at,
        conversation: payload.session_id,
        transcript: payload.transcript_path,
        subagent: payload.subagent,
        event: payload.event,
    };
    spool::append(&session.dir, &told).map_err(|e| format!("{} was not kept: {e}", told.event))
}

/// What the client is told, as JSON.
fn answer(session: &OwnSession, payload: &HookPayload) -> Option<serde_json::Value> {
    match payload.event {
        // Whatever it was told at its start may be forgotten now.
        HookEvent::SessionStart {
            source: StartSource::Compact | StartSource::Resume | StartSource::Clear,
        } => {
            let protocol = spool::read_protocol(&session.dir).ok()??;
            Some(json!({"hookSpecificOutput":
                {"hookEventName": "SessionStart", "additionalContext": protocol}}))
        }
        HookEvent::PreToolUse { .. } => {
            let refusal = session.refusal(payload.command.as_deref()?, payload.cwd.as_deref())?;
            Some(deny(&refusal.why))
        }
        HookEvent::PermissionRequest { .. } if session.allows(payload.command.as_deref()?) => {
            Some(json!({"hookSpecificOutput": {
                "hookEventName": "PermissionRequest",
                "decision": { "behavior": "allow" },
            }}))
        }
        _ => None,
    }
}

/// The client does not run the tool, and tells its model why.
fn deny(why: &str) -> serde_json::Value {
    json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": why,
    }})
}

/// Standard input to its end. `None`: there is nobody to write it.
pub fn read_input() -> Result<Option<Vec<u8>>, String> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    let (mut total, deadline) = (0, Instant::now() + INPUT_WAIT);
    let mut input = stdin.lock();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        if poll(&mut [PollFd::new(&io::stdin(), PollFlags::IN)], Some(&timeout)) == Ok(0) {
            // Of one that is too large enough has come.
            if bytes.len() > PAYLOAD_BYTES_MAX {
                break;
            }
            return Err("the payload did not come in time".into());
        }
        match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                total += n;
                // One byte too many says that it is too large.
                let room = (PAYLOAD_BYTES_MAX + 1).saturating_sub(bytes.len());
                bytes.extend_from_slice(&buffer[..n.min(room)]);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(format!("the payload cannot be read: {e}")),
        }
        if total > DRAIN_BYTES_MAX {
            break;
        }
    }
    Ok(Some(bytes))
}
