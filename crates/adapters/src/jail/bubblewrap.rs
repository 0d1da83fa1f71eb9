//! A jail built by bubblewrap: namespaces, and mounts that show what may be seen.

use super::room::make_way;
use super::{Jail, Network, RESOLVERS, real};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

/// What of `/proc` is about the machine, and not about processes.
const OF_THE_MACHINE: [&str; 9] = [
    "/proc/sys",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/driver",
    "/proc/asound",
    "/proc/sysrq-trigger",
];

impl Jail<'_> {
    pub(super) fn bubblewrap(
        &self,
        program: &Path,
        cwd: &Path,
        argv: Vec<OsString>,
    ) -> io::Result<Vec<OsString>> {
        let mut words = Words(vec![program.into()]);
        words.all([
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
        ]);
        // Whoever is root outside would be so inside, and could take the jail apart.
        words.all(["--cap-drop", "ALL"]);
        words.all(["--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
        if !self.terminal {
            words.all(["--new-session"]);
        }
        // Who is root writes there without any right.
        for part in OF_THE_MACHINE {
            words.all(["--ro-bind-try", part, part]);
        }
        if self.network != Network::All {
            words.all(["--unshare-net"]);
        }
        words.all(["--tmpfs", "/run"]);
        for resolver in RESOLVERS {
            words.all(["--ro-bind-try", resolver, resolver]);
        }
        let private = self.make_private()?;
        for at in ["/tmp", "/var/tmp"].map(Path::new) {
            match &private {
                Some((_, tmp)) => words.bind(tmp, at, true),
                None => words.hide(at),
            }
        }
        for homes in self.isolation.homes().iter().map(|homes| real(homes)) {
            words.hide(&homes);
        }
        if let Some((home, _)) = &private {
            words.bind(home, &self.isolation.place(&self.isolation.home), true);
        }
        let mut ways = Vec::new();
        for shown in self.shown(&argv) {
            let at = self.isolation.place(&shown);
            words.bind(&shown, &at, false);
            ways.push((at, shown.is_dir()));
        }
        for cache in self.isolation.caches.iter().filter(|cache| cache.is_dir()) {
            let at = self.isolation.place(cache);
            words.bind(cache, &at, true);
            ways.push((at, true));
        }
        let floor = self.isolation.places(&self.floor);
        for floor in &floor {
            words.hide(floor);
            ways.push((floor.clone(), true));
        }
        for mount in self.mounts() {
            words.bind(&mount.from, &mount.at, mount.writable);
            // What is in the floor is in a folder that is empty.
            if !floor.iter().any(|floor| mount.at.starts_with(floor)) {
                ways.push((mount.at, mount.from.is_dir()));
            }
        }
        if let Some((home, tmp)) = &private {
            let home = (self.isolation.place(&self.isolation.home), home);
            let tops = [home, ("/tmp".into(), tmp), ("/var/tmp".into(), tmp)];
            for (at, for_folder) in &ways {
                let top = tops.iter().find_map(|(top, of)| Some((of, at.strip_prefix(top).ok()?)));
                if let Some((of, inside)) = top {
                    make_way(of, inside, *for_folder)?;
                }
            }
        }
        for floor in &floor {
            words.all([OsStr::new("--remount-ro"), floor.as_os_str()]);
        }
        words.all(["--chdir".as_ref(), cwd.as_os_str(), "--".as_ref()]);
        let confinement = self.confinement();
        if confinement.is_needed() {
            words.0.extend(confinement.words(&self.shopfloor)?);
        }
        words.0.extend(argv);
        Ok(words.0)
    }
}

struct Words(Vec<OsString>);

impl Words {
    fn all<W: AsRef<OsStr>>(&mut self, words: impl IntoIterator<Item = W>) {
        self.0.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
    }

    fn hide(&mut self, at: &Path) {
        self.all([OsStr::new("--tmpfs"), at.as_os_str()]);
    }

    fn bind(&mut self, from: &Path, at: &Path, writable: bool) {
        let how = if writable { "--bind" } else { "--ro-bind" };
        self.all([OsStr::new(how), from.as_os_str(), at.as_os_str()]);
    }
}
