//! What agents have the factory do with commands, and ask people: what their role may, what it may not, twice, too much,
//! and after their end.

use crate::forge::{AGENTS, Issue};
use crate::rng::Rng;
use crate::world::World;
use shopfloor_core::act::Act;
use shopfloor_core::capability::{Capability, Rights};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, IssueNumber, ProjectName, Role};
use shopfloor_core::phase::Ask;
use shopfloor_core::policy::Policy;
use shopfloor_core::state::Floor;
use shopfloor_core::step::{may_act, may_ask};
use std::time::Duration;

/// Few enough that some are alike.
const TITLES: [&str; 6] = [
    "Login times out",
    "The login times out",
    "Daemon memory grows",
    "Queue stands still",
    "Menu is empty",
    "Document the retry settings",
];
const LABELS: [&str; 5] = ["backlog", "prediction/unreviewed", "priority", "in-progress", "Backlog"];

/// What each role may in that seed. Not drawn from the world's own: the other draws stay what they were.
pub fn rights(policy: &mut Policy, seed: u64) {
    let mut rng = Rng::new(seed ^ 0xac75);
    for role in Role::STAFF {
        if rng.permille(300) {
            continue;
        }
        let may = Capability::GRANTED.into_iter().filter(|_| rng.permille(700)).collect();
        let labels = LABELS[..2].iter().filter(|_| rng.permille(600)).map(|label| (*label).to_owned());
        let labels = labels.collect();
        let always = LABELS[1..2].iter().filter(|_| rng.permille(200)).map(|label| (*label).to_owned());
        let always = always.collect();
        let (max_issues, max_changes) = (rng.below(3) as u32, rng.below(4) as u32);
        let rights = Rights { may, labels, always, closes: [].into(), lands: true, max_issues, max_changes };
        policy.roles.insert(role, rights);
    }
}

impl World {
    /// Now and then an agent that is at work, or was, asks for something.
    pub fn some_act(&mut self, epoch: Epoch, floor: &Floor) -> Option<Event> {
        if !self.deeds.permille(150) {
            return None;
        }
        // Another's number is no help, and neither is one's own after the end.
        let epoch = if self.deeds.permille(50) { Epoch(self.deeds.range(1, epoch.0.max(1))) } else { epoch };
        if self.deeds.permille(150) {
            return Some(self.some_question(epoch, floor));
        }
        let act = self.some_deed().clean();
        if act.begins().is_some() && may_act(floor, epoch, &act) == Ok(None) {
            self.saw("agent has an issue begun");
        }
        let what = match may_act(floor, epoch, &act) {
            Ok(None) => "act asked for",
            Ok(Some(_)) => "act asked for again",
            Err(_) => "act refused",
        };
        self.saw(what);
        self.say(format!("session {epoch} asks for {act:?}: {what}"));
        Some(Event::ActAsked { epoch, act })
    }

    fn some_question(&mut self, epoch: Epoch, floor: &Floor) -> Event {
        if may_ask(floor, epoch).is_ok() {
            self.saw("agent asked and worked on");
        }
        let within = self.deeds.permille(500).then(|| Duration::from_secs(60 * self.deeds.range(1, 600)));
        let default = within.filter(|_| self.deeds.permille(500)).map(|_| "A".to_owned());
        Event::QuestionAsked {
            epoch,
            question: "A or B?".into(),
            ask: Ask { options: vec![], default, within },
        }
    }

    fn some_deed(&mut self) -> Act {
        let last = self.forge.issues.len() as u64;
        // One that there is not, too.
        let issue = IssueNumber(self.deeds.range(1, last + 1));
        match self.deeds.below(10) {
            0..=4 => {
                let title = TITLES[self.deeds.below(TITLES.len() as u64) as usize].to_owned();
                let body = "As found.".to_owned();
                Act::CreateIssue { title, body, labels: self.some_labels(), deps: vec![] }
            }
            5..=6 => Act::Comment { issue, text: format!("{} things", self.deeds.below(3)) },
            // To have one worked on, which counts as making one.
            7 if self.deeds.permille(300) => match self.of_an_agent() {
                Some(issue) => Act::Label { issue, add: vec![LABELS[0].to_owned()], remove: vec![] },
                None => Act::Comment { issue, text: "Nothing to begin".into() },
            },
            7..=8 => {
                // What people want is left as it is; what the role may not touch is asked for all the same.
                let mut add = self.some_labels();
                add.retain(|label| label != LABELS[0]);
                Act::Label { issue, add, remove: vec![] }
            }
            _ => match self.of_an_agent() {
                Some(issue) => Act::Close { issue },
                None => Act::Comment { issue, text: "Nothing to close".into() },
            },
        }
    }

    fn of_an_agent(&self) -> Option<IssueNumber> {
        // Nobody works on it: then closing it ends nothing.
        let made = |issue: &Issue| issue.author.starts_with(AGENTS) && !issue.labels.contains(LABELS[0]);
        self.forge.issues.iter().find(|(_, issue)| issue.open && made(issue)).map(|(number, _)| *number)
    }

    fn some_labels(&mut self) -> Vec<String> {
        let count = self.deeds.below(3);
        (0..count).map(|_| LABELS[self.deeds.below(LABELS.len() as u64) as usize].to_owned()).collect()
    }

    /// A person answers an agent that works on meanwhile.
    pub(crate) fn answer_a_query(&mut self, project: &ProjectName, floor: &Floor) -> Option<Event> {
        let (conduct, query) = floor.queries().find(|(conduct, _)| conduct.project == *project)?;
        let (id, job) = (query.asked.id, conduct.job);
        if !self.deeds.permille(400) {
            return None;
        }
        self.saw("agent at work answered");
        let issue = floor.jobs.get(&job).and_then(|job| job.number());
        Some(Event::Answered { project: project.clone(), issue, text: "B".into(), question: Some(id) })
    }
}
