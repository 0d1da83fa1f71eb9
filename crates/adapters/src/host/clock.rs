//! The wall clock: for the ages of files and the dates of commits. Whatever decides by time gets the time as
//! a value.
//!
//! A floor may live ahead of the machine's clock, so that a week of it can be watched in a minute
//! (`cargo xtask demo --week`). How far is in a file of its home, where agents in jails cannot write, and holds for
//! every process of that floor from its start on.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

static AHEAD: OnceLock<Duration> = OnceLock::new();
/// So far that nothing it could be for is further.
const AHEAD_MAX: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// Takes the floor's time from that file for the rest of the process: milliseconds by which it is ahead. Without the
/// file, or one that says anything else, it is the machine's.
pub fn set_by(file: &Path) {
    let Ok(text) = std::fs::read_to_string(file) else { return };
    let ahead = text.trim().parse().map(Duration::from_millis).unwrap_or_default();
    let _ = AHEAD.set(ahead.min(AHEAD_MAX));
}

#[expect(clippy::disallowed_methods, reason = "here the clock comes in")]
pub fn now() -> SystemTime {
    SystemTime::now() + AHEAD.get().copied().unwrap_or_default()
}

/// A clock that was never set is no reason to stop.
pub fn since_epoch() -> Duration {
    now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
