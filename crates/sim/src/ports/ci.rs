//! Checks whose verdict depends on the commit's content, and now and then on bad luck.

use crate::git::commit_of;
use crate::world::{GreenRun, Mutation, Shared};
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::effect::{CiPurpose, CiReport, CiVerdict, Tidy};
use shopfloor_core::ids::{ProjectName, RunId};
use shopfloor_engine::ports::{Ci, CiRequest, PortResult};

pub struct FakeCi(pub Shared);

impl Ci for FakeCi {
    fn run(&self, request: &CiRequest<'_>) -> PortResult<CiReport> {
        self.0.call("ci", |world| {
            let commit = commit_of(request.commit);
            if let Some(verdict) = world.finished.get(&request.run) {
                return Ok(report(*verdict, request.run));
            }
            if world.cancelled.contains(&request.run) {
                world.saw("ci cancelled");
                world.say(format!("checks run {} on c{commit}: cancelled", request.run));
                return Ok(report(CiVerdict::Cancelled, request.run));
            }
            let each: Vec<u32> = match request.about.each.as_slice() {
                [] => vec![commit],
                several => {
                    world.saw("each commit checked");
                    several.iter().map(commit_of).collect()
                }
            };
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
            } else if each.iter().any(|c| world.git.is_red(*c)) && !world.is(Mutation::LyingChecks) {
                (CiVerdict::Red, "ci red")
            } else {
                (CiVerdict::Green, "ci green")
            };
            world.saw(seen);
            if request.source == shopfloor_core::effect::CommitSource::Queue && seen == "ci red" {
                world.saw("red candidate");
            }
            let passed = match verdict {
                CiVerdict::Green => !each.iter().any(|c| world.git.is_red(*c)),
                CiVerdict::NoChecks => world.policy.allow_no_checks,
                _ => false,
            };
            // A try is no evidence, neither for what lands nor against anybody.
            let counts = !matches!(request.purpose, CiPurpose::Try(_));
            if counts && matches!(verdict, CiVerdict::Red | CiVerdict::TimedOut) {
                *world.red_runs.entry(commit).or_default() += 1;
            }
            if counts && passed {
                let (run, target) = (request.run, request.about.target.clone());
                let green = |commit| GreenRun { commit, run, target: target.clone() };
                world.green.extend(each.into_iter().map(green));
            }
            world.say(format!("checks run {} on c{commit}: {verdict:?}", request.run));
            world.finished.insert(request.run, verdict);
            Ok(report(verdict, request.run))
        })
    }

    fn cancel(&self, _project: &ProjectName, run: RunId) -> PortResult<()> {
        self.0.call("cancel", |world| {
            world.cancelled.insert(run);
            Ok(())
        })
    }

    fn prune(&self, _tidy: &Tidy) -> PortResult<Amount> {
        self.0.call("prune_runs", |_| Ok(Amount::default()))
    }
}

fn report(verdict: CiVerdict, run: RunId) -> CiReport {
    CiReport {
        verdict,
        step: Some("test".into()),
        excerpt: "…".into(),
        log: format!("log-{run}"),
        at: None,
        steps_run: u32::from(!matches!(verdict, CiVerdict::NoChecks | CiVerdict::Cancelled)),
        duration_ms: 1,
        checks: String::new(),
    }
}
