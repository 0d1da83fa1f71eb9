//! A person undoes what an agent had the factory do.

use crate::view::groom::ReversalView;
use crate::{Desk, Error, Exit, Result};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ActId, ProjectName};
use shopfloor_core::state::ReversalState;
use shopfloor_core::step::{NotUndone, may_undo};
use std::time::{Duration, Instant};

/// How long a forge may take before the command ends without knowing.
const DONE_WITHIN: Duration = Duration::from_secs(30);
/// How often to check whether there is a daemon that could do it.
const DAEMON_LOOKED_FOR: Duration = Duration::from_secs(1);

impl Desk {
    /// Has it undone, and waits for that. `force`: whatever became of it since.
    pub fn undo(&self, project: &ProjectName, act: ActId, force: bool, by: &str) -> Result<ReversalView> {
        let mut changes = self.subscribe(None)?;
        let engine = self.engine()?;
        may_undo(engine.floor(), project, act).map_err(|why| match &why {
            NotUndone::Unknown(_) => {
                Error::no_such(why.to_string()).hint("`shopfloor undo` lists what can be")
            }
            _ => Error::failed(why.to_string()),
        })?;
        drop(engine);
        self.submit(&Event::UndoAsked { project: project.clone(), act, force, by: by.to_owned() })?;
        let deadline = Instant::now() + DONE_WITHIN;
        loop {
            let known = changes.floor()?.reversals.get(&act).cloned();
            let known = known.ok_or_else(|| Error::no_such(NotUndone::Unknown(act).to_string()))?;
            match &known.state {
                ReversalState::Undone { .. } => return Ok(ReversalView::new(&known)),
                ReversalState::Kept { why } => {
                    return Err(Error::failed(format!("act {act} was not undone: {why}"))
                        .hint("`--force` puts back what was there before all the same"));
                }
                _ if Instant::now() >= deadline || self.ask_daemon("ping")?.is_none() => {
                    let text = "it is on record, and the factory has not done it yet";
                    return Err(Error::new(Exit::Busy, text).hint(
                        "it is undone when the daemon runs (`shopfloor up`): `shopfloor undo` shows it",
                    ));
                }
                // A daemon that dies does not say so.
                _ => drop(changes.next(DAEMON_LOOKED_FOR)?),
            }
        }
    }
}
