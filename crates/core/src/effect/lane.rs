//! Where an action belongs: its lane, its name, and whose work it is part of.

use super::*;
use crate::texts::markers;

/// The lane in which a project is tidied.
pub(crate) fn tidy_lane(project: &ProjectName) -> String {
    format!("tidy:{project}")
}

impl Action {
    /// The lane the action queues in.
    pub fn lane(&self) -> String {
        match self {
            Action::PrepareWorktree { job, .. }
            | Action::PushBranch { job, .. }
            | Action::OpenPr { job, .. }
            | Action::Checkpoint { job, .. }
            | Action::MoveReview { job, .. }
            | Action::ReleaseWorktree { job, .. } => format!("job:{job}"),
            // A session is started and ended in its job's lane: never two at once on one worktree.
            Action::StartSession(start) => format!("job:{}", start.job),
            Action::EndSession { job, .. } => format!("job:{job}"),
            // In the worktree, so before whatever is done to that next.
            Action::RunStep(step) => format!("job:{}", step.job),
            Action::VerifyStep(claim) => format!("job:{}", claim.job),
            Action::PlanAction(plan) => format!("job:{}", plan.job),
            Action::StopStep { run, .. } => format!("stop:{run}"),
            Action::PlanRun(plan) => format!("schedule:{}/{}", plan.project, plan.schedule),
            Action::CollectReview { epoch, .. } => format!("session:{epoch}"),
            Action::RingInbox { epoch, .. } => format!("inbox:{epoch}"),
            Action::RunCi { run, .. } => format!("ci:{run}"),
            // Beside the run, not behind it.
            Action::CancelCi { run, .. } => format!("cancel:{run}"),
            // Each issue, pull request and commit has its own lane, so a failure holds up no other. Within one
            // lane order is kept: labels before its end, the start of the checks before their verdict.
            Action::EditLabels { project, issue, .. }
            | Action::Comment { project, issue, .. }
            | Action::CloseIssue { project, issue } => format!("forge:{project}/issue/{issue}"),
            Action::Act(order) => match order.what.issue() {
                Some(issue) => format!("forge:{}/issue/{issue}", order.project),
                None => format!("forge:{}/new/{}", order.project, markers::act(order.id)),
            },
            Action::PostReview { project, pr, .. }
            | Action::CommentPr { project, pr, .. }
            | Action::MovePr { project, pr, .. }
            | Action::ClosePr { project, pr, .. } => format!("forge:{project}/pr/{pr}"),
            Action::PostStatus { project, commit, .. } => format!("forge:{project}/commit/{commit}"),
            Action::CreateIssue { project, marker, .. } => format!("forge:{project}/new/{marker}"),
            // One after another, in landing order; a command that hangs holds up only those behind it.
            Action::Tell(telling) => format!("told:{}", telling.project),
            // Two of one type are never under way at once.
            Action::Fire(fire) => format!("vault:{}/{}", fire.project, fire.r#type),
            // All queues of a project share a repository.
            Action::FindPrimary { project, .. }
            | Action::BuildChain { project, .. }
            | Action::BuildTry { project, .. }
            | Action::BuildLanding { project, .. }
            | Action::Publish { project, .. } => format!("queue:{project}"),
            Action::RetireBranch { project, branch, .. } => format!("branch:{project}/{branch}"),
            Action::VerifyLanded { project, .. } => format!("landed:{project}"),
            Action::FindMerged { project, .. } => format!("merged:{project}"),
            Action::Tidy(tidy) => tidy_lane(&tidy.project),
            Action::CheckHealth(order) => format!("health:{}", order.project),
            Action::RecordHealth(record) => format!("diary:{}", record.project),
            // With whatever else is done to that worktree.
            Action::EndStray(order) => match order.job {
                Some(job) => format!("job:{job}"),
                None => format!("stray:{}", order.stray.epoch),
            },
            Action::CheckAgents { project, .. } => format!("agents:{project}"),
            Action::Escalate { project, .. } => format!("escalations:{project}"),
            Action::TakeCheckout { project } | Action::SyncCheckout { project, .. } => {
                format!("checkout:{project}")
            }
        }
    }

    /// The project whose forge it changes.
    pub fn forge(&self) -> Option<&ProjectName> {
        match self {
            Action::EditLabels { project, .. }
            | Action::Comment { project, .. }
            | Action::CloseIssue { project, .. }
            | Action::PostReview { project, .. }
            | Action::CommentPr { project, .. }
            | Action::MovePr { project, .. }
            | Action::ClosePr { project, .. }
            | Action::PostStatus { project, .. }
            | Action::CreateIssue { project, .. }
            | Action::OpenPr { project, .. }
            | Action::RetireBranch { project, .. } => Some(project),
            Action::Act(order) => Some(&order.project),
            _ => None,
        }
    }

    /// Whether it is part of carrying that project's changes through the merge queue.
    pub fn is_merging(&self, of: &ProjectName) -> bool {
        match self {
            Action::FindPrimary { project, .. }
            | Action::BuildChain { project, .. }
            | Action::BuildLanding { project, .. }
            | Action::Publish { project, .. }
            | Action::CancelCi { project, .. } => project == of,
            Action::RunCi { project, purpose, .. } => {
                !matches!(purpose, CiPurpose::Head | CiPurpose::Try(_)) && project == of
            }
            other => other.follows_a_landing(of),
        }
    }

    /// Whether it is part of finding out whether that branch would land.
    pub fn is_trying(&self, of: TryId) -> bool {
        match self {
            Action::BuildTry { id, .. } => *id == of,
            Action::RunCi { purpose: CiPurpose::Try(id), .. } => *id == of,
            _ => false,
        }
    }

    /// Whether it is work left over after a landing that is no job's to do.
    pub fn follows_a_landing(&self, of: &ProjectName) -> bool {
        match self {
            Action::VerifyLanded { project, .. }
            | Action::RetireBranch { project, .. }
            | Action::CommentPr { project, .. } => project == of,
            Action::Tell(telling) => telling.project == *of,
            _ => false,
        }
    }

    /// The action's name, for logs and `explain`.
    pub fn name(&self) -> &'static str {
        match self {
            Action::PrepareWorktree { .. } => "prepare_worktree",
            Action::StartSession(_) => "start_session",
            Action::PlanRun(_) => "plan_run",
            Action::PlanAction(_) => "plan_action",
            Action::RunStep(_) => "run_step",
            Action::StopStep { .. } => "stop_step",
            Action::VerifyStep(_) => "verify_step",
            Action::CheckAgents { .. } => "check_agents",
            Action::EndSession { .. } => "end_session",
            Action::Checkpoint { .. } => "checkpoint",
            Action::RingInbox { .. } => "ring_inbox",
            Action::PushBranch { .. } => "publish_branch",
            Action::OpenPr { .. } => "open_pr",
            Action::RunCi { .. } => "run_ci",
            Action::CancelCi { .. } => "cancel_ci",
            Action::PostStatus { .. } => "post_status",
            Action::CollectReview { .. } => "collect_review",
            Action::MoveReview { .. } => "move_review",
            Action::PostReview { .. } => "post_review",
            Action::EditLabels { .. } => "edit_labels",
            Action::Comment { .. } => "comment",
            Action::CommentPr { .. } => "comment_pr",
            Action::CloseIssue { .. } => "close_issue",
            Action::CreateIssue { .. } => "create_issue",
            Action::Act(_) => "act",
            Action::Escalate { .. } => "escalate",
            Action::MovePr { .. } => "move_pr",
            Action::ClosePr { .. } => "close_pr",
            Action::FindPrimary { .. } => "find_primary",
            Action::BuildChain { .. } => "build_chain",
            Action::BuildTry { .. } => "build_try",
            Action::BuildLanding { .. } => "build_landing",
            Action::Publish { .. } => "publish",
            Action::VerifyLanded { .. } => "verify_landed",
            Action::FindMerged { .. } => "find_merged",
            Action::ReleaseWorktree { .. } => "release_worktree",
            Action::RetireBranch { .. } => "retire_branch",
            Action::Tell(_) => "tell",
            Action::Fire(_) => "fire",
            Action::Tidy(_) => "tidy",
            Action::CheckHealth(_) => "check_health",
            Action::RecordHealth(_) => "record_health",
            Action::EndStray(_) => "end_stray",
            Action::SyncCheckout { .. } => "sync_checkout",
            Action::TakeCheckout { .. } => "take_checkout",
        }
    }
}
