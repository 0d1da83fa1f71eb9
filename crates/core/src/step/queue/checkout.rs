//! The user's own commits on the primary branch of their checkout: taken in as if they had pushed them.

use super::persons_branch::may_queue;
use crate::effect::{Action, LandedEntry, Taken};
use crate::event::{BranchAsk, NoteKind};
use crate::ids::{ProjectName, QueueId, Sha, checkout_branch};
use crate::state::{Entry, EntryState};
use crate::step::Turn;
use crate::texts::queue;

impl Turn<'_> {
    pub(in crate::step) fn checkout_touched(&mut self, project: &ProjectName) {
        if self.floor.projects.get(project).is_some() {
            self.act(Action::TakeCheckout { project: project.clone() });
        }
    }

    pub(in crate::step) fn checkout_taken(&mut self, project: &ProjectName, taken: &Taken) {
        match taken {
            Taken::Nothing => {}
            Taken::Forwarded { head } => {
                let text = queue::checkout_taken(head);
                self.note(NoteKind::Checkout, project, None, text);
            }
            Taken::Landed { head } => {
                // They landed as other commits: what remains is to bring the checkout there.
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
                    // The user's own.
                    unapproved: Vec::new(),
                };
                self.take_parted(project, &ask);
            }
        }
    }

    /// Sends them through the merge queue, once: if they fail there, their author has to look.
    fn take_parted(&mut self, project: &ProjectName, ask: &BranchAsk) {
        let queued = self.floor.queued_by_person(project, &ask.branch);
        if queued.is_some_and(|entry| entry.head == ask.head) {
            return;
        }
        let primary = self.policy(project).primary_branch;
        if self.tried_before(project, &ask.branch, &ask.head) {
            let text = queue::checkout_not_merged(&primary, &ask.branch);
            self.note(NoteKind::Checkout, project, None, text);
            return;
        }
        match may_queue(self.floor, project, ask) {
            Ok(()) => {
                let text = queue::checkout_queued(&primary, ask);
                self.note(NoteKind::Checkout, project, None, text);
                self.branch_asked(project, ask);
            }
            Err(why) => {
                let text = queue::checkout_not_queued(&primary, &why);
                self.note(NoteKind::Checkout, project, None, text);
            }
        }
    }

    /// The checkout may be brought to what landed, unless that is its own branch: then this happens when the
    /// branch is deleted and its head kept.
    pub(super) fn sync_after(&mut self, onto: &QueueId, landed: &[LandedEntry], new: &Sha) {
        // The user's own checkout is of the primary branch.
        let QueueId { project, target: None } = onto else { return };
        let own = checkout_branch(&self.policy(project).primary_branch);
        let of = |l: &LandedEntry| self.floor.entries.get(&l.entry).is_some_and(|e| e.branch == own);
        if !landed.iter().any(of) {
            self.act(Action::SyncCheckout { project: project.clone(), head: new.clone() });
        }
    }

    pub(in crate::step) fn branch_retired(&mut self, project: &ProjectName, branch: &str, commit: &Sha) {
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
