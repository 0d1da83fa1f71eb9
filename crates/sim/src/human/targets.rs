//! What people do to the branches that work lands on, bypassing the queue: they push to them, break and mend
//! them, take commits off them, delete them, and put that right.

use crate::git::{Written, branch_of, commit_of};
use crate::world::{Rewind, World};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ProjectName, QueueId, Target};
use shopfloor_core::planner::Priority;
use shopfloor_core::state::{EntryState, Floor, Queue};
use std::collections::BTreeSet;

/// How many commits are taken off at once.
const REWIND_MAX: u64 = 3;

/// One in so many pushes is none: something else writes it to the hub.
const UNRECORDED: u32 = 5;

impl World {
    fn push_on_top(&mut self, branch: &str, file: u64, bug: bool) -> Option<u32> {
        let tip = *self.git.hub.get(branch)?;
        let mut content = self.git.content(tip).clone();
        content.insert(file, self.git.write(Written { bug, at_attempt: self.attempt, ..Written::default() }));
        let commit = self.git.commit(vec![tip], content, true);
        self.push(branch, Some(commit));
        Some(commit)
    }

    /// Whatever gets onto a branch again was not taken off it for good.
    fn push(&mut self, branch: &str, new: Option<u32>) {
        self.git.push(branch, new);
        let there = self.git.reachable(new);
        for rewind in self.rewinds.iter_mut().filter(|r| r.branch == branch) {
            rewind.removed.retain(|c| !there.contains(c));
        }
        self.rewinds.retain(|r| !r.removed.is_empty());
    }

    pub(super) fn push_by_person(&mut self) {
        let target = self.some_target();
        let file = if self.rng.permille(500) { self.rng.below(4) } else { 900 + self.rng.below(5) };
        let branch = branch_of(target.as_ref());
        if let Some(commit) = self.push_on_top(branch, file, false) {
            if commit.is_multiple_of(UNRECORDED) {
                self.git.unrecorded.insert(commit);
                self.saw("branch moved past the hook");
            }
            self.saw("person pushed");
            self.say(format!("person pushes c{commit} to {branch}"));
        }
    }

    pub(super) fn push_bug(&mut self) {
        let target = self.some_target();
        let (file, branch) = (900 + self.rng.below(5), branch_of(target.as_ref()));
        if let Some(commit) = self.push_on_top(branch, file, true) {
            self.saw("person broke the primary branch");
            self.say(format!("person pushes c{commit} to {branch}, which is red"));
        }
    }

    /// Mends whichever of them are red.
    pub(super) fn mend(&mut self) {
        for target in self.landed_on() {
            let red = self.git.tip(target.as_ref()).filter(|tip| self.git.is_red(*tip));
            let Some(tip) = red else { continue };
            let content = self.git.mended(tip);
            let commit = self.git.commit(vec![tip], content, true);
            let branch = branch_of(target.as_ref());
            self.push(branch, Some(commit));
            self.say(format!("person mends {branch} with c{commit}"));
        }
    }

    /// Merges an open pull request by hand, bypassing the queue.
    pub(super) fn land_by_person(&mut self, floor: &Floor) {
        let open = self.forge.prs.iter().filter(|(_, p)| p.open);
        let open: Vec<_> = open.map(|(number, p)| (*number, p.branch.clone(), commit_of(&p.head))).collect();
        let Some((pr, name, head)) = self.rng.pick(&open).cloned() else { return };
        let job = floor.jobs.iter().rfind(|j| j.pr == Some(pr)).map(|j| j.target.clone());
        let target = job.or(self.asked.get(&(name, head)).cloned()).flatten();
        let Some(tip) = self.git.tip(target.as_ref()) else { return };
        if let Ok(content) = self.git.three_way(tip, head) {
            let commit = self.git.commit(vec![tip, head], content, true);
            self.push(branch_of(target.as_ref()), Some(commit));
            self.saw("person merged");
            self.say(format!("person merges c{head} as c{commit}"));
        }
    }

    // ---- rewinds -------------------------------------------------------------------------------

    /// Takes commits off a branch, and perhaps pushes others.
    pub(super) fn rewind(&mut self, project: &ProjectName, floor: &Floor) {
        let target = self.some_target();
        let Some(from) = self.git.tip(target.as_ref()) else { return };
        let mut to = from;
        for _ in 0..self.rng.range(1, REWIND_MAX) {
            to = self.git.commits[to as usize].parents.first().copied().unwrap_or(to);
        }
        if to == from {
            return;
        }
        let branch = branch_of(target.as_ref());
        self.say(format!("person rewinds {branch} from c{from} to c{to}"));
        self.saw(if target.is_some() { "target rewound" } else { "primary branch rewound" });
        self.take_off(project, floor, (target.as_ref(), false), Some(to));
        if self.rng.permille(300) {
            let commit = self.push_on_top(branch, 900, false);
            self.say(format!("person pushes {commit:?} to {branch}"));
        }
    }

    pub(super) fn delete_target(&mut self, project: &ProjectName, floor: &Floor) {
        let there: Vec<Target> = self.landed_on().into_iter().flatten().collect();
        let Some(target) = self.rng.pick(&there).cloned() else { return };
        if self.git.tip(Some(&target)).is_some() {
            self.say(format!("person deletes {}", target.branch()));
            self.saw("target deleted");
            self.take_off(project, floor, (Some(&target), false), None);
        }
    }

    /// `is_right`: the branch is where the queue knows it to have been.
    fn take_off(
        &mut self,
        project: &ProjectName,
        floor: &Floor,
        (target, is_right): (Option<&Target>, bool),
        to: Option<u32>,
    ) {
        let (branch, from) = (branch_of(target), self.git.onto(target));
        let queue = floor.queues.get(&QueueId::new(project, target));
        if let Some(queue) = queue {
            self.note_moment(floor, queue);
        }
        let known = queue.map(|queue| self.known_to(queue, from)).unwrap_or_default();
        let put_back = queue.is_some_and(|queue| self.is_put_back(queue, to));
        self.throw_away(from, to);
        self.push(branch, to);
        let there = self.git.reachable(to);
        let removed: BTreeSet<u32> = self.git.reachable(known).difference(&there).copied().collect();
        if !removed.is_empty() {
            // Whoever has just accepted the branch accepts this, too.
            let open = !is_right && !put_back && !queue.is_some_and(|q| q.accepts);
            let at = self.git.moves.len();
            self.rewinds.push(Rewind { branch: branch.to_owned(), at, removed, open });
        }
    }

    /// Whether that takes off what the queue stands still for because nobody is known to have put it there.
    fn is_put_back(&self, queue: &Queue, to: Option<u32>) -> bool {
        let (Some(lost), Some(to)) = (&queue.lost, to) else { return false };
        let known = lost.known.as_ref().map(commit_of);
        lost.by_nobody
            && known.is_some_and(|known| self.git.is_ancestor(known, to))
            && !self.git.unrecorded.contains(&to)
    }

    /// What the queue knows to be in a branch that is at `tip`, or has just put there.
    fn known_to(&self, queue: &Queue, tip: u32) -> Vec<u32> {
        // Ordered is not done: a person may have merged the very same thing meanwhile, without the queue's
        // knowledge.
        let was_made = |new: u32| self.git.moves.iter().any(|m| m.entries.is_some() && m.new == Some(new));
        let published = queue.publishing.as_ref().map(|p| &p.new).filter(|new| was_made(commit_of(new)));
        let seen = queue.lost.as_ref().and_then(|lost| lost.found.as_ref());
        let known = queue.plan.base().into_iter().chain(published).chain(seen).map(commit_of);
        known.filter(|known| self.git.is_ancestor(*known, tip)).collect()
    }

    /// Throws away people's own commits that nothing holds any more, as they want it. Those of agents are
    /// kept elsewhere.
    fn throw_away(&mut self, from: u32, to: Option<u32>) {
        let there = self.git.reachable(to);
        let gone: Vec<u32> = self.git.reachable([from]).difference(&there).copied().collect();
        for commit in gone {
            let own = self.git.introduced(commit);
            let by_people = own.iter().all(|v| self.git.versions[*v as usize].issue.is_none());
            if self.git.pushed.contains(&commit) || (!own.is_empty() && by_people) {
                self.git.commits[commit as usize].keep = false;
            }
        }
    }

    fn note_moment(&mut self, floor: &Floor, queue: &Queue) {
        let mine = || floor.entries.iter().filter(|e| e.queue() == queue.id());
        let landed = mine().any(|e| matches!(e.state, EntryState::Merged { .. }));
        if queue.plan.base().is_some() && !landed {
            self.saw("rewound before anything landed");
        }
        if mine().any(|e| e.state == EntryState::Queued) {
            self.saw("rewound while entries are queued");
        }
        if !queue.runs.is_empty() {
            self.saw("rewound during a trial");
        }
        if queue.publishing.is_some() || queue.landing.is_some() {
            self.saw("rewound during a publication");
        }
    }

    /// Puts right a branch for which the queue stands still: moves it back, or accepts it as it is.
    pub(super) fn put_right(&mut self, project: &ProjectName, floor: &Floor) -> Option<Event> {
        for target in self.landed_on() {
            let queue = floor.queues.get(&QueueId::new(project, target.as_ref()));
            let Some(lost) = queue.and_then(|q| q.lost.as_ref()) else { continue };
            let (branch, known) = (branch_of(target.as_ref()), lost.known.as_ref().map(commit_of));
            match (self.git.tip(target.as_ref()), known) {
                (None, known) => {
                    let known = known.unwrap_or_else(|| self.git.primary());
                    let earlier = self.git.commits[known as usize].parents.first().copied();
                    let at = earlier.filter(|_| self.rng.permille(300)).unwrap_or(known);
                    self.push(branch, Some(at));
                    if at == known {
                        self.is_right(branch);
                    }
                    self.saw("target made again");
                    self.say(format!("person makes {branch} again at c{at}"));
                    return None;
                }
                (Some(tip), Some(known)) if self.rng.permille(300) => {
                    self.saw("rewind put back");
                    self.say(format!("person puts {branch} back from c{tip} to c{known}"));
                    self.take_off(project, floor, (target.as_ref(), true), Some(known));
                    self.is_right(branch);
                    return None;
                }
                _ => {
                    self.saw("rewind accepted");
                    return Some(self.resume(project, floor, target));
                }
            }
        }
        None
    }

    /// Wherever the branch is, a person wants it there.
    fn is_right(&mut self, branch: &str) {
        self.rewinds.iter_mut().filter(|r| r.branch == branch).for_each(|r| r.open = false);
    }

    // ---- the queue's hold ----------------------------------------------------------------------

    pub(super) fn pause(&mut self, project: &ProjectName) -> Event {
        let (why, target) = (Some("a release".to_owned()), self.some_target());
        self.saw(if target.is_some() { "queue of a target paused" } else { "queue paused" });
        let below = self.rng.permille(300).then_some(Priority::URGENT);
        if below.is_some() {
            self.saw("queue paused below urgent");
        }
        self.say(format!("person holds the queue of {}, below {below:?}", branch_of(target.as_ref())));
        Event::QueuePaused { project: project.clone(), target, why, below }
    }

    /// Resumes a paused queue, or that of the primary branch.
    pub(super) fn resume_some(&mut self, project: &ProjectName, floor: &Floor) -> Event {
        let paused = floor.queues.iter().find(|q| q.paused.is_some()).and_then(|q| q.target.clone());
        self.resume(project, floor, paused)
    }

    fn resume(&mut self, project: &ProjectName, floor: &Floor, target: Option<Target>) -> Event {
        let branch = branch_of(target.as_ref());
        self.say(format!("person lets the queue of {branch} go on"));
        if floor.queues.get(&QueueId::new(project, target.as_ref())).is_some_and(|q| q.lost.is_some()) {
            self.is_right(branch);
        }
        Event::QueuePaused { project: project.clone(), target, why: None, below: None }
    }
}
