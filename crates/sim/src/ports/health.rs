//! How the machine and a project's surroundings are: mostly well. What is put on record is there once.

use crate::world::{Mutation, Shared};
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::effect::{RecordHealth, Tidy};
use shopfloor_core::health::{CheckSeen, Machine, Measured, Recent, Stray};
use shopfloor_core::ids::{Assignment, Epoch, IssueNumber, ProjectName, Role, RunId};
use shopfloor_core::time::Time;
use shopfloor_engine::ports::{Health, PortResult};
use std::collections::BTreeMap;
use std::time::Duration;

pub struct FakeHealth(pub Shared);

/// No session gets there.
const NOBODYS: Epoch = Epoch(1_000_000);

/// What was put on record, and how often.
#[derive(Default)]
pub struct Diary {
    pub entries: BTreeMap<(Time, String), u32>,
    /// The keys of what people were told is urgent.
    pub urgent: Vec<String>,
}

impl Health for FakeHealth {
    fn measure(&self, project: &ProjectName) -> PortResult<Measured> {
        self.0.call("measure", |world| {
            let used = *world.nerves.pick(&[50u64, 50, 50, 85, 97]).expect("not empty");
            let disk_free = Some((100 - used) * 1_000_000);
            let machine = Machine { disk_free, disk_total: Some(100_000_000), ..Machine::default() };
            let since = Time(world.now.0.saturating_sub(Duration::from_secs(3600).as_millis() as u64));
            // Some that are wanted, and one that nobody ever asked for.
            let mut runs: Vec<RunId> = world.finished.keys().rev().copied().take(2).collect();
            if world.nerves.permille(400) {
                runs.push(RunId(2_000_000 + world.nerves.below(3)));
            }
            let checks = runs.into_iter().map(|run| CheckSeen { run, since, alive: true }).collect();
            let alive =
                world.procs.values().filter(|proc| proc.alive).map(|proc| (proc.epoch, proc.tree.clone()));
            let mut strays: Vec<Stray> = alive
                .filter_map(|(epoch, tree)| {
                    let (role, assignment) = (tree.role()?, tree.assignment()?);
                    Some(Stray { project: tree.project, role, assignment, epoch })
                })
                .collect();
            if world.nerves.permille(300) {
                let assignment = Assignment::Issue(IssueNumber(1));
                strays.push(Stray { project: project.clone(), role: Role::DEV, assignment, epoch: NOBODYS });
            }
            let red = world.nerves.below(11);
            world.saw(if used > 80 { "checkup found a full disk" } else { "checkup" });
            Ok(Measured {
                machine,
                checks: Some(checks),
                strays: Some(strays),
                recent: Some(Recent { ended: 10, red }),
                ..Measured::default()
            })
        })
    }

    fn record(&self, record: &RecordHealth) -> PortResult<()> {
        self.0.call("record_health", |world| {
            let key = (record.at, record.entry.clone());
            if world.diary.entries.contains_key(&key) && !world.is(Mutation::WritesEntriesTwice) {
                return Ok(());
            }
            *world.diary.entries.entry(key).or_default() += 1;
            world.crash_point("record_health", "crash inside a port call");
            world.diary.urgent.extend(record.urgent.iter().map(|(key, _)| key.clone()));
            if !record.urgent.is_empty() {
                world.saw("urgent finding told");
            }
            Ok(())
        })
    }

    fn prune(&self, _: &Tidy) -> PortResult<Amount> {
        self.0.call("prune_health", |_| Ok(Amount::default()))
    }
}
