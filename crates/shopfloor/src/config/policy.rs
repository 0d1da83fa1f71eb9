//! The part of a project's configuration that the core decides with.

use super::ProjectConfig;
use shopfloor_adapters::ci::{self, local::CiStep};
use shopfloor_core::policy::Policy;
use std::time::Duration;

impl ProjectConfig {
    /// The checks, as they are run.
    pub fn ci_steps(&self) -> Vec<CiStep> {
        let step =
            |s: &super::Step| CiStep { name: s.name.clone(), run: s.run.clone(), timeout: s.timeout.0 };
        self.ci.steps.iter().map(step).collect()
    }

    pub fn policy(&self) -> Policy {
        let limits = &self.limits;
        Policy {
            primary_branch: self.project.primary_branch.clone(),
            review_required: self.review.required,
            review_agent: self.agents.review.is_some(),
            review_people: self.review.people,
            has_checks: !self.ci.steps.is_empty(),
            allow_no_checks: self.ci.no_checks,
            checks: ci::digest(&self.ci_steps()),
            may_skip_checks: !self.ci.skip_paths.is_empty(),
            ci_min_time: self.ci.min_time.0,
            infra_retries_max: self.ci.infra_retries,
            infra_cooldown: self.ci.infra_cooldown.0,
            merge_method: self.merge.method,
            merge_people: self.merge.people,
            merge_batch: self.merge.batch,
            check_commits: self.merge.check_commits,
            head_checks: self.ci.heads,
            targets: self.merge.targets(),
            merge_signed: self.merge.signing.is_some(),
            merge_slots: self.merge.slots as usize,
            merge_alarm: self.merge.alarm.0,
            tells_landed: self.merge.on_landed.is_some(),
            tells_not_landed: self.merge.on_not_landed.is_some(),
            max_jobs: limits.max_jobs as usize,
            floor_max_jobs: None,
            ci_fixes_max: limits.ci_fixes,
            review_rounds_max: self.review.rounds,
            merge_rounds_max: self.merge.rounds,
            respawns_max: limits.respawns,
            reminders_max: limits.reminders,
            on_failed: limits.on_failed,
            on_already_done: limits.on_already_done,
            ci_timeout: self.ci.timeout.0,
            review_timeout: self.review.timeout.0,
            reviewer_timeout: self.review.agent_timeout.0,
            review_diff_bytes: self.review.diff_kb as usize * 1024,
            handback: self.sessions.handback.0,
            idle_timeout: limits.idle.0,
            background_timeout: limits.background.0,
            delivery_timeout: limits.delivery.0,
            respawn_backoff: limits.respawn_backoff.0,
            retries_max: limits.retries,
            retry_backoff: limits.retry_backoff.0,
            checkpoint_every: self.rescue.every.0,
            rescue_keep: self.rescue.keep,
            rescue_keep_for: self.rescue.keep_for.0,
            keep_worktrees: self.rescue.keep_worktrees.0,
            keep_logs: self.rescue.keep_logs.0,
            setup_timeout: if self.worktree.setup.is_empty() {
                Duration::ZERO
            } else {
                self.worktree.timeout.0
            },
            renotify_after: limits.renotify.0,
            escalate_after: limits.escalate.0,
            trouble_after: limits.trouble.0,
        }
    }
}
