//! The forge as a model: issues, pull requests, reviews, comments, and a log of changes that is
//! read with a cursor. What changed shows only after a lag.

use shopfloor_core::effect::Verdict;
use shopfloor_core::ids::{IssueNumber, PrNumber, Sha};
use shopfloor_core::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Who the factory's reviews are from.
pub const REVIEWER: &str = "reviewer";

#[derive(Clone, Debug)]
pub struct Issue {
    pub title: String,
    pub labels: BTreeSet<String>,
    pub open: bool,
    pub deps: Vec<IssueNumber>,
    /// Branches that its change lands after.
    pub after: Vec<String>,
    pub created_at: Time,
    /// Of the text.
    pub revision: u64,
    /// Grows with each change.
    pub version: u64,
    /// Marker of each comment, in order.
    pub comments: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Pr {
    /// A person's is for none.
    pub issue: Option<IssueNumber>,
    pub branch: String,
    pub head: Sha,
    pub open: bool,
    /// Marker of each comment, in order.
    pub comments: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Review {
    pub pr: PrNumber,
    pub head: Sha,
    pub verdict: Verdict,
    pub marker: String,
    pub author: String,
}

#[derive(Clone, Copy, Debug)]
pub enum Changed {
    Issue(IssueNumber),
    Pr(PrNumber),
    Review(usize),
}

#[derive(Clone, Debug, Default)]
pub struct ForgeModel {
    pub issues: BTreeMap<IssueNumber, Issue>,
    pub prs: BTreeMap<PrNumber, Pr>,
    pub reviews: Vec<Review>,
    /// Issues as they were before they last changed: what a lagging replica shows.
    pub before: BTreeMap<IssueNumber, Issue>,
    /// What changed, and when that can be seen. The cursor is a position here.
    pub log: Vec<(Time, Changed)>,
}

impl ForgeModel {
    pub fn changed(&mut self, visible: Time, what: Changed) {
        // In order: what came later is never seen earlier.
        let visible = self.log.last().map_or(visible, |(t, _)| visible.max(*t));
        self.log.push((visible, what));
    }

    /// The next position that becomes visible after `now`.
    pub fn visible_after(&self, now: Time) -> Option<Time> {
        self.log.iter().rev().map(|(t, _)| *t).take_while(|t| *t > now).last()
    }
}
