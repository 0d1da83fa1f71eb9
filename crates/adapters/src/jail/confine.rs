//! What a program does to itself before it becomes another: limits, a way to the network, and, where no jail can be
//! built around it, the kernel's own rules about files (Landlock).
//!
//! Those rules are weaker than a jail: they say what can be read and written, not which sockets can be connected to or
//! whose mode can be changed.

use super::group::Group;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

/// What the rules have to know: everything that writes, and signals.
const WANTED: ABI = ABI::V6;
/// Without this, files can be moved and cut past the rules.
const NEEDED: ABI = ABI::V3;
/// Of the devices, what programs write to.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/ptmx", "/dev/random", "/dev/urandom"];
const TERMINALS: [&str; 2] = ["/dev/tty", "/dev/pts"];
/// Nobody's home is deeper.
const DEPTH_MAX: usize = 8;

/// Handed to the program on its command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Confinement {
    /// The control group that it makes for itself, if it can.
    pub group: Option<Group>,
    pub limits: Limits,
    /// The socket of the daemon's proxy, if that is the only way to the network.
    pub proxy: Option<PathBuf>,
    pub files: Option<Files>,
    /// Set for the program that it becomes.
    pub env: Vec<(String, PathBuf)>,
}

/// For each process; `None`: as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Bytes of data.
    pub memory: Option<u64>,
    /// Processes and threads: of the jail, or without one, of the user.
    pub processes: Option<u64>,
    /// How much sooner others are served, 0 to 19.
    pub nice: i32,
}

/// What can be reached; all else cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// And terminals.
    pub terminal: bool,
}

impl Confinement {
    pub fn is_needed(&self) -> bool {
        *self != Confinement::default()
    }

    /// The words that come before the program's own.
    pub(super) fn words(&self, shopfloor: &Path) -> io::Result<[OsString; 4]> {
        let spec = serde_json::to_string(self)?;
        Ok([shopfloor.into(), "confine".into(), spec.into(), "--".into()])
    }

    /// From here on, for this process and all that it starts.
    pub fn enter(&self) -> io::Result<()> {
        if let Some(group) = &self.group {
            // What is limited as a whole is also limited one by one, so that it is not free if this fails.
            let _ = group.join();
        }
        let Limits { memory, processes, nice: kinder } = self.limits;
        for (resource, limit) in [(Resource::Data, memory), (Resource::Nproc, processes)] {
            if let Some(limit) = limit {
                let most = getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
                setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
            }
        }
        if kinder > 0 {
            nice(kinder)?;
        }
        self.files.as_ref().map_or(Ok(()), |files| files.enforce().map_err(io::Error::other))
    }
}

impl Files {
    fn enforce(&self) -> Result<(), String> {
        let status = self.rules().map_err(|e| e.to_string())?;
        match status.ruleset {
            RulesetStatus::NotEnforced => Err("the kernel does not enforce Landlock's rules".to_owned()),
            _ => Ok(()),
        }
    }

    fn rules(&self) -> Result<RestrictionStatus, landlock::RulesetError> {
        let (all, read) = (AccessFs::from_all(WANTED), AccessFs::from_read(WANTED));
        let terminals = TERMINALS.iter().filter(|_| self.terminal);
        let devices: Vec<PathBuf> = DEVICES.iter().chain(terminals).map(PathBuf::from).collect();
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(NEEDED))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(all)?
            .scope(Scope::Signal)?
            .create()?
            .add_rules(path_beneath_rules(&self.read, read))?
            .add_rules(path_beneath_rules(&self.write, all))?
            .add_rules(path_beneath_rules(devices, all))?
            .restrict_self()
    }
}

/// Whether the kernel has these rules, by asking for them.
pub(super) fn works() -> Result<(), String> {
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .and_then(|rules| rules.create());
    made.map(drop).map_err(|e| format!("the kernel has no Landlock that is recent enough: {e}"))
}

/// Everything but what is hidden, in as few folders as that takes.
pub(super) fn all_but(hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut shown = Vec::new();
    below(Path::new("/"), hidden, DEPTH_MAX, &mut shown);
    shown
}

fn below(folder: &Path, hidden: &[PathBuf], depth: usize, shown: &mut Vec<PathBuf>) {
    if hidden.iter().any(|path| folder.starts_with(path)) {
        return;
    }
    if !hidden.iter().any(|path| path.starts_with(folder)) {
        return shown.push(folder.to_owned());
    }
    // What cannot be listed is not shown either, nor what a link leads to: that may be hidden, or no file at all.
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let is_link = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    for entry in entries.flatten().filter(|entry| depth > 0 && !is_link(entry)) {
        below(&entry.path(), hidden, depth - 1, shown);
    }
}
