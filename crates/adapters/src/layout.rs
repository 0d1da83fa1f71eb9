//! Where things are in a floor's home folder. One place knows the paths.

use shopfloor_core::ids::HandName;
use shopfloor_core::ids::{Assignment, Epoch, ProjectName, Role, RunId};
use shopfloor_engine::ports::Tree;
use std::ffi::OsStr;
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

    /// By how much the floor is ahead of the machine's clock, if it is.
    pub fn clock(&self) -> PathBuf {
        self.root.join("clock")
    }

    /// The user's overrides of the embedded runtimes, a file for each.
    pub fn runtimes(&self) -> PathBuf {
        self.root.join("runtimes")
    }

    /// The user's overrides of the embedded prompts, a file for each.
    pub fn prompts(&self) -> PathBuf {
        self.root.join("prompts")
    }

    /// The registry in files, for other tools.
    pub fn identities(&self) -> PathBuf {
        self.root.join("identities")
    }

    pub fn identity(&self, agent: &str) -> PathBuf {
        self.identities().join(format!("{agent}.json"))
    }

    /// The work records in files, for other tools.
    pub fn work_records(&self) -> PathBuf {
        self.root.join("records")
    }

    pub fn work_record(&self, agent: &str) -> PathBuf {
        self.work_records().join(format!("{agent}.json"))
    }

    /// Held by whoever hands out ports.
    pub fn ports_lock(&self) -> PathBuf {
        self.root.join("ports.lock")
    }

    /// How the machine was, now and then.
    pub fn samples(&self) -> PathBuf {
        self.root.join("machine.json")
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
        self.projects().join(project.as_str())
    }

    /// For a project whose origin is a remote: the file with the remote's URL.
    pub fn origin_url(&self, project: &ProjectName) -> PathBuf {
        self.project(project).join("origin.url")
    }

    /// The repository near such a remote.
    pub fn mirror(&self, project: &ProjectName) -> PathBuf {
        self.project(project).join("origin.git")
    }

    /// The project's repositories that do not belong to a tree.
    pub fn repositories(&self, project: &ProjectName) -> [PathBuf; 4] {
        [self.hub(project), self.mirror(project), self.clone_repo(project), self.queue_repo(project)]
    }

    /// The bare repository that is origin if the floor itself keeps the branches. Only [`crate::git::origin`]
    /// asks for it.
    pub fn hub(&self, project: &ProjectName) -> PathBuf {
        self.project(project).join("hub.git")
    }

    /// The bare repository that keeps what agents' trees held: rescue refs, and the branches of trees that
    /// were removed before they were merged. It borrows the hub's objects, and nobody borrows from it.
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

    /// Notes the move in progress in the user's checkout.
    pub fn checkout_move(&self, project: &ProjectName) -> PathBuf {
        self.project(project).join("checkout-move")
    }

    pub fn worktree(&self, project: &ProjectName, role: Role, assignment: Assignment) -> PathBuf {
        self.tree(&Tree::of_job(project, role, assignment))
    }

    /// The folder that an agent works in.
    pub fn tree(&self, tree: &Tree) -> PathBuf {
        self.project(&tree.project).join("worktrees").join(tree.name())
    }

    /// The git directory of that folder alone: refs, index, configuration, stash. It borrows the hub's
    /// objects.
    pub fn repository(&self, tree: &Tree) -> PathBuf {
        self.own_repository(&tree.project, tree.name().as_ref())
    }

    /// The repository of the tree whose folder has that name.
    pub fn own_repository(&self, project: &ProjectName, name: &OsStr) -> PathBuf {
        let mut name = name.to_owned();
        name.push(".git");
        self.project(project).join("repos").join(name)
    }

    /// What anybody who works in a tree must be able to write: its files and its repository.
    pub fn written_by(&self, tree: &Tree) -> [PathBuf; 2] {
        [self.tree(tree), self.repository(tree)]
    }

    /// What the supervisor wrote down, a file a day.
    pub fn diary(&self) -> PathBuf {
        self.root.join("health")
    }

    /// All projects' folders.
    pub fn projects(&self) -> PathBuf {
        self.root.join("projects")
    }

    /// What is known about the setup of a worktree: its port, the commands' output.
    pub fn setup(&self, tree: &Tree) -> PathBuf {
        self.project(&tree.project).join("setup").join(tree.name())
    }

    /// The worktree that a path is in, if it is one of the floor's.
    pub fn worktree_of(&self, path: &Path) -> Option<Tree> {
        let below = path.strip_prefix(self.projects()).ok()?;
        let mut parts = below.iter().map(|part| part.to_str());
        let project: ProjectName = parts.next()??.parse().ok()?;
        let ("worktrees", name) = (parts.next()??, parts.next()??) else { return None };
        let tree = Tree::named(&project, name)?;
        path.starts_with(self.tree(&tree)).then_some(tree)
    }

    /// Hand sessions: their records, their outputs, the number of the newest.
    pub fn hand(&self) -> PathBuf {
        self.root.join("hand")
    }

    /// One hand session's folder.
    pub fn hand_session(&self, name: &HandName) -> PathBuf {
        self.hand().join(name.to_string())
    }

    /// Says that somebody orchestrates the project's stories.
    pub fn marker(&self, project: &ProjectName) -> PathBuf {
        self.hand().join(format!("marker-{project}.json"))
    }

    /// What was escalated to people, one per line.
    pub fn escalations(&self, project: &ProjectName) -> PathBuf {
        self.root.join(format!("escalations-{project}.jsonl"))
    }

    /// The folders of a project's commands about what landed or did not.
    pub fn told(&self, project: &ProjectName) -> PathBuf {
        self.project(project).join("told")
    }

    /// The folders of what a project's requests to the vault had carried out.
    pub fn fires(&self, project: &ProjectName) -> PathBuf {
        self.project(project).join("vault")
    }

    /// The folders of a project's CI runs.
    pub fn ci_runs(&self, project: &ProjectName) -> PathBuf {
        self.project(project).join("ci")
    }

    /// The checkouts that CI runs use, one after another.
    pub fn test_trees(&self, project: &ProjectName) -> PathBuf {
        self.project(project).join("ci").join("trees")
    }

    /// One CI run's folder: its log, its process record.
    pub fn ci_run(&self, project: &ProjectName, run: RunId) -> PathBuf {
        self.ci_runs(project).join(format!("run-{run}"))
    }

    /// The folders of sessions.
    pub fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// One session's folder: prompt, settings, inbox bell, and what the daemon keeps about it.
    pub fn session(&self, epoch: Epoch) -> PathBuf {
        self.sessions().join(format!("e{epoch}"))
    }

    /// Made at its start, before anything is written there.
    pub fn session_own(&self, epoch: Epoch) -> PathBuf {
        self.session(epoch).join(OWN)
    }

    /// Where the door is at which sessions, checks and setup commands ask: shown to them as a folder, since each daemon
    /// makes the socket anew.
    pub fn door(&self) -> PathBuf {
        self.root.join("door")
    }

    pub fn door_socket(&self) -> PathBuf {
        self.door().join("sock")
    }

    /// Where the way to the network begins, for sessions that have no other.
    pub fn proxy_socket(&self) -> PathBuf {
        self.door().join("net")
    }
}

/// See [`own_part`].
const OWN: &str = "own";

/// The part of a session's folder that the session itself writes: its phase, its result, what its hooks say. Nothing in
/// it is believed. Sessions of earlier builds have one folder for everything.
pub fn own_part(session: &Path) -> PathBuf {
    let own = session.join(OWN);
    if own.is_dir() { own } else { session.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::ids::HandName;
    use shopfloor_core::ids::IssueNumber;

    #[test]
    fn worktrees_are_told_from_other_folders() {
        let layout = Layout::new("/floor");
        let (project, issue): (ProjectName, _) = ("harb".parse().unwrap(), Assignment::Issue(IssueNumber(7)));
        let hand = HandName::parse("hand-harb-dev-1-2-h3").unwrap();
        for tree in [
            Tree::of_job(&project, Role::DEV, issue),
            Tree::of_job(&project, Role::REVIEW, issue),
            Tree::of_hand(&project, hand),
        ] {
            let path = layout.tree(&tree);
            for inside in [path.clone(), path.join("src/deep")] {
                assert_eq!(layout.worktree_of(&inside), Some(tree.clone()));
            }
        }
        for other in [
            "/floor/projects/harb/worktrees",
            "/floor/projects/harb/worktrees/issue-x",
            "/floor/projects/harb/worktrees/issue-#7",
            "/floor/projects/harb/worktrees/issue-07",
            "/floor/projects/harb/worktrees/hand-x",
            "/floor/projects/harb/clone.git",
            "/floor/projects/../worktrees/issue-7",
            "/elsewhere/projects/harb/worktrees/issue-7",
        ] {
            assert_eq!(layout.worktree_of(Path::new(other)), None, "{other}");
        }
    }
}
