//! Moves origin's primary branch to what the queue built, by compare-and-swap, in one operation with the
//! branches that land: if one of them was moved or deleted by then, nothing lands.

use super::commit::Commit;
use super::merger::Queue;
use super::origin::{Move, Push};
use super::run::branch_ref;
use shopfloor_core::effect::{EntryBranch, MovedBranch};
use shopfloor_core::ids::{EntryId, Sha};
use shopfloor_engine::ports::{Final, NotPublished, PortError, PortResult, PublishRequest};

pub(super) fn publish(queue: &Queue, request: &PublishRequest<'_>) -> PortResult<Result<(), NotPublished>> {
    let PublishRequest { old, new, tested, branches, entries, .. } = *request;
    if tested != new && old != new {
        let read = Commit::read_all(&queue.repo, &[tested, new])?;
        if read[0].tree != read[1].tree {
            return Err(PortError::permanent(
                Final::Refused,
                format!("{} was checked, but {} has other files", tested.short(), new.short()),
            ));
        }
    }
    if new == old {
        queue.origin.look()?;
        return queue.landed(new, queue.primary_now()?);
    }
    let moves = [Move { name: queue.primary.clone(), old: Some(old.clone()), new: Some(new.clone()) }];
    let standing = branches.iter().map(|e| Ok((branch_ref(&e.branch)?, e.head.clone())));
    let standing = standing.collect::<PortResult<Vec<_>>>()?;
    let why = message(entries);
    let push = Push { from: &queue.repo, moves: &moves, standing: &standing, forward: true, why: &why };
    // A request that is repeated because its answer was cut off must not land it again if somebody took it
    // off the branch meanwhile.
    if queue.origin.has_made(&push)? {
        return Ok(Ok(()));
    }
    let Err(mut elsewhere) = queue.origin.push(&push)? else { return Ok(Ok(())) };
    // Refused, or done before: where the branches are now says which.
    match elsewhere.moves.remove(0) {
        Some(at) if at == *old => Ok(Err(NotPublished::Branches(moved(branches, elsewhere.standing)))),
        at => {
            queue.origin.look()?;
            queue.landed(new, at)
        }
    }
}

impl Queue {
    /// Whether the primary branch contains `new`; if not, where it is.
    fn landed(&self, new: &Sha, at: Option<Sha>) -> PortResult<Result<(), NotPublished>> {
        match at {
            Some(at) if self.origin.has(new, &at)? => Ok(Ok(())),
            at => Ok(Err(NotPublished::Primary(at))),
        }
    }
}

fn moved(branches: &[EntryBranch], at: Vec<Option<Sha>>) -> Vec<MovedBranch> {
    let left = at.into_iter().zip(branches).filter(|(head, e)| head.as_ref() != Some(&e.head));
    left.map(|(head, e)| MovedBranch { entry: e.entry, head }).collect()
}

/// What the branch's log says about a publication.
fn message(entries: &[EntryId]) -> String {
    let entries: Vec<String> = entries.iter().map(EntryId::to_string).collect();
    format!("shopfloor: merge queue, entries {}", entries.join(" "))
}
