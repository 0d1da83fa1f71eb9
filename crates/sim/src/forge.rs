//! The forge as a model: issues, pull requests, reviews, comments, and a log of changes that is read with a
//! cursor. Changes show only after a lag. For half the seeds the forge is elsewhere: it hints at changes,
//! some hints are lost, and every so often it is read anyway.

use crate::rng::Rng;
use crate::world::World;
use shopfloor_core::effect::{StatusState, Verdict};
use shopfloor_core::forge::Subject;
use shopfloor_core::ids::{IssueNumber, PrNumber, RunId, Sha};
use shopfloor_core::time::Time;
use shopfloor_store::forge::DEFAULT_LABELS;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The authors of the factory's pull requests, comments and reviews.
pub const DEV: &str = "dev";
pub const FACTORY: &str = "factory";
pub const REVIEWER: &str = "reviewer";
/// What the accounts of agents begin with that act by command.
pub const AGENTS: &str = "agent-";

#[derive(Clone, Debug, Default)]
pub struct Issue {
    pub title: String,
    pub body: String,
    pub author: String,
    pub labels: BTreeSet<String>,
    pub open: bool,
    pub deps: Vec<IssueNumber>,
    /// Branches that its change has to land after.
    pub after: Vec<String>,
    pub created_at: Time,
    /// The revision of the text.
    pub revision: u64,
    /// Grows with each change.
    pub version: u64,
    /// In order.
    pub comments: Vec<Said>,
    /// The factory made it itself.
    pub marker: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Pr {
    pub title: String,
    pub body: String,
    pub author: String,
    /// `None` for a person's own.
    pub issue: Option<IssueNumber>,
    pub branch: String,
    pub head: Sha,
    pub open: bool,
    pub merged: Option<Sha>,
    /// In order.
    pub comments: Vec<Said>,
    pub created_at: Time,
}

/// A comment. Its id is its position.
#[derive(Clone, Debug)]
pub struct Said {
    /// Only on the factory's own.
    pub marker: Option<String>,
    pub author: String,
    pub text: String,
    pub at: Time,
}

#[derive(Clone, Debug)]
pub struct Review {
    pub pr: PrNumber,
    pub head: Sha,
    pub verdict: Verdict,
    pub marker: String,
    pub author: String,
    pub text: String,
    pub dismissed: bool,
    pub at: Time,
}

#[derive(Clone, Copy, Debug)]
pub enum Changed {
    Issue(IssueNumber),
    Pr(PrNumber),
    Review(usize),
    Comment(Subject, u64),
}

#[derive(Clone, Debug)]
pub struct ForgeModel {
    pub labels: BTreeSet<String>,
    pub issues: BTreeMap<IssueNumber, Issue>,
    pub prs: BTreeMap<PrNumber, Pr>,
    pub reviews: Vec<Review>,
    pub statuses: BTreeMap<Sha, (StatusState, String, RunId, Time)>,
    /// Issues as they were before they last changed: what a lagging replica shows.
    pub before: BTreeMap<IssueNumber, Issue>,
    /// What changed, and when that becomes visible. The cursor is a position in here.
    pub log: Vec<(Time, Changed)>,
    /// It is not part of the floor.
    pub elsewhere: bool,
    /// When its hints arrive.
    pub hints: Vec<Time>,
    /// The subject about which calls fail, and until when.
    pub sulks: Option<(Subject, Time)>,
    /// A source of its own, so that what the forge does by itself does not change the rest of the run.
    pub manners: Rng,
}

impl ForgeModel {
    pub fn new(seed: u64) -> Self {
        let mut manners = Rng::new(seed ^ 0xf0_7e);
        ForgeModel {
            labels: DEFAULT_LABELS.map(str::to_owned).into(),
            issues: BTreeMap::new(),
            prs: BTreeMap::new(),
            reviews: Vec::new(),
            statuses: BTreeMap::new(),
            before: BTreeMap::new(),
            log: Vec::new(),
            elsewhere: manners.permille(500),
            hints: Vec::new(),
            sulks: None,
            manners,
        }
    }

    pub fn changed(&mut self, visible: Time, what: Changed) {
        // In order: what came later never becomes visible earlier.
        let visible = self.log.last().map_or(visible, |(t, _)| visible.max(*t));
        self.log.push((visible, what));
        if !self.manners.permille(250) {
            self.hints.push(visible);
        }
    }

    /// When the next position becomes visible after `now`.
    pub fn visible_after(&self, now: Time) -> Option<Time> {
        self.log.iter().rev().map(|(t, _)| *t).take_while(|t| *t > now).last()
    }

    pub fn comments(&self, on: Subject) -> Option<&Vec<Said>> {
        match on {
            Subject::Issue(issue) => self.issues.get(&issue).map(|issue| &issue.comments),
            Subject::Pr(pr) => self.prs.get(&pr).map(|pr| &pr.comments),
        }
    }

    fn comments_mut(&mut self, on: Subject) -> Option<&mut Vec<Said>> {
        match on {
            Subject::Issue(issue) => self.issues.get_mut(&issue).map(|issue| &mut issue.comments),
            Subject::Pr(pr) => self.prs.get_mut(&pr).map(|pr| &mut pr.comments),
        }
    }
}

impl World {
    /// Records a change; it can be read at once or a little later.
    pub fn forge_changed(&mut self, what: Changed) {
        let lag = if self.rng.permille(200) { self.rng.range(1, 8_000) } else { 0 };
        let visible = self.now + Duration::from_millis(lag);
        if let Changed::Issue(number) = what
            && let Some(issue) = self.forge.issues.get_mut(&number)
        {
            issue.version += 1;
        }
        self.forge.changed(visible, what);
    }

    pub fn make_issue(&mut self, issue: Issue) -> IssueNumber {
        let number = IssueNumber(self.forge.issues.len() as u64 + 1);
        self.forge.issues.insert(number, Issue { created_at: self.now, ..issue });
        self.forge_changed(Changed::Issue(number));
        number
    }

    pub fn make_pr(&mut self, pr: Pr) -> PrNumber {
        let number = PrNumber(1000 + self.forge.prs.len() as u64);
        self.forge.prs.insert(number, Pr { created_at: self.now, ..pr });
        self.forge_changed(Changed::Pr(number));
        number
    }

    /// Posts a comment there; returns its id. `None`: the subject does not exist.
    pub fn comment_on(&mut self, on: Subject, marker: Option<&str>, author: &str, text: &str) -> Option<u64> {
        let (marker, author, text) = (marker.map(str::to_owned), author.to_owned(), text.to_owned());
        let (at, is_news) = (self.now, marker.is_none());
        let comments = self.forge.comments_mut(on)?;
        comments.push(Said { marker, author, text, at });
        let id = comments.len() as u64;
        if let Subject::Issue(issue) = on {
            self.forge_changed(Changed::Issue(issue));
        }
        if is_news {
            self.forge_changed(Changed::Comment(on, id));
        }
        Some(id)
    }

    pub fn edit_comment(&mut self, on: Subject, id: u64, text: &str) {
        let comments = self.forge.comments_mut(on);
        let Some(said) = comments.and_then(|all| all.get_mut(id as usize - 1)) else { return };
        if said.text != text {
            text.clone_into(&mut said.text);
            self.forge_changed(Changed::Comment(on, id));
        }
    }

    /// Whoever approves takes back the changes they requested before.
    pub fn post_review(&mut self, review: Review) {
        let (pr, author, verdict) = (review.pr, review.author.clone(), review.verdict);
        self.forge.reviews.push(Review { at: self.now, ..review });
        let at = self.forge.reviews.len() - 1;
        self.forge_changed(Changed::Review(at));
        if verdict != Verdict::Approve {
            return;
        }
        for earlier in 0..at {
            let review = &mut self.forge.reviews[earlier];
            let asked = review.verdict == Verdict::RequestChanges && !review.dismissed;
            if review.pr == pr && review.author == author && asked {
                review.dismissed = true;
                self.forge_changed(Changed::Review(earlier));
            }
        }
    }
}
