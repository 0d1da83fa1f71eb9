//! What a step of the planner costs, counted in entries and lists looked at. `cargo xtask bench` measures its
//! time; this is its shape, the same on every machine.

use super::{Link, Order, Plan, PlanEvent, Priority, Terms, TreeId, TrialId, TrialResult};
use crate::ids::{EntryId, Sha};
use crate::time::Time;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

thread_local! {
    static SPENT: Cell<usize> = const { Cell::new(0) };
}

pub fn spend(looks: usize) {
    SPENT.set(SPENT.get() + looks);
}

fn sha(number: u64) -> Sha {
    format!("{number:040x}").parse().expect("forty digits")
}

/// The highest cost of one step while that many entries land, of which every twentieth is bad.
fn dearest(entries: u64) -> usize {
    let terms = |slots| Terms {
        slots,
        alarm_after: Duration::from_secs(86_400),
        paused: slots == 0,
        strict: true,
        each: false,
        least: Priority::default(),
    };
    let mut plan = Plan::default();
    for n in 1..=entries {
        let (entry, priority) = (EntryId(n), Priority::default());
        plan.step(Time(0), &terms(0), &PlanEvent::Entered { entry, priority, at: Time(n), alone: false });
    }
    let mut inputs = VecDeque::from([PlanEvent::Primary { head: sha(0) }]);
    let mut running: VecDeque<(TrialId, bool)> = VecDeque::new();
    let mut lists: BTreeMap<TrialId, bool> = BTreeMap::new();
    let mut dearest = 0;
    let mut names = 0;
    loop {
        let next = inputs.pop_front().or_else(|| {
            let (trial, red) = running.pop_front()?;
            Some(PlanEvent::Finished {
                trial,
                verdict: if red { TrialResult::Red } else { TrialResult::Green },
            })
        });
        let Some(input) = next else { return dearest };
        SPENT.set(0);
        let orders = plan.step(Time(0), &terms(4), &input);
        dearest = dearest.max(SPENT.get());
        for order in orders {
            match order {
                Order::Build { trial, list, .. } => {
                    lists.insert(trial, list.iter().any(|e| e.0 % 20 == 7));
                    let link = |_| {
                        names += 1;
                        Link { commit: sha(names), tree: TreeId(sha(names)) }
                    };
                    inputs.push_back(PlanEvent::Built { trial, chain: list.iter().map(link).collect() });
                }
                Order::Test { trial, .. } => running.push_back((trial, lists[&trial])),
                Order::Cancel { trial } => running.retain(|(t, _)| *t != trial),
                Order::Publish { steps, .. } => {
                    let tip = steps.last().expect("steps").last().commit.clone();
                    inputs.push_back(PlanEvent::Published { head: tip.clone(), tip });
                }
                _ => {}
            }
        }
    }
}

/// Twice as many entries cost at most twice as much: how much of the lists is looked at does not grow with the
/// queue.
#[test]
fn what_a_step_costs_does_not_outgrow_the_queue() {
    let [hundred, two_hundred, eight_hundred] = [100, 200, 800].map(dearest);
    assert!(two_hundred < 6_000, "{two_hundred} looks in one step");
    assert!(two_hundred <= 2 * hundred, "{hundred} for 100, {two_hundred} for 200");
    assert!(eight_hundred <= 4 * two_hundred, "{two_hundred} for 200, {eight_hundred} for 800");
}
