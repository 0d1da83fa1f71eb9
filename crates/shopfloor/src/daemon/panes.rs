//! Passes what tmux reports about the agents' panes on to the watches.
//!
//! The connection to tmux is made before the watches, and is one of their parts: so it learns later where to
//! report to, and does not keep the watches alive.

use super::watches::Shared;
use shopfloor_adapters::terminal::control::sightings::PaneEvent;
use std::sync::{Arc, OnceLock, Weak};

#[derive(Clone, Default)]
pub struct PaneListener(Arc<OnceLock<Weak<Shared>>>);

impl PaneListener {
    pub(super) fn callback(&self) -> impl FnMut(PaneEvent) + Send + 'static {
        let listener = self.clone();
        move |event| {
            if let Some(watches) = listener.0.get().and_then(Weak::upgrade) {
                watches.pane(&event);
            }
        }
    }

    pub(super) fn listen(&self, watches: &Arc<Shared>) {
        let _ = self.0.set(Arc::downgrade(watches));
    }
}
