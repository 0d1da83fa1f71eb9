//! What counts as green, in one place.

use crate::effect::{CiReport, CiVerdict};
use crate::ids::{RunId, Sha};
use crate::planner::TreeId;
use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// A commit that passed the checks: which commit, in which run, by which checks. Its fields are private: the only
/// ways to make one are [`Green::judge`] and, from there, [`Green::for_same_tree`]; and only a [`Green`] can be
/// published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Green {
    commit: Sha,
    run: RunId,
    #[serde(default)]
    checks: String,
    #[serde(default)]
    tree: Option<TreeId>,
}

impl Green {
    /// Green is a green report in which at least one step ran, by the checks that the project has now, and which
    /// took at least as long as they must. A project without checks is green only if its policy explicitly says
    /// so; so is a change that was not checked because of its paths.
    pub fn judge(policy: &Policy, commit: &Sha, run: RunId, report: &CiReport) -> Option<Green> {
        let green = match report.verdict {
            CiVerdict::Green => report.steps_run > 0 && !is_too_soon(policy, report),
            CiVerdict::NoChecks => policy.allow_no_checks,
            CiVerdict::Skipped => policy.may_skip_checks,
            CiVerdict::Red | CiVerdict::TimedOut | CiVerdict::Infra | CiVerdict::Cancelled => false,
        };
        let (commit, checks) = (commit.clone(), report.checks.clone());
        (green && checks == policy.checks).then_some(Green { commit, run, checks, tree: None })
    }

    /// The same verdict, for a commit whose tree git reported.
    pub fn with_tree(self, tree: &TreeId) -> Green {
        Green { tree: Some(tree.clone()), ..self }
    }

    /// The verdict for another commit, if that has the very tree that was checked.
    pub fn for_same_tree(&self, commit: &Sha, tree: &TreeId) -> Option<Green> {
        let same = self.commit == *commit || self.tree.as_ref() == Some(tree);
        same.then(|| Green { commit: commit.clone(), tree: Some(tree.clone()), ..self.clone() })
    }

    /// Whether the verdict was given by the checks the project has now.
    pub fn holds(&self, policy: &Policy) -> bool {
        self.checks == policy.checks
    }

    pub fn commit(&self) -> &Sha {
        &self.commit
    }

    pub fn run(&self) -> RunId {
        self.run
    }
}

fn is_too_soon(policy: &Policy, report: &CiReport) -> bool {
    report.verdict == CiVerdict::Green && Duration::from_millis(report.duration_ms) < policy.ci_min_time
}

/// The report as it is to be believed: checks that pass sooner than they can were not run, whatever their runner
/// says. That is the machinery's fault and nobody else's.
pub fn believed<'r>(policy: &Policy, report: &'r CiReport) -> Cow<'r, CiReport> {
    if !is_too_soon(policy, report) {
        return Cow::Borrowed(report);
    }
    let took = Duration::from_millis(report.duration_ms);
    let excerpt = format!(
        "passed after {took:?}, which is not believed: `min_time` in [ci] says that it takes {:?} at least",
        policy.ci_min_time
    );
    let step = Some("checks".to_owned());
    Cow::Owned(CiReport { verdict: CiVerdict::Infra, step, excerpt, ..report.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha(digit: &str) -> Sha {
        digit.repeat(40).parse().expect("forty digits")
    }

    fn report(verdict: CiVerdict, checks: &str) -> CiReport {
        CiReport {
            verdict,
            step: None,
            excerpt: String::new(),
            log: String::new(),
            steps_run: 1,
            at: None,
            duration_ms: 1,
            checks: checks.into(),
        }
    }

    #[test]
    fn only_the_present_checks_make_green() {
        let policy = Policy { checks: "new".into(), ..Policy::default() };
        let judge = |verdict, checks| Green::judge(&policy, &sha("a"), RunId(1), &report(verdict, checks));
        assert!(judge(CiVerdict::Green, "new").is_some_and(|g| g.holds(&policy)));
        assert_eq!(judge(CiVerdict::Green, "old"), None);
        for other in
            [CiVerdict::Red, CiVerdict::TimedOut, CiVerdict::Infra, CiVerdict::Cancelled, CiVerdict::NoChecks]
        {
            assert_eq!(judge(other, "new"), None, "{other:?}");
        }
    }

    #[test]
    fn no_step_run_is_no_verdict_and_what_was_not_run_needs_the_projects_word() {
        let judge = |policy: &Policy, report: &CiReport| Green::judge(policy, &sha("a"), RunId(1), report);
        let none = CiReport { steps_run: 0, ..report(CiVerdict::Green, "") };
        assert_eq!(judge(&Policy::default(), &none), None);
        let skipped = report(CiVerdict::Skipped, "");
        assert_eq!(judge(&Policy::default(), &skipped), None);
        assert!(judge(&Policy { may_skip_checks: true, ..Policy::default() }, &skipped).is_some());
        let unchecked = report(CiVerdict::NoChecks, "");
        assert_eq!(judge(&Policy { has_checks: false, ..Policy::default() }, &unchecked), None);
        assert!(judge(&Policy { allow_no_checks: true, ..Policy::default() }, &unchecked).is_some());
        // Another run is another attempt, and another verdict.
        let green = report(CiVerdict::Green, "");
        let policy = Policy::default();
        let (first, second) = (RunId(1), RunId(2));
        let run = |run| Green::judge(&policy, &sha("a"), run, &green).map(|g| g.run());
        assert_eq!((run(first), run(second)), (Some(first), Some(second)));
    }

    #[test]
    fn checks_that_pass_sooner_than_they_can_were_not_run() {
        let policy = Policy { ci_min_time: Duration::from_secs(1), ..Policy::default() };
        let after = |duration_ms, verdict| CiReport { duration_ms, ..report(verdict, "") };
        let judge = |report: &CiReport| Green::judge(&policy, &sha("a"), RunId(1), report).is_some();
        let (soon, late) = (after(999, CiVerdict::Green), after(1_000, CiVerdict::Green));
        assert_eq!((judge(&soon), judge(&late)), (false, true));
        let taken = believed(&policy, &soon);
        assert_eq!(taken.verdict, CiVerdict::Infra);
        assert!(taken.excerpt.contains("min_time"), "{}", taken.excerpt);
        // What is not green stays as it is, however soon; so does what was not run, and says so.
        for other in [CiVerdict::Red, CiVerdict::Skipped, CiVerdict::NoChecks] {
            let report = after(0, other);
            assert_eq!(*believed(&policy, &report), report);
        }
        assert_eq!(*believed(&Policy::default(), &soon), soon, "off by default");
        let skipping = Policy { may_skip_checks: true, ..policy.clone() };
        assert!(Green::judge(&skipping, &sha("a"), RunId(1), &after(0, CiVerdict::Skipped)).is_some());
    }

    #[test]
    fn a_verdict_goes_over_to_the_same_tree_only() {
        let policy = Policy::default();
        let green = Green::judge(&policy, &sha("a"), RunId(1), &report(CiVerdict::Green, "")).expect("green");
        let (one, other) = (TreeId(sha("1")), TreeId(sha("2")));
        assert_eq!(green.for_same_tree(&sha("b"), &one), None, "its tree is not known");
        let green = green.with_tree(&one);
        assert_eq!(green.for_same_tree(&sha("b"), &other), None);
        assert_eq!(green.for_same_tree(&sha("b"), &one).map(|g| g.commit().clone()), Some(sha("b")));
    }
}
