//! Where no jail can be built: the kernel's own rules about files. Nothing can be shown elsewhere or hidden behind
//! something else, so the home that a program is told of is the private folder, in which links lead to what it may have
//! of its person's.

use super::confine::{Confinement, Files, all_but};
use super::{Jail, PRIVATE, RESOLVERS, real};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

impl Jail<'_> {
    /// The words that start `argv` under those rules.
    pub(super) fn ruled(&self, argv: Vec<OsString>) -> io::Result<Vec<OsString>> {
        let private = self.make_private()?;
        let theirs = &self.isolation.home;
        let mut hidden: Vec<PathBuf> = PRIVATE.iter().map(PathBuf::from).collect();
        hidden.extend(self.isolation.homes());
        hidden.extend([self.floor.clone(), real(&self.floor)]);
        let mut files = Files { read: all_but(&hidden), write: Vec::new(), terminal: self.terminal };
        files.write.extend(private.iter().flat_map(|(home, tmp)| [home.clone(), tmp.clone()]));
        files.read.extend(RESOLVERS.map(PathBuf::from));
        files.read.extend(self.shown(&argv));
        files.write.extend(self.isolation.caches.clone());
        for mount in self.mounts() {
            if mount.at != mount.from {
                match symlink(&mount.from, &mount.at) {
                    Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
                    _ => {}
                }
            }
            let list = if mount.writable { &mut files.write } else { &mut files.read };
            list.push(mount.from.clone());
        }
        // What there is not has no rule.
        files.read.retain(|path| path.exists());
        files.write.retain(|path| path.exists());
        let git = theirs.join(".gitconfig");
        let env = private
            .map(|(home, tmp)| vec![("HOME", home), ("TMPDIR", tmp), ("GIT_CONFIG_GLOBAL", git)])
            .unwrap_or_default();
        let env =
            env.into_iter().filter(|(_, path)| path.exists()).map(|(name, path)| (name.to_owned(), path));
        let confinement = Confinement { files: Some(files), env: env.collect(), ..self.confinement() };
        Ok(confinement.words(&self.shopfloor)?.into_iter().chain(argv).collect())
    }
}
