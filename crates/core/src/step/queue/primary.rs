//! Where the primary branch is. The queue moves it, and so may anybody who can push: that is noticed when it
//! happens, and whatever was found out on the old base is void. If it does not continue from where it was known to
//! be (rewound, rewritten, deleted), it is never taken for the new base: the queue stands still until it is put
//! back, or a person accepts it. The same if it continues from there, but nobody is known to have moved it: whoever
//! pushes to the hub is put on record, so what is not on record went past the hub's hook.
//!
//! The answer to `FindPrimary` comes in the lane in which publications are made, so it is never older than the
//! newest of them.

use crate::effect::outcome;
use crate::effect::{Action, MovedBranch};
use crate::event::NoteKind;
use crate::ids::{ProjectName, QueueId, Sha, Target, in_words};
use crate::planner::PlanEvent;
use crate::state::{LostPrimary, Publication, Pushed};
use crate::step::Turn;
use crate::text::one_line;
use crate::texts::queue as texts;

const PUSHER_CHARS_MAX: usize = 80;

impl Turn<'_> {
    /// Asks where it is, if that was never known.
    pub(in crate::step) fn find_primary(&mut self, onto: &QueueId) {
        let queue = self.queue_of(onto);
        if queue.plan.base().is_none() && !queue.finding {
            self.ask_for_primary(onto);
        }
    }

    fn ask_for_primary(&mut self, onto: &QueueId) {
        let queue = self.queue_of(onto);
        queue.finding = true;
        queue.touched = false;
        let known = match &queue.publishing {
            // Whether it contains what was to be published.
            Some(Publication { new, gave_up: Some(_), .. }) => Some(new.clone()),
            _ => queue.plan.base().filter(|_| !queue.accepts).cloned(),
        };
        self.act(Action::FindPrimary { project: onto.project.clone(), target: onto.target.clone(), known });
    }

    /// Somebody moved it, or may have; or its place is not on record yet: only what is on record can be missed.
    pub(in crate::step) fn primary_touched(&mut self, onto: &QueueId) {
        if self.floor.projects.get(&onto.project).is_none() {
            return;
        }
        let queue = self.queue_of(onto);
        if queue.finding {
            queue.touched = true;
        } else {
            self.ask_for_primary(onto);
        }
    }

    /// A person is about to push. Whether that succeeds is seen when the branch moves.
    pub(in crate::step) fn push_recorded(
        &mut self,
        project: &ProjectName,
        branch: &str,
        old: Option<&Sha>,
        new: &Sha,
        by: &str,
    ) {
        let Some(known) = self.floor.projects.get(project) else { return };
        let policy = &known.policy;
        let named = |queue: &QueueId| policy.branch_of(queue.target.as_ref()) == branch;
        let Some(onto) = self.floor.queue_ids(project).into_iter().find(named) else { return };
        let by = one_line(by, PUSHER_CHARS_MAX);
        self.queue_of(&onto).push_seen(Pushed { old: old.cloned(), new: new.clone(), by });
    }

    /// Wherever it is, that is right: a person says so, or it is another branch now.
    pub(super) fn accept_primary(&mut self, onto: &QueueId) {
        let queue = self.queue_of(onto);
        if let Some(lost) = queue.lost.take() {
            // Wherever it is found in the end, what it contains then is not kept off it.
            lost.found.into_iter().chain(lost.known).for_each(|tip| self.taken_off(onto, tip));
        }
        self.queue_of(onto).accepts = true;
        self.primary_touched(onto);
    }

    pub(in crate::step) fn primary_answered(
        &mut self,
        onto: &QueueId,
        known: Option<&Sha>,
        found: Option<&outcome::Primary>,
    ) {
        let queue = self.queue_of(onto);
        queue.finding = false;
        let continues = found.is_some_and(|primary| primary.continues);
        let recorded = found.is_some_and(|primary| primary.recorded);
        let found = found.map(|primary| &primary.head);
        if let Some(wanted) = queue.publishing.clone().filter(|p| p.gave_up.is_some()) {
            if known == Some(&wanted.new) {
                self.publication_settled(onto, &wanted, found.is_some() && continues);
            }
            // Where it is now is a separate question.
            self.ask_for_primary(onto);
            return;
        }
        let base = queue.plan.base().cloned();
        // The queue itself may have moved it since the question was asked, or somebody else may have, again.
        let outdated = known.is_some() && known != base.as_ref() && found != base.as_ref();
        if queue.touched || outdated || (known.is_some() && queue.accepts) {
            self.ask_for_primary(onto);
            return;
        }
        match (found, base) {
            (Some(head), Some(base))
                if continues
                    && recorded
                    && base != *head
                    && !queue.accepts
                    && queue.moved_by(&base, head).is_none() =>
            {
                let (known, found) = (Some(base), Some(head.clone()));
                self.primary_lost(onto, LostPrimary { known, found, by_nobody: true });
            }
            (Some(head), base) if continues || base.is_none() => {
                queue.accepts = false;
                let by = base.as_ref().and_then(|base| queue.moved_by(base, head));
                if let Some(lost) = queue.lost.take() {
                    // It was put right: what was there instead is not wanted.
                    lost.found.into_iter().for_each(|tip| self.taken_off(onto, tip));
                    let text = texts::primary_in_order(&onto.branch_in_words(), head);
                    self.note(NoteKind::QueueState, &onto.project, None, text);
                }
                if base.is_some_and(|base| base != *head) {
                    let text = texts::primary_moved(&onto.branch_in_words(), head, by.as_deref());
                    self.note(NoteKind::QueueState, &onto.project, None, text);
                }
                self.landing_overtaken(onto, head);
                self.plan(onto, &PlanEvent::Primary { head: head.clone() });
            }
            (found, known) => {
                let lost = LostPrimary { known, found: found.cloned(), by_nobody: false };
                self.primary_lost(onto, lost);
            }
        }
    }

    fn primary_lost(&mut self, onto: &QueueId, lost: LostPrimary) {
        if self.queue_of(onto).lost.as_ref() == Some(&lost) {
            return;
        }
        let text = texts::stands_still(&lost.tell_of(onto.target.as_ref()));
        let before = self.queue_of(onto).lost.replace(lost).and_then(|before| before.found);
        before.into_iter().for_each(|tip| self.taken_off(onto, tip));
        self.note(NoteKind::Escalation, &onto.project, None, text);
    }

    /// The branch was at `tip`, and what it had there is not wanted.
    fn taken_off(&mut self, onto: &QueueId, tip: Sha) {
        self.queue_of(onto).remove(tip);
        self.forget_same_changes(onto);
    }

    /// Its place cannot be found out. Whatever waits for it stops waiting.
    pub(in crate::step) fn primary_unknown(&mut self, onto: &QueueId, reason: &str) {
        let queue = self.queue_of(onto);
        queue.finding = false;
        if let Some(wanted) = queue.publishing.clone().filter(|p| p.gave_up.is_some()) {
            self.publication_settled(onto, &wanted, false);
        }
        if self.queue_of(onto).plan.base().is_some() {
            self.note(NoteKind::Escalation, &onto.project, None, reason);
            self.plan(onto, &PlanEvent::Tick);
            return;
        }
        let mine = self.floor.entries.iter().filter(|e| e.queue() == *onto && e.state.is_live());
        for entry in mine.map(|e| e.id).collect::<Vec<_>>() {
            self.entry_impossible(entry, reason);
        }
    }

    /// What a build saw. Returns whether the primary branch is where the queue takes it to be; if not, that is
    /// looked into.
    pub(super) fn primary_seen(&mut self, onto: &QueueId, head: Option<&Sha>, moved: &[MovedBranch]) -> bool {
        let queue = self.queue_of(onto);
        // While a publication is under way, it may be seen before or after the move: the answer will tell.
        let under_way = queue.publishing.is_some() || queue.landing.is_some();
        let as_known = under_way || queue.plan.base() == head;
        if !as_known {
            self.primary_touched(onto);
        }
        for MovedBranch { entry, head } in moved {
            self.branch_moved(*entry, head.as_ref());
        }
        as_known
    }
}

impl LostPrimary {
    /// What happened, for people.
    pub fn tell(&self) -> String {
        self.tell_of(None)
    }

    /// The same, for a branch other than the primary one.
    pub fn tell_of(&self, target: Option<&Target>) -> String {
        texts::primary_lost(self, target, &in_words(target))
    }
}
