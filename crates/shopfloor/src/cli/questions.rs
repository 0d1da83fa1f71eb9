//! `shopfloor questions`: what agents, and their clients, wait to be told by people.

use super::context::now;
use super::{CliResult, Context, Exit, output, view};
use clap::Args;
use serde::Serialize;
use shopfloor_core::ids::{IssueNumber, ProjectName, QuestionId, Role, role_names};
use shopfloor_core::state::{About, Floor, Job, JobState, Outage, Session, Staff};
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;

/// Show the questions that wait for an answer, oldest first
///
/// Also the dialogs in which agents' clients wait, and messages that cannot be typed. Of all projects,
/// unless one is given with --project. `shopfloor answer` answers them.
#[derive(Args)]
pub struct QuestionsArgs {}

/// A question, whoever asks.
pub struct Question {
    pub id: QuestionId,
    project: ProjectName,
    /// None: it is about the project's agents.
    issue: Option<IssueNumber>,
    title: String,
    pub kind: String,
    pub text: String,
    pub options: Vec<ChoiceView>,
    /// Taken at the deadline if nobody has answered.
    default: Option<String>,
    deadline: Option<Time>,
    asked_at: Time,
    /// The session whose terminal shows it.
    session: Option<String>,
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
    project: ProjectName,
    /// None: it is about the project's agents.
    issue: Option<IssueNumber>,
    kind: String,
    question: String,
    options: Vec<String>,
    choices: Vec<ChoiceView>,
    default: Option<String>,
    deadline: Option<String>,
    asked_at: String,
    session: Option<String>,
}

pub fn run(context: &Context, _: QuestionsArgs) -> CliResult<Exit> {
    let engine = context.engine()?;
    let only = context.named_project()?;
    let mut open = all(engine.floor());
    open.retain(|question| only.as_ref().is_none_or(|project| *project == question.project));
    if context.json {
        output::json(&open.into_iter().map(QuestionView::from).collect::<Vec<_>>());
        return Ok(Exit::Fine);
    }
    let several = engine.floor().projects.len() > 1;
    open.iter().for_each(|question| question.print(several));
    match open.is_empty() {
        true => output::line("no questions"),
        false => output::line("answer with `shopfloor answer ID \"…\"`"),
    }
    Ok(Exit::Fine)
}

/// Every open question of a floor, oldest first.
pub fn all(floor: &Floor) -> Vec<Question> {
    let sessions = floor.sessions.iter().filter_map(|session| of_session(floor, session));
    // A login dialog that is up is its outage's question.
    let causes = |staff: &Staff| {
        let causes = staff.causes().into_iter().filter(|(outage, _)| floor.login_dialog(outage).is_none());
        causes.map(|(outage, roles)| of_outage(&staff.project, outage, &roles)).collect()
    };
    let outages = floor.staff.iter().flat_map(|staff| -> Vec<Question> { causes(staff) });
    let mut open: Vec<Question> =
        floor.jobs.iter().filter_map(of_job).chain(sessions).chain(outages).collect();
    open.sort_by_key(|question| question.asked_at);
    open
}

/// The questions about an issue's job.
pub fn of_issue(floor: &Floor, job: &Job) -> Vec<Question> {
    all(floor).into_iter().filter(|q| q.project == job.project && q.issue == Some(job.issue)).collect()
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
        issue: Some(job.issue),
        title: job.title.clone(),
        kind: "question".to_owned(),
        text: question.clone(),
        options: numbered(asked.options.clone()),
        default: asked.default.clone(),
        deadline: asked.due,
        asked_at: view::since(job),
        session: None,
    })
}

fn of_outage(project: &ProjectName, outage: &Outage, roles: &[Role]) -> Question {
    Question {
        id: outage.question,
        project: project.clone(),
        issue: None,
        title: String::new(),
        kind: "agents".to_owned(),
        text: format!(
            "The {} agents cannot work: {}. Mend it; it is noticed, and any answer has it tried at once.",
            role_names(roles),
            outage.why
        ),
        options: Vec::new(),
        default: None,
        deadline: None,
        asked_at: outage.since,
        session: None,
    }
}

fn of_session(floor: &Floor, session: &Session) -> Option<Question> {
    let ask = session.asks.as_ref().filter(|ask| ask.answer.is_none())?;
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
        Some(outage) => format!(
            "The {} agents cannot work: {}. Choose here, or mend it elsewhere; any other answer has it tried anew.\n{}",
            outage.role,
            outage.why,
            ask.text()
        ),
        None => ask.text(),
    };
    Some(Question {
        id: ask.id,
        project: session.project.clone(),
        issue: Some(session.issue),
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

impl Question {
    fn print(&self, several: bool) {
        let project = if several { self.project.to_string() } else { String::new() };
        let title = one_line(&self.title, view::TITLE_CHARS);
        let age = output::span(now().since(self.asked_at));
        let whose =
            self.session.as_ref().map(|name| format!(", {} in {name}", self.kind)).unwrap_or_default();
        output::line(match self.issue {
            Some(issue) => format!("q{}  {project}#{issue} {title}{whose}, asked {age} ago", self.id),
            None => format!("q{}  project {}, since {age} ago", self.id, self.project),
        });
        self.print_text();
        if let Some(due) = self.deadline {
            let left = output::span(due.since(now()));
            output::line(match &self.default {
                Some(default) => format!("    in {left} it goes on with: {}", one_line(default, 200)),
                None => format!("    it needs the answer in {left}"),
            });
        }
        output::line("");
    }

    /// What is asked, and what can be answered.
    pub fn print_text(&self) {
        output::quoted(&self.text);
        for option in &self.options {
            let about = one_line(&option.description, 120);
            let about = if about.is_empty() { about } else { format!("  ({about})") };
            output::line(format!("    {}. {}{about}", option.number, one_line(&option.label, 200)));
        }
    }
}

impl From<Question> for QuestionView {
    fn from(question: Question) -> QuestionView {
        QuestionView {
            id: format!("q{}", question.id),
            project: question.project,
            issue: question.issue,
            kind: question.kind,
            question: question.text,
            options: question.options.iter().map(|choice| choice.label.clone()).collect(),
            choices: question.options,
            default: question.default,
            deadline: question.deadline.map(output::moment),
            asked_at: output::moment(question.asked_at),
            session: question.session,
        }
    }
}
