//! What the factory does by itself in a run of a formula: commands that usually work, and verifiers that are sometimes
//! not content.

use crate::world::{Mutation, Shared, World};
use shopfloor_core::effect::outcome::{StepRan, StepVerified};
use shopfloor_core::effect::{RunStep, VerifyStep};
use shopfloor_core::groom::findings_in;
use shopfloor_core::ids::{RunNumber, StepId};
use shopfloor_core::recipe::{Context, NOTHING_TO_DO};
use shopfloor_engine::ports::{PortError, PortResult, Steps, Tree};
use std::collections::BTreeMap;

pub struct FakeSteps(pub Shared);

/// How the commands of runs ended, by attempt.
#[derive(Default)]
pub struct Commands {
    ended: BTreeMap<(RunNumber, StepId, u32), StepRan>,
}

impl Commands {
    fn is_done(&self, run: RunNumber, step: &StepId) -> bool {
        let mine = |(key, ran): (&(RunNumber, StepId, u32), &StepRan)| {
            key.0 == run && key.1 == *step && ran.code == Some(0)
        };
        self.ended.iter().any(mine)
    }
}

/// What it prints, if it is to find something: the same for each run, so that it is judged once.
fn findings(step: &RunStep) -> String {
    match findings_in(&step.command) {
        true => format!("- #1 said\nFindings: 00000000000000aa {:016x}", step.run.0),
        false => "said".to_owned(),
    }
}

fn there_is(world: &World, tree: &Tree) -> PortResult<()> {
    match world.git.trees.contains_key(tree) {
        true => Ok(()),
        false => Err(PortError::transient("the worktree is not there (simulated)")),
    }
}

impl Steps for FakeSteps {
    fn run(&self, tree: &Tree, step: &RunStep) -> PortResult<StepRan> {
        self.0.call("run_step", |world| {
            let key = (step.run, step.step.clone(), step.attempt);
            let forgets = world.is(Mutation::RunsStepsAgain);
            if let Some(ran) = world.commands.ended.get(&key).filter(|_| !forgets) {
                return Ok(ran.clone());
            }
            there_is(world, tree)?;
            if world.commands.is_done(step.run, &step.step) {
                let text = format!("step {} of run {} was done, and is done again", step.step, step.run);
                world.broken("4 effects are idempotent", text);
            }
            world.crash_point("run_step", "crash inside a port call");
            if world.rng.permille(300) {
                world.edit(tree, false);
                world.commit_tree(tree);
            }
            let code = match world.rng.below(100) {
                0..80 => 0,
                80..88 => NOTHING_TO_DO,
                _ => 1,
            };
            world.saw(match code {
                0 => "command of a run",
                NOTHING_TO_DO => "run found nothing to do",
                _ => "command of a run failed",
            });
            let ran = StepRan { code: Some(code), how: format!("exit code {code}"), output: findings(step) };
            world.commands.ended.insert(key, ran.clone());
            Ok(ran)
        })
    }

    fn stop(&self, _: &Tree) -> PortResult<()> {
        self.0.call("stop_step", |_| Ok(()))
    }

    fn verify(&self, tree: &Tree, _: &VerifyStep) -> PortResult<StepVerified> {
        self.0.call("verify_step", |world| {
            there_is(world, tree)?;
            let there = world.rng.permille(700);
            world.saw(if there { "step verified" } else { "step not verified" });
            Ok(StepVerified { there, why: "nothing there".into() })
        })
    }

    fn context(&self, _: &Tree, _: RunNumber, _: &Context) -> PortResult<String> {
        Ok(String::new())
    }
}
