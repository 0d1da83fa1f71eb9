//! What agents say about people's pull requests is advice: it is said once for each head, and nothing is done
//! to the branch, or to any issue.

use super::Checker;
use crate::forge::REVIEWER;
use crate::world::World;
use shopfloor_core::effect::Action;
use shopfloor_core::ids::{PrNumber, ProjectName, Role, Sha};
use shopfloor_core::policy::ReviewPeople;
use shopfloor_core::state::{End, Floor, JobState, Pull};
use shopfloor_store::OutboxEffect;
use std::collections::BTreeMap;

/// What the branches of runs begin with.
const RUNS: &str = "run/";
const OWNER: &str = "3 one owner";
const ONCE: &str = "4 effects are idempotent";
const WAITS: &str = "7 every wait has a deadline";

impl Checker {
    pub(super) fn reviews_of_pulls_are_only_that(
        &self,
        world: &mut World,
        floor: &Floor,
        outbox: &[OutboxEffect],
    ) {
        let mut broken = Vec::new();
        for job in floor.jobs.iter().filter(|j| j.is_review()) {
            let id = job.id;
            let mine = |s: &&shopfloor_core::state::Session| s.job == id && !s.role.reviews();
            if floor.sessions.iter().any(|s| mine(&s)) || job.worktree.is_some() || job.merged.is_some() {
                broken.push((OWNER, format!("job {id} only reviews, and is more than that")));
            }
            if floor.entries.iter().any(|e| e.job == Some(id)) {
                broken.push((OWNER, format!("job {id} only reviews, and is in the queue")));
            }
            let state = matches!(
                job.state,
                JobState::Reviewing { .. }
                    | JobState::Finishing { end: End::Reviewed | End::Failed | End::Cancelled, .. }
                    | JobState::Ended { end: End::Reviewed | End::Failed | End::Cancelled, .. }
            );
            if !state {
                broken.push((OWNER, format!("job {id} only reviews, and is {}", job.state.name())));
            }
            let other = |j: &shopfloor_core::state::Job| j.id < id && j.is_review() && j.pr == job.pr;
            if job.is_live() && floor.jobs.iter().any(|j| j.is_live() && other(j)) {
                broken.push((OWNER, format!("pull request {:?} is reviewed twice at once", job.pr)));
            }
            let carried = floor.live_jobs(&job.project).any(|j| j.branch == job.branch);
            if carried && matches!(job.state, JobState::Reviewing { .. }) {
                broken.push((OWNER, format!("{} is carried by a job, and reviewed beside it", job.branch)));
            }
        }
        for queued in outbox {
            let (Action::Comment { issue, .. }
            | Action::EditLabels { issue, .. }
            | Action::CloseIssue { issue, .. }) = &*queued.action
            else {
                continue;
            };
            if world.forge.prs.contains_key(&PrNumber(issue.0)) {
                broken.push((OWNER, format!("{} is for #{issue}, which is no issue", queued.action.name())));
            }
        }
        let mut said: BTreeMap<(PrNumber, &Sha), u32> = BTreeMap::new();
        for review in world.forge.reviews.iter().filter(|r| r.author == REVIEWER) {
            *said.entry((review.pr, &review.head)).or_default() += 1;
        }
        // For no issue, and not a run's: a person's.
        let own = |pr: &PrNumber| {
            let pull = world.forge.prs.get(pr);
            pull.is_some_and(|pr| pr.issue.is_none() && !pr.branch.starts_with(RUNS))
        };
        for ((pr, head), times) in said.iter().filter(|((pr, _), _)| own(pr)) {
            let asked = world.reviews_asked.get(pr).copied().unwrap_or(0);
            let always = u32::from(world.policy.review_people == ReviewPeople::Always);
            if *times > asked + always {
                broken.push((ONCE, format!("pull request {pr} has {times} reviews of {}", head.short())));
            }
            if world.policy.review_people == ReviewPeople::Never {
                broken.push((ONCE, format!("pull request {pr} is reviewed, and nobody wanted that")));
            }
        }
        for (invariant, text) in broken {
            world.broken(invariant, text);
        }
    }

    /// At the end, everybody who is to have a review has one, or was told that there is none. `room`: the
    /// floor takes another job.
    pub(super) fn pulls_are_looked_at(
        &self,
        world: &mut World,
        floor: &Floor,
        project: &ProjectName,
        room: bool,
    ) {
        let policy = &world.policy;
        // It is reported elsewhere that agents cannot work.
        let idle = floor.outage(project, Role::REVIEW).is_some()
            || floor.projects.get(project).is_none_or(|p| p.pause.is_some());
        if !policy.review_agent || idle || !room {
            return;
        }
        let always = policy.review_people == ReviewPeople::Always;
        let carried = |p: &Pull| floor.job_on(project, &p.branch).is_some();
        let queued = |p: &Pull| floor.queued_by_person(project, &p.branch).is_some();
        let passed_over = |p: &&Pull| {
            always && p.ours == Some(false) && p.review_begun != p.head && !carried(p) && !queued(p)
        };
        // If a reviewer could not be ended, which was reported, no other replaces it.
        let free = |p: &&Pull| floor.review_left(project, p.number).is_none();
        let forgotten = floor.pulls.iter().filter(free).find(|p| {
            // A pull request that was never seen may be gone.
            (p.review_asked && !p.branch.is_empty()) || passed_over(p)
        });
        if let Some(pull) = forgotten {
            world
                .broken(WAITS, format!("pull request {} waits for a review that nobody begins", pull.number));
        }
    }
}
