//! Questions to people: asked once, answered once, by whoever is first: a person, or the clock with
//! the default that the agent named.

use super::Turn;
use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{IssueNumber, JobId, ProjectName, QuestionId};
use crate::phase::Ask;
use crate::state::{Asked, JobState};
use crate::text::{head, neutralise};
use std::time::Duration;

/// Each question is a comment and somebody's time.
const QUESTIONS_MAX: u32 = 10;
const QUESTION_BYTES_MAX: usize = 4096;
const ANSWER_BYTES_MAX: usize = 8192;
/// Whatever an agent says, people get a moment. What the project's configuration says is taken as it is.
const WITHIN_MIN: Duration = Duration::from_secs(60);
/// Between two times that people are told.
const AGAIN_MIN: Duration = Duration::from_secs(1);

impl Turn<'_> {
    pub(super) fn ask(&mut self, id: JobId, question: &str, ask: &Ask) {
        let question = head(&neutralise(question), QUESTION_BYTES_MAX);
        let mut options = ask.options.clone();
        // A default that is no option is one more.
        options.extend(ask.default.clone().filter(|d| !options.is_empty() && !options.contains(d)));
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        if let JobState::NeedsHuman { question: open, asked, .. } = &job.state
            && *open == question
            && asked.options == options
            && asked.default == ask.default
        {
            return;
        }
        job.questions += 1;
        if job.questions > QUESTIONS_MAX {
            self.block(id, &format!("the agent asked {QUESTIONS_MAX} questions; the last: {question}"));
            return;
        }
        let asked = Asked {
            id: QuestionId(self.number(|c| &mut c.question)),
            options,
            default: ask.default.clone(),
            due: ask.within.map(|within| self.now + within.max(WITHIN_MIN)),
        };
        let body = comment(&question, &asked, ask.within);
        let marker = format!("question-{}", asked.id);
        let within = self.policy_of(id).renotify_after;
        self.wait_for_answer(id, question.clone(), 0, asked, within);
        self.note_job(NoteKind::NeedsHuman, id, question);
        let Some(job) = self.job(id) else { return };
        let (project, issue) = (job.project.clone(), job.issue);
        self.act(Action::Comment { project, issue, marker, body });
    }

    /// Until an answer, the agent's own deadline, or the next time people are told.
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

    pub(super) fn answered(
        &mut self,
        project: &ProjectName,
        issue: IssueNumber,
        text: &str,
        meant: Option<QuestionId>,
    ) {
        let Some(job) = self.floor.all_live_jobs(project).find(|j| j.issue == issue) else { return };
        let id = job.id;
        let answer = match &job.state {
            JobState::NeedsHuman { asked, .. } if meant.is_none_or(|q| q == asked.id) => {
                let (answer, question) = (chosen(asked, text), asked.id);
                self.act(Action::Comment {
                    project: project.clone(),
                    issue,
                    marker: format!("question-{question}-answer"),
                    body: format!(
                        "Answer to question q{question}: {}",
                        head(&neutralise(&answer), ANSWER_BYTES_MAX)
                    ),
                });
                Some(answer)
            }
            _ => None,
        };
        match answer {
            Some(answer) => self.tell(id, &format!("Answer: {answer}")),
            None if self.answered_at_terminal(id, text, meant) => {}
            // First answer wins: a second finds the job at work, or at another question.
            None => self.stale(id, "an answer came, but that question is not open"),
        }
    }

    /// Nobody has answered: the default is taken, or people are told again, louder each time.
    pub(super) fn question_due(&mut self, id: JobId) {
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
        let text = format!("still waits for an answer: {question}");
        match reminded {
            0 if first => self.note_job(NoteKind::NeedsHuman, id, text),
            0 | 1 => self.escalate_on_record(id, "no_answer", &format!("q{}", asked.id), &text),
            // It is on record.
            _ => self.escalate_job(id, &text),
        }
        self.wait_for_answer(id, question, reminded + 1, asked, within.max(AGAIN_MIN));
    }

    fn take_default(&mut self, id: JobId, question: QuestionId, default: &str) {
        let Some(job) = self.job(id) else { return };
        let (project, issue) = (job.project.clone(), job.issue);
        self.note_job(
            NoteKind::NeedsHuman,
            id,
            format!("nobody answered in time: the default is taken: {default}"),
        );
        self.act(Action::Comment {
            project,
            issue,
            marker: format!("question-{question}-default"),
            body: format!("Nobody answered in time, so the agent goes on with its default: {default}"),
        });
        self.tell(id, &format!("Answer: {default}\nNobody answered in time: this is the default you named."));
    }
}

/// An option by its number or its text; anything else as it was said.
fn chosen(asked: &Asked, text: &str) -> String {
    let said = text.trim();
    let by_text = asked.options.iter().find(|option| option.eq_ignore_ascii_case(said));
    let by_number = || said.parse::<usize>().ok().and_then(|n| asked.options.get(n.checked_sub(1)?));
    by_text.or_else(by_number).map_or_else(|| text.to_owned(), Clone::clone)
}

fn comment(question: &str, asked: &Asked, within: Option<Duration>) -> String {
    let mut body = format!("This waits for a person:\n\n{question}\n\n");
    for (number, option) in (1..).zip(&asked.options) {
        body.push_str(&format!("{number}. {option}\n"));
    }
    if let Some(within) = within {
        let minutes = within.max(WITHIN_MIN).as_secs().div_ceil(60);
        body.push_str(&match &asked.default {
            Some(default) => format!("\nWithout an answer in {minutes} min it goes on with: {default}\n"),
            None => format!("\nIt needs the answer in {minutes} min.\n"),
        });
    }
    body.push_str(&format!("\nAnswer with `shopfloor answer q{} \"…\"`.", asked.id));
    body
}
