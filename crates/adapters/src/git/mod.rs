//! Git: the agents' worktrees ([`GitWorkspace`]), the merge queue's repository ([`GitMerger`]) and
//! the floor's repositories of a project ([`repos`]). All of it runs the git program.

mod call;
mod chain;
mod checkout;
mod commit;
mod conflict;
mod diff;
pub mod facts;
mod hazards;
pub mod hub;
mod kept;
mod landing;
mod locks;
mod merger;
mod prune;
mod publish;
pub mod repos;
mod rescue;
mod restore;
pub(crate) mod run;
mod site;
mod workspace;
pub(crate) mod worktree;

pub use kept::Rescued;
pub use merger::GitMerger;
pub use repos::{CheckoutProblem, GitProject, HubState, Projects, RegisterError};
pub use restore::Restored;
pub use run::{GIT_MINIMUM, Git, GitError, GitResult, IDENTITY_EMAIL, IDENTITY_NAME};
pub use workspace::GitWorkspace;
