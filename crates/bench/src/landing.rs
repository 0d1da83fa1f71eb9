//! How long 50 changes take to land with checks of 60 s, on a virtual clock: what the planner orders, against
//! one after another. Building and publishing take no time.

use crate::report::Report;
use shopfloor_core::ids::{EntryId, Sha};
use shopfloor_core::planner::{Input, Link, Order, Plan, Priority, Terms, Tree, TrialId, Verdict};
use shopfloor_core::time::Time;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

const ENTRIES: u64 = 50;
const RUN_MS: u64 = 60_000;

pub fn measure(report: &mut Report) {
    for failing in [0, 5] {
        let bad = |entry: u64| failing > 0 && entry % (ENTRIES / failing) == 7;
        for slots in [1, 2, 4] {
            let minutes = land(slots, &bad) as f64 / 60_000.0;
            // One after another, each that is red once more.
            let before = ENTRIES + failing;
            let share = failing * 100 / ENTRIES;
            let note =
                format!("{ENTRIES} changes, {share} % failing, checks of 60 s; in sequence {before} min");
            report.add(format!("landing, {slots} slots, {share} % bad"), minutes, "min", note);
        }
    }
}

/// When all are decided.
fn land(slots: usize, bad: &impl Fn(u64) -> bool) -> u64 {
    let mut plan = Plan::default();
    let alarm_after = Duration::from_secs(86_400);
    let terms = |slots| Terms {
        slots,
        alarm_after,
        paused: slots == 0,
        strict: true,
        each: false,
        least: Priority(0),
    };
    let mut now = 0;
    let mut inputs: VecDeque<Input> = (1..=ENTRIES)
        .map(|n| Input::Entered { entry: EntryId(n), priority: Priority(0), at: Time(n), alone: false })
        .collect();
    // Nothing is begun before all are there.
    for input in inputs.drain(..) {
        plan.step(Time(0), &terms(0), &input);
    }
    inputs.push_back(Input::Primary { head: sha(0, 0) });
    let mut lists: BTreeMap<TrialId, Vec<EntryId>> = BTreeMap::new();
    let mut ends: BTreeMap<(u64, TrialId), Verdict> = BTreeMap::new();
    loop {
        let Some(input) = inputs.pop_front() else {
            let Some(((at, trial), verdict)) = ends.pop_first() else { return now };
            now = at;
            inputs.push_back(Input::Finished { trial, verdict });
            continue;
        };
        for order in plan.step(Time(now), &terms(slots), &input) {
            match order {
                Order::Build { trial, base, list, .. } => {
                    let mut commit = base;
                    let chain = list.iter().map(|entry| {
                        commit = sha(entry.0, number(&commit));
                        Link { commit: commit.clone(), tree: Tree(commit.clone()) }
                    });
                    inputs.push_back(Input::Built { trial, chain: chain.collect() });
                    lists.insert(trial, list);
                }
                Order::Test { trial, .. } => {
                    let red = lists[&trial].iter().any(|e| bad(e.0));
                    ends.insert((now + RUN_MS, trial), if red { Verdict::Red } else { Verdict::Green });
                }
                Order::Cancel { trial } => ends.retain(|(_, t), _| *t != trial),
                Order::Publish { steps, .. } => {
                    let tip = steps.last().expect("a publication has steps").last().commit.clone();
                    inputs.push_back(Input::Published { head: tip.clone(), tip });
                }
                _ => {}
            }
        }
    }
}

/// A commit's name says what it is made of.
fn sha(entry: u64, before: u64) -> Sha {
    let mixed =
        (before ^ entry.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(17).wrapping_mul(0x2545_f491);
    format!("{:016x}{mixed:024x}", entry).try_into().expect("forty digits")
}

fn number(sha: &Sha) -> u64 {
    u64::from_str_radix(&sha.as_str()[24..], 16).expect("made by sha()")
}
