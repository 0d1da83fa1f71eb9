//! A person's own pull requests that they want to have looked at, by an agent or by anybody.

use crate::git::sha;
use crate::world::World;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{PrNumber, ProjectName};

impl World {
    pub(super) fn show_pull(&mut self, project: &ProjectName) -> Option<Event> {
        let own = self.forge.prs.iter().filter(|(_, pr)| pr.open && pr.issue.is_none());
        let own: Vec<PrNumber> = own.map(|(number, _)| *number).collect();
        let known = self.rng.pick(&own).copied().filter(|_| self.rng.permille(600));
        let number = match known {
            Some(number) => number,
            None => {
                let branch = self.push_own_branch();
                let head = self.git.hub[&branch];
                self.open_own_pr(&branch, head)
            }
        };
        if known.is_some() && self.rng.permille(400) {
            return self.move_branch(project);
        }
        // Before or after the floor has read about it.
        let pr = &self.forge.prs[&number];
        let at = self.git.hub.get(&pr.branch).copied()?;
        let (branch, head) = (pr.branch.clone(), sha(at));
        self.saw("person asked for a review");
        self.say(format!("person asks for a review of PR {number} at c{at}"));
        *self.reviews_asked.entry(number).or_default() += 1;
        Some(Event::ReviewAsked { project: project.clone(), pr: number, branch, head })
    }
}
