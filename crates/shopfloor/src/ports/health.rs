//! What the supervisor has done in the world: measurements, and the records of what was found.

use super::strays::strays;
use shopfloor_adapters::health::{Diary, measure};
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::effect::{RecordHealth, Tidy};
use shopfloor_core::health::Measured;
use shopfloor_core::ids::ProjectName;
use shopfloor_desk::now;
use shopfloor_engine::ports::{Health, PortError, PortResult};
use shopfloor_store::ci::CiRuns;
use std::sync::{Mutex, PoisonError};

pub(super) struct Checkups {
    pub layout: Layout,
    pub tmux: Tmux,
    pub ci: Mutex<Box<dyn CiRuns>>,
    pub diary: Diary,
}

impl Health for Checkups {
    fn measure(&self, project: &ProjectName) -> PortResult<Measured> {
        let mut ci = self.ci.lock().unwrap_or_else(PoisonError::into_inner);
        let measured = measure(&self.layout, project, &mut **ci, now());
        // Where there is no answer, nobody is taken for a stray.
        Ok(Measured { strays: strays(&self.tmux).ok(), ..measured })
    }

    fn record(&self, record: &RecordHealth) -> PortResult<()> {
        self.diary.record(record).map_err(PortError::transient)
    }

    fn prune(&self, tidy: &Tidy) -> PortResult<Amount> {
        self.diary.prune(tidy).map_err(PortError::transient)
    }
}
