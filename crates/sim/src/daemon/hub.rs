//! The watch over the branches that work lands on, like the real one: what the queues know is no news,
//! anything else is; and a branch that is not on record is recorded when it is first seen.

use super::{Arrival, Daemon};
use crate::git::sha;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{QueueId, Sha};
use shopfloor_core::state::Queue;
use shopfloor_store::StoreResult;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Default)]
pub(super) struct HubWatch {
    branches: BTreeMap<QueueId, Branch>,
}

#[derive(Default)]
struct Branch {
    /// Where it is expected to be, once it is on record.
    known: Option<Vec<Sha>>,
    /// Where it was last seen.
    seen: Option<Option<Sha>>,
}

impl Daemon {
    pub(super) fn reconcile_hub(&mut self) {
        let floor = self.conductor.floor();
        let queues: Vec<QueueId> = floor.projects.iter().flat_map(|p| floor.queue_ids(&p.name)).collect();
        let mut look = false;
        for queue in queues {
            let known = floor.queues.get(&queue).and_then(Queue::primary_known);
            let new = !self.hub.branches.contains_key(&queue);
            let branch = self.hub.branches.entry(queue).or_default();
            look |= new || branch.known != known;
            branch.known = known;
        }
        if look {
            self.out.push((Duration::ZERO, Arrival::LookAtHub));
        }
    }

    pub(super) fn look_at_hub(&mut self) -> StoreResult<()> {
        let mut touched = Vec::new();
        {
            for (queue, branch) in &mut self.hub.branches {
                let mut world = self.worlds.of(&queue.project).lock();
                let head = world.git.tip(queue.target.as_ref()).map(sha);
                let before = branch.seen.replace(head.clone());
                match &branch.known {
                    Some(known) if head.as_ref().is_some_and(|head| known.contains(head)) => continue,
                    None if before.is_some_and(|before| before == head) => continue,
                    Some(_) => world.saw("foreign push noticed"),
                    None => {}
                }
                touched.push(queue.clone());
            }
        }
        for QueueId { project, target } in touched {
            self.submit(&Event::PrimaryTouched { project, target })?;
        }
        Ok(())
    }
}
