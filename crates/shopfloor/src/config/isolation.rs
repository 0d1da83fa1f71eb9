//! `[isolation]` of `floor.toml`: what agents, checks and setup commands can reach. It is the floor's to say, so that no
//! repository can.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_adapters::jail::confine::Limits;
use shopfloor_adapters::jail::network::Hosts;
use shopfloor_adapters::jail::{Level, Wanted};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What agents, checks and setup commands can reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Isolation {
    /// "sandbox" hides your home, `/tmp`, `/run` and the floor, and lets nothing be written but the worktree; "network"
    /// takes the network away as well, but from agents what `hosts` names; "none" keeps nothing back. "auto" is
    /// "sandbox" where that works, else what the kernel's rules about files can do, else "none", said loudly.
    pub level: IsolationLevel,
    /// Files and folders in your home that may be read all the same, besides the usual places of compilers and other
    /// tools. `~` is your home.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Folders that all agents and checks share and may write, such as "~/.cargo/registry". What one of them leaves there
    /// reaches the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<String>,
    /// What agents may connect to at level "network", through a proxy that their variables name: a name, `*.` for all
    /// below it, and `:port` unless it is 80 or 443.
    pub hosts: Vec<String>,
    /// The most data that one process may hold, in MiB; and all of an agent, a check's step or a setup command together,
    /// if the daemon can make control groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 64))]
    pub memory: Option<u64>,
    /// The most processes and threads at once, of an agent, a check's step or a setup command.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16))]
    pub processes: Option<u64>,
    /// How much sooner everything else is served than agents and checks, from 0 to 19.
    #[schemars(range(max = 19))]
    pub nice: i32,
}

const MIB: u64 = 1024 * 1024;

/// Where the clients' models and logins are.
const HOSTS: [&str; 6] = [
    "api.anthropic.com",
    "console.anthropic.com",
    "platform.claude.com",
    "api.openai.com",
    "auth.openai.com",
    "chatgpt.com",
];

impl Default for Isolation {
    fn default() -> Self {
        Isolation {
            level: IsolationLevel::Auto,
            read: Vec::new(),
            caches: Vec::new(),
            hosts: HOSTS.map(str::to_owned).to_vec(),
            memory: None,
            processes: None,
            nice: 0,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IsolationLevel {
    #[default]
    Auto,
    None,
    Sandbox,
    Network,
}

impl Isolation {
    /// For a person with that home, whose programs are found on `path`.
    pub fn wanted(&self, home: &Path, path: OsString) -> Wanted {
        let level = match self.level {
            IsolationLevel::Auto => Level::Auto,
            IsolationLevel::None => Level::None,
            IsolationLevel::Sandbox => Level::Sandbox,
            IsolationLevel::Network => Level::Network,
        };
        let paths = |named: &[String]| named.iter().map(|named| expand(named, home)).collect();
        Wanted {
            level,
            home: home.to_owned(),
            path,
            read: paths(&self.read),
            caches: paths(&self.caches),
            hosts: Hosts(self.hosts.clone()),
            limits: Limits {
                memory: self.memory.map(|mib| mib.saturating_mul(MIB)),
                processes: self.processes,
                nice: self.nice.clamp(0, 19),
            },
        }
    }
}

/// Absolute, or in the home.
pub(super) fn is_usable(path: &str) -> bool {
    path.starts_with("~/") || Path::new(path).is_absolute()
}

fn expand(path: &str, home: &Path) -> PathBuf {
    path.strip_prefix("~/").map_or_else(|| PathBuf::from(path), |below| home.join(below))
}
