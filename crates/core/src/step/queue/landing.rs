//! Green chains land: the primary branch moves by compare-and-swap, to commits that each have a tree that passed.
//! Only a [`Green`] commit can be published, and only from here.
//!
//! The planner gives steps. A step that is a single link on top of the primary branch lands as it was built. If
//! several entries were checked together, or the primary branch has another history than the chain was built on,
//! the commits of the first-parent line are made first ([`Action::BuildLanding`]): each has the tree that was
//! checked, with the links behind it.

use crate::effect::{Action, BuiltLanding, EntryBranch, LandedEntry, LandingStep, MovedBranch};
use crate::event::NoteKind;
use crate::ids::{EntryId, ProjectName, QueueId, Sha};
use crate::planner::{Link, PlanEvent, Step};
use crate::policy::{CheckCommits, MergeBatch};
use crate::state::{Entry, EntryState, Landing, Publication};
use crate::step::Turn;
use crate::texts::queue;
use crate::verdict::Green;
use std::time::Duration;

/// A signature is awaited this long at most before it is requested again, whatever became of it.
const SIGN_WITHIN: Duration = Duration::from_secs(600);

/// The pause before a retry: short enough to follow soon after the obstacle is gone.
fn pause(times: u32) -> Duration {
    Duration::from_secs(2u64.saturating_pow(times.min(10))).min(Duration::from_secs(60))
}

/// The lane under which its trouble is kept.
pub(in crate::step) fn landing_lane(onto: &QueueId) -> String {
    format!("landing:{onto}")
}

impl Turn<'_> {
    /// The planner wants this published.
    pub(super) fn land(&mut self, onto: &QueueId, wanted: Landing) {
        for entry in wanted.entries() {
            self.set_entry(entry, EntryState::Merging);
        }
        let steps = self.landing_steps(onto, &wanted);
        let as_built = wanted.on.as_ref() == Some(&wanted.old) && steps.iter().all(|step| step.linear);
        if as_built && !self.policy(&onto.project).merge_signed {
            let commits = wanted.steps.iter().map(|step| step.last().clone()).collect();
            self.publish_tested(onto, &wanted, &BuiltLanding { commits, ..BuiltLanding::default() });
            return;
        }
        let (old, tip) = (wanted.old.clone(), wanted.tip());
        self.queue_of(onto).landing = Some(wanted);
        let QueueId { project, target } = onto.clone();
        self.act(Action::BuildLanding { project, target, old, tip, steps });
    }

    fn landing_steps(&self, onto: &QueueId, wanted: &Landing) -> Vec<LandingStep> {
        let policy = self.policy(&onto.project);
        let loose = policy.merge_batch == MergeBatch::Tip && policy.check_commits == CheckCommits::Last;
        let mut below = wanted.on.as_ref().unwrap_or(&wanted.old).clone();
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
        steps
    }

    pub(in crate::step) fn landing_built(&mut self, onto: &QueueId, tip: &Sha, built: &BuiltLanding) {
        let Some(wanted) = self.take_landing(onto, tip) else { return };
        if self.is_landing_held(onto, &wanted) {
            self.hold_landing(onto, &wanted);
        } else {
            self.publish_tested(onto, &wanted, built);
        }
    }

    /// Whether a person paused the queue while the commits were being made.
    fn is_landing_held(&self, onto: &QueueId, wanted: &Landing) -> bool {
        let held = |id: &EntryId| {
            let entry = self.floor.entries.get(id)?;
            self.floor.queues.get(onto)?.holds(entry.priority)
        };
        wanted.entries().iter().any(|id| held(id).is_some())
    }

    /// What is known of its trees stays known: nothing is run again when the queue continues.
    fn hold_landing(&mut self, onto: &QueueId, wanted: &Landing) {
        for entry in wanted.entries() {
            self.set_entry(entry, EntryState::Queued);
        }
        self.plan(onto, &PlanEvent::Refused { tip: wanted.tip(), head: wanted.old.clone() });
    }

    /// The branch is no longer what the landing stands on, and nothing that moves it has begun: the entries are
    /// tried again.
    pub(super) fn landing_overtaken(&mut self, onto: &QueueId, head: &Sha) {
        let Some(wanted) = self.queue_of(onto).landing.take_if(|l| l.old != *head) else { return };
        self.trouble_over(&onto.project, &landing_lane(onto));
        for entry in wanted.entries() {
            self.set_entry(entry, EntryState::Queued);
        }
        self.plan(onto, &PlanEvent::Refused { tip: wanted.tip(), head: head.clone() });
    }

    // ---- what cannot be signed -----------------------------------------------------------------

    /// Without the key nothing lands. Nothing else waits behind it: the project's queues do their other work, and
    /// waiting entries can be taken out.
    pub(in crate::step) fn put_off(&mut self, onto: &QueueId, tip: &Sha, why: &str) {
        let now = self.now;
        let landing = self.queue_of(onto).landing.as_mut().filter(|l| l.tip() == *tip);
        let Some(landing) = landing else { return };
        let times = landing.put_off.map_or(0, |(times, _)| times) + 1;
        landing.put_off = Some((times, now + pause(times)));
        let lane = landing_lane(onto);
        if self.floor.trouble(&onto.project, &lane).is_none_or(|known| known.is_news(why, now)) {
            self.trouble_seen(&onto.project, &lane, "sign_commits", None, why);
        }
    }

    pub(in crate::step) fn sign_again(&mut self, onto: &QueueId) {
        let now = self.now;
        let Some(landing) = self.queue_of(onto).landing.as_mut() else { return };
        // Until there is an answer.
        landing.put_off = landing.put_off.map(|(times, _)| (times, now + SIGN_WITHIN));
        let landing = landing.clone();
        let steps = self.landing_steps(onto, &landing);
        let (old, tip) = (landing.old.clone(), landing.tip());
        let QueueId { project, target } = onto.clone();
        self.act(Action::BuildLanding { project, target, old, tip, steps });
    }

    /// Calls off the landing that this entry is part of, if nothing that moves the branch has begun. The others
    /// are tried again without it.
    pub(super) fn call_back(&mut self, id: EntryId) {
        let Some(onto) = self.floor.entries.get(&id).map(Entry::queue) else { return };
        let landing = self.queue_of(&onto).landing.take_if(|l| l.entries().contains(&id));
        let Some(wanted) = landing else { return };
        self.trouble_over(&onto.project, &landing_lane(&onto));
        for entry in wanted.entries() {
            self.set_entry(entry, EntryState::Queued);
        }
        self.plan(&onto, &PlanEvent::CalledBack { tip: wanted.tip(), entry: id });
    }

    /// The commits cannot be made. Nothing has moved.
    pub(in crate::step) fn landing_impossible(&mut self, onto: &QueueId, tip: &Sha, reason: &str) {
        let Some(wanted) = self.take_landing(onto, tip) else { return };
        self.unpublishable(onto, tip, &wanted.entries(), reason);
    }

    fn take_landing(&mut self, onto: &QueueId, tip: &Sha) -> Option<Landing> {
        let known = self.floor.queues.get(onto)?.landing.as_ref()?;
        let taken = (known.tip() == *tip).then(|| self.queue_of(onto).landing.take())?;
        self.trouble_over(&onto.project, &landing_lane(onto));
        taken
    }

    /// Records the intent; the effect carries it out. This is the one place where a publication is ordered.
    fn publish_tested(&mut self, onto: &QueueId, wanted: &Landing, built: &BuiltLanding) {
        let BuiltLanding { commits, again } = built;
        let Landing { old, steps, .. } = wanted;
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
            let text = queue::no_verdict(&tested);
            self.note(NoteKind::Escalation, &onto.project, None, text);
            for entry in list {
                self.set_entry(entry, EntryState::Queued);
            }
            self.plan(onto, &PlanEvent::Refused { tip, head: old.clone() });
            self.plan(onto, &PlanEvent::ChecksChanged);
            return;
        };
        // The last link of a step is the step's commit; the others are behind it, perhaps remade.
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
        queue.publishing = Some(Publication {
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

    fn take_publication(&mut self, onto: &QueueId, old: &Sha, new: &Sha) -> Option<Publication> {
        let known = self.floor.queues.get(onto)?.publishing.as_ref()?;
        if known.old != *old || known.new != *new {
            return None;
        }
        self.queue_of(onto).publishing.take()
    }

    /// Somebody was faster: what was tested is not what would land. It is rebuilt and retested once it is known
    /// where the primary branch is, and that it continues from where it was.
    pub(in crate::step) fn not_published(
        &mut self,
        onto: &QueueId,
        old: &Sha,
        new: &Sha,
        moved: &[MovedBranch],
    ) {
        let Some(publishing) = self.take_publication(onto, old, new) else { return };
        for (entry, _) in &publishing.entries {
            self.set_entry(*entry, EntryState::Queued);
        }
        self.primary_touched(onto);
        self.plan(onto, &PlanEvent::Refused { tip: publishing.tip(), head: old.clone() });
        for (entry, _) in &publishing.entries {
            match self.floor.entries.get(entry).and_then(|e| e.job) {
                Some(job) => self.take_up_what_waited(job),
                None => self.heed_refusal(*entry),
            }
        }
        for MovedBranch { entry, head } in moved {
            self.branch_moved(*entry, head.as_ref());
        }
    }

    pub(in crate::step) fn published(&mut self, onto: &QueueId, old: &Sha, new: &Sha) {
        let Some(publishing) = self.take_publication(onto, old, new) else { return };
        let tip = publishing.tip();
        let Publication { green, entries, .. } = publishing;
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
        self.plan(onto, &PlanEvent::Published { tip, head: new.clone() });
        self.enter_those_behind(onto);
        self.sync_after(onto, &landed, new);
        let whole = |l: &LandedEntry| self.floor.entries.get(&l.entry).is_some_and(|e| e.left_out == 0);
        let landed: Vec<LandedEntry> = landed.into_iter().filter(whole).collect();
        if !landed.is_empty() {
            self.act(Action::VerifyLanded { project: onto.project.clone(), landed });
        }
    }

    pub(in crate::step) fn publish_impossible(&mut self, onto: &QueueId, old: &Sha, new: &Sha, reason: &str) {
        let known = self.queue_of(onto).publishing.as_mut();
        let Some(publishing) = known.filter(|p| p.old == *old && p.new == *new) else { return };
        publishing.gave_up = Some(reason.to_owned());
        self.primary_touched(onto);
    }

    /// It is now known whether the abandoned publication had moved the branch.
    pub(super) fn publication_settled(&mut self, onto: &QueueId, wanted: &Publication, moved: bool) {
        let Publication { old, new, gave_up, .. } = wanted;
        if moved {
            self.published(onto, old, new);
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
        self.plan(onto, &PlanEvent::Unpublishable { tip: tip.clone() });
        for entry in entries {
            self.entry_impossible(*entry, reason);
        }
    }

    pub(in crate::step) fn landing_verified(
        &mut self,
        project: &ProjectName,
        landed: &[LandedEntry],
        incomplete: &[EntryId],
    ) {
        for LandedEntry { entry, head, commit } in landed.iter().filter(|l| incomplete.contains(&l.entry)) {
            let issue = self.floor.entries.get(entry).and_then(|e| e.issue);
            let text = queue::landed_incomplete(head, commit);
            self.note(NoteKind::Escalation, project, issue, text);
        }
    }
}
