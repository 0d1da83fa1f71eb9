//! One behaviour at a time.

use crate::world::{Fate, Truth, World};
use shopfloor_core::ids::EntryId;
use shopfloor_core::planner::{Alarm, Order, Plan, PlanEvent, Priority, Purpose, Terms};
use shopfloor_core::time::Time;
use std::time::Duration;

/// A world with entries 1 to `n`, none of them tried before all are there.
fn queue(n: u64, slots: usize, truth: Truth) -> World {
    let mut world = World::new(1, 0, truth);
    for entry in 1..=n {
        world.enter(entry, 0);
    }
    world.terms.slots = slots;
    world.tell(PlanEvent::Tick);
    world
}

fn build_all(world: &mut World) {
    while let Some(at) = world.running.iter().position(|r| r.commit.is_none()) {
        world.build(at);
    }
}

/// Ends the run of exactly that list.
fn finish(world: &mut World, list: &[u64]) {
    let at = world.running.iter().position(|r| r.list == list).expect("it runs");
    world.finish(at);
}

fn lists(world: &World) -> Vec<Vec<u64>> {
    let mut lists: Vec<Vec<u64>> = world.running.iter().map(|r| r.list.clone()).collect();
    lists.sort();
    lists
}

fn drain(world: &mut World) {
    while !world.waiting.is_empty() {
        if world.publishing.is_some() {
            world.publish();
        } else {
            build_all(world);
            if !world.running.is_empty() {
                world.finish(0);
            }
        }
    }
}

fn upto(n: u64) -> Vec<u64> {
    (1..=n).collect()
}

#[test]
fn cumulative_prefixes_run_side_by_side() {
    let world = queue(28, 4, Truth::default());
    assert_eq!(lists(&world), [upto(7), upto(14), upto(21), upto(28)]);
}

#[test]
fn a_shorter_green_list_lands_and_the_longer_ones_run_on() {
    let mut world = queue(28, 4, Truth::default());
    build_all(&mut world);
    finish(&mut world, &upto(7));
    world.publish();
    assert_eq!(world.fates.len(), 7);
    assert_eq!(world.counts.cancelled, 0);
    // The verdict of a longer one, begun on the old base, holds on the new.
    finish(&mut world, &upto(21));
    world.publish();
    assert_eq!(world.fates.len(), 21);
    // Those it contains are not needed any more.
    assert!(world.running.iter().all(|r| *r.list.last().unwrap() > 21), "{:?}", lists(&world));
    drain(&mut world);
    assert_eq!(world.counts.publications, 3);
}

#[test]
fn newcomers_restart_nothing_however_urgent() {
    let mut world = queue(16, 4, Truth::default());
    let before = lists(&world);
    world.enter(17, 9);
    assert_eq!(lists(&world), before);
    assert_eq!(world.counts.cancelled, 0);
    let order: Vec<u64> = world.plan.order().iter().map(|e| e.0).collect();
    assert_eq!(order, upto(17));
}

#[test]
fn the_urgent_go_first_among_those_that_wait() {
    let mut world = queue(0, 0, Truth::default());
    for (entry, priority) in [(1, 0), (2, 1), (3, 1), (4, 2)] {
        world.enter(entry, priority);
    }
    let order: Vec<u64> = world.plan.order().iter().map(|e| e.0).collect();
    assert_eq!(order, [4, 2, 3, 1]);
}

#[test]
fn the_first_red_chunk_is_narrowed_and_the_culprit_tried_once_more() {
    let truth = Truth { bad: [10].into(), ..Truth::default() };
    let mut world = queue(28, 4, truth);
    build_all(&mut world);
    finish(&mut world, &upto(7));
    world.publish();
    finish(&mut world, &upto(14));
    let is_inside = |list: &Vec<u64>| list.last().is_some_and(|last| (8..14).contains(last));
    assert!(lists(&world).iter().any(is_inside), "{:?}", lists(&world));
    drain(&mut world);
    assert_eq!(world.fates[&10], Fate::Failed);
    assert_eq!(world.fates.values().filter(|f| **f == Fate::Landed).count(), 27);
}

#[test]
fn while_one_is_confirmed_the_others_go_on_without_it() {
    let truth = Truth { bad: [1].into(), ..Truth::default() };
    let mut world = queue(2, 2, truth);
    for list in [vec![1, 2], vec![1]] {
        build_all(&mut world);
        finish(&mut world, &list);
    }
    let purposes: Vec<_> = world.running.iter().map(|r| (r.purpose, r.list.clone())).collect();
    assert!(purposes.contains(&(Purpose::Confirm { entry: EntryId(1) }, vec![1])), "{purposes:?}");
    assert!(purposes.contains(&(Purpose::Land, vec![2])), "{purposes:?}");
}

#[test]
fn a_flake_is_recorded_and_its_entry_lands() {
    let truth = Truth { flaky: [(1, 1000)].into(), ..Truth::default() };
    let mut world = queue(1, 2, truth);
    build_all(&mut world);
    world.finish(0);
    world.truth.flaky.clear();
    drain(&mut world);
    assert_eq!(world.fates[&1], Fate::Landed);
    assert_eq!((world.counts.flakes, world.counts.runs), (1, 2));
}

#[test]
fn who_conflicts_with_one_not_landed_waits_for_it() {
    let conflict = [(1, 3)].into();
    // Entry 1 fails: there is nothing in the way of 3.
    let mut world = queue(4, 2, Truth { bad: [1].into(), conflict, ..Truth::default() });
    drain(&mut world);
    assert_eq!(world.fates[&3], Fate::Landed);
    // Entry 1 lands: 3 is told.
    let mut world = queue(4, 2, Truth { conflict: [(1, 3)].into(), ..Truth::default() });
    drain(&mut world);
    assert_eq!(world.fates[&3], Fate::Conflicted);
    assert_eq!(world.fates[&4], Fate::Landed);
}

#[test]
fn what_somebody_else_pushes_voids_every_verdict_but_trees_stay_known() {
    let mut world = queue(2, 1, Truth::default());
    build_all(&mut world);
    let list = world.running[0].list.clone();
    world.finish(0);
    // Its number is odd: it changes no file.
    world.push_foreign(1);
    world.publish();
    assert_eq!(world.fates.len(), 0, "it was refused");
    build_all(&mut world);
    world.publish();
    assert_eq!(world.fates.len(), list.len());
    assert_eq!(world.counts.runs, 1, "the tree was known");
    // One that changes something has everything tested anew.
    world.enter(3, 0);
    build_all(&mut world);
    world.push_foreign(2);
    world.see_primary();
    assert_eq!(world.counts.cancelled, 1);
    drain(&mut world);
    assert_eq!(world.counts.runs, 3);
}

fn terms() -> Terms {
    Terms {
        slots: 1,
        alarm_after: Duration::from_secs(3600),
        paused: false,
        strict: true,
        each: false,
        least: Priority(0),
    }
}

/// A plan whose first trial is under way with one entry.
fn testing() -> Plan {
    let mut plan = Plan::default();
    let base = "0".repeat(40).parse().unwrap();
    let entered = PlanEvent::Entered { entry: EntryId(1), priority: Priority(0), at: Time(0), alone: false };
    for input in [PlanEvent::Primary { head: base }, entered] {
        plan.step(Time(0), &terms(), &input);
    }
    plan
}

#[test]
fn an_entry_that_waits_too_long_is_told_of_once() {
    let mut plan = testing();
    let at = plan.wake_at(&terms()).unwrap();
    assert_eq!(at, Time(3_600_000));
    let alarm = Order::Alarm(Alarm::Waiting { entry: EntryId(1), since: Time(0) });
    assert_eq!(plan.step(at, &terms(), &PlanEvent::Tick), [alarm]);
    assert_eq!(plan.step(Time(at.0 + 1), &terms(), &PlanEvent::Tick), []);
    assert_eq!(plan.wake_at(&terms()), None);
}

/// Nobody is charged for checks that cannot be run, with whatever is in them.
#[test]
fn checks_that_cannot_be_run_are_tried_again_with_growing_pauses() {
    let mut world = queue(3, 2, Truth { infra: 1000, ..Truth::default() });
    let mut pauses = Vec::new();
    while pauses.len() < 6 {
        match world.plan.held_until().filter(|until| *until > world.now) {
            Some(until) => {
                pauses.push(until.since(world.now).as_secs());
                world.now = until;
                world.tell(PlanEvent::Tick);
            }
            None if world.running.is_empty() => {
                world.now = world.plan.aside_until().expect("something is waited for");
                world.tell(PlanEvent::Tick);
            }
            None => {
                build_all(&mut world);
                world.finish(0);
            }
        }
    }
    assert_eq!(pauses, [30, 60, 120, 240, 480, 600]);
    assert_eq!((world.waiting.len(), world.counts.alarms), (3, 6));
    // It is over.
    world.truth.infra = 0;
    drain(&mut world);
    assert!(world.fates.values().all(|fate| *fate == Fate::Landed), "{:?}", world.fates);
}

/// Whatever stands behind it in the queue lands; it is charged once others' checks were run without it.
#[test]
fn one_with_which_nothing_can_be_run_holds_nobody_up() {
    for slots in 1..=4 {
        let mut world = queue(4, slots, Truth { unrunnable: [1].into(), ..Truth::default() });
        while world.waiting.len() > 1 {
            assert_eq!(world.plan.held_until(), None, "the queue does not pause");
            match world.publishing {
                Some(_) => world.publish(),
                None => {
                    build_all(&mut world);
                    world.finish(0);
                }
            }
        }
        assert_eq!((world.fates.len(), world.now), (3, Time(0)));
        assert!(world.fates.values().all(|fate| *fate == Fate::Landed), "{:?}", world.fates);
    }
}

/// 1 is worth five, 2 seven, 3 takes five away, and more than ten is too much.
#[test]
fn what_was_red_does_not_land_because_something_after_it_was_green() {
    let truth = Truth { bad: [2].into(), cure: [(2, 3)].into(), ..Truth::default() };
    let mut world = queue(4, 3, truth);
    // Everything is built, and the longest list ends last.
    while !world.waiting.is_empty() {
        if world.publishing.is_some() {
            world.publish();
            continue;
        }
        let unbuilt = world.running.iter().position(|r| r.commit.is_none());
        match unbuilt {
            Some(at) => world.build(at),
            None => {
                let shortest = (0..world.running.len()).min_by_key(|at| world.running[*at].list.len());
                world.finish(shortest.expect("something runs"));
            }
        }
    }
    assert_eq!(world.fates[&1], Fate::Landed);
    assert_eq!(world.fates[&2], Fate::Failed);
    assert_eq!(world.fates[&3], Fate::Landed);
}

/// What is tried once more is no reason to wait.
#[test]
fn an_urgent_one_goes_before_a_second_run_of_one_that_was_red() {
    let mut world = queue(1, 1, Truth { bad: [1].into(), ..Truth::default() });
    build_all(&mut world);
    world.enter(2, Priority::URGENT.0);
    finish(&mut world, &[1]);
    assert_eq!(lists(&world), [vec![2]]);
    assert_eq!(world.running[0].purpose, Purpose::Land);
    drain(&mut world);
    assert_eq!((world.fates[&1], world.fates[&2]), (Fate::Failed, Fate::Landed));
}

/// A freeze that ends while they run: nobody passes them, and nothing is run twice.
#[test]
fn what_was_being_tried_in_a_freeze_is_as_far_as_it_was_when_that_ends() {
    let mut world = queue(4, 3, Truth::default());
    build_all(&mut world);
    let before = lists(&world);
    for least in [2, 0] {
        world.terms.least = Priority(least);
        world.tell(PlanEvent::Tick);
    }
    world.enter(5, Priority::URGENT.0);
    let order: Vec<u64> = world.plan.order().iter().map(|e| e.0).collect();
    assert_eq!(order, upto(5));
    assert!(before.iter().all(|list| lists(&world).contains(list)), "{before:?} {:?}", lists(&world));
    assert_eq!(world.counts.cancelled, 0);
}

/// Nobody joins before one that had to wait twice, unless that may not land at all.
#[test]
fn one_that_was_put_off_twice_and_is_held_holds_nobody_up() {
    let truth = Truth { conflict: [(1, 9), (2, 9)].into(), ..Truth::default() };
    let mut world = queue(0, 2, truth);
    world.terms.slots = 0;
    world.enter(1, 1);
    world.enter(9, 0);
    for first in [1, 2] {
        world.terms.slots = 2;
        world.tell(PlanEvent::Tick);
        let at = world.running.iter().position(|r| r.list == [first, 9]).expect("they are tried together");
        world.build(at);
        if first == 1 {
            world.terms.slots = 0;
            world.enter(2, 1);
            world.remove(1);
        }
    }
    world.enter(3, 1);
    assert!(!lists(&world).iter().any(|list| list.contains(&3)), "9 is waited for: {:?}", lists(&world));
    world.terms.least = Priority(1);
    world.tell(PlanEvent::Tick);
    assert!(lists(&world).contains(&vec![2, 3]), "{:?}", lists(&world));
}

/// Each comes back when its pause is over, which is before the other's run has ended.
#[test]
fn two_with_which_nothing_can_be_run_do_not_take_turns_before_the_others() {
    let mut world = queue(0, 0, Truth { unrunnable: [1, 2].into(), ..Truth::default() });
    for entry in 1..=6 {
        world.enter(entry, if entry <= 2 { 2 } else { 0 });
    }
    world.terms.slots = 1;
    world.tell(PlanEvent::Tick);
    let mut runs = 0;
    while (3..=6).any(|entry| world.waiting.contains(&entry)) {
        runs += 1;
        assert!(runs < 40, "{:?}", world.plan);
        world.now = Time(world.now.0 + 700_000);
        world.tell(PlanEvent::Tick);
        build_all(&mut world);
        if !world.running.is_empty() {
            world.finish(0);
        }
        world.publish();
    }
}

/// It rises with each that goes before its second run.
#[test]
fn one_under_suspicion_is_not_passed_for_ever() {
    let mut world = queue(1, 1, Truth { bad: [1].into(), ..Truth::default() });
    build_all(&mut world);
    for urgent in 2.. {
        assert!(urgent < 30, "{:?}", world.plan);
        world.enter(urgent, Priority::URGENT.0);
        world.finish(0);
        world.publish();
        build_all(&mut world);
        if !world.waiting.contains(&1) {
            break;
        }
    }
    assert_eq!(world.fates[&1], Fate::Failed);
}

/// Neither a run that is lost nor checks that cannot be run settle what was red.
#[test]
fn what_was_red_stays_under_suspicion_until_it_was_run_once_more() {
    for lost in [true, false] {
        let truth = Truth { bad: [1].into(), cure: [(1, 2)].into(), ..Truth::default() };
        let mut world = queue(1, 2, truth);
        build_all(&mut world);
        finish(&mut world, &[1]);
        let confirms = |world: &World| world.running.iter().position(|r| r.purpose != Purpose::Land);
        let at = confirms(&world).expect("it is tried once more");
        if lost {
            world.tell(PlanEvent::Dropped { trial: world.running[at].trial });
        } else {
            world.truth.infra = 1000;
            build_all(&mut world);
            world.finish(at);
            world.truth.infra = 0;
            world.now = Time(world.now.0 + 1_000_000);
            world.tell(PlanEvent::Tick);
        }
        world.enter(2, 0);
        assert!(confirms(&world).is_some(), "{:?}", world.plan);
        drain(&mut world);
        assert_eq!(world.fates[&1], Fate::Failed);
    }
}

/// Those that are held by a freeze could not tell whether it is the machinery.
#[test]
fn checks_that_cannot_be_run_are_told_of_in_a_freeze() {
    let mut world = queue(0, 1, Truth { infra: 1000, ..Truth::default() });
    world.terms.least = Priority::URGENT;
    for (entry, priority) in [(1, 2), (2, 0), (3, 0)] {
        world.enter(entry, priority);
    }
    for _ in 0..2 {
        build_all(&mut world);
        world.finish(0);
    }
    assert_eq!(world.counts.alarms, 1);
    assert!(world.plan.held_until().is_some());
}
