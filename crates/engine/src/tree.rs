//! Worktrees by name: whose each is, what its folder, its agent and its sessions are called.

use shopfloor_core::hand::name::HandName;
use shopfloor_core::ids::{Epoch, IssueNumber, ProjectName, Role, Target, agent_name, tmux_name};

/// Which worktree, with the repository that is its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tree {
    pub project: ProjectName,
    pub owner: Owner,
    /// The branch that what is made in it is to land on, where that matters; `None`: the primary branch. It is no
    /// part of its name.
    pub onto: Option<Target>,
}

/// Whose worktree it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// An issue's own (dev), or the one its pull request is reviewed in.
    Job { issue: IssueNumber, role: Role },
    /// A hand session's.
    Hand(HandName),
}

impl Tree {
    pub fn of_job(project: &ProjectName, role: Role, issue: IssueNumber) -> Tree {
        Tree { project: project.clone(), owner: Owner::Job { issue, role }, onto: None }
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
            Owner::Job { role, .. } => Some(role),
            Owner::Hand(_) => None,
        }
    }

    pub fn issue(&self) -> Option<IssueNumber> {
        match self.owner {
            Owner::Job { issue, .. } => Some(issue),
            Owner::Hand(_) => None,
        }
    }

    /// A review's has a commit checked out and no branch; every other is for one branch.
    pub fn is_review(&self) -> bool {
        self.role() == Some(Role::Review)
    }

    /// What its folder is called. No two trees of a project share it.
    pub fn name(&self) -> String {
        match &self.owner {
            Owner::Job { role: Role::Dev, issue } => format!("issue-{issue}"),
            Owner::Job { role: Role::Review, issue } => format!("review-{issue}"),
            Owner::Hand(name) => name.to_string(),
        }
    }

    /// The tree whose folder is called so.
    pub fn named(project: &ProjectName, name: &str) -> Option<Tree> {
        let owner = match name.split_once('-')? {
            ("issue", issue) => Owner::Job { role: Role::Dev, issue: issue.parse().ok()? },
            ("review", issue) => Owner::Job { role: Role::Review, issue: issue.parse().ok()? },
            _ => Owner::Hand(HandName::parse(name)?),
        };
        let tree = Tree { project: project.clone(), owner, onto: None };
        // Only exactly as we write it.
        (tree.name() == name).then_some(tree)
    }

    /// Who works there: the name under which its rescue refs are.
    pub fn agent(&self) -> String {
        match &self.owner {
            Owner::Job { role, issue } => agent_name(*role, &self.project, *issue),
            Owner::Hand(name) => name.to_string(),
        }
    }

    /// What its session of that epoch is called; a hand session has no epochs.
    pub fn session(&self, epoch: Epoch) -> String {
        match &self.owner {
            Owner::Job { role, issue } => tmux_name(*role, &self.project, *issue, epoch),
            Owner::Hand(name) => name.to_string(),
        }
    }
}
