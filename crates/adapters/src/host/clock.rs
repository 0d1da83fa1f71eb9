//! The wall clock: for the ages of files and the dates of commits. Whatever decides by time gets the time as
//! a value.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[expect(clippy::disallowed_methods, reason = "here the clock comes in")]
pub fn now() -> SystemTime {
    SystemTime::now()
}

/// A clock that was never set is no reason to stop.
pub fn since_epoch() -> Duration {
    now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
