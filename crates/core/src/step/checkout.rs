//! The user's own commits on the primary branch of their checkout: taken in as if they had pushed them.

use super::Turn;
use super::by_hand::may_queue;
use crate::effect::{Action, LandedEntry, Taken};
use crate::event::{BranchAsk, NoteKind};
use crate::ids::{ProjectName, QueueId, Sha, checkout_branch};
use crate::state::{Entry, EntryState};

impl Turn<'_> {
    pub(super) fn checkout_touched(&mut self, project: &ProjectName) {
        if self.floor.projects.get(project).is_some() {
            self.act(Action::TakeCheckout { project: project.clone() });
        }
    }

    pub(super) fn checkout_taken(&mut self, project: &ProjectName, taken: &Taken) {
        match taken {
            Taken::Nothing => {}
            Taken::Forwarded { head } => {
                let text = format!("your commits up to {} are taken in", head.short());
                self.note(NoteKind::Checkout, project, None, text);
            }
            Taken::Landed { head } => {
                // As other commits: what is left is to bring the checkout there.
                self.act(Action::SyncCheckout { project: project.clone(), head: head.clone() });
            }
            Taken::Parted { branch, head, tree, title, by } => {
                let ask = BranchAsk {
                    branch: branch.clone(),
                    head: head.clone(),
                    tree: tree.clone(),
                    title: title.clone(),
                    message: None,
                    pr: None,
                    by: by.clone(),
                    author: None,
                    // Whoever may push to the primary branch needs nobody's approval of it.
                    approved_by: Some(by.clone()),
                    urgent: false,
                    alone: false,
                    target: None,
                    after: Vec::new(),
                };
                self.take_parted(project, &ask);
            }
        }
    }

    /// Through the merge queue, once: what failed there is for its author to look at.
    fn take_parted(&mut self, project: &ProjectName, ask: &BranchAsk) {
        let queued = self.floor.queued_by_hand(project, &ask.branch);
        if queued.is_some_and(|entry| entry.head == ask.head) {
            return;
        }
        let primary = self.policy(project).primary_branch;
        let type_this =
            format!("run `git pull --rebase shopfloor {primary}` in your checkout: they are taken in then");
        if self.tried_before(project, &ask.branch, &ask.head) {
            let text =
                format!("your own commits on {primary} could not be merged as {}; {type_this}", ask.branch);
            self.note(NoteKind::Checkout, project, None, text);
            return;
        }
        match may_queue(self.floor, project, ask) {
            Ok(()) => {
                let text = format!(
                    "your {primary} has commits of its own, {}, which go through the merge queue as {}",
                    ask.head.short(),
                    ask.branch
                );
                self.note(NoteKind::Checkout, project, None, text);
                self.branch_asked(project, ask);
            }
            Err(why) => {
                let text = format!(
                    "your {primary} has commits of its own that cannot be queued ({why}); {type_this}"
                );
                self.note(NoteKind::Checkout, project, None, text);
            }
        }
    }

    /// The checkout may be brought to what landed, unless that is its own: then when the branch is put away,
    /// and its head kept.
    pub(super) fn sync_after(&mut self, onto: &QueueId, landed: &[LandedEntry], new: &Sha) {
        // The user's own checkout is of the primary branch.
        let QueueId { project, target: None } = onto else { return };
        let own = checkout_branch(&self.policy(project).primary_branch);
        let of = |l: &LandedEntry| self.floor.entries.get(&l.entry).is_some_and(|e| e.branch == own);
        if !landed.iter().any(of) {
            self.act(Action::SyncCheckout { project: project.clone(), head: new.clone() });
        }
    }

    pub(super) fn branch_retired(&mut self, project: &ProjectName, branch: &str, commit: &Sha) {
        if branch == checkout_branch(&self.policy(project).primary_branch) {
            self.act(Action::SyncCheckout { project: project.clone(), head: commit.clone() });
        }
    }

    fn tried_before(&self, project: &ProjectName, branch: &str, head: &Sha) -> bool {
        let same = |e: &&Entry| e.project == *project && e.branch == branch && e.head == *head;
        let failed = |e: &Entry| {
            matches!(
                e.state,
                EntryState::Failed { .. } | EntryState::Conflicted { .. } | EntryState::Cancelled { .. }
            )
        };
        self.floor.entries.iter().filter(same).any(failed)
    }
}
