//! What an agent must not run. Asked before every command of an agent's shell; a refusal says why and what to do
//! instead.
//!
//! It is one layer, not the only one: the hub refuses foreign pushes whatever this says, and rescue refs keep what
//! is deleted. It reads commands as a shell would, so that none passes by accident in another spelling, but
//! somebody who wants to hide one can. What it does not understand it lets pass, except for deletions: those need
//! a path that is known to be inside.

mod delete;
mod forge;
mod git;
mod shell;
mod walk;
mod word;

#[cfg(test)]
mod tests;

use crate::texts::agents;

/// A command, and where and for whom it would run.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    pub command: &'a str,
    pub cwd: &'a str,
    /// The session's worktree, absolute.
    pub worktree: &'a str,
    /// The session's own temporary folder, absolute.
    pub scratch: Option<&'a str>,
    /// The session's branch.
    pub branch: &'a str,
    pub primary: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub rule: Rule,
    /// For the agent.
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    ForcePush,
    /// Pushing the primary branch, in any way.
    PushPrimary,
    /// Pushing a branch that is not the session's, or everything.
    PushOther,
    DeleteBranch,
    CheckoutPrimary,
    /// Moving, renaming or deleting the primary branch.
    MovePrimary,
    Merge,
    DeleteOutside,
    DeleteGit,
}

impl Rule {
    pub fn as_str(self) -> &'static str {
        match self {
            Rule::ForcePush => "force-push",
            Rule::PushPrimary => "push-primary",
            Rule::PushOther => "push-other",
            Rule::DeleteBranch => "delete-branch",
            Rule::CheckoutPrimary => "checkout-primary",
            Rule::MovePrimary => "move-primary",
            Rule::Merge => "merge",
            Rule::DeleteOutside => "delete-outside",
            Rule::DeleteGit => "delete-git",
        }
    }
}

/// `None`: nothing forbids it.
pub fn check(ask: &Ask<'_>) -> Option<Refusal> {
    // A folder that contains the worktree is not the session's own.
    let scratch = ask.scratch.filter(|scratch| !walk::is_below(ask.worktree, scratch));
    let ask = Ask { scratch, ..*ask };
    let rule = walk::Walk::new(&ask).script(ask.command)?;
    Some(Refusal { rule, why: agents::command_refused(rule, &ask) })
}
