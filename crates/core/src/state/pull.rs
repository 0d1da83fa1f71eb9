//! Open pull requests and their reviews, kept beside the jobs: one may be there before its job, and a
//! review may come before anybody waits for it, and outlives the job it came in.

use super::{Floor, Job, Session, SessionState};
use crate::effect::Verdict;
use crate::ids::{IssueNumber, PrNumber, ProjectName, Sha};
use crate::table::Record;
use serde::{Deserialize, Serialize};

/// Reviews kept of one pull request, and how many of them with their texts; the forge has all.
const REVIEWS_MAX: usize = 40;
const TEXTS_MAX: usize = 4;
/// Each takes a merge to compare with.
const HEADS_COMPARED_MAX: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenReview {
    pub id: u64,
    pub head: Sha,
    pub verdict: Verdict,
    /// Empty if it is only on the forge.
    pub text: String,
    pub author: String,
    /// It is of the factory's own reviewer, not of a person.
    #[serde(default)]
    pub agent: bool,
}

/// What was seen of a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    pub project: ProjectName,
    pub number: PrNumber,
    /// As the forge shows it. Empty until it was shown: a review may be seen first.
    #[serde(default)]
    pub branch: String,
    /// Where its branch is, as far as that was looked at.
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
    /// Whether the factory opened it, if that was seen.
    #[serde(default)]
    pub ours: Option<bool>,
    /// A person asked for an agent's review, which has not begun.
    #[serde(default)]
    pub review_asked: bool,
    /// The newest head that an agent's review was begun of, for whoever made it.
    #[serde(default)]
    pub review_begun: Option<Sha>,
}
record!(Pull, "pull", (ProjectName, PrNumber), |p| (p.project.clone(), p.number), |k| format!(
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
        }
    }

    /// Whether an agent has reviewed that very head.
    pub fn has_agents_review(&self, head: &Sha) -> bool {
        self.reviews.iter().any(|r| r.agent && r.head == *head)
    }

    /// Takes a review in; false if it is known.
    pub fn see(&mut self, review: SeenReview) -> bool {
        let Err(at) = self.reviews.binary_search_by_key(&review.id, |r| r.id) else { return false };
        self.reviews.insert(at, review);
        if self.reviews.len() > REVIEWS_MAX {
            // What a person said counts for longer.
            let oldest = self.reviews.iter().position(|r| r.agent).unwrap_or(0);
            self.reviews.remove(oldest);
        }
        let kept = self.reviews.len().saturating_sub(TEXTS_MAX);
        for old in &mut self.reviews[..kept] {
            old.text.clear();
        }
        true
    }

    /// A person's request for changes that the same person has not taken back: the newest such.
    pub fn objection(&self) -> Option<&SeenReview> {
        let decided = |r: &&SeenReview| !r.agent && r.verdict != Verdict::Discuss;
        let newest_of_its_author = |r: &&SeenReview| {
            !self.reviews.iter().filter(decided).any(|other| other.author == r.author && other.id > r.id)
        };
        let mut people = self.reviews.iter().filter(decided).filter(newest_of_its_author);
        people.rfind(|r| r.verdict == Verdict::RequestChanges)
    }
}

/// What the reviews say of one head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has said anything of this change.
    NotReviewed,
    Approved(SeenReview),
    /// The reviewer approves, but a person's request for changes stands.
    Objected {
        approval: SeenReview,
        objection: SeenReview,
    },
    Refused(SeenReview),
}

impl Floor {
    /// The row of a pull request, made if there is none.
    pub fn pull(&mut self, project: &ProjectName, number: PrNumber) -> &mut Pull {
        let key = (project.clone(), number);
        if self.pulls.get(&key).is_none() {
            self.pulls.put(Pull::new(project.clone(), number));
        }
        self.pulls.edit(&key).expect("just put")
    }

    /// What is left of a session that reviewed a pull request which no job carries, or does.
    pub fn review_left(&self, project: &ProjectName, pr: PrNumber) -> Option<&Session> {
        let here = |s: &&Session| s.project == *project && s.issue.0 == pr.0;
        self.sessions.iter().filter(here).find(|s| s.state != SessionState::Ended)
    }

    pub fn pull_of(&self, job: &Job) -> Option<&Pull> {
        self.pulls.get(&(job.project.clone(), job.pr?))
    }

    /// The heads of a job of which a new one may be just another form: those that were reviewed, or are being.
    pub fn heads_to_compare(&self, job: &Job) -> Vec<Sha> {
        let reviews = self.pull_of(job).into_iter().flat_map(|pull| pull.reviews.iter().rev());
        let mut heads: Vec<Sha> = Vec::new();
        for head in job.head.iter().chain(job.review_head.iter()).chain(reviews.map(|r| &r.head)) {
            if !heads.contains(head) && heads.len() < HEADS_COMPARED_MAX {
                heads.push(head.clone());
            }
        }
        heads
    }

    /// The newest review of the very change counts, whoever wrote it and whatever commit carried it
    /// then; only a person lifts a person's objection.
    pub fn review_standing(&self, job: &Job, head: &Sha) -> Standing {
        let Some(pull) = self.pull_of(job) else { return Standing::NotReviewed };
        let each_commit = self.policy(&job.project).lands_each_commit();
        let of_it = |r: &&SeenReview| job.is_same_change(&r.head, head, each_commit);
        let Some(review) = pull.reviews.iter().rfind(of_it).cloned() else {
            return Standing::NotReviewed;
        };
        match (review.verdict, pull.objection()) {
            (Verdict::RequestChanges | Verdict::Discuss, _) => Standing::Refused(review),
            (Verdict::Approve, Some(objection)) if review.agent || review.id < objection.id => {
                Standing::Objected { objection: objection.clone(), approval: review }
            }
            (Verdict::Approve, _) => Standing::Approved(review),
        }
    }
}
