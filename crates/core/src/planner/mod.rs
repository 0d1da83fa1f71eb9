//! The merge queue's planner: what to build, test and publish next, so that many branches land in
//! the time of a few runs of the checks.
//!
//! With `c` slots it tries cumulative prefixes of the queue side by side (the first m entries, the first 2m, …),
//! publishes the longest green one, and narrows inside the first red chunk. What follows from verdicts already
//! given is not run again. An entry that is found red on top of something green is a *suspect*: it is tried once
//! more, while the others continue without it. Red again, it fails, with a log of its own; green, it was a flake,
//! and that is recorded.
//!
//! The planner is pure. [`Plan`] is all its state, and is kept with the journal; [`Plan::step`] takes one
//! [`PlanEvent`] and returns [`Order`]s. Each order is answered by an input that names it; answers to cancelled
//! orders are ignored.
//!
//! # What always holds
//!
//! * A list of entries is published only if exactly that list on exactly that base was green, or has the tree of a
//!   commit that was. Publishing a part keeps every trial that continues from it: the same entries on top give the
//!   same tree.
//! * With [`Terms::strict`], it is published in [`Step`]s, each of which was green as a whole and is one commit of
//!   the primary branch's first-parent line; and a list that continues from a red one is not green, whatever its
//!   own run said: what was red there would land all the same.
//! * If somebody else moves the primary branch, all verdicts on the old base are void. What is known of trees
//!   stays known.
//! * A red result is settled before it lands, by a second run of the same: a suspicion outlives a confirmation
//!   that told nothing, as long as its base is the same.
//! * An entry fails only after two red runs on top of a list that was green (or of the base itself). An entry with
//!   which the checks cannot be run leaves the queue only if they can be run without it. An entry that conflicts
//!   only with entries not yet landed waits for them; it is sent back only when it conflicts with the primary
//!   branch itself.
//! * Newcomers go behind what is being tried, whatever their priority: they restart nothing. But an urgent one
//!   waits for nothing else: if what is being tried turns out red, it goes first, and the rest is narrowed down
//!   behind it.
//! * An entry that is *alone* is tried on top of the primary branch itself and published by itself. With
//!   [`Terms::each`] every entry has a run of its own, on top of those before it, and is a step by itself.
//! * Nothing below [`Terms::least`] is begun or published, and nothing at or above it waits for that.
//! * A trial is cancelled when its answer can no longer matter. A trial that most probably does not matter (it
//!   extends a red list) continues until its slot is wanted.
//! * The order is priority, then age; an entry that is overtaken rises, so that none starves. An entry with which
//!   the checks could not be run goes behind those waiting at that time.
//!
//! # What it costs
//!
//! Measured in a simulation (mean of 200 seeds): 50 entries, all present at the start, with checks that take 60 s;
//! minutes until each is decided / runs of the checks, including confirmations and cancelled runs. One after
//! another it is 50 / 50, and with confirmations one more for each bad entry. The planner is not told the failure
//! rate; it estimates it on the way. With one slot and 40 % bad there is nothing to gain.
//!
//! | bad  | c = 1     | c = 2     | c = 4      | c = 8      |
//! |------|-----------|-----------|------------|------------|
//! | 0 %  | 3.0 / 3   | 2.0 / 5   | 2.0 / 8    | 2.0 / 11   |
//! | 5 %  | 17.3 / 17 | 10.6 / 24 | 7.3 / 36   | 5.8 / 53   |
//! | 10 % | 29.6 / 30 | 18.4 / 41 | 12.4 / 62  | 9.3 / 94   |
//! | 20 % | 47.9 / 48 | 29.1 / 64 | 19.3 / 95  | 14.2 / 154 |
//! | 40 % | 76.2 / 76 | 43.9 / 97 | 28.1 / 142 | 21.0 / 228 |
//!
//! With 5 % bad and c = 4: 8.1 / 40 if 3 % of all runs flake, 6.3 / 30 if there are ten conflicts among the
//! entries. Checks that take 45 to 75 s add up to a sixth with more than one slot (a fifth with c = 2 and 0 %
//! bad). `tests/planner/cost.rs` prints these numbers.
//!
//! # What it leaves to its caller
//!
//! The caller numbers nothing: [`TrialId`]s are the planner's. It builds a list as a chain of commits, one for
//! each entry, the same each time; runs the checks; judges what is green; and moves the primary branch by
//! compare-and-swap. It tells the planner of every entry that comes or goes, and where the primary branch is:
//! preferably with each build, for a trial on an old base is lost.
//!
//! The base is taken for green. If somebody else breaks the primary branch, entries fail on it that are not to
//! blame: [`Order::Fail`] says when an entry was put on the base alone, and whoever carries it out has the base
//! checked first.

mod answers;
mod choose;
#[cfg(test)]
mod effort;
mod order;
mod rate;
mod unrunnable;
mod urgent;
mod words;

pub use rate::FailureRate;
pub use words::{Alarm, Order, PlanEvent, Purpose, Step};

use crate::ids::{EntryId, Sha};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

/// How many green trees are remembered. Older ones are forgotten: they would have to be built again to matter.
const TREES_MAX: usize = 64;

/// One building and testing of one list of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrialId(pub u64);

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A commit's content, without its history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeId(pub Sha);

/// One entry as it would land: the commit made by putting it on top of those before it in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub commit: Sha,
    pub tree: TreeId,
}

/// Higher goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priority(pub u8);

impl Priority {
    /// Its issue has the label.
    pub const LABELLED: Priority = Priority(1);
    /// Asked for by a person, just now.
    pub const URGENT: Priority = Priority(2);

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self.0 {
            0 => "normal",
            1 => "priority",
            _ => "urgent",
        }
    }
}

/// How the checks ended, as far as the planner cares: a timeout is red.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialResult {
    Green,
    Red,
    /// The machinery failed, not the change.
    Infra,
}

/// What the project allows. It may change from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How many trials run at once.
    pub slots: usize,
    /// How long an entry may wait before somebody is told.
    pub alarm_after: Duration,
    /// Nothing is started and nothing is published. Trials under way are finished.
    pub paused: bool,
    /// Every step of the primary branch was checked; else only the last of each publication.
    pub strict: bool,
    /// And every step is one entry.
    pub each: bool,
    /// Entries below this are not tried and do not land. Trials that contain them run to their end, and their
    /// results count then.
    pub least: Priority,
}

impl Terms {
    fn admits(&self, waiting: &Waiting) -> bool {
        self.least <= waiting.priority
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "place", rename_all = "snake_case")]
enum Place {
    Queued,
    /// It conflicts with one of these; when none of them is in play any more, it is tried again.
    Behind {
        entries: Vec<EntryId>,
    },
    /// Red once on top of something green.
    /// `infra`: its checks could not be run.
    Suspect {
        red: TrialId,
        #[serde(default)]
        infra: bool,
    },
    /// With it nothing could be run. It is tried again at `until`. `red`: it was a suspect before, and will be
    /// again.
    Aside {
        until: Time,
        #[serde(default)]
        red: Option<TrialId>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Waiting {
    priority: Priority,
    at: Time,
    /// How many younger entries were taken up first.
    overtaken: u32,
    /// How often it had to wait for entries it conflicts with.
    deferrals: u32,
    place: Place,
    alarmed: bool,
    /// How often it was put aside, and whether others' checks could be run in the meantime.
    #[serde(default)]
    aside: u32,
    #[serde(default)]
    ran_without: bool,
    /// When it was taken back: since then it waits behind the others.
    #[serde(default)]
    back: Option<Time>,
    /// Never together with others.
    #[serde(default)]
    alone: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Trial {
    id: TrialId,
    purpose: Purpose,
    /// As ordered. The first `landed` entries are in the base by now.
    list: Vec<EntryId>,
    landed: usize,
    /// What the list was put on, as ordered.
    base: Sha,
    /// The base has moved on without this list. Only a confirmation outlives that.
    detached: bool,
    /// Built, and being tested.
    chain: Option<Vec<Link>>,
    /// Entries whose trees prove nothing by themselves.
    #[serde(default)]
    unproven: Vec<EntryId>,
}

impl Trial {
    /// The list on top of the base as it is now.
    fn rest(&self) -> &[EntryId] {
        &self.list[self.landed..]
    }

    fn lands(&self) -> bool {
        self.purpose == Purpose::Land
    }

    /// What the rest of the chain was put on.
    fn on(&self, chain: &[Link]) -> Sha {
        let below = self.landed.checked_sub(1).and_then(|at| chain.get(at));
        below.map_or(&self.base, |link| &link.commit).clone()
    }
}

/// A verdict on a list, on top of the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    list: Vec<EntryId>,
    result: Finding,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
enum Finding {
    /// `on`: what the chain was put on. Unknown for a finding that an older program kept.
    Green {
        chain: Vec<Link>,
        tested: Sha,
        #[serde(default)]
        on: Option<Sha>,
    },
    /// `infra`: the checks could not be run. The reason may be somewhere in the list.
    Red {
        trial: TrialId,
        #[serde(default)]
        infra: bool,
    },
}

impl Finding {
    fn is_green(&self) -> bool {
        matches!(self, Finding::Green { .. })
    }

    /// The checks ran, and failed.
    fn is_really_red(&self) -> bool {
        matches!(self, Finding::Red { infra: false, .. })
    }
}

/// A list on its way to the primary branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Ordered {
    list: Vec<EntryId>,
    /// The last link.
    #[serde(alias = "new")]
    tip: Sha,
}

/// A trial, as shown to people.
#[derive(Clone, Copy, Debug)]
pub struct TrialView<'a> {
    pub id: TrialId,
    pub purpose: Purpose,
    /// On top of the primary branch as it is now.
    pub list: &'a [EntryId],
    /// The commit to be checked, once it is built.
    pub built: Option<&'a Link>,
}

/// How far an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    Waiting,
    /// In the line, between two trials.
    InLine,
    Building(TrialId),
    Testing(TrialId),
    /// It conflicts with one of these, and waits for them.
    Behind(Vec<EntryId>),
    /// Red once; it will be tried once more.
    Suspect,
    /// With it the checks could not be run; it is tried again at that time.
    Aside(Time),
    Landing,
}

/// A project's merge queue, as planned. All of it has to be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    base: Option<Sha>,
    entries: BTreeMap<EntryId, Waiting>,
    /// The entries that are in a trial or have a verdict, in the order in which they would land.
    line: Vec<EntryId>,
    publishing: Option<Ordered>,
    trials: Vec<Trial>,
    known: Vec<Known>,
    /// Green trees, each with the commit that was tested.
    trees: VecDeque<(TreeId, Sha)>,
    rate: FailureRate,
    last_trial: u64,
    /// How many pauses in a row there were because nothing could be run.
    infra: u32,
    hold_until: Option<Time>,
}

impl Plan {
    /// Takes in what happened, and returns what is to be done now.
    pub fn step(&mut self, now: Time, terms: &Terms, input: &PlanEvent) -> Vec<Order> {
        let mut orders = Vec::new();
        self.take_in(now, terms, input, &mut orders);
        self.keep_the_line(terms);
        if !terms.paused {
            self.publish(terms, &mut orders);
        }
        loop {
            self.shorten_the_line();
            self.release_the_deferred(terms);
            if !self.suspect_the_first_red(terms) {
                break;
            }
        }
        if !terms.paused {
            self.put_the_urgent_first(terms);
            self.start_trials(now, terms, &mut orders);
        }
        self.alarm(now, terms, &mut orders);
        orders
    }

    /// When the plan wants a [`PlanEvent::Tick`] even if nothing happens.
    pub fn wake_at(&self, terms: &Terms) -> Option<Time> {
        let alarms = self.entries.values().filter(|e| !e.alarmed).map(|e| e.at + terms.alarm_after);
        alarms.chain(self.hold_until).chain(self.aside_until()).min()
    }

    /// Whether the entry is being published: from then on only git knows.
    pub fn is_landing(&self, entry: EntryId) -> bool {
        self.publishing.as_ref().is_some_and(|p| p.list.contains(&entry))
    }

    /// Where the primary branch is, as far as it is known.
    pub fn base(&self) -> Option<&Sha> {
        self.base.as_ref()
    }

    /// What is being tried.
    pub fn trials(&self) -> impl Iterator<Item = TrialView<'_>> {
        self.trials.iter().map(|t| TrialView {
            id: t.id,
            purpose: t.purpose,
            list: t.rest(),
            built: t.chain.as_ref().and_then(|chain| chain.last()),
        })
    }

    /// What an entry waits for; `None` if it is not in the queue.
    pub fn standing(&self, entry: EntryId) -> Option<Progress> {
        let place = &self.entries.get(&entry)?.place;
        if self.is_landing(entry) {
            return Some(Progress::Landing);
        }
        // Of several trials, the one that was built says most.
        let trial =
            self.trials.iter().filter(|t| t.rest().contains(&entry)).max_by_key(|t| t.chain.is_some());
        Some(match (trial, place) {
            (Some(trial), _) if trial.chain.is_some() => Progress::Testing(trial.id),
            (Some(trial), _) => Progress::Building(trial.id),
            (None, Place::Behind { entries }) => Progress::Behind(entries.clone()),
            (None, Place::Suspect { .. }) => Progress::Suspect,
            (None, Place::Aside { until, .. }) => Progress::Aside(*until),
            (None, Place::Queued) if self.line.contains(&entry) => Progress::InLine,
            (None, Place::Queued) => Progress::Waiting,
        })
    }

    /// Until when nothing is tried, because the checks could not be run.
    pub fn held_until(&self) -> Option<Time> {
        self.hold_until
    }

    pub fn rate(&self) -> &FailureRate {
        &self.rate
    }

    /// What is being published; empty if nothing is.
    fn landing(&self) -> &[EntryId] {
        self.publishing.as_ref().map_or(&[], |p| &p.list)
    }

    fn alarm(&mut self, now: Time, terms: &Terms, orders: &mut Vec<Order>) {
        for (entry, waiting) in &mut self.entries {
            if !waiting.alarmed && waiting.at + terms.alarm_after <= now {
                waiting.alarmed = true;
                orders.push(Order::Alarm(Alarm::Waiting { entry: *entry, since: waiting.at }));
            }
        }
    }
}
