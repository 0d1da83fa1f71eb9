//! Where the primary branch is. The queue moves it, and so may anybody who can push: that is noticed when
//! it happens, and whatever was found out on the old base is void. One that does not go on from where it
//! was known to be (rewound, rewritten, deleted) is never taken for the new base: the queue stands still
//! until it is put back, or a person accepts it.
//!
//! The answer to the question comes in the lane in which publications are made, so it is never older than
//! the newest of them.

use super::Turn;
use crate::effect::{Action, MovedBranch, Outcome};
use crate::event::NoteKind;
use crate::ids::{QueueId, Sha, Target, in_words};
use crate::planner::Input;
use crate::state::{Job, LostPrimary, Publishing};

impl Turn<'_> {
    /// Asks where it is, if that was never known.
    pub(super) fn find_primary(&mut self, onto: &QueueId) {
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
            // Whether it has what was to be published.
            Some(Publishing { new, gave_up: Some(_), .. }) => Some(new.clone()),
            _ => queue.plan.base().filter(|_| !queue.accepts).cloned(),
        };
        self.act(Action::FindPrimary { project: onto.project.clone(), target: onto.target.clone(), known });
    }

    /// Somebody moved it, or may have; or it is not on record yet: only what is on record can be missed.
    pub(super) fn primary_touched(&mut self, onto: &QueueId) {
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

    /// Wherever it is, that is right: a person says so, or it is another branch now.
    pub(super) fn accept_primary(&mut self, onto: &QueueId) {
        let queue = self.queue_of(onto);
        if let Some(lost) = queue.lost.take() {
            // Wherever it is found in the end: what is in it then is not kept off it.
            lost.found.into_iter().chain(lost.known).for_each(|tip| self.taken_off(onto, tip));
        }
        self.queue_of(onto).accepts = true;
        self.primary_touched(onto);
    }

    pub(super) fn primary_answered(&mut self, onto: &QueueId, known: Option<&Sha>, outcome: &Outcome) {
        let queue = self.queue_of(onto);
        queue.finding = false;
        let (found, goes_on) = match outcome {
            Outcome::Primary { head, goes_on } => (Some(head), *goes_on),
            _ => (None, false),
        };
        if let Some(wanted) = queue.publishing.clone().filter(|p| p.gave_up.is_some()) {
            if known == Some(&wanted.new) {
                self.publication_settled(onto, &wanted, found.is_some() && goes_on);
            }
            // Where it is otherwise is another question.
            self.ask_for_primary(onto);
            return;
        }
        let base = queue.plan.base().cloned();
        // The queue itself may have moved it since the question, or somebody else again.
        let outdated = known.is_some() && known != base.as_ref() && found != base.as_ref();
        if queue.touched || outdated || (known.is_some() && queue.accepts) {
            self.ask_for_primary(onto);
            return;
        }
        match (found, base) {
            (Some(head), base) if goes_on || base.is_none() => {
                queue.accepts = false;
                if let Some(lost) = queue.lost.take() {
                    // It was put right: what was there instead is not wanted.
                    lost.found.into_iter().for_each(|tip| self.taken_off(onto, tip));
                    let text =
                        format!("{} is at {} and in order again", onto.branch_in_words(), head.short());
                    self.note(NoteKind::QueueState, &onto.project, None, text);
                }
                if base.is_some_and(|base| base != *head) {
                    let text = format!("somebody moved {} to {}", onto.branch_in_words(), head.short());
                    self.note(NoteKind::QueueState, &onto.project, None, text);
                }
                self.landing_overtaken(onto, head);
                self.plan(onto, &Input::Primary { head: head.clone() });
            }
            (found, known) => self.primary_lost(onto, known, found.cloned()),
        }
    }

    fn primary_lost(&mut self, onto: &QueueId, known: Option<Sha>, found: Option<Sha>) {
        let lost = LostPrimary { known, found };
        if self.queue_of(onto).lost.as_ref() == Some(&lost) {
            return;
        }
        let text = format!(
            "{}; the merge queue stands still until that is put right",
            lost.tell_of(onto.target.as_ref())
        );
        let before = self.queue_of(onto).lost.replace(lost).and_then(|before| before.found);
        before.into_iter().for_each(|tip| self.taken_off(onto, tip));
        self.note(NoteKind::Escalation, &onto.project, None, text);
    }

    /// It was there, and what it had is not wanted. That two heads make the same change was found out on top of that:
    /// it may be a part of either now, and an approval of the one does not go over to the other.
    fn taken_off(&mut self, onto: &QueueId, tip: Sha) {
        self.queue_of(onto).remove(tip);
        let mine = |j: &&Job| j.queue() == *onto && !j.same_changes.is_empty();
        for job in self.floor.jobs.iter().filter(mine).map(|j| j.id).collect::<Vec<_>>() {
            if let Some(job) = self.floor.jobs.edit(&job) {
                job.same_changes.clear();
            }
        }
    }

    /// It cannot be found out. What waits for it does not wait on.
    pub(super) fn primary_unknown(&mut self, onto: &QueueId, reason: &str) {
        let queue = self.queue_of(onto);
        queue.finding = false;
        if let Some(wanted) = queue.publishing.clone().filter(|p| p.gave_up.is_some()) {
            self.publication_settled(onto, &wanted, false);
        }
        if self.queue_of(onto).plan.base().is_some() {
            self.note(NoteKind::Escalation, &onto.project, None, reason);
            self.plan(onto, &Input::Tick);
            return;
        }
        let mine = self.floor.entries.iter().filter(|e| e.queue() == *onto && e.state.is_live());
        for entry in mine.map(|e| e.id).collect::<Vec<_>>() {
            self.entry_impossible(entry, reason);
        }
    }

    /// What a build saw. Whether the primary branch is where the queue takes it to be; if not, that is
    /// looked into.
    pub(super) fn primary_seen(&mut self, onto: &QueueId, head: Option<&Sha>, moved: &[MovedBranch]) -> bool {
        let queue = self.queue_of(onto);
        // While a publication is under way it may be seen before or after it: its answer will tell.
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

    /// The same, of another branch than the primary one.
    pub fn tell_of(&self, target: Option<&Target>) -> String {
        let branch = in_words(target);
        let known = self.known.as_ref().map(Sha::short);
        match (&self.found, known) {
            (Some(found), known) => format!(
                "{branch} was rewound or rewritten: it is at {}, without {}",
                found.short(),
                known.unwrap_or_default()
            ),
            (None, Some(known)) => format!("{branch} was deleted; it was at {known}"),
            (None, None) => match target {
                None => "origin has no primary branch".to_owned(),
                Some(_) => format!("origin has no branch {branch}"),
            },
        }
    }
}
