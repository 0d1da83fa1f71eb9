//! Worktrees by name: whose each one is, and what its folder, its agent and its sessions are called.

use shopfloor_core::ids::{
    Assignment, Checkout, Epoch, IssueNumber, ProjectName, Role, Target, agent_name, tmux_name,
};
use shopfloor_core::ids::{HandName, RunNumber};

/// Which worktree, together with its own repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tree {
    pub project: ProjectName,
    pub owner: Owner,
    /// The branch that the work in it is to land on, where that matters; `None`: the primary branch. It is
    /// not part of the tree's name.
    pub onto: Option<Target>,
}

/// Who the worktree belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// An assignment's, for agents of that role.
    Agent { role: Role, assignment: Assignment },
    /// A hand session's.
    Hand(HandName),
}

impl Tree {
    pub fn of_job(project: &ProjectName, role: Role, assignment: Assignment) -> Tree {
        Tree { project: project.clone(), owner: Owner::Agent { role, assignment }, onto: None }
    }

    /// `issue`: the one that the run is for, if it is for one.
    pub fn of_run(project: &ProjectName, role: Role, run: RunNumber, issue: Option<IssueNumber>) -> Tree {
        Tree::of_job(project, role, issue.map_or(Assignment::Run(run), Assignment::Issue))
    }

    pub fn of_hand(project: &ProjectName, name: HandName) -> Tree {
        Tree { project: project.clone(), owner: Owner::Hand(name), onto: None }
    }

    #[must_use]
    pub fn onto(self, target: Option<&Target>) -> Tree {
        Tree { onto: target.cloned(), ..self }
    }

    pub fn role(&self) -> Option<Role> {
        match self.owner {
            Owner::Agent { role, .. } => Some(role),
            Owner::Hand(_) => None,
        }
    }

    pub fn assignment(&self) -> Option<Assignment> {
        match self.owner {
            Owner::Agent { assignment, .. } => Some(assignment),
            Owner::Hand(_) => None,
        }
    }

    /// The number of its issue or pull request.
    pub fn number(&self) -> Option<IssueNumber> {
        self.assignment().and_then(Assignment::number)
    }

    /// A review tree has a commit checked out and no branch; every other tree is for one branch.
    pub fn is_review(&self) -> bool {
        self.role().is_some_and(|role| role.profile().checkout == Checkout::Commit)
    }

    /// The name of its folder. No two trees of a project share it.
    pub fn name(&self) -> String {
        match &self.owner {
            // A run's is looked for by its role.
            Owner::Agent { role, assignment: Assignment::Run(run) } => format!("{role}-r{run}"),
            Owner::Agent { role, assignment } => format!("{}-{}", role.tree(), assignment.tag()),
            Owner::Hand(name) => name.to_string(),
        }
    }

    /// The tree whose folder has that name. The name does not say whether its number is an issue's.
    pub fn named(project: &ProjectName, name: &str) -> Option<Tree> {
        let (kind, number) = name.split_once('-')?;
        let owner = match HandName::parse(name) {
            Some(name) => Owner::Hand(name),
            None => {
                let assignment = Assignment::tagged(number)?;
                let role = match assignment {
                    Assignment::Run(_) => kind.parse().ok()?,
                    _ => Role::of_tree(kind)?,
                };
                Owner::Agent { role, assignment }
            }
        };
        let tree = Tree { project: project.clone(), owner, onto: None };
        // Only if spelled exactly as we write it.
        (tree.name() == name).then_some(tree)
    }

    /// Who works there: its rescue refs are under this name.
    pub fn agent(&self) -> String {
        match &self.owner {
            Owner::Agent { role, assignment } => agent_name(*role, &self.project, *assignment),
            Owner::Hand(name) => name.to_string(),
        }
    }

    /// The name of its session of that epoch; a hand session has no epochs.
    pub fn session(&self, epoch: Epoch) -> String {
        match &self.owner {
            Owner::Agent { role, assignment } => tmux_name(*role, &self.project, *assignment, epoch),
            Owner::Hand(name) => name.to_string(),
        }
    }
}
