//! Questions that agents ask with a command, while they work on. They are like those of the phase `needs_human`, but stop
//! nobody; the answer comes as a message.

use crate::act::Refusal;
use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, ProjectName, QuestionId, Role};
use crate::phase::Ask;
use crate::state::{Asked, Floor, Query, Session, SessionState};
use crate::step::Turn;
use crate::step::attention::{ANSWER_BYTES_MAX, QUESTION_BYTES_MAX, QUESTIONS_MAX, WITHIN_MIN, chosen};
use crate::text::{head, neutralise, one_line};
use crate::texts::{agents, comments, markers, notes, people};

/// Refuses the question of a job that has asked for so many.
pub(super) fn room_for_another(floor: &Floor, job: JobId) -> Result<(), Refusal> {
    let asked = floor.jobs.get(&job).map_or(0, |job| job.rounds.questions);
    if asked >= QUESTIONS_MAX { Err(Refusal::Questions(QUESTIONS_MAX)) } else { Ok(()) }
}

impl Turn<'_> {
    pub(in crate::step) fn question_asked(&mut self, epoch: Epoch, text: &str, ask: &Ask) {
        if let Err(refusal) = super::may_ask(self.floor, epoch) {
            return self.refuse(epoch, notes::question(), &refusal);
        }
        let Some(job) = self.floor.sessions.get(&epoch).map(|session| session.job) else { return };
        let text = head(&neutralise(text), QUESTION_BYTES_MAX);
        let mut options: Vec<String> = ask.options.iter().map(|option| plain(option)).collect();
        let default = ask.default.as_deref().map(plain);
        // A default that is not among the options becomes one.
        options.extend(default.clone().filter(|d| !options.is_empty() && !options.contains(d)));
        self.count(job, |rounds| &mut rounds.questions);
        let id = QuestionId(self.number(|c| &mut c.question));
        let within = ask.within.map(|within| within.max(WITHIN_MIN));
        let asked = Asked { id, options, default, due: within.map(|within| self.now + within) };
        let again_at = self.now + self.policy_of(job).renotify_after;
        let body = comments::question(&text, &asked, within);
        let query = Query { text: text.clone(), asked, since: self.now, reminded: 0, again_at };
        if let Some(conduct) = self.conduct_of(epoch) {
            conduct.query = Some(query);
        }
        self.note_job(NoteKind::NeedsHuman, job, text);
        self.say_on_issue(job, markers::question(id), body);
    }

    /// A person answers one of them. Returns whether it is one.
    pub(in crate::step) fn answer_query(
        &mut self,
        project: &ProjectName,
        id: QuestionId,
        text: &str,
    ) -> bool {
        let Some((conduct, query)) = self.floor.query(id).filter(|(c, _)| c.project == *project) else {
            return false;
        };
        let (job, role) = (conduct.job, conduct.role);
        let answer = head(&neutralise(&chosen(&query.asked, text)), ANSWER_BYTES_MAX);
        self.say_on_issue(job, markers::answer(id), comments::answered(id, &answer));
        self.end_query((job, role), &agents::answer(&answer));
        true
    }

    /// Nobody has answered: the default is taken, or people are reminded, louder each time.
    pub(in crate::step) fn query_due(&mut self, id: QuestionId) {
        let Some((conduct, query)) = self.floor.query(id) else { return };
        let (job, role, query) = (conduct.job, conduct.role, query.clone());
        let over = query.asked.due.is_some_and(|due| due <= self.now);
        if let Some(default) = query.asked.default.as_ref().filter(|_| over) {
            self.note_job(NoteKind::NeedsHuman, job, people::default_taken(default));
            self.say_on_issue(job, markers::default_answer(id), comments::default_taken(default));
            return self.end_query((job, role), &agents::default_answer(default));
        }
        let text = people::still_waits(&query.text);
        match query.reminded {
            0 if !over => self.note_job(NoteKind::NeedsHuman, job, text),
            0 | 1 => self.escalate_on_record(job, "no_answer", &format!("q{id}"), &text),
            // It is on record already.
            _ => self.escalate_job(job, &text),
        }
        let again_at = self.now + self.policy_of(job).escalate_after;
        if let Some(query) = self.floor.conduct_mut((job, role)).and_then(|conduct| conduct.query.as_mut()) {
            query.reminded += 1;
            query.again_at = again_at;
            // It was said; the question stays open.
            query.asked.due = query.asked.due.filter(|_| !over);
        }
    }

    fn end_query(&mut self, key: (JobId, Role), message: &str) {
        if let Some(conduct) = self.floor.conduct_mut(key) {
            conduct.query = None;
        }
        let (job, role) = key;
        if role.develops() {
            return self.pass_on(job, message);
        }
        let works = |s: &&Session| {
            s.job == job && s.role == role && matches!(s.state, SessionState::Starting | SessionState::Live)
        };
        let at_work = self.floor.sessions.iter().rfind(works).map(|session| session.epoch);
        if let Some(epoch) = at_work {
            self.queue_to(job, epoch, message);
        }
    }

    fn say_on_issue(&mut self, job: JobId, marker: String, body: String) {
        if let Some((job, issue)) = self.carrier(job) {
            let project = job.project.clone();
            self.act(Action::Comment { project, issue, marker, body });
        }
    }
}

/// As people see it among others.
fn plain(option: &str) -> String {
    const OPTION_CHARS_MAX: usize = 200;
    one_line(option, OPTION_CHARS_MAX)
}
