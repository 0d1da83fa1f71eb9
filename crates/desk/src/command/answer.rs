//! A person answers an agent's or its client's question. The first answer wins, here as anywhere.

use super::Which;
use crate::{Desk, Error, Result};
use shopfloor_core::delivery::plan;
use shopfloor_core::event::{Event, NoteKind};
use shopfloor_core::groom::decision;
use shopfloor_core::ids::{Epoch, IssueNumber, ProjectName, QuestionId};
use shopfloor_core::runtime::Glob;
use shopfloor_core::state::{
    About, AnswerEnd, Decision, Floor, JobState, Outage, Pin, Request, Session, SessionAsk,
};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How long typing an answer may take before this command ends without knowing.
const TYPED_WITHIN: Duration = Duration::from_secs(30);
/// How often to check whether there is a daemon that could type it.
const DAEMON_LOOKED_FOR: Duration = Duration::from_secs(1);

/// Which question is meant.
#[derive(Clone, Copy)]
pub enum Meant {
    Question(QuestionId),
    Issue(IssueNumber),
}

impl FromStr for Meant {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let number =
            |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        match text.strip_prefix('q') {
            Some(rest) => number(rest).map(|n| Meant::Question(QuestionId(n))),
            None => text.parse().ok().map(Meant::Issue),
        }
        .ok_or_else(|| "a question such as q3, or an issue's number".to_owned())
    }
}

/// An open question.
struct Open {
    project: ProjectName,
    /// `None`: the question says whose it is.
    issue: Option<IssueNumber>,
    question: QuestionId,
    /// Set if a session's client asks, not the agent.
    ask: Option<(Epoch, SessionAsk, String)>,
}

/// What became of an answer.
pub enum Answered {
    /// The agent has it, or will. For a dialog: whether it was typed; not yet, if no daemon runs.
    Given { issue: Option<IssueNumber>, typed: Option<bool> },
    /// It was about a project's agents, which are tried again.
    TriedAgain { project: ProjectName },
}

/// Which options of a client's dialogs take free text, by its runtime's name.
pub type FreeText<'a> = &'a dyn Fn(&str) -> Option<Vec<Glob>>;

impl Desk {
    /// Answers a question; `project` is where an issue's number is looked up.
    pub fn answer(
        &self,
        meant: Meant,
        project: Option<&ProjectName>,
        text: String,
        free: FreeText<'_>,
    ) -> Result<Answered> {
        if text.trim().is_empty() {
            return Err(Error::usage("the answer is empty").hint("say what the agent should do"));
        }
        let engine = self.engine()?;
        if let Meant::Question(id) = meant
            && let Some((project, outage)) = held_for(engine.floor(), id)
            && !picks_in_dialog(free, engine.floor(), outage, &text)
        {
            // Whatever is said, somebody thinks that the agents can work.
            self.submit(&Event::StaffTouched { project: Some(project.clone()) })?;
            return Ok(Answered::TriedAgain { project: project.clone() });
        }
        if let Meant::Question(id) = meant
            && let Some(pin) = engine.floor().pins.iter().find(|pin| asks_about(pin, id))
        {
            let why = format!("q{id} is about the configuration of {}, which no answer changes", pin.project);
            return Err(Error::failed(why).hint(
                "`shopfloor config diff` shows the change, `shopfloor config accept` puts it in force; undoing it ends the question",
            ));
        }
        if let Meant::Question(id) = meant
            && let Some(request) = engine.floor().request_asking(id)
        {
            return self.answer_about_request(request, id, &text);
        }
        if let Meant::Question(id) = meant
            && let Some((garden, inquiry)) = engine.floor().inquiry(id)
        {
            decision::parse(&inquiry.open(), &text).map_err(|wrong| {
                Error::usage(wrong.to_string()).hint(format!(
                    "`shopfloor questions` shows q{id}; one answer decides several parts: \"1a 2b\""
                ))
            })?;
            let (project, question) = (garden.project.clone(), Some(id));
            let applied = self.submit(&Event::Answered { project, issue: None, text, question })?;
            return match applied.notes.iter().any(|n| n.kind == NoteKind::StaleSignal) {
                true => Err(Error::failed("somebody else answered first")),
                false => Ok(Answered::Given { issue: None, typed: None }),
            };
        }
        let Some(open) = find(engine.floor(), meant, project) else {
            let what = match meant {
                Meant::Question(id) => format!("there is no open question q{id}"),
                Meant::Issue(issue) => format!("issue #{issue} has no open question"),
            };
            return Err(Error::no_such(what).hint("`shopfloor questions` shows the open ones"));
        };
        if let Some((_, ask, runtime)) = &open.ask {
            check(free, ask, runtime, &text)?;
        }
        let (project, issue, question) = (open.project, open.issue, Some(open.question));
        let applied = self.submit(&Event::Answered { project, issue, text, question })?;
        if applied.notes.iter().any(|n| n.kind == NoteKind::StaleSignal) {
            return Err(Error::failed("somebody else answered first"));
        }
        let typed = match open.ask {
            Some((epoch, SessionAsk { about: About::Dialog { .. }, .. }, _)) => {
                typed(self, epoch, open.question)?
            }
            _ => None,
        };
        Ok(Answered::Given { issue, typed })
    }
}

impl Desk {
    /// The answer is one of the question's own, and a word on the request.
    fn answer_about_request(&self, request: &Request, id: QuestionId, text: &str) -> Result<Answered> {
        let (_, doubt) = request.question().ok_or_else(|| Error::failed("somebody else answered first"))?;
        let decision = doubt.chosen(text).ok_or_else(|| {
            let [yes, no] = doubt.options().map(Decision::name);
            Error::usage(format!("q{id} is answered with {yes} or {no}"))
                .hint(format!("`shopfloor vault show {}` shows what it is about", request.number))
        })?;
        self.decide(&request.project, Which::Question(id), decision, String::new())?;
        Ok(Answered::Given { issue: None, typed: None })
    }
}

fn find(floor: &Floor, meant: Meant, project: Option<&ProjectName>) -> Option<Open> {
    let fits = |p: &ProjectName, issue: Option<IssueNumber>, id: QuestionId| match meant {
        Meant::Question(question) => question == id,
        Meant::Issue(number) => Some(number) == issue && project == Some(p),
    };
    let of_jobs = floor.jobs.iter().find_map(|job| match &job.state {
        JobState::NeedsHuman { asked, .. } if fits(&job.project, job.number(), asked.id) => {
            Some(Open { project: job.project.clone(), issue: job.number(), question: asked.id, ask: None })
        }
        _ => None,
    });
    let of_session = |session: &Session| {
        let ask = session.asks.open.as_ref().filter(|ask| ask.answer.is_none())?;
        let ask = fits(&session.project, session.assignment.number(), ask.id).then(|| ask.clone())?;
        let (project, issue, question) = (session.project.clone(), session.assignment.number(), ask.id);
        Some(Open {
            project,
            issue,
            question,
            ask: Some((session.epoch, ask, session.client.runtime.clone())),
        })
    };
    let of_query = || {
        floor.queries().find_map(|(conduct, query)| {
            let issue = floor.jobs.get(&conduct.job).and_then(|job| job.number());
            fits(&conduct.project, issue, query.asked.id).then(|| Open {
                project: conduct.project.clone(),
                issue,
                question: query.asked.id,
                ask: None,
            })
        })
    };
    of_jobs.or_else(|| floor.sessions.iter().find_map(of_session)).or_else(of_query)
}

fn asks_about(pin: &Pin, question: QuestionId) -> bool {
    pin.differs.as_ref().is_some_and(|differs| differs.question == question)
}

fn held_for(floor: &Floor, id: QuestionId) -> Option<(&ProjectName, &Outage)> {
    floor.outages().find(|(_, outage)| floor.question_of(outage) == id)
}

/// Whether an answer is meant for the login dialog that is an outage's question. Any other answer tries
/// again.
fn picks_in_dialog(free: FreeText<'_>, floor: &Floor, outage: &Outage, text: &str) -> bool {
    let Some(session) = floor.login_dialog(outage) else { return false };
    let open = session.asks.open.as_ref().filter(|ask| ask.answer.is_none());
    open.is_some_and(|ask| check(free, ask, &session.client.runtime, text).is_ok())
}

/// Whether the answer can be typed at all.
fn check(free: FreeText<'_>, ask: &SessionAsk, runtime: &str, text: &str) -> Result<()> {
    match &ask.about {
        About::Dialog { view: Some(view), .. } => {
            plan(view, &free(runtime).unwrap_or_default(), text).map(drop).map_err(Error::usage)
        }
        About::Dialog { view: None, .. } => {
            Err(Error::failed("its text is not known yet").hint("try again, or `shopfloor attach`"))
        }
        About::Held { .. } | About::Chat { .. } => Ok(()),
    }
}

/// Waits until the daemon has typed it; false: there is no daemon.
fn typed(desk: &Desk, epoch: Epoch, question: QuestionId) -> Result<Option<bool>> {
    let deadline = Instant::now() + TYPED_WITHIN;
    let mut floor = desk.subscribe(None)?;
    loop {
        let answered = floor.floor()?.sessions.get(&epoch).and_then(|s| s.asks.answered.clone());
        match answered.filter(|answered| answered.question == question).map(|answered| answered.end) {
            Some(AnswerEnd::Typed) => return Ok(Some(true)),
            Some(AnswerEnd::Refused { why }) => {
                return Err(Error::failed(format!("nothing was answered: {why}"))
                    .hint("`shopfloor questions` shows what is open now"));
            }
            None if desk.ask_daemon("ping")?.is_none() => return Ok(Some(false)),
            None if Instant::now() >= deadline => {
                return Err(Error::failed("whether it was typed is not known yet")
                    .hint("`shopfloor questions` shows what is open"));
            }
            // A daemon that dies does not say so.
            None => drop(floor.next(DAEMON_LOOKED_FOR)?),
        }
    }
}
