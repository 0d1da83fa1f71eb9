//! Questions: what agents and their clients wait to be told by people.

use super::job;
use crate::texts;
use crate::time::moment;
use serde::Serialize;
use shopfloor_core::ids::{IssueNumber, ProjectName, QuestionId, Role, RunNumber, role_names};
use shopfloor_core::state::{
    About, Conduct, Differs, Floor, Garden, Inquiry, Job, JobState, Outage, Pin, Query, Request,
    RequestState, Session, Staff,
};
use shopfloor_core::texts::{groom, people, vault};
use shopfloor_core::time::Time;

/// A question, whoever asks.
pub struct Question {
    pub id: QuestionId,
    pub project: ProjectName,
    /// `None`: it is about a run, the project's agents, its configuration, or the vault.
    pub issue: Option<IssueNumber>,
    pub run: Option<RunNumber>,
    pub title: String,
    pub kind: String,
    pub text: String,
    pub options: Vec<ChoiceView>,
    /// Taken at the deadline if nobody has answered.
    pub default: Option<String>,
    pub deadline: Option<Time>,
    pub asked_at: Time,
    /// The session whose terminal shows it.
    pub session: Option<String>,
}

#[derive(Clone, Serialize)]
pub struct ChoiceView {
    pub number: u32,
    pub label: String,
    pub description: String,
}

#[derive(Serialize)]
pub struct QuestionView {
    id: String,
    pub project: ProjectName,
    /// `None`: it is about a run, the project's agents, its configuration, or the vault.
    pub issue: Option<IssueNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
    kind: String,
    question: String,
    options: Vec<String>,
    choices: Vec<ChoiceView>,
    pub default: Option<String>,
    pub deadline: Option<String>,
    pub asked_at: String,
    pub session: Option<String>,
}

/// Every open question of a floor, oldest first.
pub fn all(floor: &Floor) -> Vec<Question> {
    let sessions = floor.sessions.iter().filter_map(|session| of_session(floor, session));
    // An open login dialog is its outage's question.
    let causes = |staff: &Staff| {
        let causes = staff.causes().into_iter().filter(|(outage, _)| floor.login_dialog(outage).is_none());
        causes.map(|(outage, roles)| of_outage(&staff.project, outage, &roles)).collect()
    };
    let outages = floor.staff.iter().flat_map(|staff| -> Vec<Question> { causes(staff) });
    let pins = floor.pins.iter().filter_map(|pin| Some(of_pin(pin, pin.differs.as_ref()?)));
    let queries = floor.queries().map(|(conduct, query)| of_query(floor, conduct, query));
    let requests = floor.requests.iter().filter_map(of_request);
    let inquiries = floor.inquiries().map(|(garden, inquiry)| of_inquiry(garden, inquiry));
    let asked = floor.jobs.iter().filter_map(of_job).chain(sessions).chain(queries);
    let all = asked.chain(outages).chain(pins).chain(requests).chain(inquiries);
    let mut open: Vec<Question> = all.collect();
    open.sort_by_key(|question| question.asked_at);
    open
}

/// The questions about a job.
pub fn about(floor: &Floor, job: &Job) -> Vec<Question> {
    let (issue, run) = (job.number(), job.assignment.run());
    all(floor).into_iter().filter(|q| q.project == job.project && (q.issue, q.run) == (issue, run)).collect()
}

fn numbered(labels: Vec<String>) -> Vec<ChoiceView> {
    let choice = |(number, label)| ChoiceView { number, label, description: String::new() };
    (1..).zip(labels).map(choice).collect()
}

fn of_job(job: &Job) -> Option<Question> {
    let JobState::NeedsHuman { question, asked, .. } = &job.state else { return None };
    Some(Question {
        id: asked.id,
        project: job.project.clone(),
        issue: job.number(),
        run: job.assignment.run(),
        title: job.title.clone(),
        kind: "question".to_owned(),
        text: question.clone(),
        options: numbered(asked.options.clone()),
        default: asked.default.clone(),
        deadline: asked.due,
        asked_at: job::since(job),
        session: None,
    })
}

/// Its agent works on meanwhile.
fn of_query(floor: &Floor, conduct: &Conduct, query: &Query) -> Question {
    let job = floor.jobs.get(&conduct.job);
    Question {
        id: query.asked.id,
        project: conduct.project.clone(),
        issue: job.and_then(Job::number),
        run: job.and_then(|job| job.assignment.run()),
        title: job.map(|job| job.title.clone()).unwrap_or_default(),
        kind: "question".to_owned(),
        text: query.text.clone(),
        options: numbered(query.asked.options.clone()),
        default: query.asked.default.clone(),
        deadline: query.asked.due,
        asked_at: query.since,
        session: None,
    }
}

fn of_outage(project: &ProjectName, outage: &Outage, roles: &[Role]) -> Question {
    Question {
        id: outage.question,
        project: project.clone(),
        issue: None,
        run: None,
        title: String::new(),
        kind: "agents".to_owned(),
        text: texts::outage(&role_names(roles), &outage.why),
        options: Vec::new(),
        default: None,
        deadline: None,
        asked_at: outage.since,
        session: None,
    }
}

fn of_pin(pin: &Pin, differs: &Differs) -> Question {
    Question {
        id: differs.question,
        project: pin.project.clone(),
        issue: None,
        run: None,
        title: String::new(),
        kind: "config".to_owned(),
        text: people::config_differs_so(&differs.diff),
        options: Vec::new(),
        default: None,
        deadline: None,
        asked_at: differs.since,
        session: None,
    }
}

fn of_request(request: &Request) -> Option<Question> {
    let RequestState::Waiting { question, doubt, since, due, .. } = &request.state else { return None };
    Some(Question {
        id: *question,
        project: request.project.clone(),
        issue: None,
        run: None,
        title: String::new(),
        kind: "vault".to_owned(),
        text: vault::question(request),
        options: numbered(doubt.options().map(|option| option.name().to_owned()).to_vec()),
        default: None,
        deadline: Some(*due),
        asked_at: *since,
        session: None,
    })
}

/// Its parts are in the text: they are not chosen from by one number.
fn of_inquiry(garden: &Garden, inquiry: &Inquiry) -> Question {
    Question {
        id: inquiry.id,
        project: garden.project.clone(),
        issue: None,
        run: None,
        title: String::new(),
        kind: "groom".to_owned(),
        text: groom::question(&inquiry.parts),
        options: Vec::new(),
        default: None,
        deadline: None,
        asked_at: inquiry.since,
        session: None,
    }
}

fn of_session(floor: &Floor, session: &Session) -> Option<Question> {
    let ask = session.asks.open.as_ref().filter(|ask| ask.answer.is_none())?;
    let options = match &ask.about {
        About::Dialog { view: Some(view), .. } => {
            let choice = |o: &shopfloor_core::runtime::DialogOption| ChoiceView {
                number: o.number,
                label: o.label.clone(),
                description: o.description.clone(),
            };
            view.options.iter().map(choice).collect()
        }
        _ => numbered(ask.options()),
    };
    let out = floor.outage(&session.project, session.role);
    let at_login = out.filter(|outage| floor.login_dialog(outage).is_some_and(|s| s.epoch == session.epoch));
    let text = match at_login {
        Some(outage) => texts::outage_at_login(&outage.role.to_string(), &outage.why, &ask.text()),
        None => ask.text(),
    };
    Some(Question {
        id: ask.id,
        project: session.project.clone(),
        issue: session.assignment.number(),
        run: session.assignment.run(),
        title: floor.jobs.get(&session.job).map(|job| job.title.clone()).unwrap_or_default(),
        kind: format!("{} {}", session.role, ask.kind()),
        text,
        options,
        default: None,
        deadline: None,
        asked_at: ask.since,
        session: Some(session.tmux.clone()),
    })
}

impl From<Question> for QuestionView {
    fn from(question: Question) -> QuestionView {
        QuestionView {
            id: format!("q{}", question.id),
            project: question.project,
            issue: question.issue,
            run: question.run,
            kind: question.kind,
            question: question.text,
            options: question.options.iter().map(|choice| choice.label.clone()).collect(),
            choices: question.options,
            default: question.default,
            deadline: question.deadline.map(moment),
            asked_at: moment(question.asked_at),
            session: question.session,
        }
    }
}
