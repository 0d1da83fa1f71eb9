//! The end of a job, as a saga whose log is the outbox: all its effects are committed with the
//! decision, each is repeated until it is done, and the job has ended when none is left.

use super::Jobs;
use crate::effect::{Action, Merged};
use crate::event::NoteKind;
use crate::ids::{Assignment, Epoch, IssueNumber, JobId, PrNumber, ProjectName, Role, Sha};
use crate::label::Label;
use crate::policy::OnFailed;
use crate::state::{End, Job, JobState, Kept, SessionState, WorkRecord};
use crate::step::{Turn, labels, names};
use crate::table::Record;
use crate::text::{neutralise, tail};
use crate::texts::{
    comments::{self, Ended, Next},
    escalations, markers, notes, reasons,
};
use std::time::Duration;

const FINISH_WITHIN: Duration = Duration::from_secs(900);

/// How many agents may give up on one issue, one after another, before a person is asked.
const FAILED_MAX: usize = 3;

/// The trigger of an escalation about a job's end begins with this.
const ENDED_TRIGGER: &str = "job_";

/// Names an effect of a finishing job.
pub(in crate::step) fn action_key(action: &Action) -> String {
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
    pub(in crate::step) fn block(&mut self, id: JobId, reason: &str) {
        self.finish(id, End::Blocked, reason);
    }

    /// Ends a job without a merge. Its branch and worktree stay.
    pub(in crate::step) fn finish(&mut self, id: JobId, end: End, reason: &str) {
        let again = self.job(id).map_or(Label::Backlog, Job::asked_by);
        let label: &[Label] = match end {
            End::Failed if self.is_tried_again(id) => &[again],
            End::Blocked | End::Failed => &[Label::Blocked],
            End::Cancelled | End::Merged | End::Refused | End::Reviewed | End::Done => &[],
        };
        self.finish_with(id, end, reason, label);
    }

    /// An agent that gave up may be followed by another, but not endlessly.
    fn is_tried_again(&self, id: JobId) -> bool {
        let Some(job) = self.job(id) else { return false };
        let mine = |j: &&Job| j.project == job.project && j.assignment == job.assignment;
        let failed = self.floor.jobs.iter().filter(mine).filter(|j| j.end() == Some(End::Failed)).count();
        self.policy_of(id).on_failed == OnFailed::Backlog && failed + 1 < FAILED_MAX
    }

    /// The same, with the labels that the issue gets.
    pub(in crate::step) fn finish_with(&mut self, id: JobId, end: End, reason: &str, add: &[Label]) {
        let Some(job) = self.job(id) else { return };
        if matches!(job.state, JobState::Finishing { .. } | JobState::Ended { .. }) {
            return;
        }
        if job.is_review() {
            return self.finish_review(id, end, reason);
        }
        if !self.withdraw(id, reason) {
            // An entry that is being published lands first, and the job then ends as merged. If it does not land,
            // the job ends as requested.
            let job = self.floor.job_mut(id);
            if let Some(JobState::InQueue { end_wanted, .. }) = job.map(|job| &mut job.state) {
                *end_wanted = Some((end, reason.to_owned()));
            }
            self.escalate_job(id, &escalations::ends_later(reason));
            return;
        }
        if end == End::Cancelled {
            self.stop_its_run(id);
        }
        let Some(job) = self.floor.job_mut(id) else { return };
        job.reason = Some(reason.to_owned());
        let (project, issue, assignment) = (job.project.clone(), job.issue(), job.assignment);
        let asked_by = job.asked_by();
        let mut actions = self.end_sessions(id);
        if let Some(issue) = issue {
            let gone = [Label::InProgress, asked_by].into_iter().filter(|label| !add.contains(label));
            let edit = Action::EditLabels {
                project: project.clone(),
                issue,
                add: labels(add),
                remove: gone.map(|label| label.to_string()).collect(),
            };
            self.act(edit.clone());
            actions.push(edit);
        }
        if matches!(end, End::Blocked | End::Failed) {
            self.note_job(NoteKind::Escalation, id, reason);
            let escalate = Action::Escalate {
                job: id,
                project: project.clone(),
                assignment,
                trigger: format!("{ENDED_TRIGGER}{}", end.name()),
                context: reason.to_owned(),
                about: String::new(),
                at: self.now,
            };
            self.act(escalate.clone());
            actions.push(escalate);
        }
        // Posted when the session has ended, with the end of its output; what an action came to is known already.
        let ends = actions.iter().any(|a| matches!(a, Action::EndSession { role, .. } if role.develops()));
        let now = has_comment(end) && (!ends || end == End::Done);
        if let Some(comment) = self.end_comment(id, end).filter(|_| now) {
            self.act(comment.clone());
            actions.push(comment);
        }
        let is_over = end == End::Done || (end == End::Refused && add.is_empty());
        if let Some(issue) = issue.filter(|_| is_over) {
            let close = Action::CloseIssue { project: project.clone(), issue };
            self.act(close.clone());
            actions.push(close);
        }
        if end == End::Done {
            actions.extend(self.release_now(id, &actions));
        }
        self.enter(id, JobState::Finishing { end, remaining: names(&actions) }, FINISH_WITHIN);
        if actions.is_empty() {
            self.has_ended(id, end);
        }
    }

    /// A person ended the job: nobody needs the checks of its head any more.
    fn stop_its_run(&mut self, id: JobId) {
        let run = self.job(id).and_then(|job| match job.state {
            JobState::Checking { run, .. } => Some((job.project.clone(), run)),
            _ => None,
        });
        if let Some((project, run)) = run {
            self.act(Action::CancelCi { project, run });
        }
    }

    /// An ended job continues where a person puts it: its branch and worktree still exist.
    pub(in crate::step) fn revive(&mut self, id: JobId) {
        let Some(job) = self.floor.job_mut(id) else { return };
        job.reason = None;
        let Some((project, issue)) = job.place() else { return };
        let gone = [Label::Blocked, job.asked_by(), Label::Underspecified];
        let (add, remove) = (labels(&[Label::InProgress]), labels(&gone));
        self.act(Action::EditLabels { project, issue, add, remove });
    }

    /// The job's change is in the branch that it was to land on.
    pub(in crate::step) fn has_merged(&mut self, id: JobId, commit: &Sha) {
        if let Some(job) = self.floor.job_mut(id) {
            job.merged = Some(commit.clone());
        }
        self.record_merged(id);
        self.finish_merged(id);
    }

    /// Ends a job whose change has landed.
    fn finish_merged(&mut self, id: JobId) {
        self.stop_its_run(id);
        let Some(job) = self.job(id).filter(|job| !job.is_review()).cloned() else { return };
        let (Some(pr), Some(head), Some(commit)) = (job.pr, job.head.clone(), job.merged.clone()) else {
            return;
        };
        let (project, assignment) = (job.project.clone(), job.assignment);
        let mut actions = self.end_sessions(id);
        let release = |role, merged| Action::ReleaseWorktree {
            job: id,
            role,
            project: project.clone(),
            assignment,
            branch: job.branch.clone(),
            merged,
        };
        let merged = Merged { pr: Some(pr), head, commit: commit.clone(), target: job.target.clone() };
        // A worktree is removed once its session is proven gone, not before.
        for action in [release(Role::REVIEW, None), release(job.role, Some(merged))] {
            if !ends_role(&actions, &action) {
                self.act(action.clone());
            }
            actions.push(action);
        }
        let mut after = vec![Action::ClosePr { project: project.clone(), pr, merged: Some(commit) }];
        if let Some(issue) = job.issue() {
            let remove = labels(&[Label::InProgress, job.asked_by(), Label::Blocked]);
            after.push(Action::EditLabels { project: project.clone(), issue, add: Vec::new(), remove });
            after.push(Action::CloseIssue { project: project.clone(), issue });
        }
        for action in after {
            self.act(action.clone());
            actions.push(action);
        }
        self.enter(id, JobState::Finishing { end: End::Merged, remaining: names(&actions) }, FINISH_WITHIN);
    }

    /// Ends a job that reviews a pull request: only what was posted there remains.
    fn finish_review(&mut self, id: JobId, end: End, reason: &str) {
        let Some(job) = self.floor.job_mut(id) else { return };
        job.reason = Some(reason.to_owned());
        let release = Action::ReleaseWorktree {
            job: id,
            role: Role::REVIEW,
            project: job.project.clone(),
            assignment: job.assignment,
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

    /// Removes the worktree of a job that needs it no more, now or when the session in it (`ends`) has ended.
    fn release_now(&mut self, id: JobId, ends: &[Action]) -> Option<Action> {
        let job = self.job(id).filter(|job| job.worktree.is_some())?;
        let release = Action::ReleaseWorktree {
            job: id,
            role: job.role,
            project: job.project.clone(),
            assignment: job.assignment,
            branch: job.branch.clone(),
            merged: None,
        };
        if !ends_role(ends, &release) {
            self.act(release.clone());
        }
        if let Some(job) = self.floor.job_mut(id) {
            job.worktree = None;
        }
        Some(release)
    }

    /// Orders the end of every session of the job that is still there.
    fn end_sessions(&mut self, id: JobId) -> Vec<Action> {
        let mine: Vec<Epoch> = self.floor.sessions.iter().filter(|s| s.job == id).map(|s| s.epoch).collect();
        mine.into_iter().filter_map(|epoch| self.end_session(epoch)).collect()
    }

    /// Removes the worktree of a merged job, or of a review, whose session has ended.
    pub(in crate::step) fn release_after(&mut self, id: JobId, role: Role) {
        let Some(job) = self.job(id) else { return };
        let JobState::Finishing { remaining, .. } = &job.state else { return };
        let landed = job.merged.clone().zip(job.head.clone()).zip(job.pr);
        let merged = landed.filter(|_| role.develops()).map(|((commit, head), pr)| Merged {
            pr: Some(pr),
            head,
            commit,
            target: job.target.clone(),
        });
        let action = Action::ReleaseWorktree {
            job: id,
            role,
            project: job.project.clone(),
            assignment: job.assignment,
            branch: job.branch.clone(),
            merged,
        };
        if remaining.contains(&action_key(&action)) {
            self.act(action);
        }
    }

    /// A session could not be ended. Its worktree is left to it; somebody was told.
    pub(in crate::step) fn not_ended(
        &mut self,
        id: JobId,
        role: Role,
        epoch: Epoch,
        action: &Action,
        reason: &str,
    ) {
        self.escalate_job(id, reason);
        self.report_end(id);
        if self.floor.sessions.get(&epoch).is_some_and(|s| s.state == SessionState::Ended) {
            self.release_after(id, role);
        } else {
            self.is_unended(epoch);
            self.drop_remaining(id, &format!("release_worktree {role}"));
        }
        self.finishing_done(id, action);
        // Its remains may still write there: no successor may work beside them.
        let needed = |j: &Job| !matches!(j.state, JobState::Finishing { .. } | JobState::Ended { .. });
        if role.develops() && self.job(id).is_some_and(needed) {
            self.block(id, reason);
        }
    }

    fn drop_remaining(&mut self, id: JobId, key: &str) {
        if let Some(job) = self.floor.job_mut(id)
            && let JobState::Finishing { remaining, .. } = &mut job.state
        {
            remaining.remove(key);
        }
    }

    /// The session has ended, so its last words are known: the one diagnostic comment is posted.
    pub(super) fn report_end(&mut self, id: JobId) {
        // For a review that came to nothing, the pull request says so.
        let job = self.job(id).filter(|job| !job.is_review());
        let Some(JobState::Finishing { end, remaining }) = job.map(|j| j.state.clone()) else { return };
        let Some(comment) = self.end_comment(id, end) else { return };
        let key = action_key(&comment);
        if !has_comment(end) || remaining.contains(&key) {
            return;
        }
        self.act(comment);
        if let Some(job) = self.floor.job_mut(id)
            && let JobState::Finishing { remaining, .. } = &mut job.state
        {
            remaining.insert(key);
        }
    }

    fn end_comment(&self, id: JobId, end: End) -> Option<Action> {
        let (job, issue) = self.carrier(id)?;
        if end == End::Done {
            let body =
                comments::action_done(self.floor.run_of(id)?, job.reason.as_deref().unwrap_or_default());
            return Some(Action::Comment {
                project: job.project.clone(),
                issue,
                marker: markers::job_end(id),
                body,
            });
        }
        let word = end.name();
        let reason = neutralise(job.reason.as_deref().unwrap_or(reasons::none_known()));
        let output = tail(neutralise(&job.last_output).trim_end(), 4096);
        let labels = self.floor.issues.get(&(job.project.clone(), issue)).map(|i| &i.labels);
        let has = |label: Label| labels.is_some_and(|labels| labels.contains(label.as_str()));
        let next = match (end, has(job.asked_by())) {
            (End::Refused, _) => Next::Nothing,
            (_, true) => Next::TriedAgain,
            (_, false) if has(Label::Underspecified) => Next::Waits(Label::Underspecified),
            (_, false) => Next::Waits(Label::Blocked),
        };
        let body = comments::job_ended(&Ended {
            job: id,
            issue,
            end: word,
            reason: &reason,
            rescue: job.rescue.as_deref(),
            worktree: job.worktree.as_deref().map(|worktree| (worktree, job.branch.as_str())),
            output: &output,
            session: job.last_session,
            asked_by: job.asked_by(),
            next,
        });
        Some(Action::Comment { project: job.project.clone(), issue, marker: markers::job_end(id), body })
    }

    pub(in crate::step) fn finishing_done(&mut self, id: JobId, action: &Action) {
        let Some(job) = self.floor.jobs.get(&id) else { return };
        let JobState::Finishing { end, remaining } = &job.state else { return };
        let key = action_key(action);
        if !remaining.contains(&key) {
            return;
        }
        let (end, left) = (*end, remaining.len() - 1);
        if let Some(job) = self.floor.job_mut(id)
            && let JobState::Finishing { remaining, .. } = &mut job.state
        {
            remaining.remove(&key);
        }
        if left == 0 {
            self.has_ended(id, end);
        }
    }

    fn has_ended(&mut self, id: JobId, end: End) {
        self.forget_messages(id);
        self.enter(id, JobState::Ended { end, kept: Kept::default() }, Duration::ZERO);
        let reason =
            self.job(id).and_then(|j| j.reason.clone().or_else(|| j.merged.as_ref().map(|m| m.to_string())));
        let name = end.name();
        self.note_job(NoteKind::JobEnded, id, notes::ended(name, &reason.unwrap_or_default()));
        self.keep_worktree_for_now(id, end);
        self.run_is_over(id);
        self.forget_conduct(id);
    }

    pub(in crate::step) fn shelve_job(&mut self, id: JobId) {
        self.floor.jobs.shelve(Jobs(()), &id);
    }

    pub(in crate::step) fn shelve_records(&mut self, project: &ProjectName, assignment: Assignment) {
        let mine = |r: &&WorkRecord| r.project == *project && r.assignment() == assignment;
        let mine: Vec<String> = self.floor.records.iter().filter(mine).map(Record::key).collect();
        for agent in mine {
            self.floor.records.shelve(Jobs(()), &agent);
        }
    }

    pub(in crate::step) fn finishing_done_by_issue(
        &mut self,
        project: &ProjectName,
        issue: IssueNumber,
        action: &Action,
    ) {
        let job = self.floor.live_jobs(project).find(|j| j.issue() == Some(issue)).map(|j| j.id);
        if let Some(job) = job {
            self.finishing_done(job, action);
        }
    }

    pub(in crate::step) fn finishing_done_by_pr(
        &mut self,
        project: &ProjectName,
        pr: PrNumber,
        action: &Action,
    ) {
        let job = self.floor.live_jobs(project).find(|j| j.pr == Some(pr)).map(|j| j.id);
        if let Some(job) = job {
            self.finishing_done(job, action);
        }
    }
}

/// Whether people are told on the issue how the job ended.
fn has_comment(end: End) -> bool {
    matches!(end, End::Blocked | End::Failed | End::Refused | End::Done)
}

/// Whether the session that works in the worktree is among those being ended.
fn ends_role(ends: &[Action], release: &Action) -> bool {
    let Action::ReleaseWorktree { role, .. } = release else { return false };
    ends.iter().any(|a| matches!(a, Action::EndSession { role: r, .. } if r == role))
}
