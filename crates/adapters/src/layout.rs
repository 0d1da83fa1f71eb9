//! Where things are in a floor's home folder. One place knows the paths.

use shopfloor_core::ids::{Epoch, IssueNumber, ProjectName, Role, RunId};
use std::path::{Path, PathBuf};

/// A floor's home folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// `root` must be absolute.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        assert!(root.is_absolute(), "a floor's home is an absolute path");
        Layout { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn database(&self) -> PathBuf {
        self.root.join("floor.db")
    }

    /// The floor-wide configuration file.
    pub fn config(&self) -> PathBuf {
        self.root.join("floor.toml")
    }

    /// What the user puts over the embedded runtimes, a file for each.
    pub fn runtimes(&self) -> PathBuf {
        self.root.join("runtimes")
    }

    /// Held by the daemon for as long as it lives.
    pub fn daemon_lock(&self) -> PathBuf {
        self.root.join("daemon.lock")
    }

    pub fn daemon_log(&self) -> PathBuf {
        self.root.join("daemon.log")
    }

    /// Where commands poke the daemon.
    pub fn daemon_socket(&self) -> PathBuf {
        self.root.join("daemon.sock")
    }

    /// The floor's own tmux server.
    pub fn tmux_socket(&self) -> PathBuf {
        self.root.join("tmux.sock")
    }

    /// Put first on every agent's PATH: holds `shopfloor` itself.
    pub fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    pub fn project(&self, project: &ProjectName) -> PathBuf {
        self.root.join("projects").join(project.as_str())
    }

    /// The bare repository that is "origin" with the embedded forge.
    pub fn hub(&self, project: &ProjectName) -> PathBuf {
        self.project(project).join("hub.git")
    }

    /// The bare clone whose worktrees the agents work in.
    pub fn clone_repo(&self, project: &ProjectName) -> PathBuf {
        self.project(project).join("clone.git")
    }

    /// The merge queue's private repository.
    pub fn queue_repo(&self, project: &ProjectName) -> PathBuf {
        self.project(project).join("queue.git")
    }

    pub fn queue_lock(&self, project: &ProjectName) -> PathBuf {
        self.project(project).join("queue.lock")
    }

    pub fn worktree(&self, project: &ProjectName, role: Role, issue: IssueNumber) -> PathBuf {
        let name = match role {
            Role::Dev => format!("issue-{issue}"),
            Role::Review => format!("review-{issue}"),
        };
        self.project(project).join("worktrees").join(name)
    }

    /// One CI run's folder: its checkout, its log, its process record.
    pub fn ci_run(&self, project: &ProjectName, run: RunId) -> PathBuf {
        self.project(project).join("ci").join(format!("run-{run}"))
    }

    /// One session's folder: prompt, inbox bell, result file, process record.
    pub fn session(&self, epoch: Epoch) -> PathBuf {
        self.root.join("sessions").join(format!("e{epoch}"))
    }
}
