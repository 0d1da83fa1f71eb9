//! Questions to people: asked once and answered once, by whoever comes first: a person, or the clock with the
//! default that the agent named.

use crate::event::NoteKind;
use crate::ids::{IssueNumber, JobId, ProjectName, QuestionId};
use crate::phase::Ask;
use crate::state::{Asked, Job, JobState};
use crate::step::Turn;
use crate::text::{head, neutralise};
use crate::texts::{agents, comments, markers, notes, people, reasons};
use std::time::Duration;

/// Each question is a comment and somebody's time.
pub(in crate::step) const QUESTIONS_MAX: u32 = 10;
pub(in crate::step) const QUESTION_BYTES_MAX: usize = 4096;
pub(in crate::step) const ANSWER_BYTES_MAX: usize = 8192;
/// Whatever an agent says, people get a moment. The project's configured times are taken as they are.
pub(in crate::step) const WITHIN_MIN: Duration = Duration::from_secs(60);
/// The least time between two reminders.
const AGAIN_MIN: Duration = Duration::from_secs(1);

impl Turn<'_> {
    pub(in crate::step) fn ask(&mut self, id: JobId, question: &str, ask: &Ask) {
        let question = head(&neutralise(question), QUESTION_BYTES_MAX);
        let mut options = ask.options.clone();
        // A default that is not among the options becomes one.
        options.extend(ask.default.clone().filter(|d| !options.is_empty() && !options.contains(d)));
        let Some(job) = self.job(id) else { return };
        if let JobState::NeedsHuman { question: open, asked, .. } = &job.state
            && *open == question
            && asked.options == options
            && asked.default == ask.default
        {
            return;
        }
        if self.count(id, |rounds| &mut rounds.questions).is_some_and(|times| times > QUESTIONS_MAX) {
            self.block(id, &reasons::asks_too_much(QUESTIONS_MAX, &question));
            return;
        }
        let asked = Asked {
            id: QuestionId(self.number(|c| &mut c.question)),
            options,
            default: ask.default.clone(),
            due: ask.within.map(|within| self.now + within.max(WITHIN_MIN)),
        };
        let body = comments::question(&question, &asked, ask.within.map(|within| within.max(WITHIN_MIN)));
        let marker = markers::question(asked.id);
        let within = self.policy_of(id).renotify_after;
        self.wait_for_answer(id, question.clone(), 0, asked, within);
        self.note_job(NoteKind::NeedsHuman, id, question);
        self.comment_on(id, marker, body);
    }

    /// Waits for an answer, the agent's own deadline, or the next reminder.
    fn wait_for_answer(
        &mut self,
        id: JobId,
        question: String,
        reminded: u32,
        asked: Asked,
        within: Duration,
    ) {
        let left = asked.due.map_or(within, |due| within.min(due.since(self.now)));
        self.enter(id, JobState::NeedsHuman { question, reminded, asked }, left);
    }

    pub(in crate::step) fn answered(
        &mut self,
        project: &ProjectName,
        issue: Option<IssueNumber>,
        text: &str,
        meant: Option<QuestionId>,
    ) {
        let taken = |question| {
            self.answer_query(project, question, text)
                || self.vault_answered(project, question, text)
                || self.garden_answered(project, question, text)
        };
        if meant.is_some_and(taken) {
            return;
        }
        let of_job = |job: &&Job| match issue {
            Some(_) => job.number() == issue,
            None => meant.is_some_and(|question| self.floor.asks(job, question)),
        };
        let Some(job) = self.floor.all_live_jobs(project).find(of_job) else { return };
        let id = job.id;
        let answer = match &job.state {
            JobState::NeedsHuman { asked, .. } if meant.is_none_or(|q| q == asked.id) => {
                let (answer, question) = (chosen(asked, text), asked.id);
                let body = comments::answered(question, &head(&neutralise(&answer), ANSWER_BYTES_MAX));
                self.comment_on(id, markers::answer(question), body);
                Some(answer)
            }
            _ => None,
        };
        match answer {
            Some(answer) => self.tell(id, &agents::answer(&answer)),
            None if self.answered_at_terminal(id, text, meant) => {}
            // First answer wins: a second finds the job at work, or at another question.
            None => self.stale(id, notes::stale_answer()),
        }
    }

    /// Nobody has answered: the default is taken, or people are reminded, louder each time.
    pub(in crate::step) fn question_due(&mut self, id: JobId) {
        let policy = self.policy_of(id);
        let Some(JobState::NeedsHuman { question, reminded, mut asked }) =
            self.job(id).map(|j| j.state.clone())
        else {
            return;
        };
        let over = asked.due.is_some_and(|due| due <= self.now);
        if let Some(default) = asked.default.clone().filter(|_| over) {
            self.take_default(id, asked.id, &default);
            return;
        }
        if over {
            asked.due = None;
        }
        let first = reminded == 0 && !over;
        let within = if first {
            policy.escalate_after.saturating_sub(policy.renotify_after)
        } else {
            policy.escalate_after
        };
        let text = people::still_waits(&question);
        match reminded {
            0 if first => self.note_job(NoteKind::NeedsHuman, id, text),
            0 | 1 => self.escalate_on_record(id, "no_answer", &format!("q{}", asked.id), &text),
            // It is on record already.
            _ => self.escalate_job(id, &text),
        }
        self.wait_for_answer(id, question, reminded + 1, asked, within.max(AGAIN_MIN));
    }

    fn take_default(&mut self, id: JobId, question: QuestionId, default: &str) {
        self.note_job(NoteKind::NeedsHuman, id, people::default_taken(default));
        self.comment_on(id, markers::default_answer(question), comments::default_taken(default));
        self.tell(id, &agents::default_answer(default));
    }
}

/// An option by its number or its text; anything else is taken literally.
pub(in crate::step) fn chosen(asked: &Asked, text: &str) -> String {
    let said = text.trim();
    let by_text = asked.options.iter().find(|option| option.eq_ignore_ascii_case(said));
    let by_number = || said.parse::<usize>().ok().and_then(|n| asked.options.get(n.checked_sub(1)?));
    by_text.or_else(by_number).map_or_else(|| text.to_owned(), Clone::clone)
}
