//! What gardeners ask people: all of a project's is one question with numbered parts, and each part has options.

use super::Turn;
use super::taken::{Gardener, may_be_chosen};
use crate::effect::Action;
use crate::event::NoteKind;
use crate::groom::answer::{Choice, Question, letter};
use crate::groom::decision;
use crate::ids::{Assignment, JobId, ProjectName, QuestionId};
use crate::state::{Asks, Decided, Inquiry};
use crate::texts::{groom as texts, markers, notes, people};

/// One question has no more parts: what is asked besides is asked again when there is room.
const PARTS_MAX: usize = 30;
const DECIDED_MAX: usize = 50;

impl Turn<'_> {
    pub(super) fn ask_people(&mut self, gardener: &Gardener, questions: &[Question]) {
        if questions.is_empty() {
            return;
        }
        let now = self.now;
        let again_at = now + self.policy(&gardener.project).renotify_after;
        let open = self.floor.gardens.get(&gardener.project).and_then(|garden| garden.inquiry.clone());
        let mut inquiry = match open.filter(Inquiry::is_open) {
            Some(open) => open,
            None => {
                let id = QuestionId(self.number(|c| &mut c.question));
                Inquiry { id, parts: vec![], since: now, reminded: 0, again_at }
            }
        };
        let before = inquiry.parts.len();
        for question in questions {
            let same = |part: &Asks| {
                let known = &part.question;
                part.chosen.is_none()
                    && (known.issue, &known.text, &known.options)
                        == (question.issue, &question.text, &question.options)
            };
            if !inquiry.parts.iter().any(same) && inquiry.parts.len() < PARTS_MAX {
                let Gardener { job, run, role, .. } = *gardener;
                inquiry.parts.push(Asks { question: question.clone(), job, run, role, chosen: None });
            }
        }
        let (id, asked) = (inquiry.id, inquiry.parts.len() - before);
        if let Some(garden) = self.garden(&gardener.project) {
            garden.inquiry = Some(inquiry);
        }
        if asked > 0 {
            let text = texts::asks(id, asked);
            self.note(NoteKind::NeedsHuman, &gardener.project, None, text);
        }
    }

    /// A person decides. Returns whether it is a gardener's question.
    pub(in crate::step) fn garden_answered(
        &mut self,
        project: &ProjectName,
        id: QuestionId,
        text: &str,
    ) -> bool {
        let Some((_, inquiry)) = self.floor.inquiry(id).filter(|(garden, _)| garden.project == *project)
        else {
            return false;
        };
        let Ok(chosen) = decision::parse(&inquiry.open(), text) else {
            self.note(NoteKind::StaleSignal, project, None, notes::stale_answer());
            return true;
        };
        for (part, option) in chosen {
            self.decide(project, id, part, option);
        }
        true
    }

    fn decide(&mut self, project: &ProjectName, id: QuestionId, part: usize, option: usize) {
        let Some(garden) = self.floor.garden_mut(project) else { return };
        let Some(asks) = garden.inquiry.as_mut().and_then(|inquiry| inquiry.parts.get_mut(part)) else {
            return;
        };
        asks.chosen = Some(option);
        let asks = asks.clone();
        let Some(Choice { text, act }) = asks.question.options.get(option).cloned() else { return };
        let (issue, question) = (asks.question.issue, &asks.question.text);
        let decided = texts::decided_so(issue, question, letter(option), &text);
        let marker = markers::decided(id, part + 1);
        let body = texts::decision(id, part + 1, question, letter(option), &text);
        self.note(NoteKind::AgentAct, project, Some(issue), decided.clone());
        self.act(Action::Comment { project: project.clone(), issue, marker, body });
        if let Some(act) = act.map(crate::act::Act::clean) {
            match may_be_chosen(self.floor, project, &act) {
                Ok(()) => {
                    self.order_for(project, (asks.job, asks.role), Assignment::Run(asks.run), act, false);
                }
                Err(why) => {
                    let text = notes::act_failed(asks.role, &notes::act(&act), &why.to_string());
                    self.note(NoteKind::AgentAct, project, Some(issue), text);
                }
            }
        }
        self.tell_gardener(project, decided);
    }

    /// This run's agent if it is at work, else the next one.
    fn tell_gardener(&mut self, project: &ProjectName, text: String) {
        let at_work = self.floor.runs.iter().filter(|run| {
            run.project == *project && !run.is_ending() && run.recipe.steps.iter().any(|s| s.answer.is_some())
        });
        let jobs: Vec<JobId> = at_work.filter_map(|run| run.job()).collect();
        let live = jobs.into_iter().find(|job| self.job(*job).is_some_and(|job| job.session.is_some()));
        if let Some(job) = live {
            return self.inform(job, &texts::told(&text));
        }
        let at = self.now;
        if let Some(garden) = self.floor.garden_mut(project) {
            garden.decided.push(Decided { at, text });
            let over = garden.decided.len().saturating_sub(DECIDED_MAX);
            garden.decided.drain(..over);
        }
    }

    /// People are reminded, louder each time.
    pub(super) fn remind_of_inquiry(&mut self, project: &ProjectName) {
        let now = self.now;
        let again_at = now + self.policy(project).escalate_after;
        let is_due = |inquiry: &Inquiry| inquiry.is_open() && inquiry.again_at <= now;
        let known = self.floor.gardens.get(project).and_then(|garden| garden.inquiry.as_ref());
        if !known.is_some_and(is_due) {
            return;
        }
        let Some(inquiry) = self.floor.garden_mut(project).and_then(|garden| garden.inquiry.as_mut()) else {
            return;
        };
        let first = inquiry.reminded == 0;
        inquiry.reminded += 1;
        inquiry.again_at = again_at;
        let text = people::still_waits(&texts::asked(inquiry.id));
        let kind = if first { NoteKind::NeedsHuman } else { NoteKind::Escalation };
        self.note(kind, project, None, text);
    }
}
