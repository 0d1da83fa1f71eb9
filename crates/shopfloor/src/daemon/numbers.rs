//! Numbers are never used twice: folders of sessions and runs that a store knows nothing of, because it was
//! put back from a copy, are not taken for those of its next sessions.

use crate::cli::{CliResult, Context, now};
use shopfloor_adapters::host::prune::highest;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, RunId};
use shopfloor_engine::Engine;
use shopfloor_store::sqlite::SqliteStore;

/// Has the floor count on from the highest numbers in its folder.
pub fn pass_over(context: &Context, engine: &mut Engine<SqliteStore>) -> CliResult<()> {
    let layout = &context.layout;
    let epoch = Epoch(highest(&layout.sessions(), "e")?);
    let mut run = RunId(0);
    for project in engine.floor().projects.iter() {
        run = run.max(RunId(highest(&layout.ci_runs(&project.name), "run-")?));
    }
    let counters = engine.floor().counters.get(&());
    let (known_epoch, known_run) = counters.map_or((0, 0), |c| (c.epoch, c.run));
    if epoch.0 > known_epoch || run.0 > known_run {
        eprintln!(
            "warning: the floor's folder has sessions up to e{epoch} and runs up to {run}, its store knows e{known_epoch} and {known_run}: it counts on from the higher ones"
        );
        engine.submit(now(), &Event::NumbersSeen { epoch, run })?;
    }
    Ok(())
}
