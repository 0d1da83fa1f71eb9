//! Pull requests as the forge shows them.

use super::Mirror;
use crate::effect::Action;
use crate::event::Observation;
use crate::ids::{PrNumber, ProjectName, Sha};
use crate::state::{Floor, Pull, SeenReview};
use crate::step::Turn;

impl Floor {
    /// The row of a pull request, made if there is none.
    fn pull_mut(&mut self, project: &ProjectName, number: PrNumber) -> &mut Pull {
        let key = (project.clone(), number);
        if self.pulls.get(&key).is_none() {
            self.pulls.put(Mirror(()), Pull::new(project.clone(), number));
        }
        self.pulls.edit(Mirror(()), &key).expect("just put")
    }
}

impl Turn<'_> {
    pub(in crate::step) fn pull_seen(
        &mut self,
        project: &ProjectName,
        pr: PrNumber,
        observation: &Observation,
    ) {
        let Observation::Pr { branch, head, fixes, title, ours, .. } = observation else { return };
        let pull = self.floor.pull_mut(project, pr);
        branch.clone_into(&mut pull.branch);
        head.clone_into(&mut pull.head);
        fixes.clone_into(&mut pull.fixes);
        title.clone_into(&mut pull.title);
        pull.ours = Some(*ours);
        self.pull_of_queued(project, pr, branch);
        self.review_follows(project, pr);
    }

    /// A pull request that no job carries follows its branch. If the branch is gone, the last known head stays.
    pub(in crate::step) fn pull_follows(&mut self, project: &ProjectName, branch: &str, head: Option<&Sha>) {
        let elsewhere = |p: &&Pull| {
            p.project == *project && p.branch == branch && p.head.is_some() && p.head.as_ref() != head
        };
        let Some(pr) = self.floor.pulls.iter().find(elsewhere).map(|p| p.number) else { return };
        // A deleted branch may come back.
        if let Some(head) = head {
            self.floor.pull_mut(project, pr).head = Some(head.clone());
            self.act(Action::MovePr { project: project.clone(), pr, head: head.clone() });
            self.review_follows(project, pr);
        }
    }

    /// Records where a person says its branch is. A pull request not yet seen is waited for: it may already be
    /// gone.
    pub(in crate::step) fn pull_is_at(
        &mut self,
        project: &ProjectName,
        pr: PrNumber,
        branch: &str,
        head: &Sha,
    ) {
        if let Some(pull) = self.floor.pulls.edit(Mirror(()), &(project.clone(), pr)) {
            branch.clone_into(&mut pull.branch);
            pull.head = Some(head.clone());
        }
    }

    /// Whether a person has asked for an agent's review.
    pub(in crate::step) fn set_review_asked(&mut self, project: &ProjectName, pr: PrNumber, asked: bool) {
        self.floor.pull_mut(project, pr).review_asked = asked;
    }

    pub(in crate::step) fn set_review_begun(&mut self, project: &ProjectName, pr: PrNumber, head: &Sha) {
        self.floor.pull_mut(project, pr).review_begun = Some(head.clone());
    }

    /// Keeps a review. Returns whether it is news.
    pub(in crate::step) fn keep_review(
        &mut self,
        project: &ProjectName,
        pr: PrNumber,
        review: SeenReview,
    ) -> bool {
        self.floor.pull_mut(project, pr).see(review)
    }

    pub(in crate::step) fn pull_gone(&mut self, project: &ProjectName, pr: PrNumber) {
        self.floor.pulls.remove(Mirror(()), &(project.clone(), pr));
    }
}
