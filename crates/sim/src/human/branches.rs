//! A person's own branches, and their pull requests.

use crate::forge::{Changed, Pr};
use crate::git::{PRIMARY, Written, branch_of, commit_of, merged, sha};
use crate::world::World;
use shopfloor_core::event::{BranchAsk, Event, TryAsk};
use shopfloor_core::ids::{PrNumber, ProjectName};
use shopfloor_core::state::{Entry, EntryState, Floor};
use shopfloor_core::step::may_queue;
use std::time::Duration;

impl World {
    /// A person's own change on a branch, usually a good one.
    pub(super) fn push_own_branch(&mut self) -> String {
        let target = self.some_target();
        let on = self.git.onto(target.as_ref());
        let bug = self.rng.permille(200);
        let branch = self.begin_branch(on, bug);
        self.wanted.insert(branch.clone(), target);
        branch
    }

    fn begin_branch(&mut self, on: u32, bug: bool) -> String {
        let branch = format!("people/{}", self.git.commits.len());
        let file = if self.rng.permille(300) { self.rng.below(4) } else { 900 + self.rng.below(5) };
        self.commit_to(&branch, on, file, bug);
        branch
    }

    fn commit_to(&mut self, branch: &str, on: u32, file: u64, bug: bool) -> u32 {
        let mut content = self.git.content(on).clone();
        content.insert(file, self.git.write(Written { bug, at_attempt: self.attempt, ..Written::default() }));
        let commit = self.git.commit(vec![on], content, true);
        self.git.hub.insert(branch.to_owned(), commit);
        self.say(format!("person pushes c{commit} to {branch}"));
        commit
    }

    /// What `merge-queue add` asks for a branch as it is now; `None` if it has nothing to land, or nowhere
    /// to.
    pub(crate) fn ask_for(&mut self, branch: &str, project: &ProjectName, floor: &Floor) -> Option<Event> {
        let head = *self.git.hub.get(branch)?;
        let target = self.wanted.get(branch).cloned().flatten();
        let tip = self.git.tip(target.as_ref())?;
        if self.git.is_ancestor(head, tip) {
            return None;
        }
        let to_come =
            |name: &&String| self.git.hub.get(*name).is_some_and(|there| !self.git.is_ancestor(*there, tip));
        let after: Vec<String> =
            self.after.get(branch).into_iter().flatten().filter(to_come).cloned().collect();
        let open = self.forge.prs.iter().find(|(_, pr)| pr.open && pr.branch == branch).map(|(n, _)| *n);
        let pr = open.or_else(|| self.rng.permille(400).then(|| self.open_own_pr(branch, head)));
        let ask = BranchAsk {
            branch: branch.to_owned(),
            head: sha(head),
            tree: self.git.tree(head),
            title: "by hand".into(),
            message: None,
            pr: pr.map(|pr| (pr, None)),
            by: "person".into(),
            author: None,
            approved_by: Some("person".into()),
            urgent: self.rng.permille(200),
            alone: self.rng.permille(100),
            target: target.clone(),
            after: after.clone(),
            unapproved: Vec::new(),
        };
        if may_queue(floor, project, &ask).is_ok() {
            self.saw("person queued a branch");
            if target.is_some() {
                self.saw("branch queued for a target");
            }
            self.asked.insert((branch.to_owned(), head), target);
            self.asked_after.insert((branch.to_owned(), head), after);
        }
        self.say(format!("person queues {branch}"));
        Some(Event::BranchAsked { project: project.clone(), ask })
    }

    // ---- stacks --------------------------------------------------------------------------------

    /// A branch on top of another, which is to land first. Which of them is queued, and when, varies.
    pub(super) fn push_stack(&mut self) {
        let target = self.some_target();
        let on = self.git.onto(target.as_ref());
        let bug = self.rng.permille(150);
        let below = self.begin_branch(on, bug);
        let head = self.git.hub[&below];
        // Often in the same file, so that the order matters.
        let file = match self
            .git
            .content(head)
            .iter()
            .find(|(file, v)| self.git.content(on).get(file) != Some(*v))
        {
            Some((file, _)) if self.rng.permille(600) => *file,
            _ => 910,
        };
        let top = format!("people/{}-on-top", self.git.commits.len());
        self.commit_to(&top, head, file, false);
        for branch in [&below, &top] {
            self.wanted.insert(branch.clone(), target.clone());
        }
        self.after.insert(top.clone(), vec![below.clone()]);
        self.saw("stack");
        let mut to_queue = vec![below.clone(), top.clone()];
        match self.rng.below(10) {
            0 => {
                self.saw("stack on what nobody queues");
                to_queue.remove(0);
            }
            1 => {
                self.commit_to(&below, head, file, false);
                self.saw("stack on a branch that moved");
            }
            2 => {
                self.after.insert(below.clone(), vec![top.clone()]);
                self.saw("stack in a circle");
            }
            3 => {
                self.deletions.push((self.now + Duration::from_secs(self.rng.range(1, 3600)), below.clone()));
            }
            _ => {}
        }
        if self.rng.permille(500) {
            to_queue.reverse();
        }
        for branch in to_queue {
            let at = self.now + Duration::from_secs(self.rng.range(1, 1800));
            self.to_queue.push((at, branch));
        }
    }

    /// Gets an entry going again if people were told that it waits for a branch nobody is working on.
    pub(super) fn unstick(&mut self, project: &ProjectName, floor: &Floor) -> Option<Event> {
        let waits = |e: &&Entry| e.state.is_live() && floor.waits_for_branch(e).is_some();
        let mut waiting: Vec<&Entry> = floor.entries.iter().filter(waits).collect();
        if waiting.iter().any(|e| e.waits_told.is_some()) {
            waiting.retain(|e| e.waits_told.is_some());
        }
        let entry = *self.rng.pick(&waiting)?;
        if !self.git.hub.contains_key(&entry.branch) {
            let branch = entry.branch.clone();
            return Some(Event::BranchTouched { project: project.clone(), branch, head: None });
        }
        if let (Some(_), Some(issue)) = (entry.job, entry.issue) {
            self.asked_anyway.insert(entry.id);
            self.say(format!("person wants #{issue} merged, whatever it waits for"));
            return Some(Event::MergeAsked { project: project.clone(), issue, urgent: false, alone: false });
        }
        let first = floor.waits_for_branch(entry)?.to_owned();
        let queued = floor.queued_by_person(project, &first).is_some();
        if self.git.hub.contains_key(&first) && !queued && self.rng.permille(500) {
            self.saw("person queued what was waited for");
            return self.ask_for(&first, project, floor);
        }
        if !self.git.hub.contains_key(&first) {
            return self.ask_for(&entry.branch.clone(), project, floor);
        }
        let branch = entry.branch.clone();
        self.say(format!("person takes {branch} out of the queue"));
        Some(Event::BranchRefused { project: project.clone(), branch })
    }

    // ---- what has landed is carried back, or on ------------------------------------------------

    pub(super) fn carry(&mut self, project: &ProjectName, floor: &Floor) -> Option<Event> {
        let landed = floor.entries.iter().filter_map(|e| match &e.state {
            EntryState::Merged { commit } => Some((e, commit_of(commit), commit_of(e.landed_on.as_ref()?))),
            _ => None,
        });
        let landed: Vec<(&Entry, u32, u32)> = landed.collect();
        let (entry, commit, on) = *self.rng.pick(&landed)?;
        let mut others = self.landed_on();
        others.retain(|other| *other != entry.target && self.git.tip(other.as_ref()).is_some());
        let other = self.rng.pick(&others).cloned().filter(|_| self.rng.permille(700));
        let to = other.unwrap_or_else(|| entry.target.clone());
        let tip = self.git.tip(to.as_ref())?;
        let (branch, from, onto) = match to == entry.target {
            true if self.git.is_ancestor(commit, tip) => (format!("revert-entry-{}", entry.id), commit, on),
            true => return None,
            false => {
                let to = branch_of(to.as_ref()).replace('/', "-");
                (format!("backport-entry-{}-to-{to}", entry.id), on, commit)
            }
        };
        if !self.git.hub.contains_key(&branch) {
            let carried =
                merged(self.git.content(from), self.git.content(tip), self.git.content(onto)).ok()?;
            if carried == *self.git.content(tip) {
                return None;
            }
            let made = self.git.commit(vec![tip], carried, true);
            self.git.hub.insert(branch.clone(), made);
            self.say(format!("person makes {branch} at c{made}"));
        }
        self.saw(if to == entry.target { "revert queued" } else { "back-port queued" });
        self.wanted.insert(branch.clone(), to);
        self.ask_for(&branch, project, floor)
    }

    pub(super) fn try_own_branch(&mut self, project: &ProjectName) -> Event {
        // Perhaps not on top of the newest: then it may conflict with that.
        let moves: Vec<u32> =
            self.git.moves.iter().filter(|m| m.branch == PRIMARY).filter_map(|m| m.new).collect();
        let old = moves.get(moves.len().saturating_sub(3)).copied().unwrap_or(self.git.primary());
        let (branch, bug) = (format!("tries/{}", self.git.commits.len()), self.rng.permille(300));
        let mut content = self.git.content(old).clone();
        let written = Written { bug, at_attempt: self.attempt, ..Written::default() };
        content.insert(self.rng.below(4), self.git.write(written));
        let commit = self.git.commit(vec![old], content, false);
        self.git.hub.insert(branch.clone(), commit);
        self.saw("person tried a branch");
        self.say(format!("person tries c{commit} as {branch}"));
        let ask = TryAsk {
            branch,
            head: sha(commit),
            title: "tried".into(),
            on: None,
            base: sha(self.git.primary()),
            issue: None,
            pr: None,
            of_agent: self.rng.permille(500),
            by: "person".into(),
        };
        Event::TryAsked { project: project.clone(), ask }
    }

    pub(super) fn open_own_pr(&mut self, branch: &str, head: u32) -> PrNumber {
        let number = self.make_pr(Pr {
            title: "a change".into(),
            body: String::new(),
            author: "person".into(),
            issue: None,
            branch: branch.to_owned(),
            head: sha(head),
            open: true,
            merged: None,
            comments: Vec::new(),
            created_at: self.now,
        });
        self.saw("person opened a pull request");
        number
    }

    /// Withdraws one of their own pull requests.
    pub(super) fn close_own_pr(&mut self) {
        let own = self.forge.prs.iter().filter(|(_, pr)| pr.open && pr.issue.is_none());
        let own: Vec<PrNumber> = own.map(|(number, _)| *number).collect();
        let Some(number) = self.rng.pick(&own).copied() else { return };
        if let Some(pr) = self.forge.prs.get_mut(&number) {
            pr.open = false;
        }
        self.forge_changed(Changed::Pr(number));
        self.say(format!("person closes PR {number}"));
    }

    /// Throws away their own work, as far as it did not land.
    pub(crate) fn delete_branch(&mut self, branch: &str) {
        let Some(mut mine) = self.git.hub.remove(branch) else { return };
        let target = self.wanted.get(branch).cloned().flatten();
        let landed = self.git.reachable([self.git.onto(target.as_ref())]);
        while !landed.contains(&mine) {
            self.git.commits[mine as usize].keep = false;
            let Some(parent) = self.git.commits[mine as usize].parents.first() else { break };
            mine = *parent;
        }
        self.say(format!("person deletes {branch}"));
    }

    pub(super) fn move_branch(&mut self, project: &ProjectName) -> Option<Event> {
        if self.rng.permille(250) {
            self.close_own_pr();
            return None;
        }
        let branches = self.git.hub.iter().filter(|(name, _)| name.starts_with("people/"));
        let branches: Vec<(String, u32)> = branches.map(|(name, at)| (name.clone(), *at)).collect();
        let (branch, at) = self.rng.pick(&branches).cloned()?;
        if self.rng.permille(300) {
            self.delete_branch(&branch);
            return None;
        }
        let mut content = self.git.content(at).clone();
        content.insert(905, self.git.write(Written { at_attempt: self.attempt, ..Written::default() }));
        let commit = self.git.commit(vec![at], content, true);
        self.git.hub.insert(branch.clone(), commit);
        self.say(format!("person pushes c{commit} to {branch}"));
        // Perhaps nobody was there to notice.
        let noticed = self.rng.permille(700);
        noticed.then(|| Event::BranchTouched { project: project.clone(), branch, head: Some(sha(commit)) })
    }
}
