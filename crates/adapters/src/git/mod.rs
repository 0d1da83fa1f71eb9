//! Git: the trees agents work in ([`GitWorkspace`]), the merge queue's repository ([`GitMerger`]), where a
//! project's branches live ([`origin`]) and its repositories on the floor ([`repos`]). All of it runs the git
//! program.

pub mod abandon;
mod attributes;
mod bounds;
pub mod branches;
mod call;
mod capture;
pub mod carry;
mod chain;
pub mod checkout;
mod commit;
mod conflict;
mod diff;
pub mod facts;
mod foreign;
mod hazards;
mod index;
mod kept;
mod landing;
mod lasting;
mod leaks;
mod linked;
mod locks;
mod merger;
mod message;
pub mod origin;
mod ours;
mod parts;
mod prepare;
mod prune;
mod publish;
pub(crate) mod refs;
pub mod repos;
mod repository;
mod rescue;
mod restore;
pub(crate) mod run;
mod same;
pub mod sign;
mod site;
mod stack;
mod still;
mod transfer;
mod upkeep;
mod workspace;
pub(crate) mod worktree;

pub use bounds::{Caps, Left};
pub use kept::Rescued;
pub use merger::GitMerger;
pub use ours::Found as FoundInOurs;
pub use parts::{Part, PartKind};
pub use repos::{CheckoutProblem, GitProject, OriginState, Projects, RegisterError};
pub use restore::Restored;
pub use run::{GIT_MINIMUM, Git, GitError, GitResult, IDENTITY_EMAIL, IDENTITY_NAME, Repo};
pub use workspace::{GitWorkspace, branch_file};
