//! Agents' reviews of pull requests that no job carries: advice to whoever made them, by the rules of
//! `[review] people`. Each is a job of its own, without a developer, that ends when its review is posted.
//!
//! Invariants:
//! - Nobody's branch, issue or label is touched. What is posted is a review of one commit, and if there is none
//!   a comment that says why.
//! - Of one head one review is begun, unless a person asks again. A review under way follows the branch.
//! - A job that carries the branch has its own reviewer: then there is no other.

use super::Turn;
use crate::effect::{Action, Verdict};
use crate::event::NoteKind;
use crate::ids::{IssueNumber, JobId, PrNumber, ProjectName, Role, Sha};
use crate::policy::ReviewPeople;
use crate::state::{End, Floor, Job, JobKind, JobState, Pull};
use crate::text::one_line;
use std::fmt;

const TITLE_CHARS_MAX: usize = 200;

/// Why no agent reviews a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReviewed {
    /// The project does not want it.
    Never,
    NoReviewer,
    /// The job of that issue carries it, and has its own reviewer.
    Job(IssueNumber),
}

impl fmt::Display for NotReviewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotReviewed::Never => f.write_str("the project wants no agents' reviews of people's changes"),
            NotReviewed::NoReviewer => f.write_str("the project has no reviewing agent"),
            NotReviewed::Job(issue) => {
                write!(f, "the job of issue #{issue} carries it, and sees to its review")
            }
        }
    }
}

/// Whether a person may ask for an agent's review of a pull request of that branch.
pub fn may_ask_for_review(
    floor: &Floor,
    project: &ProjectName,
    pr: PrNumber,
    branch: &str,
) -> Result<(), NotReviewed> {
    let policy = floor.policy(project);
    if policy.review_people == ReviewPeople::Never {
        return Err(NotReviewed::Never);
    }
    if !policy.review_agent {
        return Err(NotReviewed::NoReviewer);
    }
    match floor.live_jobs(project).find(|job| job.pr == Some(pr) || job.branch == branch) {
        Some(job) => Err(NotReviewed::Job(job.issue)),
        None => Ok(()),
    }
}

impl Turn<'_> {
    pub(super) fn review_asked(&mut self, project: &ProjectName, pr: PrNumber, branch: &str, head: &Sha) {
        if self.floor.projects.get(project).is_none() {
            return;
        }
        if let Err(why) = may_ask_for_review(self.floor, project, pr, branch) {
            let text = format!("a person asked for a review of pull request #{pr}, but {why}");
            self.note(NoteKind::StaleSignal, project, None, text);
            return;
        }
        // One that was not seen yet is waited for: it may be gone already.
        if let Some(pull) = self.floor.pulls.edit(&(project.clone(), pr)) {
            branch.clone_into(&mut pull.branch);
            pull.head = Some(head.clone());
        }
        // One that is under way is what they ask for; one that ends is not.
        let reviewing = |job: &Job| matches!(job.state, JobState::Reviewing { .. });
        match self.review_under_way(project, pr).is_some_and(reviewing) {
            true => self.review_follows(project, pr),
            false => self.floor.pull(project, pr).review_asked = true,
        }
    }

    /// Begins reviews while there is room: as many at once as the project has jobs, and beside them.
    pub(super) fn begin_reviews(&mut self, project: &ProjectName) {
        let Some(row) = self.floor.projects.get(project) else { return };
        let policy = &row.policy;
        let (max, floor_max) = (policy.max_jobs.max(1), policy.floor_max_jobs);
        let held = row.paused.is_some() || row.pause.is_some() || row.reading;
        if held || !policy.review_agent || policy.review_people == ReviewPeople::Never {
            return;
        }
        let unstaffed = |floor: &Floor| {
            floor.staff.get(project).is_some_and(|s| s.looking || s.outage(Role::Review).is_some())
        };
        let room = |floor: &Floor| {
            let on_floor = || floor.jobs.iter().filter(|j| j.is_live()).count();
            floor.all_live_jobs(project).filter(|j| j.is_review()).count() < max
                && floor_max.is_none_or(|max| on_floor() < max.max(1))
        };
        while let Some(pr) = self.next_to_review(project) {
            if unstaffed(self.floor) || !room(self.floor) {
                return;
            }
            self.begin_review(project, pr);
        }
    }

    /// Who was asked for goes first, and of those alike the oldest.
    fn next_to_review(&self, project: &ProjectName) -> Option<PrNumber> {
        let always =
            self.floor.projects.get(project).is_some_and(|p| p.policy.review_people == ReviewPeople::Always);
        let mine = self.floor.pulls.iter().filter(|pull| pull.project == *project);
        let wanted = mine.filter(|pull| pull.review_asked || (always && self.is_due(pull)));
        let free = wanted.filter(|pull| self.is_free(pull));
        free.min_by_key(|pull| (!pull.review_asked, pull.number)).map(|pull| pull.number)
    }

    /// Whether it is a person's, at a head that no agent was ever asked about.
    fn is_due(&self, pull: &Pull) -> bool {
        let Some(head) = &pull.head else { return false };
        let had_job = |j: &Job| !j.is_review() && j.project == pull.project && j.pr == Some(pull.number);
        pull.ours == Some(false)
            && pull.review_begun.as_ref() != Some(head)
            && !pull.has_agents_review(head)
            // Somebody has decided already.
            && self.floor.queued_by_hand(&pull.project, &pull.branch).is_none()
            && !self.floor.jobs.iter().any(had_job)
    }

    /// Whether nobody else reviews it, and it is known what there is to review. A session that could not be ended still
    /// has the worktree.
    fn is_free(&self, pull: &Pull) -> bool {
        let seen = !pull.branch.is_empty() && pull.head.is_some();
        seen && self.floor.review_left(&pull.project, pull.number).is_none()
            && self.review_under_way(&pull.project, pull.number).is_none()
            && may_ask_for_review(self.floor, &pull.project, pull.number, &pull.branch).is_ok()
    }

    fn review_under_way(&self, project: &ProjectName, pr: PrNumber) -> Option<&Job> {
        self.floor.review_of(project, pr).filter(|job| job.is_live())
    }

    fn begin_review(&mut self, project: &ProjectName, pr: PrNumber) {
        let id = JobId(self.number(|c| &mut c.job));
        let within = self.policy(project).review_timeout;
        let pull = self.floor.pull(project, pr);
        let Some(head) = pull.head.clone() else { return };
        pull.review_asked = false;
        pull.review_begun = Some(head.clone());
        let (branch, title) = (pull.branch.clone(), one_line(&pull.title, TITLE_CHARS_MAX));
        let (number, state) = (IssueNumber(pr.0), JobState::Reviewing { head: head.clone() });
        let text = format!("job {id}: a review of pull request #{pr}, {branch} at {}", head.short());
        let new = Job::new(id, JobKind::Review, project.clone(), number, branch, state, self.now);
        self.floor.jobs.put(Job {
            title,
            pr: Some(pr),
            review_head: Some(head.clone()),
            head: Some(head),
            deadline: Some(self.now + within),
            ..new
        });
        self.note_job(NoteKind::JobStarted, id, text);
        self.start_reviewer(id);
    }

    /// The pull request is at another head: a review under way goes on with that.
    pub(super) fn review_follows(&mut self, project: &ProjectName, pr: PrNumber) {
        let Some(head) = self.floor.pulls.get(&(project.clone(), pr)).and_then(|p| p.head.clone()) else {
            return;
        };
        let elsewhere = |job: &&Job| matches!(&job.state, JobState::Reviewing { head: at } if *at != head);
        let Some(id) = self.review_under_way(project, pr).filter(elsewhere).map(|job| job.id) else { return };
        self.floor.pull(project, pr).review_begun = Some(head.clone());
        if let Some(job) = self.floor.jobs.edit(&id) {
            job.head = Some(head.clone());
            job.review_head = Some(head.clone());
            job.review_attempts = 0;
        }
        let within = self.policy(project).review_timeout;
        self.enter(id, JobState::Reviewing { head: head.clone() }, within);
        // It was there before, and its review has been posted since.
        let mine = self.job(id).and_then(|j| self.floor.sessions.get(&j.review_session?));
        let done = mine.is_some_and(|session| session.reviewed.as_ref() == Some(&head));
        if done && self.floor.pull(project, pr).has_agents_review(&head) {
            return self.finish(id, End::Reviewed, &format!("of {}", head.short()));
        }
        self.see_to_a_reviewer(id, &head);
    }

    /// The review is on the forge. Of an older head, the one of the newer follows.
    pub(super) fn pull_reviewed(&mut self, id: JobId, head: &Sha, verdict: Verdict) {
        if self.job(id).is_some_and(|job| job.head.as_ref() == Some(head)) {
            self.finish(id, End::Reviewed, &format!("{} of {}", verdict.as_str(), head.short()));
        }
    }

    /// No reviewer left anything of use: whoever made the change is told.
    pub(super) fn review_given_up(&mut self, id: JobId, why: &str) {
        let Some(job) = self.job(id) else { return };
        let (project, pr) = (job.project.clone(), job.pr.unwrap_or_default());
        let head = job.head.as_ref().map_or("", Sha::short);
        let body = format!(
            "No agent gave a usable review of {head}: {why}. `shopfloor pr review {pr} --ask` asks for another."
        );
        self.act(Action::CommentPr { project, pr, marker: format!("review-failed-{id}"), body });
        self.note_job(NoteKind::Escalation, id, format!("no review of pull request #{pr}: {why}"));
        self.finish(id, End::Failed, why);
    }

    /// The pull request needs no review any more, or nobody wants it.
    pub(super) fn end_review(&mut self, project: &ProjectName, pr: PrNumber, why: &str) {
        if let Some(id) = self.review_under_way(project, pr).map(|job| job.id) {
            self.end_is_wanted(id);
            self.finish(id, End::Cancelled, why);
        }
    }

    /// A job goes on with the pull request, and has a reviewer of its own.
    pub(super) fn review_overtaken(&mut self, project: &ProjectName, pr: PrNumber, by: IssueNumber) {
        self.floor.pull(project, pr).review_asked = false;
        self.end_review(project, pr, &format!("the job of issue #{by} goes on with it"));
    }
}
