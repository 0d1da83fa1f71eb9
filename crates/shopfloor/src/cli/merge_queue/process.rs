//! `shopfloor merge-queue process`: the next change, in the foreground. Whoever holds the floor's lock does
//! the work: this process, or the daemon, which is then only watched.

use super::EntryView;
use crate::cli::{CliError, CliResult, Context, Exit, output};
use crate::daemon::Daemon;
use crate::log::{self, Detail};
use shopfloor_adapters::host::exit_watch::ExitWatcher;
use shopfloor_adapters::host::{lock, process};
use shopfloor_core::ids::EntryId;
use shopfloor_core::state::{Entry, EntryState, Floor};
use shopfloor_engine::{Stop, Until, is_decided};
use std::sync::mpsc::channel;
use std::time::Duration;

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
    let mut nobody = 0;
    log::to_terminal(Detail::default());
    loop {
        match Daemon::take(context, Until::Decided(project.clone(), next)) {
            Ok(mut daemon) => {
                if daemon.runner.run()? == Stop::Asked {
                    return Err(CliError::failed("stopped before the change had landed").hint(
                        "nothing is lost: the next daemon, or `merge-queue process` again, continues",
                    ));
                }
                break;
            }
            Err(error) if error.exit == Exit::Busy => {
                match follow(context, &mut |floor| is_decided(floor, next))? {
                    Followed::Decided => break,
                    // Whoever it was, it is this process's turn now.
                    Followed::Ended => nobody = 0,
                    Followed::Nobody if nobody == TRIES_MAX => return Err(error),
                    Followed::Nobody => nobody += 1,
                }
            }
            Err(error) => return Err(error),
        }
    }
    let engine = context.engine()?;
    report(context, engine.floor(), next)
}

enum News {
    Written,
    Ended,
}

/// Times in a row that the floor is held and nobody is seen to hold it.
pub(super) const TRIES_MAX: u32 = 5;

pub(super) enum Followed {
    Decided,
    Ended,
    /// Whoever held the floor is gone already.
    Nobody,
}

/// Sleeps until whoever holds the floor has brought it so far, or is gone.
pub(super) fn follow(context: &Context, decided: &mut dyn FnMut(&Floor) -> bool) -> CliResult<Followed> {
    let (written, news) = channel();
    let ended = written.clone();
    // Nobody listens any more once it is decided.
    let exits = ExitWatcher::spawn(move |_| drop(ended.send(News::Ended)))?;
    let mut watch = context.reader()?.watch()?;
    std::thread::spawn(
        move || while watch.wait(Duration::MAX).is_ok() && written.send(News::Written).is_ok() {},
    );
    let daemon = lock::holder(&context.layout.daemon_lock()).and_then(process::identify);
    match daemon {
        Some(daemon) => exits.watch(0, daemon)?,
        None => return Ok(Followed::Nobody),
    }
    let mut engine = context.engine()?;
    let mut ended = false;
    loop {
        engine.refresh()?;
        if decided(engine.floor()) {
            return Ok(Followed::Decided);
        }
        // Its last words were read just now.
        if ended {
            return Ok(Followed::Ended);
        }
        ended = !matches!(news.recv(), Ok(News::Written));
    }
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
