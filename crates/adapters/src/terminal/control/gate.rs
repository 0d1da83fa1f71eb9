//! Keeps changes to sessions and the arrival of a control client apart.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Closed while a client is let in. tmux (3.3a) crashes, with every agent in it, if it has to tell a control
/// client that is still introducing itself that a session was made or ended. So whoever makes or ends one in
/// another process goes through here.
#[derive(Clone, Default)]
pub struct Gate(Arc<RwLock<()>>);

impl Gate {
    /// The gate stays open for as long as the guard is held.
    pub fn pass(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn close(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
