//! What is kept about one project's world from step to step: its checker, and what its people know.

use super::{Happening, Wake};
use crate::check::Checker;
use crate::daemon::Arrival;
use crate::git::branch_of;
use crate::human::Whim;
use crate::world::World;
use shopfloor_core::ids::{ProjectName, QueueId, Seq};
use shopfloor_core::state::{Entry, Floor, LostPrimary, Queue};
use shopfloor_core::time::Time;
use std::collections::BTreeSet;
use std::time::Duration;

pub(super) struct Site {
    pub number: usize,
    pub project: ProjectName,
    pub checker: Checker,
    poked_for: Option<Time>,
    /// The branches that a person has seen to be red.
    mending: BTreeSet<String>,
    /// The queues of which a person knows that they stand still, and why.
    pub righting: Vec<(QueueId, LostPrimary)>,
    /// A person was told about what waits in vain, and will see to it.
    pub unsticking: bool,
    /// How many moves of branches that work lands on the daemon was told about.
    moves: usize,
    /// The floor as this project sees it, at that position of the journal. Copying it costs more than all checks.
    pub own: Option<(Seq, Floor)>,
}

impl Site {
    pub fn new(number: usize, project: ProjectName) -> Site {
        Site {
            number,
            project,
            checker: Checker::default(),
            poked_for: None,
            mending: BTreeSet::new(),
            righting: Vec::new(),
            unsticking: false,
            moves: 0,
            own: None,
        }
    }

    fn person(&self, whim: Whim) -> Wake {
        Wake::In(self.number, Happening::Person(whim))
    }

    /// What the world asked for, and when it is to happen.
    pub fn wakes(&mut self, world: &mut World) -> Vec<(Time, Wake)> {
        let mut wakes = Vec::new();
        let (now, number) = (world.now, self.number);
        let mut at = |time: Time, what: Happening| wakes.push((time, Wake::In(number, what)));
        for (time, epoch) in std::mem::take(&mut world.agent_acts) {
            at(time, Happening::Agent(epoch));
        }
        for (time, epoch, stir) in std::mem::take(&mut world.stirs) {
            at(time, Happening::Client(epoch, stir));
        }
        for epoch in std::mem::take(&mut world.stirred) {
            let late = Duration::from_millis(world.rng.range(0, 1_500));
            wakes.push((now + late, Wake::Any(Arrival::Attend(epoch))));
        }
        for epoch in std::mem::take(&mut world.notices) {
            let late = Duration::from_millis(world.rng.range(0, 1_500));
            wakes.push((now + late, Wake::Any(Arrival::Look(epoch))));
            let dead = world.procs.get(&epoch).is_some_and(|p| !p.alive);
            if dead && world.rng.permille(80) {
                let late = Duration::from_millis(world.rng.range(1_000, 7_200_000));
                wakes.push((now + late, Wake::In(number, Happening::Ghost(epoch))));
            }
        }
        if world.git.moves[self.moves..].iter().any(|m| m.entries.is_none()) {
            let late = Duration::from_millis(world.rng.range(0, 1_500));
            wakes.push((now + late, Wake::Any(Arrival::LookAtHub)));
        }
        self.moves = world.git.moves.len();
        for (time, branch) in std::mem::take(&mut world.to_queue) {
            wakes.push((time, Wake::In(number, Happening::Queue(branch))));
        }
        for (time, branch) in std::mem::take(&mut world.deletions) {
            wakes.push((time, Wake::In(number, Happening::Delete(branch))));
        }
        let visible = world.forge.visible_after(now);
        let hints = std::mem::take(&mut world.forge.hints);
        if world.forge.elsewhere {
            let hint = |at| (now.max(at), Wake::Any(Arrival::Hint(self.project.clone())));
            wakes.extend(hints.into_iter().map(hint));
        }
        wakes.extend(self.see_red(world));
        if let Some(time) = visible.filter(|_| self.poked_for != visible) {
            self.poked_for = visible;
            wakes.push((time, Wake::Any(Arrival::Poke)));
        }
        wakes
    }

    /// After a while, a person mends what has become red.
    fn see_red(&mut self, world: &mut World) -> Vec<(Time, Wake)> {
        let mut wakes = Vec::new();
        for target in world.landed_on() {
            let branch = branch_of(target.as_ref());
            let red = world.git.tip(target.as_ref()).is_some_and(|tip| world.git.is_red(tip));
            if !red {
                self.mending.remove(branch);
            } else if self.mending.insert(branch.to_owned()) {
                let late = Duration::from_secs(60 * world.rng.range(1, 240));
                wakes.push((world.now + late, self.person(Whim::Mend)));
            }
        }
        wakes
    }

    /// After a while, a person puts right what a queue stands still for.
    pub fn hear_of_trouble(&mut self, world: &mut World, floor: &Floor) -> Vec<(Time, Wake)> {
        let lost = |q: &Queue| Some((q.id(), q.lost.clone()?));
        let lost: Vec<(QueueId, LostPrimary)> = floor.queues.iter().filter_map(lost).collect();
        let news = lost.iter().filter(|lost| !self.righting.contains(lost)).count();
        self.righting = lost;
        let wake = |_| {
            world.saw("queue stands still for its branch");
            let at = world.now + Duration::from_secs(60 * world.rng.range(1, 240));
            (at, self.person(Whim::PutRight))
        };
        (0..news).map(wake).collect()
    }

    /// A person who is told that the primary branch fails, and finds nothing wrong with it, pushes something
    /// else.
    pub fn hear_of_red(
        &self,
        world: &mut World,
        entries: &[shopfloor_store::JournalEntry],
    ) -> Option<(Time, Wake)> {
        let red = |e: &shopfloor_store::JournalEntry| {
            e.kind == "ESCALATION" && e.text.contains("the primary branch itself fails")
        };
        let sound = world.git.tip(None).is_some_and(|tip| !world.git.is_red(tip));
        (sound && entries.iter().any(red)).then(|| {
            let at = world.now + Duration::from_secs(60 * world.rng.range(60, 240));
            (at, self.person(Whim::PushPrimary))
        })
    }

    /// A person sees to what waits in vain, once they are told.
    pub fn hear_of_waits(
        &mut self,
        world: &mut World,
        floor: &Floor,
        entries: &[shopfloor_store::JournalEntry],
    ) -> Option<(Time, Wake)> {
        let told = |e: &Entry| e.state.is_live() && e.waits_told.is_some();
        let takes_long = |e: &shopfloor_store::JournalEntry| {
            e.kind == "ESCALATION" && e.text.contains("merging takes longer")
        };
        let waits = floor.entries.iter().any(told) || entries.iter().any(takes_long);
        (waits && !std::mem::replace(&mut self.unsticking, true)).then(|| {
            let at = world.now + Duration::from_secs(60 * world.rng.range(1, 120));
            (at, self.person(Whim::Unstick))
        })
    }
}
