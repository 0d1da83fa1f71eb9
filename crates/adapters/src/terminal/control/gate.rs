//! Keeps changes of sessions and the coming of a control client apart.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Closed while a client is let in. tmux (3.3a) crashes, with every agent in it, if it has something to
/// tell to a control client that has said what it is but not yet all: that a session was made or ended.
/// So whoever does that in another process goes through here.
#[derive(Clone, Default)]
pub struct Gate(Arc<RwLock<()>>);

impl Gate {
    /// The gate is open for as long as the answer is held.
    pub fn pass(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn close(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
