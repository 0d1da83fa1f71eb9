//! When schedules are due, and what their formulas come to: every few hours, unless the machine has no room.

use crate::world::Shared;
use shopfloor_core::effect::outcome::RunPlanned;
use shopfloor_core::effect::{PlanRun, PlannedRun};
use shopfloor_core::ids::{ProjectName, ScheduleName};
use shopfloor_core::time::Time;
use shopfloor_engine::ports::{IssueText, PortResult, Schedules};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Nothing is due any more a while after that.
const BUSY_UNTIL: Time = Time(30 * 3_600_000);

pub struct FakeSchedules(pub Shared);

/// The times for which something was to be run, by schedule.
#[derive(Default)]
pub struct Timetable {
    pub ready: BTreeMap<ScheduleName, BTreeSet<Time>>,
}

impl Schedules for FakeSchedules {
    fn plan(&self, asked: &PlanRun) -> PortResult<RunPlanned> {
        self.0.call("plan_run", |world| {
            // What is never over would never let a floor be idle.
            let hours = if world.now < BUSY_UNTIL { world.rng.range(2, 20) } else { 24 * 3650 };
            let next = Some(world.now + Duration::from_secs(3600 * hours));
            let Some(due) = asked.due else { return Ok(RunPlanned { next, what: PlannedRun::NotDue }) };
            let why = || "simulated".to_owned();
            let what = match world.rng.below(100) {
                0..70 => {
                    let recipe = world.recipe_of(&asked.plan.formula);
                    world.timetable.ready.entry(asked.schedule.clone()).or_default().insert(due);
                    PlannedRun::Ready { recipe: Box::new(recipe) }
                }
                70..92 => PlannedRun::NotNow { why: why() },
                _ => PlannedRun::Cannot { why: why() },
            };
            world.saw(match &what {
                PlannedRun::Ready { .. } => "run was due",
                PlannedRun::NotNow { .. } => "run put off",
                PlannedRun::NotDue | PlannedRun::Cannot { .. } => "run cannot be planned",
            });
            Ok(RunPlanned { next, what })
        })
    }

    fn action(&self, _: &ProjectName, _: &IssueText) -> PortResult<PlannedRun> {
        self.0.call("plan_action", |world| {
            world.crash_point("plan_action", "crash inside a port call");
            if world.deeds.permille(100) {
                world.saw("action cannot be planned");
                return Ok(PlannedRun::Cannot { why: "simulated".into() });
            }
            world.saw("action planned");
            let formula = ["action", "tidy", "report"][world.deeds.below(3) as usize];
            let recipe = world.recipe_of(&formula.parse().expect("a name"));
            Ok(PlannedRun::Ready { recipe: Box::new(recipe) })
        })
    }
}
