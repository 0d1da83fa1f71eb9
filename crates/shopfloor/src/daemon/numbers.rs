//! Numbers are never used twice: if a store was restored from a copy, folders of sessions and runs that it
//! does not know are not taken for those of its next sessions and runs.

use shopfloor_adapters::host::prune::highest;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, RunId};
use shopfloor_desk::{Result, now};
use shopfloor_engine::Engine;
use shopfloor_store::Store;

/// Makes the floor continue counting from the highest numbers in its folder.
pub fn pass_over(layout: &Layout, engine: &mut Engine<Box<dyn Store>>) -> Result<()> {
    let epoch = Epoch(highest(&layout.sessions(), "e")?);
    let mut run = RunId(0);
    for project in engine.floor().projects.iter() {
        run = run.max(RunId(highest(&layout.ci_runs(&project.name), "run-")?));
    }
    let counters = engine.floor().counters.get(&());
    let (known_epoch, known_run) = counters.map_or((0, 0), |c| (c.epoch, c.run));
    if epoch.0 > known_epoch || run.0 > known_run {
        tracing::warn!(
            "the floor's folder has sessions up to e{epoch} and runs up to {run}, its store knows e{known_epoch} and {known_run}: it counts on from the higher ones"
        );
        engine.submit(now(), &Event::NumbersSeen { epoch, run })?;
    }
    Ok(())
}
