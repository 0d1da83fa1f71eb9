//! The end of a job, as a saga whose log is the outbox: all its effects are committed with the
//! decision, each is repeated until it is done, and the job has ended when none is left.

use super::{Turn, labels, names};
use crate::effect::{Action, Merged};
use crate::event::NoteKind;
use crate::ids::{Epoch, IssueNumber, JobId, PrNumber, ProjectName, Role, agent_name};
use crate::policy::OnFailed;
use crate::state::{End, Job, JobState, SessionState};
use crate::text::{fence, neutralise, tail};
use std::time::Duration;

const FINISH_WITHIN: Duration = Duration::from_secs(900);

/// Agents that may give up on one issue, one after another, before a person is asked.
const FAILED_MAX: usize = 3;

/// How the trigger of an escalation begins that a job's end is.
const ENDED_TRIGGER: &str = "job_";

/// Ended jobs kept on a floor.
pub(super) const ENDED_JOBS_MAX: usize = 1_000;
const ENDED_REVIEWS_MAX: usize = 100;

/// Names an effect of a finishing job.
pub(super) fn action_key(action: &Action) -> String {
    match action {
        Action::EndSession { epoch, .. } => format!("end_session {epoch}"),
        Action::ReleaseWorktree { role, .. } => format!("release_worktree {role}"),
        // Others of the same name may still be under way: a claim's labels, a question.
        Action::EditLabels { add, remove, .. } => {
            format!("edit_labels +{} -{}", add.join(","), remove.join(","))
        }
        Action::Comment { marker, .. } => format!("comment {marker}"),
        // Others of the same name may be about trouble on the way.
        Action::Escalate { trigger, about, .. } if !trigger.starts_with(ENDED_TRIGGER) => {
            format!("escalate {trigger} {about}")
        }
        other => other.name().to_owned(),
    }
}

impl Turn<'_> {
    /// Ends a job that needs a person.
    pub(super) fn block(&mut self, id: JobId, reason: &str) {
        self.finish(id, End::Blocked, reason);
    }

    /// Ends a job without a merge. Its branch and worktree stay.
    pub(super) fn finish(&mut self, id: JobId, end: End, reason: &str) {
        let label: &[&str] = match end {
            End::Failed if self.is_tried_again(id) => &["backlog"],
            End::Blocked | End::Failed => &["blocked"],
            End::Cancelled | End::Merged | End::Refused | End::Reviewed => &[],
        };
        self.finish_with(id, end, reason, label);
    }

    /// An agent that gave up may be followed by another, not without end.
    fn is_tried_again(&self, id: JobId) -> bool {
        let Some(job) = self.job(id) else { return false };
        let mine = |j: &&Job| j.project == job.project && j.issue == job.issue;
        let failed = self.floor.jobs.iter().filter(mine).filter(|j| j.end() == Some(End::Failed)).count();
        self.policy_of(id).on_failed == OnFailed::Backlog && failed + 1 < FAILED_MAX
    }

    /// The same, with the labels that the issue gets.
    pub(super) fn finish_with(&mut self, id: JobId, end: End, reason: &str, add: &[&str]) {
        let Some(job) = self.job(id) else { return };
        if matches!(job.state, JobState::Finishing { .. } | JobState::Ended { .. }) {
            return;
        }
        if job.is_review() {
            return self.finish_review(id, end, reason);
        }
        if !self.withdraw(id, reason) {
            // What is being published lands first; then the job ends as merged. If it does not
            // land, the job ends as it was asked to.
            if let Some(job) = self.floor.jobs.edit(&id) {
                job.end_wanted = Some((end, reason.to_owned()));
            }
            self.escalate_job(id, &format!("not ended ({reason}): its publication is under way"));
            return;
        }
        if end == End::Cancelled {
            self.stop_its_run(id);
        }
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.reason = Some(reason.to_owned());
        let (project, issue) = (job.project.clone(), job.issue);
        let mut actions = self.end_sessions(id);
        let gone = ["in-progress", "backlog"].into_iter().filter(|label| !add.contains(label));
        let edit = Action::EditLabels {
            project: project.clone(),
            issue,
            add: labels(add),
            remove: gone.map(str::to_owned).collect(),
        };
        self.act(edit.clone());
        actions.push(edit);
        if matches!(end, End::Blocked | End::Failed) {
            self.note_job(NoteKind::Escalation, id, reason);
            let escalate = Action::Escalate {
                job: id,
                project: project.clone(),
                issue,
                trigger: format!("{ENDED_TRIGGER}{}", JobState::Ended { end }.name()),
                context: reason.to_owned(),
                about: String::new(),
                at: self.now,
            };
            self.act(escalate.clone());
            actions.push(escalate);
        }
        if end == End::Refused && add.is_empty() {
            let close = Action::CloseIssue { project: project.clone(), issue };
            self.act(close.clone());
            actions.push(close);
        }
        if has_comment(end) {
            // Posted when the session has ended, with the end of its output.
            if !actions.iter().any(|a| matches!(a, Action::EndSession { role: Role::Dev, .. })) {
                let comment = self.end_comment(id, end);
                self.act(comment.clone());
                actions.push(comment);
            }
        }
        self.enter(id, JobState::Finishing { end, remaining: names(&actions) }, FINISH_WITHIN);
    }

    /// A person ended it: what its head's checks would say matters to nobody.
    fn stop_its_run(&mut self, id: JobId) {
        let run = self.job(id).and_then(|job| match job.state {
            JobState::Checking { run, .. } => Some((job.project.clone(), run)),
            _ => None,
        });
        if let Some((project, run)) = run {
            self.act(Action::CancelCi { project, run });
        }
    }

    /// Ends a job whose change has landed.
    pub(super) fn finish_merged(&mut self, id: JobId) {
        self.stop_its_run(id);
        let Some(job) = self.job(id).cloned() else { return };
        let (Some(pr), Some(head), Some(commit)) = (job.pr, job.head.clone(), job.merged.clone()) else {
            return;
        };
        let (project, issue) = (job.project.clone(), job.issue);
        let mut actions = self.end_sessions(id);
        let release = |role, merged| Action::ReleaseWorktree {
            job: id,
            role,
            project: project.clone(),
            issue,
            branch: job.branch.clone(),
            merged,
        };
        let merged = Merged { pr: Some(pr), head, commit: commit.clone(), target: job.target.clone() };
        // A worktree goes when its session is proven gone, not before.
        for action in [release(Role::Review, None), release(Role::Dev, Some(merged))] {
            if !ends_role(&actions, &action) {
                self.act(action.clone());
            }
            actions.push(action);
        }
        let after = [
            Action::ClosePr { project: project.clone(), pr, merged: Some(commit) },
            Action::EditLabels {
                project: project.clone(),
                issue,
                add: Vec::new(),
                remove: labels(&["in-progress", "backlog", "blocked"]),
            },
            Action::CloseIssue { project: project.clone(), issue },
        ];
        for action in after {
            self.act(action.clone());
            actions.push(action);
        }
        self.enter(id, JobState::Finishing { end: End::Merged, remaining: names(&actions) }, FINISH_WITHIN);
    }

    /// Ends a job that reviews a pull request: nothing is left of it but what was posted there.
    fn finish_review(&mut self, id: JobId, end: End, reason: &str) {
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        job.reason = Some(reason.to_owned());
        let release = Action::ReleaseWorktree {
            job: id,
            role: Role::Review,
            project: job.project.clone(),
            issue: job.issue,
            branch: job.branch.clone(),
            merged: None,
        };
        let mut actions = self.end_sessions(id);
        if !ends_role(&actions, &release) {
            self.act(release.clone());
        }
        actions.push(release);
        self.enter(id, JobState::Finishing { end, remaining: names(&actions) }, FINISH_WITHIN);
    }

    /// Orders the end of every session of the job that is still there.
    fn end_sessions(&mut self, id: JobId) -> Vec<Action> {
        let mine: Vec<Epoch> = self.floor.sessions.iter().filter(|s| s.job == id).map(|s| s.epoch).collect();
        mine.into_iter().filter_map(|epoch| self.end_session(epoch)).collect()
    }

    /// Removes the worktree of a merged job, or of a review, whose session has ended.
    pub(super) fn release_after(&mut self, id: JobId, role: Role) {
        let Some(job) = self.job(id) else { return };
        let JobState::Finishing { remaining, .. } = &job.state else { return };
        let landed = job.merged.clone().zip(job.head.clone()).zip(job.pr);
        let merged = landed.filter(|_| role == Role::Dev).map(|((commit, head), pr)| Merged {
            pr: Some(pr),
            head,
            commit,
            target: job.target.clone(),
        });
        let action = Action::ReleaseWorktree {
            job: id,
            role,
            project: job.project.clone(),
            issue: job.issue,
            branch: job.branch.clone(),
            merged,
        };
        if remaining.contains(&action_key(&action)) {
            self.act(action);
        }
    }

    /// A session could not be ended. Its worktree is left to it; somebody was told.
    pub(super) fn not_ended(&mut self, id: JobId, role: Role, epoch: Epoch, action: &Action, reason: &str) {
        self.escalate_job(id, reason);
        self.report_end(id);
        if self.floor.sessions.get(&epoch).is_some_and(|s| s.state == SessionState::Ended) {
            self.release_after(id, role);
        } else {
            if let Some(session) = self.floor.sessions.edit(&epoch) {
                session.state = SessionState::Unended;
            }
            self.drop_remaining(id, &format!("release_worktree {role}"));
        }
        self.finishing_done(id, action);
        // What is left of it may still write there: no successor beside it.
        let needed = |j: &Job| !matches!(j.state, JobState::Finishing { .. } | JobState::Ended { .. });
        if role == Role::Dev && self.job(id).is_some_and(needed) {
            self.block(id, reason);
        }
    }

    fn drop_remaining(&mut self, id: JobId, key: &str) {
        if let Some(job) = self.floor.jobs.edit(&id)
            && let JobState::Finishing { remaining, .. } = &mut job.state
        {
            remaining.remove(key);
        }
    }

    /// With the session's end its last words are known: the one diagnostic comment is posted.
    pub(super) fn report_end(&mut self, id: JobId) {
        // Of a review that came to nothing the pull request says so.
        let job = self.job(id).filter(|job| !job.is_review());
        let Some(JobState::Finishing { end, remaining }) = job.map(|j| j.state.clone()) else { return };
        let comment = self.end_comment(id, end);
        let key = action_key(&comment);
        if !has_comment(end) || remaining.contains(&key) {
            return;
        }
        self.act(comment);
        if let Some(job) = self.floor.jobs.edit(&id)
            && let JobState::Finishing { remaining, .. } = &mut job.state
        {
            remaining.insert(key);
        }
    }

    fn end_comment(&self, id: JobId, end: End) -> Action {
        let job = self.job(id).expect("a finishing job exists");
        let word = JobState::Ended { end }.name();
        let reason = job.reason.as_deref().unwrap_or("no reason is known");
        let mut body = format!("Job {id} ended {word}: {}\n", neutralise(reason));
        if let Some(rescue) = &job.rescue {
            body.push_str(&format!("\nThe work is kept at `{rescue}`.\n"));
        }
        if let Some(worktree) = &job.worktree {
            body.push_str(&format!("\nThe worktree is kept at `{worktree}`, branch `{}`.\n", job.branch));
        }
        let output = tail(neutralise(&job.last_output).trim_end(), 4096);
        if !output.is_empty() {
            let fence = fence(&output);
            let whose = if job.last_session.is_some() { "session" } else { "setup" };
            body.push_str(&format!("\nThe {whose}'s last output:\n\n{fence}text\n{output}\n{fence}\n"));
        }
        if let Some(session) = job.last_session {
            let prompt = format!("sessions/e{session}/prompt.md");
            body.push_str(&format!(
                "\nTo reproduce it: give `{prompt}` (in the floor's home) to the agent in that worktree. `shopfloor explain {}` tells how it came to this.\n",
                job.issue
            ));
        }
        let labels = self.floor.issues.get(&(job.project.clone(), job.issue)).map(|i| &i.labels);
        let has = |label: &str| labels.is_some_and(|labels| labels.contains(label));
        match (end, has("backlog")) {
            (End::Refused, _) => {}
            (_, true) => body.push_str("\nIt is tried again: `on_failed` in [limits] says so.\n"),
            (_, false) => {
                let label = if has("underspecified") { "underspecified" } else { "blocked" };
                body.push_str(&format!("\nTo try again: remove the label `{label}` and add `backlog`.\n"));
            }
        }
        Action::Comment {
            project: job.project.clone(),
            issue: job.issue,
            marker: format!("job-{id}-end"),
            body,
        }
    }

    pub(super) fn finishing_done(&mut self, id: JobId, action: &Action) {
        let Some(job) = self.floor.jobs.get(&id) else { return };
        let JobState::Finishing { end, remaining } = &job.state else { return };
        let key = action_key(action);
        if !remaining.contains(&key) {
            return;
        }
        let (end, left) = (*end, remaining.len() - 1);
        if let Some(job) = self.floor.jobs.edit(&id)
            && let JobState::Finishing { remaining, .. } = &mut job.state
        {
            remaining.remove(&key);
        }
        if left == 0 {
            self.forget_messages(id);
            self.enter(id, JobState::Ended { end }, Duration::ZERO);
            let reason = self
                .job(id)
                .and_then(|j| j.reason.clone().or_else(|| j.merged.as_ref().map(|m| m.to_string())));
            let name = JobState::Ended { end }.name();
            self.note_job(NoteKind::JobEnded, id, format!("{name}: {}", reason.unwrap_or_default()));
            self.keep_worktree_for_now(id, end);
            self.forget_old_jobs();
        }
    }

    /// Ended jobs are kept for people to look at, the newest of them. The journal remembers more.
    fn forget_old_jobs(&mut self) {
        let surplus = |review: bool, max: usize| -> Vec<JobId> {
            let ended = self.floor.jobs.iter().filter(|j| !j.is_live() && j.is_review() == review);
            let ended: Vec<JobId> = ended.map(|j| j.id).collect();
            ended[..ended.len().saturating_sub(max)].to_vec()
        };
        // What was only reviewed takes no place from what was worked on.
        let over = [surplus(false, ENDED_JOBS_MAX), surplus(true, ENDED_REVIEWS_MAX)].concat();
        for job in &over {
            let sessions: Vec<Epoch> =
                self.floor.sessions.iter().filter(|s| s.job == *job).map(|s| s.epoch).collect();
            let unended =
                |e: &Epoch| self.floor.sessions.get(e).is_some_and(|s| s.state != SessionState::Ended);
            // One that could not be ended still owns its worktree: it and its job stay. So does one whose
            // worktree is still to be removed.
            let kept = self.floor.jobs.get(job).is_some_and(|j| j.release_at.is_some() || j.releasing > 0);
            if kept || sessions.iter().any(unended) {
                continue;
            }
            for session in sessions {
                self.floor.sessions.remove(&session);
            }
            let mine = self.floor.entries.iter().filter(|e| e.job == Some(*job));
            let entries: Vec<_> = mine.map(|e| e.id).collect();
            for entry in entries {
                self.floor.entries.remove(&entry);
            }
            if let Some(gone) = self.floor.jobs.remove(job)
                && self.floor.job_of(&gone.project, gone.issue).is_none()
            {
                self.floor.records.remove(&agent_name(Role::Dev, &gone.project, gone.issue));
            }
        }
    }

    pub(super) fn finishing_done_by_issue(
        &mut self,
        project: &ProjectName,
        issue: IssueNumber,
        action: &Action,
    ) {
        let job = self.floor.live_jobs(project).find(|j| j.issue == issue).map(|j| j.id);
        if let Some(job) = job {
            self.finishing_done(job, action);
        }
    }

    pub(super) fn finishing_done_by_pr(&mut self, project: &ProjectName, pr: PrNumber, action: &Action) {
        let job = self.floor.live_jobs(project).find(|j| j.pr == Some(pr)).map(|j| j.id);
        if let Some(job) = job {
            self.finishing_done(job, action);
        }
    }
}

/// Whether people are told on the issue how the job ended.
fn has_comment(end: End) -> bool {
    matches!(end, End::Blocked | End::Failed | End::Refused)
}

/// Whether the session that works in the worktree is among those being ended.
fn ends_role(ends: &[Action], release: &Action) -> bool {
    let Action::ReleaseWorktree { role, .. } = release else { return false };
    ends.iter().any(|a| matches!(a, Action::EndSession { role: r, .. } if r == role))
}
