//! The part of a project's configuration that the core decides with.

use super::model::ProjectConfig;
use shopfloor_core::policy::Policy;

impl ProjectConfig {
    pub fn policy(&self) -> Policy {
        let limits = &self.limits;
        Policy {
            primary_branch: self.project.primary_branch.clone(),
            review_required: self.review.required,
            review_agent: self.agents.review.is_some(),
            has_checks: !self.ci.steps.is_empty(),
            allow_no_checks: self.ci.no_checks,
            may_skip_checks: !self.ci.skip_paths.is_empty(),
            infra_retries_max: self.ci.infra_retries,
            infra_cooldown: self.ci.infra_cooldown.0,
            merge_method: self.merge.method,
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
            idle_timeout: limits.idle.0,
            delivery_timeout: limits.delivery.0,
            respawn_backoff: limits.respawn_backoff.0,
            checkpoint_every: self.rescue.every.0,
            renotify_after: limits.renotify.0,
            escalate_after: limits.escalate.0,
        }
    }
}
