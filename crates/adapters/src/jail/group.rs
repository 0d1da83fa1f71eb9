//! Control groups (version 2), where this user may make some: what an agent, a check's step or a setup command starts is
//! then limited as a whole, and not each of its processes by itself.
//!
//! The daemon's own group is divided: one part for the daemon and what it starts for itself, and one for each that is
//! limited, which is made by the process that goes into it, and removed by a later one when it is empty.

use super::confine::Limits;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The part that the daemon is in, since a group that is divided has no processes of its own.
const DAEMON: &str = "shopfloor-daemon";
const NEEDED: [&str; 3] = ["cpu", "memory", "pids"];
const HOW: &str = "start the daemon in a group of its own, such as with `systemd-run --user --scope -p Delegate=yes shopfloor up`";

/// A group that can be divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups(PathBuf);

impl Groups {
    /// Divides the group that this process is in. Or says why that is not possible, and leaves everything as it was.
    pub fn divide() -> Result<Groups, String> {
        let read = |file: &str| fs::read_to_string(file).map_err(|e| format!("{file}: {e}"));
        let own = own_group(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?)
            .ok_or("the system has no control groups of version 2")?;
        if own.file_name().is_some_and(|name| name == DAEMON) {
            // An earlier daemon divided it.
            return Ok(Groups(own.parent().map_or_else(|| own.clone(), Path::to_owned)));
        }
        let controllers = fs::read_to_string(own.join("cgroup.controllers")).unwrap_or_default();
        let lacks = NEEDED.iter().find(|name| !controllers.split_whitespace().any(|known| known == **name));
        if let Some(lacks) = lacks {
            return Err(format!("the daemon's control group has no {lacks} controller: {HOW}"));
        }
        divide(&own).map_err(|e| format!("the daemon's control group cannot be divided ({e}): {HOW}"))?;
        Ok(Groups(own))
    }

    pub(super) fn group(&self, limits: Limits) -> Group {
        Group { under: self.0.clone(), limits }
    }
}

fn divide(own: &Path) -> io::Result<()> {
    let daemon = own.join(DAEMON);
    make(&daemon)?;
    let enable: Vec<String> = NEEDED.iter().map(|name| format!("+{name}")).collect();
    let movers: Vec<u32> = starter().into_iter().chain([std::process::id()]).collect();
    let enter_all = |group: &Path| movers.iter().try_for_each(|pid| enter(group, *pid));
    let divided =
        enter_all(&daemon).and_then(|()| fs::write(own.join("cgroup.subtree_control"), enable.join(" ")));
    if divided.is_err() {
        let _ = enter_all(own);
        let _ = fs::remove_dir(&daemon);
    }
    divided
}

/// The `up --detach` that waits for this process to be ready: the same program.
fn starter() -> Option<u32> {
    let parent = rustix::process::getppid()?.as_raw_nonzero().get().unsigned_abs();
    let program = |pid: &str| fs::read_link(format!("/proc/{pid}/exe")).ok();
    (program(&parent.to_string())? == program("self")?).then_some(parent)
}

/// Moves a process.
fn enter(group: &Path, pid: u32) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), pid.to_string())
}

fn make(group: &Path) -> io::Result<()> {
    match fs::create_dir(group) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    }
}

/// Where the hierarchy shows the group of this process.
fn own_group(mounts: &str, groups: &str) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, at) = (place.next()?, place.next()?);
        let inside = Path::new(path).strip_prefix(root).ok()?;
        (kind.split(' ').next()? == "cgroup2").then(|| Path::new(at).join(inside))
    })
}

/// For one program and all that it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    under: PathBuf,
    limits: Limits,
}

impl Group {
    /// Makes it, for this process and all that it starts from here on.
    pub(super) fn join(&self) -> io::Result<()> {
        sweep(&self.under);
        let own = self.under.join(named(std::process::id()));
        make(&own)?;
        let Limits { memory, processes, nice } = self.limits;
        let limits = [
            ("memory.max", memory.map(|bytes| bytes.to_string())),
            ("pids.max", processes.map(|most| most.to_string())),
            ("cpu.weight.nice", (nice > 0).then(|| nice.to_string())),
        ];
        for (file, limit) in limits {
            if let Some(limit) = limit {
                fs::write(own.join(file), limit)?;
            }
        }
        enter(&own, std::process::id())
    }
}

fn named(pid: u32) -> String {
    format!("shopfloor-{pid}")
}

/// Removes those that nobody is in any more. Whoever made one is in it, or about to be.
fn sweep(under: &Path) {
    let Ok(entries) = fs::read_dir(under) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix("shopfloor-")?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            // One with processes stays: the kernel says so.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_a_process_is_found_where_it_is_mounted() {
        let mounts = "24 29 0:22 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
                      30 29 0:26 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        let group = own_group(mounts, "1:name=systemd:/\n0::/user.slice/a.scope\n");
        assert_eq!(group, Some("/sys/fs/cgroup/unified/user.slice/a.scope".into()));
        // As in a container, which is shown a part of it.
        let part = "30 29 0:26 /user.slice /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(own_group(part, "0::/user.slice/a.scope\n"), Some("/sys/fs/cgroup/a.scope".into()));
        assert_eq!(own_group(part, "0::/elsewhere\n"), None);
        assert_eq!(own_group("24 29 0:22 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n", "0::/\n"), None);
    }

    #[test]
    fn a_group_has_its_limits_before_anybody_is_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let limits = Limits { memory: Some(1 << 30), processes: Some(100), nice: 5 };
        // What the kernel would not remove, and what it would.
        let (gone, other) = (folder.path().join("shopfloor-4194305"), folder.path().join("another"));
        for made in [&gone, &other] {
            fs::create_dir(made).expect("made");
        }
        Groups(folder.path().to_owned()).group(limits).join().expect("joined");
        assert!(!gone.exists() && other.exists());
        let own = folder.path().join(named(std::process::id()));
        for (file, says) in [
            ("memory.max", "1073741824"),
            ("pids.max", "100"),
            ("cpu.weight.nice", "5"),
            ("cgroup.procs", &std::process::id().to_string()),
        ] {
            assert_eq!(fs::read_to_string(own.join(file)).expect("written"), says, "{file}");
        }
    }
}
