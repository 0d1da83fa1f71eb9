//! What the vault was asked for, carried out: [`Vault`] on real processes.
//!
//! Invariants:
//! - A fire is begun at most once. A note that it is about to begin is on disk before it does. Whoever finds that note,
//!   but not how the fire ended, does not begin it again: people are asked. Only what may be done twice is begun again,
//!   and that a few times at the most.
//! - What is run is what was decided about: the words of the command and the payload come with the order, and if the
//!   type is declared otherwise by now, nothing is begun.
//! - No shell sees any of it. The payload is the command's standard input.
//! - A type's secrets are in the environment of its fire, and hidden in what that prints. If one is not to be had, or
//!   could not be hidden, nothing is begun.
//! - It is the person's own command, and runs as them: in the folder they name, with a clean environment, its own process
//!   group and limited time. Nothing of it keeps running when it ends, even if the daemon died in the middle.

use crate::ci::log::RunLog;
use crate::ci::record;
use crate::ci::step::{self, StepEnd, StepPlace};
use crate::host::atomic::write_atomic;
use crate::host::command;
use crate::host::process::{self, end_marked_tree};
use crate::host::prune;
use crate::layout::Layout;
use serde::{Deserialize, Serialize};
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::effect::{Fire, Fired, Tidy};
use shopfloor_core::ids::{ProjectName, RequestType};
use shopfloor_core::redact::Redactor;
use shopfloor_core::text::one_line;
use shopfloor_core::vault::Spec;
use shopfloor_engine::ports::{PortError, PortResult, Vault};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

/// In the environment of a fire: the folder of its log.
pub const MARKER: &str = "SHOPFLOOR_VAULT";
const FOLDER: &str = "request-";
const BEGUN: &str = "begun.json";
const ANSWER: &str = "answer.json";
/// Both ends of what it prints; it becomes part of a row. With what marks the middle that is left out it is less than the
/// core takes, which would cut it once more.
const OUTPUT_BYTES_MAX: usize = 15 * 1024;
/// How often something that may be done twice is begun for one order: it may be what the daemon dies of.
const BEGUN_MAX: u32 = 3;
const END_GRACE: Duration = Duration::from_secs(2);

/// What a fire is carried out with, as things are now.
#[derive(Clone)]
pub struct VaultConfig {
    /// How its type is declared; `None`: not at all.
    pub spec: Option<Spec>,
    /// The values of the secrets of that type, or why they are not to be had.
    pub secrets: Result<Vec<(String, String)>, String>,
    pub env: Vec<(OsString, OsString)>,
    /// Hides those, and the project's.
    pub redactor: Redactor,
    /// The user's own checkout.
    pub checkout: PathBuf,
}

/// What counts for a type in a project now, or why nobody can tell.
pub type VaultConfigs = Arc<dyn Fn(&ProjectName, &RequestType) -> Result<VaultConfig, String> + Send + Sync>;

pub struct Fires {
    pub layout: Layout,
    pub configs: VaultConfigs,
}

/// That it is about to begin. The order is compared as a whole: after a floor was put back from a copy, its numbers are
/// those of others.
#[derive(Serialize, Deserialize)]
struct Begun {
    fire: Fire,
    times: u32,
}

#[derive(Serialize, Deserialize)]
struct Answer {
    fire: Fire,
    fired: Fired,
}

impl Vault for Fires {
    fn fire(&self, fire: &Fire) -> PortResult<Fired> {
        let folder = self.folder(fire);
        let failed = |e: io::Error| PortError::transient(format!("{}: {e}", folder.display()));
        if let Some(fired) = answer(&folder, fire).map_err(failed)? {
            return Ok(fired);
        }
        let begun: Option<Begun> = record::load(&folder.join(BEGUN)).map_err(failed)?;
        let times = begun.filter(|begun| begun.fire == *fire).map_or(0, |begun| begun.times);
        if times > 0 {
            end_left(&folder).map_err(failed)?;
            if !fire.spec.idempotent || times >= BEGUN_MAX {
                let fired = Fired::CutShort { output: printed(&folder) };
                return save(&folder, fire, fired).map_err(failed);
            }
        }
        let config = (self.configs)(&fire.project, &fire.r#type).map_err(PortError::transient)?;
        if config.spec.as_ref() != Some(&fire.spec) {
            return Ok(Fired::Changed { spec: config.spec.map(Box::new) });
        }
        let ready = match ready(fire, &config) {
            Ok(ready) => ready,
            Err(why) => return Ok(Fired::NotBegun { why }),
        };
        begin(&folder, fire, times + 1).map_err(failed)?;
        // From here on it counts as begun, whatever happens.
        let fired = self.carry_out(&folder, fire, &config, &ready).unwrap_or_else(|e| {
            let output = config.redactor.redact(&format!("{}\nshopfloor: {e}", printed(&folder)));
            Fired::CutShort { output }
        });
        save(&folder, fire, fired).map_err(failed)
    }

    fn prune(&self, tidy: &Tidy) -> PortResult<Amount> {
        let folder = self.layout.fires(&tidy.project);
        // What was begun and has no answer yet is still asked for.
        let may_go = |number: u64| is_answered(&folder.join(format!("{FOLDER}{number}")));
        let pruned = prune::numbered(&folder, FOLDER, tidy.folders_before, tidy.dry_run, may_go);
        pruned.map_err(|e| PortError::transient(format!("{}: {e}", folder.display())))
    }
}

/// A fire that can begin.
struct Ready {
    program: PathBuf,
    folder: PathBuf,
    secrets: Vec<(String, String)>,
}

/// Whether all that it needs is there; if not, what is missing.
fn ready(fire: &Fire, config: &VaultConfig) -> Result<Ready, String> {
    let secrets = config.secrets.clone()?;
    let name = fire.command.first().map_or("", String::as_str);
    let path = config.env.iter().find(|(name, _)| name == "PATH").map_or(OsStr::new(""), |(_, path)| path);
    let program = match name.contains('/') {
        true => Some(PathBuf::from(name)).filter(|file| command::is_executable(file)),
        false => command::on_path(name, path),
    };
    let program = program.ok_or_else(|| format!("there is no program {}", one_line(name, 80)))?;
    let folder = fire.spec.cwd.as_ref().map_or_else(|| config.checkout.clone(), PathBuf::from);
    match folder.is_dir() {
        true => Ok(Ready { program, folder, secrets }),
        false => Err(format!("there is no folder {}", folder.display())),
    }
}

impl Fires {
    fn folder(&self, fire: &Fire) -> PathBuf {
        self.layout
            .fires(&fire.project)
            .join(format!("{FOLDER}{}", fire.request))
            .join(fire.attempt.to_string())
    }

    fn carry_out(
        &self,
        folder: &Path,
        fire: &Fire,
        config: &VaultConfig,
        ready: &Ready,
    ) -> io::Result<Fired> {
        let mut log = RunLog::create(&folder.join("log"), OUTPUT_BYTES_MAX, config.redactor.clone())?;
        let marker = process::marker(MARKER, folder);
        let env = environment(folder, fire, config, ready);
        let place = StepPlace {
            folder,
            tree: &ready.folder,
            env: &env,
            marker: marker.as_encoded_bytes(),
            jail: None,
        };
        let mut command = command::named(&ready.program, OsStr::new(""));
        command.args(fire.command.iter().skip(1));
        let input = Stdio::from(File::open(folder.join("payload.json"))?);
        let end = step::run_with_input(&place, command, input, fire.spec.timeout, &mut log)?;
        log.finish()?;
        let output = printed(folder);
        let (code, how) = match end {
            StepEnd::Passed => (Some(0), String::new()),
            StepEnd::Failed(code) => (Some(code), format!("exit code {code}")),
            StepEnd::Killed => (None, "killed".to_owned()),
            StepEnd::TimedOut => {
                (None, format!("ended, since it was not done within {:?}", fire.spec.timeout))
            }
            StepEnd::Cancelled => (None, "stopped".to_owned()),
        };
        Ok(Fired::Ended { code, how, output })
    }
}

fn environment(folder: &Path, fire: &Fire, config: &VaultConfig, ready: &Ready) -> Vec<(OsString, OsString)> {
    let ours = [
        ("SHOPFLOOR_PROJECT", OsString::from(fire.project.as_str())),
        ("SHOPFLOOR_REQUEST", fire.request.to_string().into()),
        ("SHOPFLOOR_TYPE", fire.r#type.as_str().into()),
        ("SHOPFLOOR_ASKED_BY", one_line(&fire.by, 80).into()),
        ("SHOPFLOOR_CHECKOUT", config.checkout.clone().into()),
        (MARKER, folder.into()),
    ];
    let ours = ours.into_iter().map(|(name, value)| (OsString::from(name), value));
    let secrets = ready.secrets.iter().map(|(name, value)| (name.into(), value.into()));
    config.env.iter().cloned().chain(secrets).chain(ours).collect()
}

fn printed(folder: &Path) -> String {
    fs::read(folder.join("log")).map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default()
}

fn answer(folder: &Path, fire: &Fire) -> io::Result<Option<Fired>> {
    let answer: Option<Answer> = record::load(&folder.join(ANSWER))?;
    Ok(answer.filter(|answer| answer.fire == *fire).map(|answer| answer.fired))
}

fn save(folder: &Path, fire: &Fire, fired: Fired) -> io::Result<Fired> {
    let answer = Answer { fire: fire.clone(), fired };
    record::save(&folder.join(ANSWER), &answer)?;
    Ok(answer.fired)
}

/// Whether nothing of a request has begun and not been answered.
fn is_answered(folder: &Path) -> bool {
    let Ok(mut attempts) = fs::read_dir(folder) else { return false };
    attempts.all(|attempt| attempt.is_ok_and(|attempt| attempt.path().join(ANSWER).exists()))
}

/// Ends what is left of a fire that was cut short.
fn end_left(folder: &Path) -> io::Result<()> {
    let marker = process::marker(MARKER, folder);
    end_marked_tree(record::load_process(folder)?, marker.as_encoded_bytes(), END_GRACE)?;
    record::remove_process(folder)
}

/// Records, durably, that it is about to begin.
fn begin(folder: &Path, fire: &Fire, times: u32) -> io::Result<()> {
    if times == 1 {
        match fs::remove_dir_all(folder) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    write_atomic(&folder.join("payload.json"), fire.payload.as_bytes(), 0o600)?;
    record::save(&folder.join(BEGUN), &Begun { fire: fire.clone(), times })?;
    // The folders may be as new as what is in them.
    folder.ancestors().skip(1).take(3).try_for_each(|above| File::open(above)?.sync_all())
}
