//! What the factory does by itself in a run of a formula: commands, verifiers, and what a run's agent is shown besides.
//!
//! Invariants:
//! - No shell sees anything of it: a command is a program and its arguments.
//! - A command that has ended is not run again: whoever asks again, after a crash too, gets the same answer. What a crash
//!   left of one that has not ended is ended first, found by a variable in its environment.
//! - Commands and verifiers see what the run's agent sees, and no more. Only `shopfloor` itself is run where the floor
//!   is, and there it may look at its own project and nothing else.

mod context;

use crate::ci::log::RunLog;
use crate::ci::record;
use crate::ci::step::{self, StepEnd, StepPlace};
use crate::host::command;
use crate::host::process::{self, end_marked_tree};
use crate::jail::Jail;
use crate::layout::Layout;
use crate::setup::{SetupConfig, SetupConfigs};
use shopfloor_core::effect::outcome::{StepRan, StepVerified};
use shopfloor_core::effect::{RunStep, VerifyStep};
use shopfloor_core::ids::{ProjectName, RunNumber};
use shopfloor_core::recipe::Context;
use shopfloor_engine::ports::{Final, PortError, PortResult, Steps, Tree};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// In the environment of what is run: the folder of its log. The hub's hook knows this variable, too.
pub const MARKER: &str = "SHOPFLOOR_STEP";
/// The command that is run where the floor is.
const OURS: &str = "shopfloor";
/// Both ends of what a command prints; it becomes part of a row, and of a prompt.
const OUTPUT_BYTES_MAX: usize = 16 * 1024;
const VERIFY_WITHIN: Duration = Duration::from_secs(600);
/// How a shell says that there is no such program.
const NO_PROGRAM: i32 = 127;
const END_GRACE: Duration = Duration::from_secs(2);

/// The words for `shopfloor` to say by its exit status whether the verifier that is asked is content; or why there is none.
pub type Verifiers = Arc<dyn Fn(&VerifyStep) -> Result<Vec<String>, String> + Send + Sync>;

pub struct TreeSteps {
    pub layout: Layout,
    /// Their commands have what a project's setup has.
    pub configs: SetupConfigs,
    pub verifiers: Verifiers,
}

/// How a command ended, and what it printed.
struct Ran {
    end: StepEnd,
    output: String,
}

impl TreeSteps {
    fn config(&self, project: &ProjectName) -> PortResult<SetupConfig> {
        (self.configs)(project).ok_or_else(|| {
            PortError::transient(format!("the configuration of project {project} is not to be had"))
        })
    }

    fn folders(&self, tree: &Tree) -> PathBuf {
        self.layout.setup(tree).join("steps")
    }

    /// Runs a program in the tree. `folder`: a place of its own, for what it leaves.
    fn run_in(
        &self,
        (tree, run): (&Tree, RunNumber),
        folder: &Path,
        argv: &[String],
        timeout: Duration,
    ) -> PortResult<Ran> {
        let config = self.config(&tree.project)?;
        self.run_with((tree, run), folder, argv, timeout, &config)
            .map_err(|e| PortError::transient(format!("{}: {e}", argv.first().map_or("", String::as_str))))
    }

    fn run_with(
        &self,
        (tree, run): (&Tree, RunNumber),
        folder: &Path,
        argv: &[String],
        timeout: Duration,
        config: &SetupConfig,
    ) -> io::Result<Ran> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        end_left(folder)?;
        let path = self.layout.tree(tree);
        let jail = Jail::of_tree(&config.isolation, &self.layout, tree)?.network(config.network);
        let env = self.environment(tree, run, config, folder);
        let marker = process::marker(MARKER, folder);
        let place =
            StepPlace { folder, tree: &path, env: &env, marker: marker.as_encoded_bytes(), jail: None };
        let log = folder.join("log");
        let mut output = RunLog::create(&log, OUTPUT_BYTES_MAX, config.redactor.clone())?;
        let ran = self
            .command(tree, &jail, argv, &env)
            .and_then(|command| step::run_command(&place, command, timeout, &mut output));
        let end = match ran {
            // As a shell says it. Trying again would not help.
            Err(e) if is_no_program(&e) && path.is_dir() => {
                return Ok(Ran {
                    end: StepEnd::Failed(NO_PROGRAM),
                    output: format!("it cannot be started: {e}"),
                });
            }
            ran => ran?,
        };
        output.finish()?;
        Ok(Ran { end, output: fs::read_to_string(&log)? })
    }

    fn command(
        &self,
        tree: &Tree,
        jail: &Jail<'_>,
        argv: &[String],
        env: &[(OsString, OsString)],
    ) -> io::Result<Command> {
        let (program, words) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        if program == OURS {
            let mut ours = Command::new(self.layout.bin().join(OURS));
            ours.arg("--home").arg(self.layout.root()).arg("--project").arg(tree.project.as_str());
            ours.args(words);
            return Ok(ours);
        }
        if jail.is_on() {
            return jail.command(&self.layout.tree(tree), argv);
        }
        let path = env.iter().find(|(name, _)| name == "PATH").map_or(OsStr::new(""), |(_, path)| path);
        let mut plain = command::named(program, path);
        plain.args(words);
        Ok(plain)
    }

    fn environment(
        &self,
        tree: &Tree,
        run: RunNumber,
        config: &SetupConfig,
        folder: &Path,
    ) -> Vec<(OsString, OsString)> {
        let issue = tree.number().map(|issue| ("ISSUE", OsString::from(issue.to_string())));
        let ours = [
            ("SHOPFLOOR_RUN", OsString::from(run.to_string())),
            ("PROJECT_NAME", OsString::from(tree.project.as_str())),
            ("SHOPFLOOR_WORKTREE", self.layout.tree(tree).into()),
            (MARKER, folder.into()),
        ];
        let ours = ours.into_iter().chain(issue).map(|(name, value)| (OsString::from(name), value));
        let mut env = config.env.iter().cloned().chain(ours).collect();
        if config.isolation.is_on() {
            Jail::adjust(&mut env);
        }
        env
    }
}

impl Steps for TreeSteps {
    fn run(&self, tree: &Tree, step: &RunStep) -> PortResult<StepRan> {
        let folder = self.folders(tree).join(format!("{}-{}", step.step, step.attempt));
        let answer = folder.join("answer.json");
        let failed = |e: io::Error| PortError::transient(format!("{}: {e}", folder.display()));
        if let Some(known) = record::load(&answer).map_err(failed)? {
            return Ok(known);
        }
        let Ran { end, output } = self.run_in((tree, step.run), &folder, &step.command, step.timeout)?;
        let (code, how) = match end {
            StepEnd::Passed => (Some(0), String::new()),
            StepEnd::Failed(code) => (Some(code), format!("exit code {code}")),
            StepEnd::Killed => (None, "killed".to_owned()),
            StepEnd::TimedOut => (None, format!("not done within {:?}", step.timeout)),
            StepEnd::Cancelled => (None, "stopped".to_owned()),
        };
        let ran = StepRan { code, how, output };
        record::save(&answer, &ran).map_err(failed)?;
        Ok(ran)
    }

    fn stop(&self, tree: &Tree) -> PortResult<()> {
        let folders = self.folders(tree);
        let entries = match fs::read_dir(&folders) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(PortError::transient)?,
        };
        for entry in entries.flatten() {
            let folder = entry.path();
            if !folder.join("answer.json").exists() {
                record::cancel(&folder).and_then(|()| end_left(&folder)).map_err(PortError::transient)?;
            }
        }
        Ok(())
    }

    fn verify(&self, tree: &Tree, claim: &VerifyStep) -> PortResult<StepVerified> {
        let judge = (self.verifiers)(claim).map_err(|why| PortError::permanent(Final::Config, why))?;
        let own = self.layout.bin().join(OURS).display().to_string();
        let argv: Vec<String> = [own].into_iter().chain(judge).collect();
        let folder = self.folders(tree).join(format!("{}-claim-{}", claim.step, claim.attempt));
        let Ran { end, output } = self.run_in((tree, claim.run), &folder, &argv, VERIFY_WITHIN)?;
        Ok(StepVerified { there: end == StepEnd::Passed, why: output.trim().to_owned() })
    }

    fn context(&self, tree: &Tree, run: RunNumber, context: &Context) -> PortResult<String> {
        context::gather(self, (tree, run), context)
    }
}

/// The program is not there, or is none.
fn is_no_program(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

/// Ends what is left of the last program that was run for this folder.
fn end_left(folder: &Path) -> io::Result<()> {
    let marker = process::marker(MARKER, folder);
    end_marked_tree(record::load_process(folder)?, marker.as_encoded_bytes(), END_GRACE)?;
    record::remove_process(folder)
}
