//! Branches of a person's own, and their pull requests.

use crate::forge::{Changed, Pr};
use crate::git::{Written, sha};
use crate::world::World;
use shopfloor_core::event::{BranchAsk, Event, TryAsk};
use shopfloor_core::ids::{PrNumber, ProjectName};

impl World {
    /// A change of a person's own on a branch, mostly a good one.
    pub(super) fn push_own_branch(&mut self) -> BranchAsk {
        let primary = self.git.primary();
        let branch = format!("people/{}", self.git.commits.len());
        let bug = self.rng.permille(200);
        let file = if self.rng.permille(300) { self.rng.below(4) } else { 900 + self.rng.below(5) };
        let mut content = self.git.content(primary).clone();
        content.insert(file, self.git.write(Written { bug, at_attempt: self.attempt, ..Written::default() }));
        let commit = self.git.commit(vec![primary], content, true);
        self.git.hub.insert(branch.clone(), commit);
        self.say(format!("person pushes c{commit} to {branch}"));
        let pr = self.rng.permille(400).then(|| self.open_own_pr(&branch, commit));
        BranchAsk {
            branch,
            head: sha(commit),
            tree: self.git.tree(commit),
            title: "by hand".into(),
            message: None,
            pr: pr.map(|pr| (pr, None)),
            by: "person".into(),
            author: None,
            approved_by: Some("person".into()),
            urgent: self.rng.permille(200),
            alone: self.rng.permille(100),
            target: None,
            after: Vec::new(),
        }
    }

    pub(super) fn try_own_branch(&mut self, project: &ProjectName) -> Event {
        // Perhaps of what is not the newest: with that it may conflict.
        let moves = &self.git.moves;
        let old = moves.get(moves.len().saturating_sub(3)).map_or(self.git.primary(), |moved| moved.new);
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
        let number = PrNumber(1000 + self.forge.prs.len() as u64);
        let (branch, head) = (branch.to_owned(), sha(head));
        self.forge.prs.insert(number, Pr { issue: None, branch, head, open: true, comments: Vec::new() });
        self.forge_changed(Changed::Pr(number));
        self.saw("person opened a pull request");
        number
    }

    /// Withdraws a pull request of their own.
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

    pub(super) fn move_branch(&mut self, project: &ProjectName) -> Option<Event> {
        if self.rng.permille(250) {
            self.close_own_pr();
            return None;
        }
        let branches = self.git.hub.iter().filter(|(name, _)| name.starts_with("people/"));
        let branches: Vec<(String, u32)> = branches.map(|(name, at)| (name.clone(), *at)).collect();
        let (branch, at) = self.rng.pick(&branches).cloned()?;
        if self.rng.permille(300) {
            // Their own work, thrown away as far as it did not land.
            let (primary, mut mine) = (self.git.primary(), at);
            while !self.git.is_ancestor(mine, primary) {
                self.git.commits[mine as usize].keep = false;
                mine = self.git.commits[mine as usize].parents[0];
            }
            self.git.hub.remove(&branch);
            self.say(format!("person deletes {branch}"));
            return None;
        }
        let mut content = self.git.content(at).clone();
        content.insert(905, self.git.write(Written { at_attempt: self.attempt, ..Written::default() }));
        let commit = self.git.commit(vec![at], content, true);
        self.git.hub.insert(branch.clone(), commit);
        self.say(format!("person pushes c{commit} to {branch}"));
        // Nobody may have been there to notice.
        let noticed = self.rng.permille(700);
        noticed.then(|| Event::BranchTouched { project: project.clone(), branch, head: Some(sha(commit)) })
    }
}
