//! The checks, run on this machine: the [`Ci`] port for a floor without a CI service.
//!
//! Invariants:
//! - The checks see a clean checkout of exactly the commit, and a clean environment.
//! - Green means that every step ran and exited 0, including those that the commit itself adds or changes.
//!   What failed through no fault of the change (git, a process killed by the kernel) is never red.
//! - A run leaves no process behind, even if the daemon died in the middle of it and the run is asked for
//!   again, or another run takes its checkout. Its processes are known by pid and start time, and by a
//!   variable in their environment that names the run's folder.
//! - A finished run is answered from its report, not run again.
//! - A run that was cancelled says so; it is neither green nor red.

use super::checkout::{self, Source};
use super::clean;
use super::log::RunLog;
use super::own::OwnSteps;
use super::record;
use super::step::{self, StepEnd, StepPlace};
use super::trees::TestTree;
use crate::git::origin;
use crate::host::process::{self, end_marked_tree};
use crate::host::prune;
use crate::jail::{Isolation, Jail, Network};
use crate::layout::Layout;
use shopfloor_core::ci::{SkipPaths, infra_reason};
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::effect::{CiAbout, CiPurpose, CiReport, CiVerdict, CommitSource, Tidy};
use shopfloor_core::ids::{IssueNumber, ProjectName, RunId, Sha, Target};
use shopfloor_core::redact::Redactor;
use shopfloor_core::text::one_line;
use shopfloor_engine::ports::{Ci, CiRequest, PortError, PortResult};
use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// In the environment of a run's processes; its value is the run's folder.
pub const MARKER: &str = "SHOPFLOOR_CI_RUN";
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// 128 + SIGKILL, as a shell reports it.
const KILLED: i32 = 137;
const END_GRACE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CiStep {
    pub name: String,
    /// Run with `sh -euc`.
    pub run: String,
    pub timeout: Duration,
}

/// How a project's checks are run.
#[derive(Clone, Debug)]
pub struct CiConfig {
    pub steps: Vec<CiStep>,
    /// For all steps together.
    pub timeout: Duration,
    /// The steps' environment, to which `CI=true`, `SHOPFLOOR_CI=1` and what is known about the change are
    /// added.
    pub env: Vec<(OsString, OsString)>,
    pub log_bytes_max: usize,
    pub redactor: Redactor,
    /// Other words in a step's output that mean that the machinery failed.
    pub infra: Vec<String>,
    /// A change to these paths alone needs no checks.
    pub skip: SkipPaths,
    pub primary_branch: String,
    /// The checks that a commit itself brings along.
    pub own: Option<OwnSteps>,
    pub isolation: Arc<Isolation>,
    /// What they have of it where isolation takes it away.
    pub network: Network,
}

/// A project's configuration, or `None` for a project this floor does not have.
pub type CiConfigs = Arc<dyn Fn(&ProjectName) -> Option<CiConfig> + Send + Sync>;

/// What a run is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CiRun {
    pub project: ProjectName,
    pub issue: Option<IssueNumber>,
    pub run: RunId,
    pub commit: Sha,
    pub source: CommitSource,
}

/// How far a run is. A run that is answered from its report only says so once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CiProgress {
    Started {
        run: CiRun,
        log: String,
    },
    /// `exit` is `None` for a step that did not end by itself.
    StepEnded {
        run: CiRun,
        step: String,
        exit: Option<i32>,
        duration_ms: u64,
    },
    Finished {
        run: CiRun,
        report: CiReport,
    },
}

pub type CiObserver = Arc<dyn Fn(&CiProgress) + Send + Sync>;

pub struct LocalCi {
    layout: Layout,
    configs: CiConfigs,
    on_progress: Option<CiObserver>,
}

impl LocalCi {
    pub fn new(layout: Layout, configs: CiConfigs, on_progress: Option<CiObserver>) -> Self {
        LocalCi { layout, configs, on_progress }
    }

    fn tell(&self, progress: CiProgress) {
        if let Some(observer) = &self.on_progress {
            observer(&progress);
        }
    }

    fn run_in(&self, folder: &Path, request: &CiRequest<'_>, config: &CiConfig) -> io::Result<CiReport> {
        let run = CiRun {
            project: request.project.clone(),
            issue: request.issue,
            run: request.run,
            commit: request.commit.clone(),
            source: request.source,
        };
        if let Some(report) = record::load_report(folder, request.commit, &config.steps)? {
            self.tell(CiProgress::Finished { run, report: report.clone() });
            return Ok(report);
        }
        let started = Instant::now();
        let begun = folder.exists();
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if begun {
            // Ends what an earlier attempt at this run left behind when it was cut short.
            end_run(folder)?;
            record::remove_report(folder)?;
        }

        let log_path = folder.join("log");
        let mut log = RunLog::create(&log_path, config.log_bytes_max, config.redactor.clone())?;
        let log_name = log_path.display().to_string();
        self.tell(CiProgress::Started { run: run.clone(), log: log_name.clone() });
        let mut report = CiReport {
            verdict: CiVerdict::NoChecks,
            step: None,
            excerpt: String::new(),
            log: log_name,
            steps_run: 0,
            at: None,
            duration_ms: 0,
            checks: record::digest(&config.steps),
        };
        if record::is_cancelled(folder) {
            report.verdict = CiVerdict::Cancelled;
        } else if !config.steps.is_empty() {
            let (tree, before) = TestTree::take(&self.layout.test_trees(request.project), folder)?;
            if let Some(before) = before.filter(|before| !record::has_ended(before)) {
                end_run(&before)?;
            }
            let ran = self.run_commits(folder, &tree, request, &run, config, &mut log, &mut report);
            // What they wrote into the folders that stood for the home and `/tmp` is nobody's.
            clean::remove_any(&private(folder))?;
            ran?;
        }
        log.finish()?;
        report.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        record::save_report(folder, request.commit, &config.steps, &report)?;
        self.tell(CiProgress::Finished { run, report: report.clone() });
        Ok(report)
    }

    /// Runs the one commit; or each of several, one after another, up to the first that does not pass.
    #[expect(clippy::too_many_arguments, reason = "one caller; each is a part of the run")]
    fn run_commits(
        &self,
        folder: &Path,
        tree: &TestTree,
        request: &CiRequest<'_>,
        run: &CiRun,
        config: &CiConfig,
        log: &mut RunLog,
        report: &mut CiReport,
    ) -> io::Result<()> {
        let marker = process::marker(MARKER, folder);
        let one = std::slice::from_ref(request.commit);
        let commits = if request.about.each.is_empty() { one } else { &request.about.each };
        let mut checked = false;
        for (number, commit) in (1..).zip(commits) {
            if record::is_cancelled(folder) {
                report.verdict = CiVerdict::Cancelled;
                return Ok(());
            }
            if commits.len() > 1 {
                log.note(&format!("== commit {commit}, {number} of {} ==", commits.len()))?;
            }
            let request = CiRequest { commit, ..*request };
            let mut env = step_env(config, folder, &request);
            if config.isolation.is_on() {
                Jail::adjust(&mut env);
                env.push(("SHOPFLOOR_DOOR".into(), self.layout.door_socket().into()));
            }
            let jail = self.jail(folder, tree, &request, config);
            let place = StepPlace {
                folder,
                tree: tree.path(),
                env: &env,
                marker: marker.as_bytes(),
                jail: Some(&jail),
            };
            self.run_steps(&place, tree, &request, run, config, log, report)?;
            checked |= report.verdict == CiVerdict::Green;
            if !matches!(report.verdict, CiVerdict::Green | CiVerdict::Skipped) {
                report.at = (*commit != run.commit).then(|| named(&self.holder(&request), commit, config));
                return Ok(());
            }
        }
        if checked {
            report.verdict = CiVerdict::Green;
        }
        Ok(())
    }

    /// Runs the steps in order, up to the first that does not pass.
    #[expect(clippy::too_many_arguments, reason = "one caller; each is a part of the run")]
    fn run_steps(
        &self,
        place: &StepPlace<'_>,
        tree: &TestTree,
        request: &CiRequest<'_>,
        run: &CiRun,
        config: &CiConfig,
        log: &mut RunLog,
        report: &mut CiReport,
    ) -> io::Result<()> {
        let near = origin::near(&self.layout, request.project);
        let queue = self.layout.queue_repo(request.project);
        let source = match request.source {
            CommitSource::Hub => Source { near: &near, lent: None },
            CommitSource::Queue => Source { near: &near, lent: Some(&queue) },
        };
        log.begin_step("checkout")?;
        let path = search_path(config);
        if let Err(why) = tree.check_out(&source, request.commit, path)? {
            if checkout::has(source.holder(), request.commit, path) {
                // Whatever stopped git, it is not the commit's fault: the whole run is repeated.
                return Err(io::Error::other(why));
            }
            log.write(why.as_bytes())?;
            report.verdict = CiVerdict::Infra;
            report.step = Some("checkout".to_owned());
            report.excerpt = log.excerpt()?;
            return Ok(());
        }
        if let Some(files) = self.skippable(place.tree, request, config, path)? {
            log.note(&format!("no step is run: only these changed: {files}"))?;
            report.verdict = CiVerdict::Skipped;
            report.excerpt = format!("only {files} changed");
            return Ok(());
        }
        let mut steps = self.accepted(request, config, path)?;
        if let Some(own) = config.own.as_ref().filter(|_| request.purpose != CiPurpose::Base) {
            match own.beside(place.tree, &steps) {
                Ok(more) if more.is_empty() => {}
                Ok(more) => {
                    log.note("this commit changes the checks: those of the project are run, and its own")?;
                    steps.extend(more);
                }
                Err(why) => {
                    log.begin_step(&own.file)?;
                    log.write(why.as_bytes())?;
                    report.verdict = CiVerdict::Red;
                    report.step = Some(own.file.clone());
                    report.excerpt = log.excerpt()?;
                    return Ok(());
                }
            }
        }
        let started = Instant::now();
        for (number, step) in (1..).zip(&steps) {
            let name = one_line(&step.name, 80);
            log.begin_step(&name)?;
            let began = Instant::now();
            let left = config.timeout.saturating_sub(started.elapsed());
            let limited = CiStep { timeout: step.timeout.min(left), ..step.clone() };
            let end = step::run(place, &limited, log)?;
            report.steps_run = number;
            let exit = match end {
                StepEnd::Passed => Some(0),
                StepEnd::Failed(code) => Some(code),
                StepEnd::Killed | StepEnd::TimedOut | StepEnd::Cancelled => None,
            };
            let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.tell(CiProgress::StepEnded { run: run.clone(), step: name.clone(), exit, duration_ms });
            let failed = |code: i32, log: &mut RunLog| -> io::Result<_> {
                Ok(match infra_reason(&name, code, &log.excerpt()?, &config.infra) {
                    Some(why) => {
                        (CiVerdict::Infra, format!("exit code {code}; not the change's fault: {why}"))
                    }
                    None => (CiVerdict::Red, format!("exit code {code}")),
                })
            };
            let (verdict, note) = match end {
                StepEnd::Passed => continue,
                StepEnd::Failed(code) => failed(code, log)?,
                StepEnd::Killed => failed(KILLED, log)?,
                StepEnd::Cancelled => {
                    (CiVerdict::Cancelled, "cancelled: nobody waits for it any more".into())
                }
                StepEnd::TimedOut => {
                    (CiVerdict::TimedOut, format!("not done after {:?}, and ended", limited.timeout))
                }
            };
            report.verdict = verdict;
            report.step = Some(name);
            log.write(format!("\n[{note}]").as_bytes())?;
            report.excerpt = log.excerpt()?;
            return Ok(());
        }
        report.verdict = CiVerdict::Green;
        Ok(())
    }
}

/// The run's folders that stand for the home and `/tmp`.
fn private(folder: &Path) -> PathBuf {
    folder.join("private")
}

impl LocalCi {
    /// The checks see their checkout, what it borrows, and the door, at which they are told that they have nothing to ask.
    fn jail<'c>(
        &self,
        folder: &Path,
        tree: &TestTree,
        request: &CiRequest<'_>,
        config: &'c CiConfig,
    ) -> Jail<'c> {
        Jail::new(&config.isolation, &self.layout, &private(folder))
            .network(config.network)
            .read(origin::near(&self.layout, request.project))
            .read(self.holder(request))
            .write(tree.path())
    }

    /// The repository that has the commit.
    fn holder(&self, request: &CiRequest<'_>) -> PathBuf {
        match request.source {
            CommitSource::Hub => origin::near(&self.layout, request.project),
            CommitSource::Queue => self.layout.queue_repo(request.project),
        }
    }

    /// The checks that count where the commit is to land: a target may have its own.
    fn accepted(&self, request: &CiRequest<'_>, config: &CiConfig, path: &OsStr) -> io::Result<Vec<CiStep>> {
        let (Some(target), Some(own)) = (&request.about.target, &config.own) else {
            return Ok(config.steps.clone());
        };
        let near = origin::near(&self.layout, request.project);
        let text = checkout::file(&near, target.branch(), &own.file, path)?;
        Ok(own.of_branch(text.as_deref()).unwrap_or_else(|| config.steps.clone()))
    }

    /// What the commit changes, if none of it needs checks. When in doubt, it is checked.
    fn skippable(
        &self,
        tree: &Path,
        request: &CiRequest<'_>,
        config: &CiConfig,
        path: &OsStr,
    ) -> io::Result<Option<String>> {
        if config.skip.is_empty() {
            return Ok(None);
        }
        let near = origin::near(&self.layout, request.project);
        let branch = request.about.target.as_ref().map_or(config.primary_branch.as_str(), Target::branch);
        let Some(files) = checkout::changed(&near, tree, branch, request.commit, path)? else {
            return Ok(None);
        };
        Ok(config.skip.cover(&files).then(|| one_line(&files.join(", "), 300)))
    }
}

impl Ci for LocalCi {
    fn run(&self, request: &CiRequest<'_>) -> PortResult<CiReport> {
        let config = (self.configs)(request.project).ok_or_else(|| {
            PortError::Transient(format!("the configuration of project {} is not to be had", request.project))
        })?;
        let folder = self.layout.ci_run(request.project, request.run);
        self.run_in(&folder, request, &config)
            .map_err(|e| PortError::Transient(format!("CI run {}: {e}", request.run)))
    }

    fn prune(&self, tidy: &Tidy) -> PortResult<Amount> {
        let may_go = |n: u64| !tidy.runs_kept.contains(&RunId(n));
        let folder = self.layout.ci_runs(&tidy.project);
        prune::numbered(&folder, "run-", tidy.folders_before, tidy.dry_run, may_go)
            .map_err(PortError::transient)
    }

    fn cancel(&self, project: &ProjectName, run: RunId) -> PortResult<()> {
        let folder = self.layout.ci_run(project, run);
        let cancel = || -> io::Result<()> {
            DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            record::cancel(&folder)?;
            end_marked_tree(
                record::load_process(&folder)?,
                process::marker(MARKER, &folder).as_bytes(),
                END_GRACE,
            )?;
            Ok(())
        };
        cancel().map_err(|e| PortError::Transient(format!("cancelling CI run {run}: {e}")))
    }
}

fn search_path(config: &CiConfig) -> &OsStr {
    let path = config.env.iter().find(|(name, _)| name == "PATH");
    path.map_or(OsStr::new(DEFAULT_PATH), |(_, path)| path)
}

/// The commit as people know it: candidates are made anew, so the hash alone means nothing to the author.
fn named(repository: &Path, commit: &Sha, config: &CiConfig) -> String {
    let subject = checkout::subject(repository, commit, search_path(config)).unwrap_or_default();
    format!("{} ({})", commit.short(), one_line(&config.redactor.redact(&subject), 100))
}

/// Ends what is left of the run in that folder.
fn end_run(folder: &Path) -> io::Result<()> {
    end_marked_tree(record::load_process(folder)?, process::marker(MARKER, folder).as_bytes(), END_GRACE)?;
    record::remove_process(folder)
}

fn step_env(config: &CiConfig, folder: &Path, request: &CiRequest<'_>) -> Vec<(OsString, OsString)> {
    let ours = [
        (OsString::from("CI"), OsString::from("true")),
        ("SHOPFLOOR_CI".into(), "1".into()),
        ("SHOPFLOOR_HEAD".into(), request.commit.as_str().into()),
        ("SHOPFLOOR_PURPOSE".into(), request.purpose.as_str().into()),
        (MARKER.into(), folder.into()),
    ];
    let CiAbout { base, branch, pr, target, .. } = request.about;
    let target = target.as_ref().map_or(config.primary_branch.as_str(), Target::branch);
    let known = [
        ("SHOPFLOOR_BASE", base.as_ref().map(std::string::ToString::to_string)),
        ("SHOPFLOOR_BRANCH", branch.clone()),
        ("SHOPFLOOR_PR", pr.map(|pr| pr.to_string())),
        ("SHOPFLOOR_TARGET", Some(target.to_owned())),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((OsString::from(name), value?.into())));
    config.env.iter().cloned().chain(ours).chain(known).collect()
}
