//! Checks whose verdict is decided by the commit's content, and now and then by bad luck.

use crate::git::commit_of;
use crate::world::{GreenRun, Mutation, Shared};
use shopfloor_core::effect::{CiReport, CiVerdict, Tidy};
use shopfloor_engine::ports::{Ci, CiRequest, PortResult};

pub struct FakeCi(pub Shared);

impl Ci for FakeCi {
    fn run(&self, request: &CiRequest<'_>) -> PortResult<CiReport> {
        self.0.call("ci", |world| {
            let commit = commit_of(request.commit);
            let luck = world.rng.below(1000);
            let rough = world.weather.transient > 0;
            let (verdict, seen) = if !world.policy.has_checks {
                (CiVerdict::NoChecks, "ci no checks")
            } else if rough && luck < 25 {
                (CiVerdict::Infra, "ci infra")
            } else if rough && luck < 45 {
                (CiVerdict::TimedOut, "ci timeout")
            } else if rough && luck < 60 {
                (CiVerdict::Red, "ci flaky")
            } else if world.git.is_red(commit) && !world.is(Mutation::LyingChecks) {
                (CiVerdict::Red, "ci red")
            } else {
                (CiVerdict::Green, "ci green")
            };
            world.saw(seen);
            if request.source == shopfloor_core::effect::CommitSource::Queue && seen == "ci red" {
                world.saw("red candidate");
            }
            let passed = match verdict {
                CiVerdict::Green => !world.git.is_red(commit),
                CiVerdict::NoChecks => world.policy.allow_no_checks,
                _ => false,
            };
            if passed {
                world.green.push(GreenRun { commit, issue: request.issue, run: request.run });
            }
            world.say(format!("checks run {} on c{commit}: {verdict:?}", request.run));
            Ok(CiReport {
                verdict,
                step: Some("test".into()),
                excerpt: "…".into(),
                log: format!("log-{}", request.run),
                steps_run: u32::from(verdict != CiVerdict::NoChecks),
                duration_ms: 1,
            })
        })
    }

    fn prune(&self, _tidy: &Tidy) -> PortResult<u32> {
        self.0.call("prune_runs", |_| Ok(0))
    }
}
