//! Waiting for a session's end, and saying how it ended.
//!
//! Invariants:
//! - It sleeps until the kernel reports something or the next look is due; it never polls in a loop.
//! - A failure to watch something is never a verdict on the work: the result says what is known, and how it
//!   is known.
//! - Once a session's result is taken, nothing of it keeps running, unless somebody wants to keep it or it
//!   still needs attention (stuck, out of time, incomplete).

use crate::end::{end, own_worktree};
use crate::sessions::{Hand, HandSessions};
use crate::verify::{Answer, Verification};
use crate::watch::{FinalState, Finding, Limits, Watch};
use crate::watcher::Watcher;
use crate::{Means, find, printed};
use serde::Serialize;
use shopfloor_adapters::git::{Git, repos};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_adapters::terminal::tmux::Probe;
use shopfloor_desk::{Error, Exit, Result, now};
use std::path::{Path, PathBuf};

/// More than tmux keeps.
const SCROLLBACK_LINES: u32 = 10_000;

#[derive(Serialize)]
pub struct MonitorResult {
    pub final_state: FinalState,
    pub output_file: Option<String>,
    pub exit_reason: String,
    /// `null`: there was nothing to verify it with, or its end made that pointless.
    pub output_verified: Option<bool>,
    pub session: String,
    /// The program's exit status, or 128 + the signal that ended it.
    pub exit_status: Option<i32>,
    pub polls: u32,
    /// The session was removed, since its result is taken.
    pub cleaned_up: bool,
}

/// How somebody wants to wait.
pub struct Wish<'a> {
    pub limits: Limits,
    /// Called with what each look shows, and its number.
    pub watching: &'a dyn Fn(&str, u32),
    /// Where to leave the session's output; `None`: with its record.
    pub output: Option<&'a Path>,
    /// Do not remove the session, however it ends.
    pub keep: bool,
}

/// Waits until the session of that name has finished, and cleans it up. The verification is asked for before
/// anybody waits for hours: it may be wrong.
pub fn monitor(
    means: &dyn Means,
    who: &str,
    wish: &Wish<'_>,
    verification: impl FnOnce(&Hand) -> Result<Option<Verification>>,
) -> Result<MonitorResult> {
    let hands = means.sessions();
    let hand = match find(means.desk(), &hands, who) {
        Ok(hand) => hand,
        Err(e) if e.exit == Exit::NoSuchThing => return Ok(not_found(who, e.message, None)),
        Err(e) => return Err(e),
    };
    if let Some(ended) = hand.ended() {
        let taken =
            ended.result.map_or_else(String::new, |result| format!("its result was taken: {result}; "));
        let kept = Some(hands.output_file(&hand.name)).filter(|file| file.exists());
        let why = format!("the session has ended: {taken}{}", ended.why);
        return Ok(not_found(&hand.name.to_string(), why, kept));
    }
    let verification = verification(&hand)?;
    let spec = means.runtime_of(&hand)?;
    let launched = hand.record.as_ref().map_or_else(now, |record| record.created);
    let mut watch = Watch::new((*spec).clone(), launched, now(), wish.limits);
    let mut watcher = Watcher::new(&hands, &hand, &spec, worktree(means, &hand), &mut watch);
    let finding = loop {
        let (state, finding) = watch.take(&watcher.look());
        (wish.watching)(&watch.claimed().unwrap_or_else(|| state.to_string()), watch.looks());
        match finding {
            Some(finding) => break finding,
            None => watcher.wait(&mut watch),
        }
    };
    let mut fell_back = std::mem::take(&mut watcher.fell_back);
    if watch.is_deaf() && fell_back.is_empty() {
        fell_back.push("changes of its terminal are not reported".to_owned());
    }
    let answer =
        verification.filter(|_| finding.wants_verification()).map(|verification| verification.answer());
    let taken = Taken { finding, answer, fell_back, polls: watch.looks() };
    Ok(take(means, &hands, &hand, wish, taken))
}

fn not_found(name: &str, exit_reason: String, output: Option<PathBuf>) -> MonitorResult {
    MonitorResult {
        final_state: FinalState::NotFound,
        output_file: output.map(|file| file.display().to_string()),
        exit_reason,
        output_verified: None,
        session: name.to_owned(),
        exit_status: None,
        polls: 0,
        cleaned_up: false,
    }
}

/// The git worktree that the session works in, if it is one of the floor's. In any other, others may work and
/// commit too, which says nothing about this session.
fn worktree(means: &dyn Means, hand: &Hand) -> Option<(Git, PathBuf)> {
    own_worktree(&means.desk().layout, hand)?;
    let git = means.git().ok()?;
    let tree = repos::find_checkout(&git, Path::new(&hand.record.as_ref()?.cwd)).ok()?;
    Some((git, tree))
}

/// What was concluded about a session, before it is cleaned up.
struct Taken {
    finding: Finding,
    answer: Option<Answer>,
    fell_back: Vec<String>,
    polls: u32,
}

fn take(
    means: &dyn Means,
    hands: &HandSessions,
    hand: &Hand,
    wish: &Wish<'_>,
    taken: Taken,
) -> MonitorResult {
    let Taken { finding, answer, fell_back, polls } = taken;
    let verified = answer.as_ref().map(|answer| answer.verified);
    let final_state = finding.final_state(verified);
    let mut reason = vec![finding.to_string()];
    if let Some(missing) = answer.as_ref().and_then(Answer::missing) {
        reason.push(format!("not verified: {missing}"));
    }
    if !fell_back.is_empty() {
        reason.push(format!("monitoring fell back: {}", fell_back.join("; ")));
    }
    let output_file = match output(means, hands, hand, wish) {
        Ok(file) => file.map(|file| file.display().to_string()),
        Err(e) => {
            reason.push(format!("its output could not be read: {}", e.message));
            None
        }
    };
    let over = !finding.is_alive() || final_state == FinalState::Completed;
    let mut cleaned_up = false;
    if let Some(ended) = hands.look(&hand.name).ended() {
        // By somebody else, in the meantime.
        reason.push(ended.why.clone());
        cleaned_up = true;
    } else if !over {
        reason.push(format!("the session is left: end it with `shopfloor session kill {}`", hand.name));
    } else if !wish.keep {
        match end(means, hand, &reason.join("; "), Some(final_state)) {
            Ok(_) => cleaned_up = true,
            Err(e) => reason.push(format!("it could not be cleaned up: {}", e.message)),
        }
    }
    MonitorResult {
        final_state,
        output_file,
        exit_reason: reason.join("; "),
        output_verified: verified,
        session: hand.name.to_string(),
        exit_status: match finding {
            Finding::Ended => Some(0),
            Finding::Failed { status } => Some(status),
            _ => None,
        },
        polls,
        cleaned_up,
    }
}

/// Leaves everything the session printed, as far as tmux has it, in a file.
fn output(means: &dyn Means, hands: &HandSessions, hand: &Hand, wish: &Wish<'_>) -> Result<Option<PathBuf>> {
    if matches!(hands.look(&hand.name).probe, Ok(Probe::Absent)) {
        // Another monitor may have been faster.
        return Ok(Some(hands.output_file(&hand.name)).filter(|file| file.exists()));
    }
    let redactor = means.redactor(hand.record.as_ref().map(|record| &record.project));
    let mut text = printed(hands, &hand.name, SCROLLBACK_LINES, &redactor)?;
    text.push('\n');
    match wish.output {
        None => Ok(Some(hands.keep_output(&hand.name, &text)?)),
        Some(file) => {
            let file = std::path::absolute(file)?;
            write_atomic(&file, text.as_bytes(), 0o600)
                .map_err(|e| Error::failed(format!("{}: {e}", file.display())))?;
            Ok(Some(file))
        }
    }
}
