//! What the floor's store keeps of the past, pruned a little at a time.

use shopfloor_core::effect::Tidy;
use shopfloor_core::effect::outcome::Pruned;
use shopfloor_engine::ports::{Archive, PortError, PortResult};
use shopfloor_store::backend::Backend;
use shopfloor_store::retention::{Expired, Stage};
use std::sync::Arc;
use std::time::Duration;

/// The pause between two transactions. SQLite keeps no line of those who wait, so without it somebody else would
/// hardly get in.
const PAUSE: Duration = Duration::from_millis(10);

/// The archive of the floor that is kept there.
pub struct StoreArchive(pub Arc<dyn Backend>);

impl Archive for StoreArchive {
    fn prune(&self, tidy: &Tidy) -> PortResult<Pruned> {
        let pause = || {
            if !tidy.dry_run {
                std::thread::sleep(PAUSE);
            }
        };
        let mut pruned = Pruned::default();
        let mut ci = self.0.ci().map_err(PortError::transient)?;
        loop {
            let (runs, more) = ci
                .prune(&tidy.project, tidy.folders_before, &tidy.runs_kept, tidy.dry_run)
                .map_err(PortError::transient)?;
            pruned.runs += runs;
            if !more {
                break;
            }
            pause();
        }
        pruned.copies =
            self.0.prune_copies(tidy.journal_before, tidy.dry_run).map_err(PortError::transient)?;
        let expired = Expired::from(tidy);
        let mut store = self.0.store().map_err(PortError::transient)?;
        let mut stage = Stage::FIRST;
        while stage != Stage::Over {
            let batch = store.prune(&expired, stage, tidy.dry_run).map_err(PortError::transient)?;
            pruned.shelved += batch.shelved;
            pruned.entries += batch.entries;
            pruned.tombstones += batch.tombstones;
            stage = batch.next;
            pause();
        }
        Ok(pruned)
    }
}
