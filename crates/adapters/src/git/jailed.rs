//! Gits of ours that work in what agents write run in a jail: whatever such a git could be brought to do, by a file that
//! it misreads or a setting that nobody thought of, it reaches that tree, its repository, the keeper and nothing else. At
//! the level that has no network but by permission, it has none; elsewhere it has, because a person's own filters, such as
//! git-lfs, get files from servers.
//!
//! Invariant: what a git reaches follows from what the floor knows, never from what a repository says.

use super::origin;
use crate::jail::{Isolation, Jail};
use crate::layout::Layout;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// What a jail says of itself begins with that, and its exit code is then not git's.
const SAYS: [&[u8]; 2] = [b"bwrap: ", b"error: the program cannot be confined"];

/// How gits are jailed on this floor.
#[derive(Clone, Debug)]
pub(super) struct Jails {
    isolation: Arc<Isolation>,
    layout: Layout,
}

impl Jails {
    /// `None`: they are not.
    pub(super) fn new(isolation: Arc<Isolation>, layout: Layout) -> Option<Arc<Jails>> {
        isolation.is_on().then(|| Arc::new(Jails { isolation, layout }))
    }
}

/// What one git reaches.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    jails: Arc<Jails>,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

impl Reach {
    /// A folder and its git directory, and to read, what that borrows.
    pub(super) fn of(jails: &Arc<Jails>, git_dir: &Path, folder: &Path) -> Reach {
        let mut reach = Reach { jails: jails.clone(), read: Vec::new(), write: Vec::new() };
        reach.write(git_dir);
        reach.write(folder);
        reach
    }

    /// The same folders and this one, and nothing to be written.
    pub(super) fn reading(self, folder: &Path) -> Reach {
        let read = [self.read, self.write, vec![folder.to_owned()]].concat();
        Reach { read, write: Vec::new(), ..self }
    }

    pub(super) fn read(&mut self, path: &Path) {
        self.read.push(path.to_owned());
    }

    /// What is a project's borrows from what is near its origin.
    pub(super) fn write(&mut self, path: &Path) {
        let layout = &self.jails.layout;
        let inside = path.strip_prefix(layout.projects()).ok().and_then(|path| path.iter().next()?.to_str());
        if let Some(project) = inside.and_then(|name| name.parse().ok()) {
            self.read.push(origin::near(layout, &project));
        }
        self.write.push(path.to_owned());
    }

    /// The same command in its jail. It was to be run with the environment that it names, and no other.
    pub(super) fn confine(&self, command: &Command) -> io::Result<Command> {
        let program = Path::new(command.get_program());
        let jail = Jail::of_git(&self.jails.isolation, &self.jails.layout);
        let mut jail = jail.program(program).read(program);
        for path in &self.read {
            jail = jail.read(path);
        }
        for path in &self.write {
            jail = jail.write(path);
        }
        let argv = std::iter::once(command.get_program()).chain(command.get_args());
        let mut confined = jail.command(Path::new("/"), argv)?;
        let env = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        let mut env = env.collect();
        Jail::adjust(&mut env);
        confined.env_clear().envs(env);
        Ok(confined)
    }
}

/// Whether that is what a jail said that could not be built.
pub(super) fn is_the_jails(said: &[u8]) -> bool {
    SAYS.iter().any(|begin| said.starts_with(begin))
}

/// Whether `path` really is in one of these folders.
pub(super) fn is_within(path: &Path, folders: &[&Path]) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(path)
        .is_some_and(|path| folders.iter().filter_map(|folder| real(folder)).any(|f| path.starts_with(f)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jail_that_fails_is_told_from_a_git_that_answers() {
        assert!(is_the_jails(b"bwrap: No permissions to create a new namespace"));
        assert!(!is_the_jails(b"fatal: not a git repository"));
        assert!(!is_the_jails(b""));
    }
}
