//! A project's own commands about what landed or did not: [`Notices`] on real processes.
//!
//! Invariants:
//! - A command is begun at most once for an entry. A note that it is about to begin is on disk before it
//!   does. Whoever finds that note, but not how the command ended, does not begin it again: what people write
//!   here (a message, a deployment) does more harm twice than not at all, and people are told that it was cut
//!   short.
//! - Nothing of an entry reaches the command's arguments or a shell: what others wrote is in variables, one
//!   line each.
//! - It runs in an empty folder of its own, with a clean environment, its own process group and limited time.
//!   Nothing of it keeps running when it ends, even if the daemon died in the middle: its processes are known
//!   by a variable in their environment.

use crate::ci::log::RunLog;
use crate::ci::record;
use crate::ci::step::{self, StepEnd, StepPlace};
use crate::host::atomic::write_atomic;
use crate::host::process::{self, end_marked_tree};
use crate::host::prune;
use crate::layout::Layout;
use serde::{Deserialize, Serialize};
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::effect::{CommandEnd, EntryEnd, Telling, Tidy};
use shopfloor_core::ids::{ProjectName, Sha};
use shopfloor_core::redact::Redactor;
use shopfloor_core::text::one_line;
use shopfloor_engine::ports::{Notices, PortError, PortResult};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// In the environment of the command: the folder of its log.
pub const MARKER: &str = "SHOPFLOOR_TOLD";
const FOLDER: &str = "entry-";
const LOG_BYTES_MAX: usize = 256 * 1024;
const END_GRACE: Duration = Duration::from_secs(2);
const VALUE_CHARS_MAX: usize = 500;

/// A project's commands: each a program and its arguments, or empty.
#[derive(Clone, Debug)]
pub struct NoticeConfig {
    pub on_landed: Vec<String>,
    pub on_not_landed: Vec<String>,
    pub timeout: Duration,
    pub env: Vec<(OsString, OsString)>,
    pub redactor: Redactor,
    /// The user's own checkout.
    pub checkout: PathBuf,
}

/// A project's configuration, or `None` for a project this floor does not have.
pub type NoticeConfigs = Arc<dyn Fn(&ProjectName) -> Option<NoticeConfig> + Send + Sync>;

pub struct Commands {
    pub layout: Layout,
    pub configs: NoticeConfigs,
}

/// Tells this end of an entry from that of another entry that had the same number before.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Begun {
    end: EntryEnd,
    head: Sha,
    commit: Option<Sha>,
}

#[derive(Serialize, Deserialize)]
struct Ended {
    begun: Begun,
    how: CommandEnd,
}

impl Begun {
    fn of(telling: &Telling) -> Begun {
        Begun { end: telling.end, head: telling.head.clone(), commit: telling.commit.clone() }
    }
}

impl Notices for Commands {
    fn run(&self, telling: &Telling) -> PortResult<CommandEnd> {
        let project = &telling.project;
        let config = (self.configs)(project).ok_or_else(|| {
            PortError::transient(format!("the configuration of project {project} is not to be had"))
        })?;
        let folder = self.layout.told(project).join(format!("{FOLDER}{}", telling.entry));
        let failed = |e: io::Error| PortError::transient(format!("{}: {e}", folder.display()));
        if let Some(known) = known(&folder, telling).map_err(failed)? {
            return Ok(known);
        }
        let argv = match telling.end {
            EntryEnd::Landed => &config.on_landed,
            EntryEnd::Failed | EntryEnd::Conflicted => &config.on_not_landed,
        };
        let Some((program, args)) = argv.split_first() else {
            let trouble = "it was taken out of the configuration before it was run".to_owned();
            return Ok(CommandEnd { trouble: Some(trouble), log: String::new() });
        };
        begin(&folder, telling).map_err(failed)?;
        let log = folder.join("log");
        // From here on the command counts as begun, whatever happens.
        let trouble = self.carry_out(&folder, telling, &config, program, args);
        let trouble = trouble.unwrap_or_else(|e| Some(format!("{}: {e}", one_line(program, 80))));
        let how = CommandEnd { trouble, log: log.display().to_string() };
        end(&folder, telling, &how).map_err(failed)?;
        Ok(how)
    }

    fn prune(&self, tidy: &Tidy) -> PortResult<Amount> {
        let folder = self.layout.told(&tidy.project);
        let pruned = prune::numbered(&folder, FOLDER, tidy.folders_before, tidy.dry_run, |_| true);
        pruned.map_err(|e| PortError::transient(format!("{}: {e}", folder.display())))
    }
}

impl Commands {
    /// What went wrong with it.
    fn carry_out(
        &self,
        folder: &Path,
        telling: &Telling,
        config: &NoticeConfig,
        program: &str,
        args: &[String],
    ) -> io::Result<Option<String>> {
        let mut log = RunLog::create(&folder.join("log"), LOG_BYTES_MAX, config.redactor.clone())?;
        let env = self.environment(folder, telling, config);
        let (tree, marker) = (folder.join("work"), process::marker(MARKER, folder));
        let place =
            StepPlace { folder, tree: &tree, env: &env, marker: marker.as_encoded_bytes(), jail: None };
        let mut command = Command::new(program);
        command.args(args);
        let ended = step::run_command(&place, command, config.timeout, &mut log)?;
        log.finish()?;
        Ok(match ended {
            StepEnd::Passed => None,
            StepEnd::Failed(code) => Some(format!("exit code {code}")),
            StepEnd::Killed => Some("killed".to_owned()),
            StepEnd::TimedOut => Some(format!("ended, since it was not done within {:?}", config.timeout)),
            StepEnd::Cancelled => Some("cancelled".to_owned()),
        })
    }

    fn environment(
        &self,
        folder: &Path,
        telling: &Telling,
        config: &NoticeConfig,
    ) -> Vec<(OsString, OsString)> {
        let number = |number: Option<String>| number.unwrap_or_default();
        let run = telling.run.map(|run| self.layout.ci_run(&telling.project, run).join("log"));
        let log = match (telling.log.is_empty(), run) {
            (true, Some(log)) => log.display().to_string(),
            _ => telling.log.clone(),
        };
        let ours = [
            ("SHOPFLOOR_OUTCOME", telling.end.as_str().to_owned()),
            ("SHOPFLOOR_PROJECT", telling.project.to_string()),
            ("SHOPFLOOR_ENTRY", telling.entry.to_string()),
            ("SHOPFLOOR_TARGET", telling.target.clone()),
            ("SHOPFLOOR_BRANCH", telling.branch.clone()),
            ("SHOPFLOOR_HEAD", telling.head.to_string()),
            ("SHOPFLOOR_TITLE", telling.title.clone()),
            ("SHOPFLOOR_ISSUE", number(telling.issue.map(|n| n.to_string()))),
            ("SHOPFLOOR_PR", number(telling.pr.map(|n| n.to_string()))),
            ("SHOPFLOOR_COMMIT", number(telling.commit.as_ref().map(Sha::to_string))),
            ("SHOPFLOOR_BASE", number(telling.base.as_ref().map(Sha::to_string))),
            // No branch has a space in its name.
            ("SHOPFLOOR_BEHIND", telling.behind.join(" ")),
            ("SHOPFLOOR_QUEUED_BY", telling.by.clone()),
            ("SHOPFLOOR_AUTHOR", telling.author.as_ref().unwrap_or(&telling.by).clone()),
            ("SHOPFLOOR_RUN", number(telling.run.map(|run| run.to_string()))),
            ("SHOPFLOOR_LOG", log),
            ("SHOPFLOOR_REASON", config.redactor.redact(&telling.reason)),
        ];
        let ours = ours.map(|(name, value)| (name, OsString::from(one_line(&value, VALUE_CHARS_MAX))));
        let paths =
            [("SHOPFLOOR_CHECKOUT", config.checkout.clone().into()), (MARKER, folder.as_os_str().to_owned())];
        let ours = ours.into_iter().chain(paths).map(|(name, value)| (OsString::from(name), value));
        config.env.iter().cloned().chain(ours).collect()
    }
}

/// What became of the command, if it was begun before. Whatever is left of it is ended.
fn known(folder: &Path, telling: &Telling) -> io::Result<Option<CommandEnd>> {
    let meant = Begun::of(telling);
    if let Some(Ended { begun, how }) = record::load(&folder.join("ended.json"))?
        && begun == meant
    {
        return Ok(Some(how));
    }
    let begun: Option<Begun> = record::load(&folder.join("begun.json"))?;
    if begun.as_ref() != Some(&meant) {
        return Ok(None);
    }
    end_marked_tree(
        record::load_process(folder)?,
        process::marker(MARKER, folder).as_encoded_bytes(),
        END_GRACE,
    )?;
    record::remove_process(folder)?;
    let trouble = "it was begun, and cut short with the daemon: it is not run again".to_owned();
    let how = CommandEnd { trouble: Some(trouble), log: folder.join("log").display().to_string() };
    end(folder, telling, &how)?;
    Ok(Some(how))
}

/// Records, durably, that it is about to begin.
fn begin(folder: &Path, telling: &Telling) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder.join("work"))?;
    write_atomic(&folder.join("begun.json"), &serde_json::to_vec(&Begun::of(telling))?, 0o600)?;
    folder.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

fn end(folder: &Path, telling: &Telling, how: &CommandEnd) -> io::Result<()> {
    let ended = Ended { begun: Begun::of(telling), how: how.clone() };
    write_atomic(&folder.join("ended.json"), &serde_json::to_vec(&ended)?, 0o600)
}
