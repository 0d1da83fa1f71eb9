//! What is green lands: the primary branch moves by compare-and-swap, to commits each of which has a tree that
//! passed. Only a [`Green`] commit can be published, and only from here.
//!
//! The planner gives steps. One that is a single link on top of the primary branch lands as it was built.
//! Where several entries were checked together, or the primary branch has another history than the chain was
//! built on, the commits of the first-parent line are made first ([`Action::BuildLanding`]): each has the tree
//! that was checked, and the links are behind it.

use super::Turn;
use crate::effect::{Action, BuiltLanding, EntryBranch, LandedEntry, LandingStep, MovedBranch, Outcome};
use crate::event::NoteKind;
use crate::ids::{EntryId, ProjectName, QueueId, Sha};
use crate::planner::{Input, Link, Step};
use crate::policy::{CheckCommits, MergeBatch};
use crate::state::{Entry, EntryState, Landing, Publishing};
use crate::verdict::Green;

impl Turn<'_> {
    /// The planner wants it published. `on`: what its first link was put on.
    pub(super) fn land(&mut self, onto: &QueueId, wanted: Landing, on: &Sha) {
        let tip = wanted.tip();
        for entry in wanted.entries() {
            self.set_entry(entry, EntryState::Merging);
        }
        let policy = self.policy(&onto.project);
        let loose = policy.merge_batch == MergeBatch::Tip && policy.check_commits == CheckCommits::Last;
        let mut below = on.clone();
        let mut steps = Vec::new();
        for step in &wanted.steps {
            let linear = loose || step.is_single(&below);
            let list = step.entries.iter().filter_map(|(entry, _)| self.chain_entry(*entry)).collect();
            let link = step.last().commit.clone();
            steps.push(LandingStep {
                below: std::mem::replace(&mut below, link.clone()),
                link,
                linear,
                list,
            });
        }
        if *on == wanted.old && !policy.merge_signed && steps.iter().all(|step| step.linear) {
            let commits = wanted.steps.iter().map(|step| step.last().clone()).collect();
            self.publish_tested(onto, &wanted, &BuiltLanding { commits, ..BuiltLanding::default() });
            return;
        }
        let old = wanted.old.clone();
        self.queue_of(onto).landing = Some(wanted);
        self.act(Action::BuildLanding {
            project: onto.project.clone(),
            target: onto.target.clone(),
            old,
            tip,
            steps,
        });
    }

    pub(super) fn landing_built(&mut self, onto: &QueueId, tip: &Sha, outcome: &Outcome) {
        let Outcome::LandingBuilt(built) = outcome else { return };
        let Some(wanted) = self.take_landing(onto, tip) else { return };
        self.publish_tested(onto, &wanted, built);
    }

    /// The commits cannot be made. Nothing has moved.
    pub(super) fn landing_impossible(&mut self, onto: &QueueId, tip: &Sha, reason: &str) {
        let Some(wanted) = self.take_landing(onto, tip) else { return };
        self.unpublishable(onto, tip, &wanted.entries(), reason);
    }

    fn take_landing(&mut self, onto: &QueueId, tip: &Sha) -> Option<Landing> {
        let known = self.floor.queues.get(onto)?.landing.as_ref()?;
        (known.tip() == *tip).then(|| self.queue_of(onto).landing.take())?
    }

    /// Records the intent; the effect does it. The one place where a publication is ordered.
    fn publish_tested(&mut self, onto: &QueueId, wanted: &Landing, built: &BuiltLanding) {
        let BuiltLanding { commits, again } = built;
        let Landing { old, steps } = wanted;
        let (tip, list) = (wanted.tip(), wanted.entries());
        let Some(new) = commits.last().map(|link| link.commit.clone()) else { return };
        let whole = commits.len() == steps.len();
        let green: Option<Vec<Green>> = match whole {
            true => steps.iter().zip(commits).map(|(step, link)| self.green_step(onto, step, link)).collect(),
            false => None,
        };
        let Some(greens) = green.or((new == *old).then(Vec::new)) else {
            // The plan knows of a verdict that is not on record: it is not trusted.
            let tested: Vec<&str> = steps.iter().map(|step| step.tested.short()).collect();
            let text = format!("no verdict on each of {} is on record", tested.join(", "));
            self.note(NoteKind::Escalation, &onto.project, None, text);
            for entry in list {
                self.set_entry(entry, EntryState::Queued);
            }
            self.plan(onto, &Input::Refused { tip, head: old.clone() });
            self.plan(onto, &Input::ChecksChanged);
            return;
        };
        // The last of a step is the step's commit; the others are behind it, perhaps made again.
        let landed = steps.iter().zip(commits).flat_map(|(step, landed)| {
            let last = step.last();
            let commit = move |link: &Link| match link == last {
                true => landed.commit.clone(),
                false => again.get(&link.commit).unwrap_or(&link.commit).clone(),
            };
            step.entries.iter().map(move |(entry, link)| (*entry, commit(link)))
        });
        let landed: Vec<(EntryId, Sha)> = landed.collect();
        let runs = steps.iter().zip(&greens).map(|(step, green)| (step, green.run()));
        for (step, run) in runs.collect::<Vec<_>>() {
            for (entry, _) in &step.entries {
                self.stands_on(*entry, Some(old), &[], Some(run), None);
            }
        }
        let tested = steps.last().map_or(old, |step| &step.tested).clone();
        let queue = self.queue_of(onto);
        queue.publishing = Some(Publishing {
            old: old.clone(),
            new: new.clone(),
            green: greens.last().cloned(),
            entries: landed,
            tip: Some(tip),
            gave_up: None,
        });
        for green in greens {
            queue.remember(green);
        }
        let QueueId { project, target } = onto.clone();
        let old = old.clone();
        let entry = |id: &EntryId| self.floor.entries.get(id);
        let branch = |e: &Entry| EntryBranch { entry: e.id, branch: e.branch.clone(), head: e.head.clone() };
        let branches = list.iter().filter_map(entry).map(branch).collect();
        self.act(Action::Publish { project, target, old, new, tested, entries: list, branches });
    }

    /// What makes a step fit to land.
    fn green_step(&mut self, onto: &QueueId, step: &Step, landed: &Link) -> Option<Green> {
        let policy = self.policy(&onto.project);
        let green = self.queue_of(onto).green(&step.tested).filter(|g| g.holds(&policy))?;
        (landed.tree == step.last().tree).then(|| green.for_same_tree(&landed.commit, &landed.tree))?
    }

    fn take_publication(&mut self, onto: &QueueId, old: &Sha, new: &Sha) -> Option<Publishing> {
        let known = self.floor.queues.get(onto)?.publishing.as_ref()?;
        if known.old != *old || known.new != *new {
            return None;
        }
        self.queue_of(onto).publishing.take()
    }

    pub(super) fn publish_answered(&mut self, onto: &QueueId, old: &Sha, new: &Sha, outcome: &Outcome) {
        let is_answer = matches!(
            outcome,
            Outcome::Published
                | Outcome::PrimaryMoved { .. }
                | Outcome::NoPrimary
                | Outcome::BranchesMoved { .. }
        );
        if !is_answer {
            return;
        }
        let Some(publishing) = self.take_publication(onto, old, new) else { return };
        let tip = publishing.tip();
        let Publishing { green, entries, .. } = publishing;
        if *outcome != Outcome::Published {
            // Somebody was faster: what was tested is not what would land. Build and test anew, once it
            // is known where the primary branch is, and that it goes on from where it was.
            for (entry, _) in &entries {
                self.set_entry(*entry, EntryState::Queued);
            }
            self.primary_touched(onto);
            self.plan(onto, &Input::Refused { tip, head: old.clone() });
            for (entry, _) in &entries {
                match self.floor.entries.get(entry).and_then(|e| e.job) {
                    Some(job) => self.take_up_what_waited(job),
                    None => self.heed_refusal(*entry),
                }
            }
            if let Outcome::BranchesMoved { moved } = outcome {
                for MovedBranch { entry, head } in moved {
                    self.branch_moved(*entry, head.as_ref());
                }
            }
            return;
        }
        if let Some(green) = green {
            self.queue_of(onto).remember(green);
        }
        let mut on = old;
        let mut landed = Vec::new();
        let before: Vec<EntryId> = entries.iter().map(|(entry, _)| *entry).collect();
        for (at, (entry, commit)) in entries.iter().enumerate() {
            let run = self.floor.entries.get(entry).and_then(|e| e.stood_on.as_ref()?.run);
            self.stands_on(*entry, Some(on), &before[..at], run, None);
            landed.extend(self.landed(*entry, std::mem::replace(&mut on, commit), commit));
        }
        self.plan(onto, &Input::Published { tip, head: new.clone() });
        self.enter_those_behind(onto);
        self.sync_after(onto, &landed, new);
        let whole = |l: &LandedEntry| self.floor.entries.get(&l.entry).is_some_and(|e| e.left_out == 0);
        let landed: Vec<LandedEntry> = landed.into_iter().filter(whole).collect();
        if !landed.is_empty() {
            self.act(Action::VerifyLanded { project: onto.project.clone(), landed });
        }
    }

    pub(super) fn publish_impossible(&mut self, onto: &QueueId, old: &Sha, new: &Sha, reason: &str) {
        let known = self.queue_of(onto).publishing.as_mut();
        let Some(publishing) = known.filter(|p| p.old == *old && p.new == *new) else { return };
        publishing.gave_up = Some(reason.to_owned());
        self.primary_touched(onto);
    }

    /// It is settled whether what could not be carried on had moved the branch.
    pub(super) fn publication_settled(&mut self, onto: &QueueId, wanted: &Publishing, moved: bool) {
        let Publishing { old, new, gave_up, .. } = wanted;
        if moved {
            self.publish_answered(onto, old, new, &Outcome::Published);
            return;
        }
        let Some(publishing) = self.take_publication(onto, old, new) else { return };
        let entries: Vec<EntryId> = publishing.entries.iter().map(|(entry, _)| *entry).collect();
        self.unpublishable(onto, &publishing.tip(), &entries, gave_up.as_deref().unwrap_or_default());
    }

    fn unpublishable(&mut self, onto: &QueueId, tip: &Sha, entries: &[EntryId], reason: &str) {
        for entry in entries {
            self.set_entry(*entry, EntryState::Queued);
        }
        self.plan(onto, &Input::Unpublishable { tip: tip.clone() });
        for entry in entries {
            self.entry_impossible(*entry, reason);
        }
    }

    pub(super) fn landing_verified(
        &mut self,
        project: &ProjectName,
        landed: &[LandedEntry],
        incomplete: &[EntryId],
    ) {
        for LandedEntry { entry, head, commit } in landed.iter().filter(|l| incomplete.contains(&l.entry)) {
            let issue = self.floor.entries.get(entry).and_then(|e| e.issue);
            let text = format!(
                "not every change of {} is in {}, which it landed as: look at both",
                head.short(),
                commit.short()
            );
            self.note(NoteKind::Escalation, project, issue, text);
        }
    }
}
