//! Gardeners' answers, and people who decide and undo: right and wrong ones, of issues that there are and that there are
//! not.

use crate::forge::{AGENTS, Issue};
use crate::world::World;
use shopfloor_core::act::{Act, Part};
use shopfloor_core::effect::ReadAnswer;
use shopfloor_core::effect::outcome::AnswerRead;
use shopfloor_core::event::Event;
use shopfloor_core::groom::answer::{Answer, Choice, Mistake, Planned, Question, Speck, letter};
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::recipe::{AnswerKind, Step};
use shopfloor_core::state::{Floor, Reversal, ReversalState};

/// A label that no role may touch, and a person may choose.
pub const CHOSEN: &str = "chosen";

impl World {
    /// Some of the agent's steps have an answer, and some commands look for findings.
    pub(crate) fn may_answer(&mut self, step: &mut Step) {
        match &mut step.run {
            Some(command) if self.gardening.permille(300) => {
                *command = ["shopfloor", "groom", "--check"].map(str::to_owned).to_vec();
            }
            None if step.verify.is_none() && self.gardening.permille(500) => {
                step.answer = Some(AnswerKind::Groom);
            }
            _ => {}
        }
    }

    pub(crate) fn gardeners_answer(&mut self, _: &ReadAnswer) -> AnswerRead {
        if self.gardening.permille(150) {
            self.saw("gardener answered in other words");
            return AnswerRead::Wrong { mistake: Mistake { line: 1, what: "what?".into() } };
        }
        let mut answer = Answer::default();
        let mut gone = Vec::new();
        for line in 0..self.gardening.below(4) as u32 {
            match self.gardening.below(8) {
                0..=1 => answer.acts.extend(self.planned(line, &mut gone)),
                2..=4 => answer.dust.extend(self.speck(line)),
                5 => answer.questions.extend(self.asked(line)),
                _ => {}
            }
        }
        let is_gone = |issue: &IssueNumber| gone.contains(issue);
        answer.dust.retain(|speck| !is_gone(&speck.issue));
        answer.questions.retain(|question| !is_gone(&question.issue));
        self.saw(if answer == Answer::default() {
            "gardener found nothing to do"
        } else {
            "gardener answered"
        });
        AnswerRead::Groom { answer, digest: self.gardening.below(u64::MAX) }
    }

    fn planned(&mut self, line: u32, gone: &mut Vec<IssueNumber>) -> Option<Planned> {
        let last = self.forge.issues.len() as u64;
        let any = IssueNumber(self.gardening.range(1, last + 1));
        let issue = self.left_alone()?;
        if gone.contains(&issue) || gone.contains(&any) {
            return None;
        }
        let act = match self.gardening.below(5) {
            0 => Act::Edit {
                issue: any,
                title: Some(format!("Better {}", self.gardening.below(3))),
                body: None,
            },
            1 => Act::Edit { issue, title: None, body: Some(format!("Clearer {}", self.gardening.below(3))) },
            2 => Act::Link { issue, on: any },
            3 => {
                gone.push(issue);
                let part = |n: u64| Part { title: format!("Part {n} of #{issue}"), body: "Do it.".into() };
                Act::Split { issue, parts: vec![part(1), part(2)] }
            }
            _ => {
                gone.push(issue);
                Act::CloseAs { issue, of: any }
            }
        };
        Some(Planned { line, act })
    }

    fn speck(&mut self, line: u32) -> Option<Speck> {
        let issue = self.left_alone()?;
        let (group, title, reason) = ("docs".to_owned(), "Small".to_owned(), "small".to_owned());
        Some(Speck { line, issue, group, title, reason })
    }

    fn asked(&mut self, line: u32) -> Option<Question> {
        let issue = self.left_alone()?;
        let act = Act::Label { issue, add: vec![CHOSEN.to_owned()], remove: vec![] };
        let yes = Choice { text: "yes".into(), act: self.gardening.permille(600).then_some(act) };
        let options = vec![yes, Choice { text: "no".into(), act: None }];
        Some(Question { line, issue, text: format!("Keep it {}?", self.gardening.below(3)), options })
    }

    /// An issue that an agent made and nobody wants worked on: whatever becomes of it, nothing waits for it.
    fn left_alone(&mut self) -> Option<IssueNumber> {
        let made = |issue: &Issue| issue.author.starts_with(AGENTS) && !issue.labels.contains("backlog");
        let all: Vec<IssueNumber> = self
            .forge
            .issues
            .iter()
            .filter(|(_, issue)| issue.open && made(issue))
            .map(|(number, _)| *number)
            .collect();
        self.gardening.pick(&all).copied()
    }

    /// A person decides some of what gardeners ask, in words that may be wrong.
    pub(crate) fn decide_for_gardener(&mut self, project: &ProjectName, floor: &Floor) -> Option<Event> {
        let (_, inquiry) = floor.inquiries().find(|(garden, _)| garden.project == *project)?;
        if !self.gardening.permille(400) {
            return None;
        }
        let open = inquiry.open();
        let mut words = Vec::new();
        for (number, options) in (1..).zip(&open) {
            if let Some(options) = options.filter(|_| self.gardening.permille(700)) {
                words.push(format!("{number}{}", letter(self.gardening.below(options as u64 + 1) as usize)));
            }
        }
        self.saw("gardener's question answered");
        let (question, text) = (Some(inquiry.id), words.join(" "));
        Some(Event::Answered { project: project.clone(), issue: None, text, question })
    }

    /// A person undoes something, perhaps what cannot be undone.
    pub(crate) fn undo_something(&mut self, project: &ProjectName, floor: &Floor) -> Option<Event> {
        let can =
            |reversal: &&Reversal| matches!(reversal.state, ReversalState::Done | ReversalState::Kept { .. });
        let all: Vec<_> = floor.reversals.iter().filter(can).map(|reversal| reversal.act).collect();
        let act = *self.gardening.pick(&all)?;
        if !self.gardening.permille(80) {
            return None;
        }
        self.saw("act to be undone");
        self.say(format!("person undoes act {act}"));
        let force = self.gardening.permille(300);
        Some(Event::UndoAsked { project: project.clone(), act, force, by: "person".into() })
    }
}
