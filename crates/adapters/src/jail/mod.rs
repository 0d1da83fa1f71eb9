//! What a program that the factory starts can reach: an agent's client, a check, a setup command.
//!
//! In a jail the machine is there to read, but for the person's home, `/tmp`, `/run` and the floor's home, which are
//! empty but for what is named. Only what is named can be written. Processes see none but their own, and end with the
//! first of them. The jail is built by bubblewrap ([`bubblewrap`]). Where that does not work, the kernel's rules about
//! files have to do ([`ruled`]); where those do not either, a program runs as it is. [`Isolation::note`] says which.
//!
//! Invariants:
//! - What can be reached is decided outside, from what the floor knows; nothing that a repository says widens it.
//! - What is shown read-only of the floor is never a folder that somebody else works in.
//! - Folders are shown, not files, wherever somebody replaces a file: a file's place is taken by its mount.

mod bubblewrap;
pub mod confine;
mod group;
pub mod network;
mod probe;
mod room;
mod ruled;

pub use group::Groups;
pub use probe::Means;
pub use room::make_room;

use confine::{Confinement, Limits};
use network::Hosts;

use crate::git::origin;
use crate::git::writable::git_folders;
use crate::host::command;
use crate::layout::Layout;
use shopfloor_engine::ports::Tree;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How much is kept from what the factory starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// The most that works here, short of the network.
    #[default]
    Auto,
    None,
    Sandbox,
    /// And no network but through a proxy that knows whom to let through.
    Network,
}

/// What of the person's home holds tools, not secrets: it is shown read-only. Configuration names more.
const TOOLS: [&str; 19] = [
    ".cargo/bin",
    ".cargo/config.toml",
    ".rustup",
    ".nvm",
    ".volta",
    ".asdf",
    ".pyenv",
    ".rbenv",
    ".sdkman",
    ".bun",
    ".deno",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".npm-global",
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
];

/// Variables that lead to places that a jail does not have.
const ELSEWHERE: [&str; 5] = ["TMPDIR", "TMP", "TEMP", "CLAUDE_CODE_TMPDIR", "XDG_RUNTIME_DIR"];

/// Everybody's homes. The person's own may be elsewhere.
const HOMES: [&str; 2] = ["/home", "/root"];
/// What a jail has of its own, besides.
const PRIVATE: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/dev/shm"];
/// Where names of hosts are looked up, though it is in `/run`.
const RESOLVERS: [&str; 3] = ["/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"];

/// What `[isolation]` and this machine come to. By itself: nothing is isolated, since nobody asks for it.
#[derive(Clone, Debug)]
pub struct Isolation {
    means: Means,
    level: Level,
    /// The person's home.
    home: PathBuf,
    /// Where programs are looked up.
    path: OsString,
    read: Vec<PathBuf>,
    caches: Vec<PathBuf>,
    hosts: Hosts,
    limits: Limits,
    /// What can be limited as a whole, or why nothing can; `None`: nobody tried.
    groups: Option<Result<Groups, String>>,
}

impl Default for Isolation {
    fn default() -> Self {
        Isolation::of(Wanted { level: Level::None, ..Wanted::default() }, Means::Nothing { why: None })
    }
}

/// What the floor's configuration asks for. Paths are absolute.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub level: Level,
    pub home: PathBuf,
    pub path: OsString,
    /// Shown read-only, though it is in a home.
    pub read: Vec<PathBuf>,
    /// Shared by all that run, and writable.
    pub caches: Vec<PathBuf>,
    /// What agents reach of the network at the level that has none but by permission.
    pub hosts: Hosts,
    pub limits: Limits,
}

/// A level that was asked for and cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("isolation level `{level}` does not work here: {why}")]
pub struct Unavailable {
    pub level: &'static str,
    pub why: String,
}

impl Isolation {
    /// What works here of what is wanted, by trying it.
    pub fn find(wanted: Wanted) -> Result<Isolation, Unavailable> {
        let means = match wanted.level {
            _ if !wanted.home.is_absolute() && wanted.level != Level::None => {
                Means::Nothing { why: Some("HOME is not set, so what is yours is not known".to_owned()) }
            }
            Level::None => Means::Nothing { why: None },
            Level::Auto | Level::Sandbox | Level::Network => Means::probe(&wanted.path),
        };
        match (wanted.level, &means) {
            (Level::Sandbox, Means::Nothing { why: Some(why) }) => {
                Err(Unavailable { level: "sandbox", why: why.clone() })
            }
            // Rules about files leave the floor's tmux within reach, so they are nothing that anybody asked for by name.
            (Level::Sandbox, Means::Rules { why }) => Err(Unavailable {
                level: "sandbox",
                why: format!("{why} (`auto` does with rules about files, from which there are ways out)"),
            }),
            (Level::Network, Means::Nothing { why: Some(why) } | Means::Rules { why }) => {
                Err(Unavailable { level: "network", why: why.clone() })
            }
            _ => Ok(Isolation::of(wanted, means)),
        }
    }

    fn of(wanted: Wanted, means: Means) -> Isolation {
        let Wanted { level, home, path, read, caches, hosts, limits } = wanted;
        Isolation { means, level, home, path, read, caches, hosts, limits, groups: None }
    }

    /// The same for the daemon that starts what is limited: it divides its control group, if there is anything to limit.
    pub fn grouped(mut self) -> Isolation {
        if self.is_on() && self.limits != Limits::default() {
            self.groups = Some(Groups::divide());
        }
        self
    }

    pub fn is_on(&self) -> bool {
        !matches!(self.means, Means::Nothing { .. })
    }

    /// What people should know: the level in force, and why it is no higher; and what limits are about.
    pub fn note(&self) -> String {
        let limits = match &self.groups {
            None => String::new(),
            Some(Ok(_)) => "; limits hold for each session as a whole".to_owned(),
            Some(Err(why)) => format!("; limits hold for each process by itself, because {why}"),
        };
        self.level_note() + &limits
    }

    fn level_note(&self) -> String {
        const OPEN: &str = "agents and checks can read and write whatever you can";
        match &self.means {
            Means::Bubblewrap(_) if self.level == Level::Network => {
                "network: bubblewrap, and no network but by permission".to_owned()
            }
            Means::Bubblewrap(_) => "sandbox: bubblewrap".to_owned(),
            Means::Rules { why } => {
                format!(
                    "sandbox of files only (Landlock): your sockets and processes stay within reach, because {why}"
                )
            }
            Means::Nothing { why: None } => format!("none, as configured: {OPEN}"),
            Means::Nothing { why: Some(why) } => format!("NONE: {OPEN}, because {why}"),
        }
    }

    /// Whether agents have no network but those hosts.
    pub fn has_hosts(&self) -> bool {
        self.is_on() && self.level == Level::Network
    }

    /// What agents may connect to if they have no network of their own.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Why less is isolated than could be, though nobody asked for that.
    pub fn missing(&self) -> Option<&str> {
        match &self.means {
            Means::Nothing { why } => why.as_deref(),
            Means::Rules { why } => Some(why),
            Means::Bubblewrap(_) => None,
        }
    }
}

/// What one program can reach besides what all can. Made for each start.
#[derive(Clone, Debug)]
pub struct Jail<'a> {
    isolation: &'a Isolation,
    /// The floor's home, of which nothing is seen but what is named.
    floor: PathBuf,
    /// Has the folders that stand for the home and `/tmp`; `None`: nothing in those outlives what runs in it.
    private: Option<PathBuf>,
    mounts: Vec<Mount>,
    network: Network,
    limits: Limits,
    /// Whether it is for a terminal of its own. All else has none, not even that which the daemon was started from.
    terminal: bool,
    /// The floor's link to the program that confines.
    shopfloor: PathBuf,
    /// Where the daemon's proxy is.
    proxy: PathBuf,
}

/// What can be reached of the network at the level that has none but by permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    All,
    Hosts,
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    from: PathBuf,
    at: PathBuf,
    writable: bool,
}

impl<'a> Jail<'a> {
    /// `private`: a folder of the jail's own, which outlives what runs in it.
    pub fn new(isolation: &'a Isolation, layout: &Layout, private: &Path) -> Jail<'a> {
        let shopfloor = layout.bin().join("shopfloor");
        let jail = Jail {
            isolation,
            floor: layout.root().to_owned(),
            private: Some(private.to_owned()),
            mounts: Vec::new(),
            network: Network::All,
            limits: isolation.limits,
            terminal: false,
            proxy: layout.proxy_socket(),
            shopfloor: shopfloor.clone(),
        };
        // What it is for has `shopfloor`, and the place where it asks.
        jail.program(shopfloor).read(layout.bin()).read(layout.door())
    }

    /// For a git of ours in what others write. It asks for nothing, is not limited, and leaves nothing.
    pub fn of_git(isolation: &'a Isolation, layout: &Layout) -> Jail<'a> {
        Jail {
            isolation,
            floor: layout.root().to_owned(),
            private: None,
            mounts: Vec::new(),
            network: Network::All,
            limits: Limits::default(),
            terminal: false,
            proxy: layout.proxy_socket(),
            shopfloor: layout.bin().join("shopfloor"),
        }
        .network(Network::Nothing)
    }

    /// For whoever works in a tree: its files and its repository, and to read, what that borrows.
    pub fn of_tree(isolation: &'a Isolation, layout: &Layout, tree: &Tree) -> io::Result<Jail<'a>> {
        let jail = Jail::new(isolation, layout, &layout.setup(tree));
        if !jail.is_on() {
            return Ok(jail);
        }
        let worktree = layout.tree(tree);
        let folders = git_folders(layout, &tree.project, &worktree)?;
        let jail = jail.read(origin::near(layout, &tree.project)).write(worktree);
        // They are where they really are, and the worktree says where by the floor's name.
        let floor = real(layout.root());
        let named =
            |folder: &PathBuf| folder.strip_prefix(&floor).ok().map(|inside| layout.root().join(inside));
        let folders = folders.iter().map(|folder| named(folder).unwrap_or_else(|| folder.clone()));
        Ok(folders.fold(jail, Jail::write))
    }

    pub fn is_on(&self) -> bool {
        self.isolation.is_on()
    }

    /// The folder that stands for the person's home, if that outlives the jail.
    pub fn home(&self) -> Option<PathBuf> {
        Some(self.private.as_ref()?.join("home"))
    }

    /// Shown if it exists, at its own place.
    pub fn read(mut self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.mounts.push(Mount { from: path.clone(), at: path, writable: false });
        self
    }

    pub fn write(mut self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.mounts.push(Mount { from: path.clone(), at: path, writable: true });
        self
    }

    /// A program by any name, and what it is really.
    pub fn program(self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.read(real(&path))
    }

    /// Shown at another place.
    pub fn show(mut self, from: impl Into<PathBuf>, at: impl Into<PathBuf>, writable: bool) -> Self {
        self.mounts.push(Mount { from: from.into(), at: at.into(), writable });
        self
    }

    /// Counts at the level that has no network but by permission.
    pub fn network(mut self, wanted: Network) -> Self {
        self.network = if self.isolation.level == Level::Network { wanted } else { Network::All };
        self
    }

    pub fn at_a_terminal(self) -> Self {
        Jail { terminal: true, ..self }
    }

    /// Takes out of an environment what leads to places that a jail does not have.
    pub fn adjust(env: &mut Vec<(OsString, OsString)>) {
        env.retain(|(name, _)| !ELSEWHERE.iter().any(|elsewhere| name == elsewhere));
    }

    /// The words that start `argv` in the jail, in `cwd`. Outside of any, they are as they were.
    pub fn wrap(&self, cwd: &Path, argv: Vec<OsString>) -> io::Result<Vec<OsString>> {
        let words = match &self.isolation.means {
            Means::Nothing { .. } => return Ok(argv),
            Means::Bubblewrap(program) => self.bubblewrap(program, cwd, argv),
            Means::Rules { .. } => self.ruled(argv),
        }?;
        // A group is made outside: in a jail, groups are there to read.
        match &self.isolation.groups {
            Some(Ok(groups)) if self.limits != Limits::default() => {
                let group = Some(groups.group(self.limits));
                let first = Confinement { group, ..Confinement::default() }.words(&self.shopfloor)?;
                Ok(first.into_iter().chain(words).collect())
            }
            _ => Ok(words),
        }
    }

    /// The same to be run, with no environment set.
    pub fn command<W: AsRef<OsStr>>(
        &self,
        cwd: &Path,
        argv: impl IntoIterator<Item = W>,
    ) -> io::Result<Command> {
        let argv = argv.into_iter().map(|word| word.as_ref().to_owned()).collect();
        let words = self.wrap(cwd, argv)?;
        let (program, words) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(words);
        Ok(command)
    }

    /// The folders that stand for the home and `/tmp`, if those outlive the jail.
    fn make_private(&self) -> io::Result<Option<(PathBuf, PathBuf)>> {
        let Some(private) = &self.private else { return Ok(None) };
        let (home, tmp) = (private.join("home"), private.join("tmp"));
        for folder in [&home, &tmp] {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            // What stands in for a folder is one: a link would show what it leads to.
            if !std::fs::symlink_metadata(folder)?.is_dir() {
                return Err(io::Error::new(
                    io::ErrorKind::NotADirectory,
                    format!("{} is not a folder", folder.display()),
                ));
            }
        }
        Ok(Some((home, tmp)))
    }

    fn confinement(&self) -> Confinement {
        let proxy = (self.network == Network::Hosts).then(|| self.proxy.clone());
        Confinement { limits: self.limits, proxy, ..Confinement::default() }
    }

    /// What is shown of what exists, a folder before what is inside of it. What is at its own place is so by each of its
    /// names.
    fn mounts(&self) -> Vec<Mount> {
        let there = self.mounts.iter().filter(|mount| mount.from.exists());
        let mut mounts: Vec<Mount> = there
            .flat_map(|mount| {
                let at = match mount.at == mount.from {
                    true => self.isolation.places(&mount.at),
                    false => BTreeSet::from([self.isolation.place(&mount.at)]),
                };
                at.into_iter().map(|at| Mount { at, ..mount.clone() })
            })
            .collect();
        mounts.sort_by_key(|mount| mount.at.components().count());
        mounts
    }

    /// What is in a hidden home and needed all the same: tools, what the PATH leads to, the program itself.
    fn shown(&self, argv: &[OsString]) -> BTreeSet<PathBuf> {
        let home = &self.isolation.home;
        let tools = TOOLS.iter().map(|tool| home.join(tool));
        let path = std::env::split_paths(&self.isolation.path);
        let program = argv.first().and_then(|program| self.folder_of(program));
        let all = tools.chain(path).chain(program).chain(self.isolation.read.iter().cloned());
        all.filter(|path| self.is_hidden(path) && path.exists()).collect()
    }

    /// The folder that a program's files are in, wherever its name on the PATH leads.
    fn folder_of(&self, program: &OsStr) -> Option<PathBuf> {
        let named = Path::new(program);
        let file = if named.is_absolute() {
            named.to_owned()
        } else {
            command::on_path(named, &self.isolation.path)?
        };
        let real = std::fs::canonicalize(file).ok()?;
        // A package of Node's needs what lies beside it.
        let modules = real.ancestors().filter(|above| above.file_name() == Some(OsStr::new("node_modules")));
        modules.last().or(real.parent()).map(Path::to_owned)
    }

    fn is_hidden(&self, path: &Path) -> bool {
        // All of a home is never shown.
        self.isolation.is_in_a_home(path) && !self.isolation.home.starts_with(path)
    }
}

/// Where things are in a jail, which has no links but those of folders that it shows.
impl Isolation {
    /// All homes, by whatever name and where they really are.
    fn homes(&self) -> BTreeSet<PathBuf> {
        let homes = HOMES.iter().map(Path::new).filter(|homes| homes.is_dir());
        homes.chain([self.home.as_path()]).flat_map(|home| [home.to_owned(), real(home)]).collect()
    }

    fn is_in_a_home(&self, path: &Path) -> bool {
        self.homes().iter().any(|home| path.starts_with(home))
    }

    /// Where that path leads in a jail.
    fn place(&self, path: &Path) -> PathBuf {
        let homes = self.homes();
        let empty = |path: &Path| {
            let private = PRIVATE.iter().map(Path::new);
            private.chain(homes.iter().map(PathBuf::as_path)).any(|hidden| path.starts_with(hidden))
        };
        path.components().fold(PathBuf::new(), |at, part| {
            let next = at.join(part);
            if next.is_symlink() && !empty(&at) { real(&next) } else { next }
        })
    }

    /// That, and where it really is.
    fn places(&self, path: &Path) -> BTreeSet<PathBuf> {
        BTreeSet::from([self.place(path), real(path)])
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
