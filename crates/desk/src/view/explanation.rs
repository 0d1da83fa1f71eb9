//! Why an issue is where it is.

use super::job::{self, JobView};
use super::note::NoteView;
use super::question::{self, QuestionView};
use super::run::RunView;
use crate::time::moment;
use crate::{DaemonView, Desk, Error, Result};
use serde::Serialize;
use shopfloor_core::effect::Action;
use shopfloor_core::ids::{EffectId, IssueNumber, ProjectName};
use shopfloor_core::state::{Floor, Job, MessageState, Stage};
use shopfloor_store::NoteFilter;
use shopfloor_store::ci::CiRun;
use shopfloor_store::{JournalEntry, OutboxEffect, Store};

const NOTES: usize = 20;
/// How far back the issue's last CI run is looked for.
const RUNS_LOOKED_AT: usize = 1000;

#[derive(Serialize)]
pub struct Explanation {
    pub project: ProjectName,
    pub issue: IssueNumber,
    pub title: String,
    pub why: Option<String>,
    pub daemon: DaemonView,
    pub job: Option<JobView>,
    /// When the job entered each state.
    pub history: Vec<StageView>,
    pub last_ci: Option<RunView>,
    /// What people are asked about it.
    pub questions: Vec<QuestionView>,
    pub unread_messages: Vec<MessageView>,
    pub pending: Vec<PendingView>,
    pub notes: Vec<NoteView>,
}

#[derive(Serialize)]
pub struct StageView {
    pub state: String,
    pub at: String,
}

#[derive(Serialize)]
pub struct MessageView {
    pub text: String,
    pub queued_at: String,
    pub deadline: Option<String>,
    /// What keeps it from being delivered.
    pub held: Option<String>,
}

/// An effect that is still to be performed.
#[derive(Serialize)]
pub struct PendingView {
    pub effect: EffectId,
    pub action: &'static str,
    pub lane: String,
    pub attempts: u32,
    pub not_before: Option<String>,
    pub last_error: Option<String>,
}

/// What an explanation is made of.
pub struct Explained<'f> {
    pub project: ProjectName,
    pub issue: IssueNumber,
    pub title: &'f str,
    pub why: Option<String>,
    pub daemon: DaemonView,
    pub job: Option<&'f Job>,
    pub last_ci: Option<CiRun>,
    pub pending: Vec<OutboxEffect>,
    pub notes: Vec<JournalEntry>,
}

impl<'f> Explained<'f> {
    pub fn new(desk: &Desk, floor: &'f Floor, project: ProjectName, issue: IssueNumber) -> Result<Self> {
        let known = floor.issues.get(&(project.clone(), issue));
        let job = floor.work_of(&project, issue);
        let Some(title) = known.map(|i| &i.title).or(job.map(|j| &j.title)) else {
            return Err(Error::no_such(format!("there is no issue #{issue}"))
                .hint("`shopfloor issue list --state all` shows them"));
        };
        let mut store = desk.reader()?;
        let filter =
            NoteFilter { project: Some(project.to_string()), issue: Some(issue.0), ..NoteFilter::default() };
        let notes = store.last_notes(&filter, NOTES)?;
        let mut pending = store.outbox()?;
        pending.retain(|q| concerns(&q.action, floor, &project, Some(issue), job));
        let runs = desk.ci()?.list(&project, RUNS_LOOKED_AT)?;
        let last_ci = runs.into_iter().find(|run| run.issue == Some(issue));
        let why = known.filter(|i| i.open).map(|i| job::why(floor, i));
        let daemon = desk.daemon()?;
        Ok(Explained { project, issue, title, why, daemon, job, last_ci, pending, notes })
    }

    /// The form that programs get.
    pub fn view(self, floor: &Floor) -> Explanation {
        let questions = self.job.map(|job| question::about(floor, job)).unwrap_or_default();
        Explanation {
            project: self.project,
            issue: self.issue,
            title: self.title.to_owned(),
            why: self.why,
            daemon: self.daemon,
            job: self.job.map(|job| JobView::new(floor, job)),
            history: self.job.map(history).unwrap_or_default(),
            last_ci: self.last_ci.map(RunView::from),
            questions: questions.into_iter().map(Into::into).collect(),
            unread_messages: self.job.map(|job| unread(floor, job)).unwrap_or_default(),
            pending: self.pending.iter().map(pending_view).collect(),
            notes: self.notes.into_iter().map(NoteView::from).collect(),
        }
    }
}

/// When a job entered each state.
pub(super) fn history(job: &Job) -> Vec<StageView> {
    let stage = |s: &Stage| StageView { state: s.state.clone(), at: moment(s.at) };
    job.history.iter().map(stage).collect()
}

pub(super) fn pending_view(queued: &OutboxEffect) -> PendingView {
    PendingView {
        effect: queued.id,
        action: queued.action.name(),
        lane: queued.action.lane(),
        attempts: queued.attempts,
        not_before: (queued.not_before.0 > 0).then(|| moment(queued.not_before)),
        last_error: queued.last_error.clone(),
    }
}

/// Messages that its agent has not taken yet.
pub fn unread(floor: &Floor, job: &Job) -> Vec<MessageView> {
    let queued = floor.messages.iter().filter(|m| m.job == job.id && m.state == MessageState::Queued);
    queued
        .map(|m| MessageView {
            text: m.text.clone(),
            queued_at: moment(m.queued_at),
            deadline: m.deadline.map(moment),
            held: m.held.clone(),
        })
        .collect()
}

/// Whether an effect is about this job, or the issue it is of.
pub(super) fn concerns(
    action: &Action,
    floor: &Floor,
    project: &ProjectName,
    issue: Option<IssueNumber>,
    job: Option<&Job>,
) -> bool {
    let my_issue =
        |p: &ProjectName, i: Option<IssueNumber>| p == project && i.is_some_and(|i| Some(i) == issue);
    let my_job = |id| job.is_some_and(|job| job.id == id);
    let my_entry = |entry| floor.entries.get(&entry).is_some_and(|e| e.job.is_some_and(my_job));
    let my_pr = |p: &ProjectName, pr| p == project && job.is_some_and(|job| job.pr == Some(pr));
    match action {
        Action::PrepareWorktree { job, .. }
        | Action::EndSession { job, .. }
        | Action::PushBranch { job, .. }
        | Action::Checkpoint { job, .. }
        | Action::OpenPr { job, .. }
        | Action::CollectReview { job, .. }
        | Action::MoveReview { job, .. }
        | Action::PostReview { job, .. }
        | Action::Escalate { job, .. }
        | Action::ReleaseWorktree { job, .. } => my_job(*job),
        Action::RunStep(step) => my_job(step.job),
        Action::VerifyStep(claim) => my_job(claim.job),
        Action::PlanAction(plan) => my_job(plan.job),
        Action::EndStray(order) => order.job.is_some_and(my_job),
        Action::RunCi { job, .. } => job.is_some_and(my_job),
        Action::StartSession(start) => my_job(start.job),
        Action::RingInbox { epoch, .. } => floor.sessions.get(epoch).is_some_and(|s| my_job(s.job)),
        Action::EditLabels { project: p, issue: i, .. }
        | Action::Comment { project: p, issue: i, .. }
        | Action::CloseIssue { project: p, issue: i } => my_issue(p, Some(*i)),
        Action::Act(order) => my_issue(&order.project, order.what.issue()),
        Action::ClosePr { project: p, pr, .. }
        | Action::MovePr { project: p, pr, .. }
        | Action::CommentPr { project: p, pr, .. } => my_pr(p, *pr),
        Action::Tell(telling) => my_issue(&telling.project, telling.issue),
        Action::BuildTry { project: p, entry, .. } => {
            p == project && job.is_some_and(|j| j.branch == entry.branch)
        }
        Action::BuildChain { list, .. } => list.iter().any(|e| my_entry(e.entry)),
        Action::BuildLanding { steps, .. } => steps.iter().flat_map(|s| &s.list).any(|e| my_entry(e.entry)),
        Action::Publish { entries, .. } => entries.iter().any(|e| my_entry(*e)),
        Action::FindMerged { heads, .. } => heads.iter().any(|h| my_job(h.job)),
        Action::VerifyLanded { landed, .. } => landed.iter().any(|e| my_entry(e.entry)),
        // It is about a commit, which may be this job's.
        Action::PostStatus { project: p, commit, .. } => {
            p == project && job.is_some_and(|job| job.head.as_ref() == Some(commit))
        }
        Action::RetireBranch { project: p, issue: i, .. } => my_issue(p, *i),
        Action::SyncCheckout { .. }
        | Action::TakeCheckout { .. }
        | Action::CheckAgents { .. }
        | Action::FindPrimary { .. }
        | Action::CreateIssue { .. }
        | Action::CancelCi { .. }
        | Action::PlanRun(_)
        | Action::CheckHealth(_)
        | Action::RecordHealth(_)
        | Action::StopStep { .. }
        | Action::Fire(_)
        | Action::Tidy(_) => false,
    }
}
