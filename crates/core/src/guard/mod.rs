//! What an agent must not run. Asked before every command of an agent's shell; a refusal says why
//! and what to do instead.
//!
//! It is one layer and not the only one: the hub refuses foreign pushes whatever this says, and
//! rescue refs keep what is deleted. It reads commands as a shell would, so that they cannot pass by
//! accident in another spelling, but somebody who wants to hide one can. What it does not understand
//! it lets pass, except for deletions: those need a path that is known to be inside.

mod delete;
mod forge;
mod git;
mod shell;
mod walk;
mod word;

#[cfg(test)]
mod tests;

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
    /// Of the primary branch, in any way.
    PushPrimary,
    /// Of a branch that is not the session's, or of everything.
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

/// `None`: nothing speaks against it.
pub fn check(ask: &Ask<'_>) -> Option<Refusal> {
    // A folder that the worktree is in is not the session's own.
    let scratch = ask.scratch.filter(|scratch| !walk::is_below(ask.worktree, scratch));
    let ask = Ask { scratch, ..*ask };
    let rule = walk::Walk::new(&ask).script(ask.command)?;
    Some(Refusal { rule, why: why(rule, &ask) })
}

fn why(rule: Rule, ask: &Ask<'_>) -> String {
    let (branch, primary) = (ask.branch, ask.primary);
    let push = format!("Push your own branch ({branch}) and signal awaiting_ci");
    let text = match rule {
        Rule::ForcePush => format!(
            "Force pushes are not allowed: they can destroy work. {push}. If a push is rejected, `git fetch origin` \
             and merge or rebase onto origin/{branch}, then push without force"
        ),
        Rule::PushPrimary => {
            format!("Only the merge queue moves {primary}: it merges what passed. {push}")
        }
        Rule::PushOther => format!("You may push your own branch only. {push}"),
        Rule::DeleteBranch => format!(
            "Branches on the remote are not deleted by agents: the factory removes {branch} after its merge"
        ),
        Rule::CheckoutPrimary => format!(
            "Stay on your branch ({branch}): {primary} is not worked on. To see or take its files use `git show \
             {primary}:FILE`, `git diff {primary}` or `git checkout {primary} -- FILE`"
        ),
        Rule::MovePrimary => {
            format!("Only the merge queue moves {primary}. Commit to your own branch ({branch})")
        }
        Rule::Merge => format!(
            "The merge queue merges. {push}; into your own branch you may merge {primary} and nothing else"
        ),
        Rule::DeleteOutside => format!(
            "Delete nothing outside of your worktree ({}){}. Write the path out if it is inside: a variable or \
             `~` that is not known here counts as outside",
            ask.worktree,
            ask.scratch
                .map(|scratch| format!(" and your scratch folder ({scratch}, $TMPDIR)"))
                .unwrap_or_default(),
        ),
        Rule::DeleteGit => {
            "The worktree itself and its .git are not to be deleted: your work is found through them. Delete \
             single files instead, or undo changes with `git restore`"
                .to_owned()
        }
    };
    format!("{text}. (shopfloor: {})", rule.as_str())
}
