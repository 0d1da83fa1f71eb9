//! Git, for the ports [`Workspace`] and [`Merger`].

pub mod merger;
pub mod workspace;

use shopfloor_core::ids::{Assignment, IssueNumber, ProjectName, Role, Sha, branch_for};
use shopfloor_engine::ports::{Merger, Tree, Workspace};

/// A project whose primary branch has a commit, with people and agents in it. Files and what is written in them are
/// numbers.
pub trait GitWorld {
    fn workspace(&self) -> &dyn Workspace;
    fn merger(&self) -> &dyn Merger;
    fn project(&self) -> ProjectName;
    /// An agent writes a file in its worktree, and does not commit it.
    fn write(&self, tree: &Tree, file: u64, text: u64);
    /// An agent commits what is in its worktree.
    fn commit(&self, tree: &Tree) -> Sha;
    /// A person commits on top of origin's primary branch, and pushes that as the branch, whatever was there.
    fn push(&self, branch: &str, file: u64, text: u64) -> Sha;
    /// Where origin has a branch.
    fn at(&self, branch: &str) -> Option<Sha>;

    fn tree(&self, issue: u64) -> Tree {
        Tree::of_job(&self.project(), Role::DEV, Assignment::Issue(IssueNumber(issue)))
    }

    /// An issue's branch with a commit on it, published.
    fn published(&self, issue: u64, file: u64, text: u64) -> Sha {
        let (tree, branch) = (self.tree(issue), branch(issue));
        self.workspace().prepare(&tree, &branch, None).expect("prepared");
        self.write(&tree, file, text);
        let head = self.commit(&tree);
        assert_eq!(self.workspace().push(&tree, &branch).expect("pushed"), head);
        head
    }
}

pub const PRIMARY: &str = "main";

pub fn branch(issue: u64) -> String {
    branch_for(IssueNumber(issue))
}
