//! The part of a project's configuration that the core decides with.

use super::ProjectConfig;
use super::pinned::programs;
use shopfloor_adapters::ci::{self, local::CiStep};
use shopfloor_core::ids::Role;
use shopfloor_core::policy::Policy;
use shopfloor_core::protected::scripts;
use std::time::Duration;

impl ProjectConfig {
    /// The checks, as they are run.
    pub fn ci_steps(&self) -> Vec<CiStep> {
        let step =
            |s: &super::Step| CiStep { name: s.name.clone(), run: s.run.clone(), timeout: s.timeout.0 };
        self.ci.steps.iter().map(step).collect()
    }

    /// What a person has to approve: what `[review]` names, and the scripts that checks, setup, teardown, agents and the
    /// commands about what landed run.
    /// Nothing, if `[review]` names nothing.
    fn protected(&self) -> Vec<String> {
        let mut patterns = self.review.protected.clone();
        if patterns.is_empty() {
            return patterns;
        }
        let steps = self.ci.steps.iter().map(|step| &step.run);
        let worktree = self.worktree.setup.iter().chain(&self.worktree.teardown);
        let notices = [&self.merge.on_landed, &self.merge.on_not_landed].into_iter().flatten();
        let notices = notices.flat_map(|words| scripts(&words.join(" ")));
        let run = steps.chain(worktree).flat_map(|command| scripts(command)).chain(notices);
        for script in run.chain(programs(self.agents.values())) {
            if !patterns.contains(&script) {
                patterns.push(script);
            }
        }
        patterns
    }

    pub fn policy(&self) -> Policy {
        let has_setup = !self.worktree.setup.is_empty();
        let mut policy = Policy {
            primary_branch: self.project.primary_branch.clone(),
            review_agent: self.agents.contains_key(&Role::REVIEW),
            has_checks: !self.ci.steps.is_empty(),
            protected: self.protected(),
            checks: ci::digest(&self.ci_steps()),
            may_skip_checks: !self.ci.skip_paths.is_empty(),
            review_diff_bytes: self.review.diff_kb as usize * 1024,
            targets: self.merge.targets(),
            merge_signed: self.merge.signing.is_some(),
            tells_landed: self.merge.on_landed.is_some(),
            tells_not_landed: self.merge.on_not_landed.is_some(),
            setup_timeout: if has_setup { self.worktree.timeout.0 } else { Duration::ZERO },
            roles: self.roles.iter().map(|(role, rights)| (*role, rights.rights(*role))).collect(),
            actions: self.agents.contains_key(&Role::ACTION),
            ..Policy::default()
        };
        self.ci.decide(&mut policy);
        self.review.decide(&mut policy);
        self.merge.decide(&mut policy);
        self.limits.decide(&mut policy);
        self.health.decide(&mut policy);
        self.sessions.decide(&mut policy);
        self.rescue.decide(&mut policy);
        policy
    }
}
