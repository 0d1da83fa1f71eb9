//! What an action is about: the project and, where there is one, the issue or pull request.

use super::{Action, StartSession, Tidy};
use crate::ids::{IssueNumber, ProjectName};

impl Action {
    /// `None` for a session's bell: its session knows.
    pub fn project(&self) -> Option<&ProjectName> {
        match self {
            Action::RingInbox { .. } => None,
            Action::StartSession(start) => Some(&start.project),
            Action::RunStep(step) => Some(&step.project),
            Action::PlanRun(plan) => Some(&plan.project),
            Action::PlanAction(plan) => Some(&plan.project),
            Action::CheckHealth(order) => Some(&order.project),
            Action::RecordHealth(record) => Some(&record.project),
            Action::EndStray(order) => Some(&order.stray.project),
            Action::Act(order) => Some(&order.project),
            Action::VerifyStep(claim) => Some(&claim.project),
            Action::Tell(telling) => Some(&telling.project),
            Action::Fire(fire) => Some(&fire.project),
            Action::PrepareWorktree { project, .. }
            | Action::EndSession { project, .. }
            | Action::Checkpoint { project, .. }
            | Action::PushBranch { project, .. }
            | Action::OpenPr { project, .. }
            | Action::RunCi { project, .. }
            | Action::CancelCi { project, .. }
            | Action::PostStatus { project, .. }
            | Action::CollectReview { project, .. }
            | Action::MoveReview { project, .. }
            | Action::PostReview { project, .. }
            | Action::EditLabels { project, .. }
            | Action::Comment { project, .. }
            | Action::CommentPr { project, .. }
            | Action::MovePr { project, .. }
            | Action::CreateIssue { project, .. }
            | Action::CloseIssue { project, .. }
            | Action::Escalate { project, .. }
            | Action::ClosePr { project, .. }
            | Action::FindPrimary { project, .. }
            | Action::BuildChain { project, .. }
            | Action::BuildTry { project, .. }
            | Action::BuildLanding { project, .. }
            | Action::Publish { project, .. }
            | Action::VerifyLanded { project, .. }
            | Action::FindMerged { project, .. }
            | Action::ReleaseWorktree { project, .. }
            | Action::RetireBranch { project, .. }
            | Action::SyncCheckout { project, .. }
            | Action::TakeCheckout { project }
            | Action::CheckAgents { project, .. }
            | Action::StopStep { project, .. }
            | Action::Tidy(Tidy { project, .. }) => Some(project),
        }
    }

    /// The number of the issue, or of the pull request.
    pub fn number(&self) -> Option<IssueNumber> {
        match self {
            Action::StartSession(StartSession { assignment, .. })
            | Action::EndSession { assignment, .. }
            | Action::MoveReview { assignment, .. }
            | Action::ReleaseWorktree { assignment, .. }
            | Action::PrepareWorktree { assignment, .. }
            | Action::Checkpoint { assignment, .. }
            | Action::PushBranch { assignment, .. }
            | Action::OpenPr { assignment, .. }
            | Action::Escalate { assignment, .. } => assignment.number(),
            Action::EditLabels { issue, .. }
            | Action::Comment { issue, .. }
            | Action::CloseIssue { issue, .. } => Some(*issue),
            Action::RunCi { issue, .. } | Action::RetireBranch { issue, .. } => *issue,
            Action::Tell(telling) => telling.issue,
            Action::Act(order) => order.what.issue(),
            Action::PlanAction(plan) => Some(plan.issue),
            _ => None,
        }
    }
}
