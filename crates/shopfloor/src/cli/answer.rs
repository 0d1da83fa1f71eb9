//! `shopfloor answer`: a person answers an agent's question, or what its client asks. First answer wins,
//! here as anywhere.

use super::{CliError, CliResult, Context, Exit, held, output};
use clap::Args;
use shopfloor_core::delivery::plan;
use shopfloor_core::event::{Event, NoteKind};
use shopfloor_core::ids::{Epoch, IssueNumber, ProjectName, QuestionId};
use shopfloor_core::state::{About, AnswerEnd, Floor, JobState, Outage, Session, SessionAsk};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Answer the question an agent asked, or a dialog of its client
///
/// `shopfloor questions` shows the open ones. Of options the number will do; where boxes are to be ticked,
/// several: `shopfloor answer q5 1,3`, or `none`. An answer to a dialog is typed into that very dialog, if it
/// is still up.
#[derive(Args)]
pub struct AnswerArgs {
    /// The question, such as q3, or the issue it is about
    question: Meant,
    text: String,
}

/// How long an answer may take to be typed before this command ends without knowing.
const TYPED_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Which question is meant.
#[derive(Clone, Copy)]
enum Meant {
    Question(QuestionId),
    Issue(IssueNumber),
}

impl FromStr for Meant {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
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
    issue: IssueNumber,
    question: QuestionId,
    /// Of a session's client, not of the agent.
    ask: Option<(Epoch, SessionAsk, String)>,
}

pub fn run(context: &Context, args: AnswerArgs) -> CliResult<Exit> {
    held::only_people()?;
    if args.text.trim().is_empty() {
        return Err(CliError::usage("the answer is empty").hint("say what the agent should do"));
    }
    let engine = context.engine()?;
    if let Meant::Question(id) = args.question
        && let Some((project, outage)) = held_for(engine.floor(), id)
        && !picks_in_dialog(context, engine.floor(), outage, &args.text)?
    {
        return try_again(context, project.clone());
    }
    let project = match args.question {
        // Its number is unique on the floor: the folder one is in does not matter.
        Meant::Question(_) => None,
        Meant::Issue(_) => Some(context.project()?.name),
    };
    let Some(open) = find(engine.floor(), args.question, project.as_ref()) else {
        let what = match args.question {
            Meant::Question(id) => format!("there is no open question q{id}"),
            Meant::Issue(issue) => format!("issue #{issue} has no open question"),
        };
        return Err(CliError::no_such(what).hint("`shopfloor questions` shows the open ones"));
    };
    if let Some((_, ask, runtime)) = &open.ask {
        check(context, ask, runtime, &args.text)?;
    }
    let (project, issue, question) = (open.project, open.issue, Some(open.question));
    let applied = context.submit(&Event::Answered { project, issue, text: args.text, question })?;
    if applied.notes.iter().any(|n| n.kind == NoteKind::StaleSignal) {
        return Err(CliError::failed("somebody else answered first"));
    }
    let typed = match open.ask {
        Some((epoch, SessionAsk { about: About::Dialog { .. }, .. }, _)) => {
            typed(context, epoch, open.question)?
        }
        _ => None,
    };
    if context.json {
        output::json(&serde_json::json!({ "issue": issue.0, "answered": true, "typed": typed }));
    } else {
        output::line(match typed {
            Some(false) => "answered; it is typed when the daemon runs (`shopfloor up`)",
            _ => "answered",
        });
    }
    Ok(Exit::Fine)
}

fn find(floor: &Floor, meant: Meant, project: Option<&ProjectName>) -> Option<Open> {
    let fits = |p: &ProjectName, issue: IssueNumber, id: QuestionId| match meant {
        Meant::Question(question) => question == id,
        Meant::Issue(number) => number == issue && project == Some(p),
    };
    let of_jobs = floor.jobs.iter().find_map(|job| match &job.state {
        JobState::NeedsHuman { asked, .. } if fits(&job.project, job.issue, asked.id) => {
            Some(Open { project: job.project.clone(), issue: job.issue, question: asked.id, ask: None })
        }
        _ => None,
    });
    let of_session = |session: &Session| {
        let ask = session.asks.as_ref().filter(|ask| ask.answer.is_none())?;
        let ask = fits(&session.project, session.issue, ask.id).then(|| ask.clone())?;
        let (project, issue, question) = (session.project.clone(), session.issue, ask.id);
        Some(Open { project, issue, question, ask: Some((session.epoch, ask, session.runtime.clone())) })
    };
    of_jobs.or_else(|| floor.sessions.iter().find_map(of_session))
}

fn held_for(floor: &Floor, id: QuestionId) -> Option<(&ProjectName, &Outage)> {
    floor.outages().find(|(_, outage)| floor.question_of(outage) == id)
}

/// Whether what is said is for the login dialog that an outage's question is. Anything else has it tried anew.
fn picks_in_dialog(context: &Context, floor: &Floor, outage: &Outage, text: &str) -> CliResult<bool> {
    let Some(session) = floor.login_dialog(outage) else { return Ok(false) };
    let Some(ask) = session.asks.as_ref().filter(|ask| ask.answer.is_none()) else { return Ok(false) };
    Ok(check(context, ask, &session.runtime, text).is_ok())
}

/// Whether it can be typed at all.
fn check(context: &Context, ask: &SessionAsk, runtime: &str, text: &str) -> CliResult<()> {
    match &ask.about {
        About::Dialog { view: Some(view), .. } => {
            let free = context.runtimes()?.get(runtime).map(|spec| spec.screen.free_text.clone());
            plan(view, &free.unwrap_or_default(), text).map(drop).map_err(CliError::usage)
        }
        About::Dialog { view: None, .. } => {
            Err(CliError::failed("its text is not known yet").hint("try again, or `shopfloor attach`"))
        }
        About::Held { .. } | About::Chat { .. } => Ok(()),
    }
}

/// Waits until the daemon has typed it; false: there is none.
fn typed(context: &Context, epoch: Epoch, question: QuestionId) -> CliResult<Option<bool>> {
    let deadline = Instant::now() + TYPED_WITHIN;
    loop {
        let engine = context.engine()?;
        let answered = engine.floor().sessions.get(&epoch).and_then(|s| s.answered.clone());
        match answered.filter(|answered| answered.question == question).map(|answered| answered.end) {
            Some(AnswerEnd::Typed) => return Ok(Some(true)),
            Some(AnswerEnd::Refused { why }) => {
                return Err(CliError::failed(format!("nothing was answered: {why}"))
                    .hint("`shopfloor questions` shows what is open now"));
            }
            None if context.ask_daemon("ping")?.is_none() => return Ok(Some(false)),
            None if Instant::now() >= deadline => {
                return Err(CliError::failed("whether it was typed is not known yet")
                    .hint("`shopfloor questions` shows what is open"));
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
    }
}

/// A project's agents could not work: whatever is said, somebody thinks that they can.
fn try_again(context: &Context, project: ProjectName) -> CliResult<Exit> {
    context.submit(&Event::StaffTouched { project: Some(project.clone()) })?;
    if context.json {
        output::json(&serde_json::json!({ "project": project, "answered": true }));
    } else {
        output::line(format!("{project} is tried again: `shopfloor status` shows what comes of it"));
    }
    Ok(Exit::Fine)
}
