//! Agents' reviews of pull requests that no job carries: advice to whoever made them, by the rules of `[review]
//! people`. Each is a job of its own, without a developer, that ends when its review is posted.
//!
//! Invariants:
//! - Nobody's branch, issue or label is touched. What is posted is a review of one commit or, failing that, a
//!   comment that says why there is none.
//! - Only one review of a head is begun, unless a person asks again. A review under way follows the branch.
//! - A job that carries the branch has its own reviewer: then there is no other.

use super::Jobs;
use crate::effect::{Action, Verdict};
use crate::event::NoteKind;
use crate::ids::{Assignment, IssueNumber, JobId, PrNumber, ProjectName, Role, Sha};
use crate::policy::ReviewPeople;
use crate::state::{End, Floor, Job, JobState, Pull, Reviewer};
use crate::step::Turn;
use crate::text::one_line;
use crate::texts::{comments, escalations, markers, notes, queue, reasons};
use std::fmt;

const TITLE_CHARS_MAX: usize = 200;

/// Why no agent reviews a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReviewed {
    /// The project does not want it.
    Never,
    NoReviewer,
    /// The job of that assignment carries it, and has its own reviewer.
    Job(Assignment),
}

impl fmt::Display for NotReviewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&queue::not_reviewed(self))
    }
}

/// Whether a person may ask for an agent's review of a pull request from this branch.
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
        Some(job) => Err(NotReviewed::Job(job.assignment)),
        None => Ok(()),
    }
}

impl Turn<'_> {
    pub(in crate::step) fn review_asked(
        &mut self,
        project: &ProjectName,
        pr: PrNumber,
        branch: &str,
        head: &Sha,
    ) {
        if self.floor.projects.get(project).is_none() {
            return;
        }
        if let Err(why) = may_ask_for_review(self.floor, project, pr, branch) {
            let text = notes::cannot_review(pr, &why.to_string());
            self.note(NoteKind::StaleSignal, project, None, text);
            return;
        }
        self.pull_is_at(project, pr, branch, head);
        // A review under way is what they ask for; one that is ending is not.
        let reviewing = |job: &Job| matches!(job.state, JobState::Reviewing { .. });
        match self.review_under_way(project, pr).is_some_and(reviewing) {
            true => self.review_follows(project, pr),
            false => self.set_review_asked(project, pr, true),
        }
    }

    /// Begins a review if there is room: as many at once as the project may have jobs, in addition to those.
    /// Returns whether it did.
    pub(super) fn begin_next_review(&mut self, project: &ProjectName) -> bool {
        let Some(row) = self.floor.projects.get(project) else { return false };
        let policy = &row.policy;
        let (max, floor_max) = (policy.max_jobs.max(1), policy.floor_max_jobs);
        let held = row.paused.is_some() || row.pause.is_some() || row.reading;
        if held || !policy.review_agent || policy.review_people == ReviewPeople::Never {
            return false;
        }
        let Some(pr) = self.next_to_review(project) else { return false };
        let floor = &*self.floor;
        let unstaffed =
            floor.staff.get(project).is_some_and(|s| s.looking || s.outage(Role::REVIEW).is_some());
        let on_floor = || floor.jobs.iter().filter(|j| j.is_live()).count();
        let room = floor.all_live_jobs(project).filter(|j| j.is_review()).count() < max
            && floor_max.is_none_or(|max| on_floor() < max.max(1));
        if unstaffed || !room {
            return false;
        }
        self.begin_review(project, pr);
        true
    }

    /// Those that a person asked for go first; among equals, the oldest.
    fn next_to_review(&self, project: &ProjectName) -> Option<PrNumber> {
        let always =
            self.floor.projects.get(project).is_some_and(|p| p.policy.review_people == ReviewPeople::Always);
        let mine = self.floor.pulls.iter().filter(|pull| pull.project == *project);
        let wanted = mine.filter(|pull| pull.review_asked || (always && self.is_due(pull)));
        let free = wanted.filter(|pull| self.is_free(pull));
        free.min_by_key(|pull| (!pull.review_asked, pull.number)).map(|pull| pull.number)
    }

    /// Whether it is a person's pull request, at a head that no agent was ever asked about.
    fn is_due(&self, pull: &Pull) -> bool {
        let Some(head) = &pull.head else { return false };
        let had_job = |j: &Job| !j.is_review() && j.project == pull.project && j.pr == Some(pull.number);
        pull.ours == Some(false)
            && pull.review_begun.as_ref() != Some(head)
            && !pull.has_agents_review(head)
            // Somebody has already decided.
            && self.floor.queued_by_person(&pull.project, &pull.branch).is_none()
            && !self.floor.jobs.iter().any(had_job)
    }

    /// Whether nobody else reviews it, and it is known what to review. A session that could not be ended still has
    /// the worktree.
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
        let Some(pull) = self.floor.pulls.get(&(project.clone(), pr)) else { return };
        let Some(head) = pull.head.clone() else { return };
        let (branch, title) = (pull.branch.clone(), one_line(&pull.title, TITLE_CHARS_MAX));
        self.set_review_asked(project, pr, false);
        self.set_review_begun(project, pr, &head);
        let state = JobState::Reviewing { head: head.clone() };
        let text = notes::pull_review_started(id, pr, &branch, &head);
        let new = Job::new(id, Assignment::Pull(pr), project.clone(), branch, state, self.now);
        self.floor.jobs.put(
            Jobs(()),
            Job {
                title,
                pr: Some(pr),
                reviewer: Reviewer { head: Some(head.clone()), ..Reviewer::default() },
                head: Some(head),
                deadline: Some(self.now + within),
                ..new
            },
        );
        self.note_job(NoteKind::JobStarted, id, text);
        self.start_reviewer(id);
    }

    /// The pull request is at another head: a review under way continues with that.
    pub(in crate::step) fn review_follows(&mut self, project: &ProjectName, pr: PrNumber) {
        let Some(head) = self.floor.pulls.get(&(project.clone(), pr)).and_then(|p| p.head.clone()) else {
            return;
        };
        let elsewhere = |job: &&Job| matches!(&job.state, JobState::Reviewing { head: at } if *at != head);
        let Some(id) = self.review_under_way(project, pr).filter(elsewhere).map(|job| job.id) else { return };
        self.set_review_begun(project, pr, &head);
        if let Some(job) = self.floor.job_mut(id) {
            job.head = Some(head.clone());
            job.reviewer.head = Some(head.clone());
            job.reviewer.attempts = 0;
        }
        let within = self.policy(project).review_timeout;
        self.enter(id, JobState::Reviewing { head: head.clone() }, within);
        // The pull request is back at an earlier head, and the review of that has been posted since.
        let mine = self.job(id).and_then(|j| self.floor.sessions.get(&j.reviewer.session?));
        let done = mine.is_some_and(|session| session.review.reviewed.as_ref() == Some(&head));
        let posted = |pull: &Pull| pull.has_agents_review(&head);
        if done && self.floor.pulls.get(&(project.clone(), pr)).is_some_and(posted) {
            return self.finish(id, End::Reviewed, &notes::reviewed(None, &head));
        }
        self.see_to_a_reviewer(id, &head);
    }

    /// The review is on the forge. If it is of an older head, a review of the newer one follows.
    pub(in crate::step) fn pull_reviewed(&mut self, id: JobId, head: &Sha, verdict: Verdict) {
        if self.job(id).is_some_and(|job| job.head.as_ref() == Some(head)) {
            self.finish(id, End::Reviewed, &notes::reviewed(Some(verdict), head));
        }
    }

    /// No reviewer left anything usable: whoever made the change is told.
    pub(in crate::step) fn review_given_up(&mut self, id: JobId, why: &str) {
        let Some(job) = self.job(id) else { return };
        let (project, pr) = (job.project.clone(), job.pr.unwrap_or_default());
        let body = comments::no_usable_pull_review(pr, job.head.as_ref(), why);
        self.act(Action::CommentPr { project, pr, marker: markers::pull_review_failed(id), body });
        self.note_job(NoteKind::Escalation, id, escalations::no_pull_review(pr, why));
        self.finish(id, End::Failed, why);
    }

    /// The pull request no longer needs a review, or nobody wants one.
    pub(in crate::step) fn end_review(&mut self, project: &ProjectName, pr: PrNumber, why: &str) {
        if let Some(id) = self.review_under_way(project, pr).map(|job| job.id) {
            self.end_is_wanted(id);
            self.finish(id, End::Cancelled, why);
        }
    }

    /// A job continues the pull request, and has a reviewer of its own.
    pub(super) fn review_overtaken(&mut self, project: &ProjectName, pr: PrNumber, by: IssueNumber) {
        self.set_review_asked(project, pr, false);
        self.end_review(project, pr, &reasons::continued_by(by));
    }
}
