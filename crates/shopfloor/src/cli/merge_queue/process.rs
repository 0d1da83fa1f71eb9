//! `shopfloor merge-queue process`: the next change, in the foreground.

use super::EntryView;
use crate::cli::{CliError, CliResult, Context, Exit, foreground, output};
use shopfloor_core::ids::EntryId;
use shopfloor_core::state::{Entry, EntryState, Floor};
use shopfloor_engine::{Until, is_decided};

pub fn run(context: &Context) -> CliResult<Exit> {
    let project = context.project()?.name;
    let engine = context.engine()?;
    let floor = engine.floor();
    let held = |e: &Entry| floor.queues.get(&e.queue()).is_some_and(|q| q.holds(e.priority).is_some());
    let queues = floor.queue_ids(&project).into_iter();
    // The first of each; where only some are held, the first that is not.
    let firsts = queues.filter_map(|queue| {
        let order = floor.queue_order(&queue);
        let next = order.iter().find(|e| !held(e)).or(order.first())?;
        Some((next.id, held(next), queue))
    });
    let firsts: Vec<_> = firsts.collect();
    let next = firsts.iter().find(|(_, held, _)| !held).or(firsts.first()).cloned();
    let Some((next, held, queue)) = next else {
        if context.json {
            output::json(&serde_json::Value::Null);
        } else {
            output::line("the merge queue is empty");
        }
        return Ok(Exit::Fine);
    };
    if let Some(why) = floor.queues.get(&queue).filter(|_| held).and_then(|q| q.pause()) {
        return Err(CliError::failed(format!("the merge queue is paused: {why}"))
            .hint("`shopfloor merge-queue resume` lets it continue"));
    }
    if let Some(lost) = floor.queues.get(&queue).and_then(|q| q.lost.as_ref()) {
        let policy = floor.policy(&project);
        let branch = policy.branch_of(queue.target.as_ref());
        // Somebody may have put it right while no daemon was there to see it.
        if context.origin(&project)?.branch(branch) == lost.found {
            let error = CliError::failed(format!(
                "the merge queue stands still: {}",
                lost.tell_of(queue.target.as_ref())
            ));
            return Err(match lost.known {
                None => error.hint(format!("push it: `git push shopfloor {branch}`")),
                Some(_) => {
                    error.hint("put the branch back, or accept it with `shopfloor merge-queue resume`")
                }
            });
        }
    }
    let until = Until::Decided(project, next);
    let mut decided = |floor: &Floor| is_decided(floor, next);
    foreground::carry_out(context, &until, &mut decided, "stopped before the change had landed")?;
    let engine = context.engine()?;
    report(context, engine.floor(), next)
}

fn report(context: &Context, floor: &Floor, id: EntryId) -> CliResult<Exit> {
    let Some(entry) = floor.entries.get(&id) else {
        return Err(CliError::no_such(format!("entry {id} is gone")));
    };
    let view = EntryView::new(floor, None, entry);
    if context.json {
        output::json(&view);
    } else {
        let issue = view.bead_id.map(|issue| format!("#{issue} ")).unwrap_or_default();
        output::line(format!("{issue}{}: {}: {}", view.branch, view.status, view.waits_for));
    }
    Ok(if matches!(entry.state, EntryState::Merged { .. }) { Exit::Fine } else { Exit::Unfinished })
}
