//! Open pull requests and their reviews, kept beside the jobs: a pull request may exist before its job, and a
//! review may arrive before anybody waits for it, and outlives the job it arrived in.

use super::{Floor, Heard, Job, Session, SessionState};
use crate::effect::Verdict;
use crate::ids::{IssueNumber, PrNumber, ProjectName, Sha};
use crate::table::Record;
use serde::{Deserialize, Serialize};

/// How many reviews of a pull request are kept, and how many of those with their texts; the forge has them all.
const REVIEWS_MAX: usize = 40;
const TEXTS_MAX: usize = 4;
/// Each comparison takes a merge.
const HEADS_COMPARED_MAX: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenReview {
    pub id: u64,
    pub head: Sha,
    pub verdict: Verdict,
    /// Empty if it is only on the forge.
    pub text: String,
    pub author: String,
    /// It is from the factory's own reviewer, not from a person.
    #[serde(default)]
    pub agent: bool,
}

/// What was seen of a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    pub project: ProjectName,
    pub number: PrNumber,
    /// As the forge shows it. Empty until it has been shown: a review may be seen first.
    #[serde(default)]
    pub branch: String,
    /// Where its branch is, if that has been looked at.
    #[serde(default)]
    pub head: Option<Sha>,
    /// The issues it says it is for.
    #[serde(default)]
    pub fixes: Vec<IssueNumber>,
    /// In the order of their ids.
    #[serde(default)]
    pub reviews: Vec<SeenReview>,
    #[serde(default)]
    pub title: String,
    /// Whether the factory opened it, if that is known.
    #[serde(default)]
    pub ours: Option<bool>,
    /// A person asked for an agent's review, and it has not begun.
    #[serde(default)]
    pub review_asked: bool,
    /// The newest head that an agent began to review, for the person who made it.
    #[serde(default)]
    pub review_begun: Option<Sha>,
    /// What people said on it besides their reviews.
    #[serde(default)]
    pub heard: Heard,
}
record!(Pull, "pull", Mirror, (ProjectName, PrNumber), |p| (p.project.clone(), p.number), |k| format!(
    "{}/{}",
    k.0, k.1
));

impl Pull {
    pub fn new(project: ProjectName, number: PrNumber) -> Pull {
        Pull {
            project,
            number,
            branch: String::new(),
            head: None,
            fixes: Vec::new(),
            reviews: Vec::new(),
            title: String::new(),
            ours: None,
            review_asked: false,
            review_begun: None,
            heard: Heard::default(),
        }
    }

    /// Whether an agent has reviewed that very head.
    pub fn has_agents_review(&self, head: &Sha) -> bool {
        self.reviews.iter().any(|r| r.agent && r.head == *head)
    }

    /// Takes in a review; false if it is already known.
    pub fn see(&mut self, review: SeenReview) -> bool {
        let Err(at) = self.reviews.binary_search_by_key(&review.id, |r| r.id) else { return false };
        self.reviews.insert(at, review);
        if self.reviews.len() > REVIEWS_MAX {
            // A person's review counts for longer.
            let oldest = self.reviews.iter().position(|r| r.agent).unwrap_or(0);
            self.reviews.remove(oldest);
        }
        let kept = self.reviews.len().saturating_sub(TEXTS_MAX);
        for old in &mut self.reviews[..kept] {
            old.text.clear();
        }
        true
    }

    /// The newest request for changes by a person who has not withdrawn it.
    pub fn objection(&self) -> Option<&SeenReview> {
        self.words_of_people().rfind(|r| r.verdict == Verdict::RequestChanges)
    }

    /// What each person who has decided said last.
    fn words_of_people(&self) -> impl DoubleEndedIterator<Item = &SeenReview> {
        let decided = |r: &&SeenReview| !r.agent && r.verdict != Verdict::Discuss;
        self.reviews.iter().filter(decided).filter(move |r| {
            !self.reviews.iter().filter(decided).any(|other| other.author == r.author && other.id > r.id)
        })
    }
}

/// What the reviews say of one head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewStanding {
    /// Nobody has reviewed this change.
    NotReviewed,
    Approved(SeenReview),
    /// The reviewer approves, but a person's request for changes stands.
    Objected {
        approval: SeenReview,
        objection: SeenReview,
    },
    Refused(SeenReview),
}

/// Whether a change needs a person's approval, whoever else has approved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonsWord {
    /// It changes nothing that is protected.
    NotNeeded,
    /// A person approves this very change.
    Given,
    /// It changes these files, and no person approves it.
    Needed(Vec<String>),
    /// What it changes was not looked at, or not by the patterns that count now.
    Unknown,
}

impl Floor {
    /// Whether a person has to approve this head, and has. An agent's approval is not asked about.
    pub fn persons_word(&self, job: &Job, head: &Sha) -> PersonsWord {
        let policy = self.policy(&job.project);
        if policy.protected.is_empty() {
            return PersonsWord::NotNeeded;
        }
        let of_it = |r: &&SeenReview| job.known.is_same_change(&r.head, head, policy.lands_each_commit());
        let known = job.known.protected.as_ref().filter(|p| p.head == *head && p.by == policy.protected);
        let mut people = self.pull_of(job).into_iter().flat_map(Pull::words_of_people).filter(of_it);
        match known {
            Some(known) if known.files.is_empty() => PersonsWord::NotNeeded,
            _ if people.any(|r| r.verdict == Verdict::Approve) => PersonsWord::Given,
            Some(known) => PersonsWord::Needed(known.files.clone()),
            None => PersonsWord::Unknown,
        }
    }

    /// The session that reviewed, or reviews, a pull request that no job carries, if it has not ended.
    pub fn review_left(&self, project: &ProjectName, pr: PrNumber) -> Option<&Session> {
        let here = |s: &&Session| s.project == *project && s.assignment.number() == Some(IssueNumber(pr.0));
        self.sessions.iter().filter(here).find(|s| s.state != SessionState::Ended)
    }

    pub fn pull_of(&self, job: &Job) -> Option<&Pull> {
        self.pulls.get(&(job.project.clone(), job.pr?))
    }

    /// A job's heads that a new head may be just another form of: those that were reviewed or are being reviewed.
    pub fn heads_to_compare(&self, job: &Job) -> Vec<Sha> {
        let reviews = self.pull_of(job).into_iter().flat_map(|pull| pull.reviews.iter().rev());
        let mut heads: Vec<Sha> = Vec::new();
        for head in job.head.iter().chain(job.reviewer.head.iter()).chain(reviews.map(|r| &r.head)) {
            if !heads.contains(head) && heads.len() < HEADS_COMPARED_MAX {
                heads.push(head.clone());
            }
        }
        heads
    }

    /// The newest review of this very change counts, whoever wrote it and whatever commit carried the change then;
    /// only a person lifts a person's objection.
    pub fn review_standing(&self, job: &Job, head: &Sha) -> ReviewStanding {
        let Some(pull) = self.pull_of(job) else { return ReviewStanding::NotReviewed };
        let each_commit = self.policy(&job.project).lands_each_commit();
        let of_it = |r: &&SeenReview| job.known.is_same_change(&r.head, head, each_commit);
        let Some(review) = pull.reviews.iter().rfind(of_it).cloned() else {
            return ReviewStanding::NotReviewed;
        };
        match (review.verdict, pull.objection()) {
            (Verdict::RequestChanges | Verdict::Discuss, _) => ReviewStanding::Refused(review),
            (Verdict::Approve, Some(objection)) if review.agent || review.id < objection.id => {
                ReviewStanding::Objected { objection: objection.clone(), approval: review }
            }
            (Verdict::Approve, _) => ReviewStanding::Approved(review),
        }
    }
}
