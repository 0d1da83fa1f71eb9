//! What counts as green, in one place.

use crate::effect::{CiReport, CiVerdict};
use crate::ids::{RunId, Sha};
use crate::policy::Policy;
use serde::{Deserialize, Serialize};

/// A commit that passed the checks. Its fields are private: the only way to one is
/// [`Green::judge`], and only a [`Green`] can be published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Green {
    commit: Sha,
    run: RunId,
}

impl Green {
    /// Green is a green report in which at least one step ran. A project without checks is green
    /// only if its policy says so in so many words; so is a change that was not checked for its paths.
    pub fn judge(policy: &Policy, commit: &Sha, run: RunId, report: &CiReport) -> Option<Green> {
        let green = match report.verdict {
            CiVerdict::Green => report.steps_run > 0,
            CiVerdict::NoChecks => policy.allow_no_checks,
            CiVerdict::Skipped => policy.may_skip_checks,
            CiVerdict::Red | CiVerdict::TimedOut | CiVerdict::Infra => false,
        };
        green.then(|| Green { commit: commit.clone(), run })
    }

    pub fn commit(&self) -> &Sha {
        &self.commit
    }

    pub fn run(&self) -> RunId {
        self.run
    }
}
