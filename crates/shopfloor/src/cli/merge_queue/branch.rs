//! A branch that no job carries: what the hub and the forge say of it, for the merge queue to decide on.

use crate::cli::approval::Approve;
use crate::cli::pr::create;
use crate::cli::{CliError, CliResult, Context, Exit, body, output};
use shopfloor_adapters::forge::local::{AUTHOR, DEV_ACCOUNT, REVIEW_ACCOUNT};
use shopfloor_adapters::git::hub::{self, BranchProblem};
use shopfloor_core::effect::Verdict;
use shopfloor_core::event::{BranchAsk, Event};
use shopfloor_core::ids::{PrNumber, ProjectName, Sha, Target};
use shopfloor_core::state::{Entry, EntryState, Floor, Project};
use shopfloor_core::step::{Hindrance, may_queue};
use shopfloor_core::text;
use shopfloor_store::forge::{NewReview, PrState, PrSummary, Review};

/// Of a pull request's text that becomes a commit's message.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;

/// What a person asks for, beside the branch.
#[derive(Clone, Default)]
pub struct Wish {
    pub urgent: bool,
    /// Never together with others.
    pub alone: bool,
    pub approve: Approve,
    pub pr: Option<PrNumber>,
    /// Though one of its commits says that it is not done.
    pub unfinished: bool,
    /// The branch it is to land on; `None`: the primary branch.
    pub target: Option<Target>,
}

/// The head of a branch in the hub.
pub fn look(
    context: &Context,
    project: &Project,
    name: &str,
    target: Option<&Target>,
) -> CliResult<hub::HubBranch> {
    if project.policy.is_landed_on(name) {
        let what = if name == project.policy.primary_branch { "the primary branch" } else { "a target" };
        return Err(CliError::usage(format!("{name} is {what}: it is what others are merged into")));
    }
    let onto = project.policy.branch_of(target);
    hub::branch(&context.git()?, &context.layout.hub(&project.name), onto, name).map_err(|problem| {
        let message = problem.to_string();
        match problem {
            BranchProblem::BadName(_) => CliError::usage(message),
            BranchProblem::Unknown(_) => {
                CliError::no_such(message).hint(format!("push it there first: `git push shopfloor {name}`"))
            }
            BranchProblem::NoPrimary(_) => {
                CliError::failed(message).hint("`shopfloor doctor` says what to do about it")
            }
            BranchProblem::Nothing(..) | BranchProblem::Empty(..) => {
                CliError::failed(message).hint("there is nothing to merge; commit and push first")
            }
            BranchProblem::Unrelated(..) => {
                CliError::failed(message).hint(format!("begin the branch at {onto}"))
            }
            BranchProblem::Git(_) => CliError::failed(message),
        }
    })
}

pub fn add(context: &Context, project: &Project, name: &str, wish: Wish) -> CliResult<Exit> {
    let approves = wish.approve.is_given();
    let head = submit(context, project, name, wish)?;
    if approves && !context.json {
        output::line(format!("approved {head}, the head of {name}"));
    }
    show(context, &project.name, name)
}

/// Puts a branch that the hub has into the queue, with the head it has now.
pub fn submit(context: &Context, project: &Project, name: &str, wish: Wish) -> CliResult<Sha> {
    let approves = wish.approve.is_given();
    let (ask, pr) = ask(context, project, name, look(context, project, name, wish.target.as_ref())?, wish)?;
    // Nobody reviews their own; that they approve it is on record in the queue.
    if approves && let Some(pr) = pr.as_ref().filter(|pr| pr.author != body::author()) {
        let text = "Approved when it was queued.".to_owned();
        let (head, verdict, author) = (ask.head.clone(), Verdict::Approve, body::author());
        let review = NewReview { head, verdict, text, author, marker: None };
        context.forge()?.review(&project.name, pr.number, &review)?;
    }
    let head = ask.head.clone();
    context.submit(&Event::BranchAsked { project: project.name.clone(), ask })?;
    Ok(head)
}

/// What to ask of the merge queue, if it may be asked of it.
pub fn ask(
    context: &Context,
    project: &Project,
    name: &str,
    found: hub::HubBranch,
    wish: Wish,
) -> CliResult<(BranchAsk, Option<PrSummary>)> {
    let engine = context.engine()?;
    let before = |e: &Entry| e.project == project.name && e.branch == name && e.head == found.head;
    let accepted = wish.unfinished || engine.floor().entries.iter().any(before);
    if let Some(subject) = found.unfinished.as_ref().filter(|_| !accepted) {
        return Err(CliError::failed(format!("{name} is not done, by its own word: {subject:?}")).hint(format!(
            "put it in order first (`git rebase --interactive --autosquash`) and push it; `shopfloor merge-queue add {name} --unfinished` queues it as it is"
        )));
    }
    let approves = wish.approve.of(name, &found.head)?;
    if approves && body::session().is_some() {
        return Err(CliError::usage("an agent's session cannot approve anything")
            .hint("a person approves, or a reviewing agent in its result file"));
    }
    let pr = pull_request(context, project, name, wish.pr)?;
    let (approved_by, against) = match approves {
        true => (Some(body::author()), None),
        false => {
            let asked = Asked { branch: name, head: &found.head, target: wish.target.as_ref() };
            approval(context, engine.floor(), project, &asked, pr.as_ref())?
        }
    };
    let (title, message) = words(context, project, pr.as_ref(), found.subject)?;
    let to = wish.target.as_ref().map(|target| format!(" --to {}", target.branch())).unwrap_or_default();
    let ask = BranchAsk {
        branch: name.to_owned(),
        head: found.head,
        tree: found.tree,
        title,
        message,
        pr: pr.as_ref().map(|pr| (pr.number, pr.issue)),
        by: body::author(),
        author: Some(found.author).filter(|author| !author.is_empty()),
        approved_by,
        urgent: wish.urgent,
        alone: wish.alone,
        target: wish.target,
        after: found.after,
    };
    may_queue(engine.floor(), &project.name, &ask)
        .map_err(|why| refused(name, &to, &why, pr.as_ref(), against.as_deref()))?;
    Ok((ask, pr))
}

/// The branch's open pull request; one that is named has to be that.
fn pull_request(
    context: &Context,
    project: &Project,
    branch: &str,
    named: Option<PrNumber>,
) -> CliResult<Option<PrSummary>> {
    let mut forge = context.forge()?;
    let Some(number) = named else {
        let open = create::open(&mut forge, project, branch)?;
        return open.map(|pr| create::follow(context, project, &mut forge, pr)).transpose();
    };
    let pr = forge.pr_summary(&project.name, number)?;
    if pr.branch != branch {
        return Err(CliError::usage(format!("pull request #{number} is of {}, not of {branch}", pr.branch)));
    }
    if pr.state != PrState::Open {
        return Err(CliError::failed(format!("pull request #{number} is {}", pr.state.as_str())));
    }
    create::follow(context, project, &mut forge, pr).map(Some)
}

/// What the change is called, and what its commit says: the words of a person's pull request, else those of its
/// commits. What the factory writes on its own is about the issue.
fn words(
    context: &Context,
    project: &Project,
    pr: Option<&PrSummary>,
    subject: String,
) -> CliResult<(String, Option<String>)> {
    let Some(pr) = pr.filter(|pr| pr.author != DEV_ACCOUNT && pr.author != AUTHOR) else {
        return Ok((subject, None));
    };
    let body = context.forge()?.pr(&project.name, pr.number)?.body;
    let message = text::head(text::neutralise(&body).trim(), MESSAGE_BYTES_MAX);
    Ok((text::one_line(&pr.title, 200), Some(message).filter(|message| !message.is_empty())))
}

/// What is to be merged, and into what.
struct Asked<'a> {
    branch: &'a str,
    head: &'a Sha,
    target: Option<&'a Target>,
}

/// Who approved this very head, and who asked for changes to it since: the newest word counts. An approval
/// that was given when it was queued before is on record there.
fn approval(
    context: &Context,
    floor: &Floor,
    project: &Project,
    asked: &Asked<'_>,
    pr: Option<&PrSummary>,
) -> CliResult<(Option<String>, Option<String>)> {
    let Asked { branch, head, target } = *asked;
    // A pull request was reviewed for the primary branch: elsewhere the same head is another change.
    if let Some(pr) = pr.filter(|_| target.is_none()) {
        let reviews = context.forge()?.reviews(&project.name, pr.number, usize::MAX)?;
        let by_agent = |r: &Review| [AUTHOR, REVIEW_ACCOUNT].contains(&r.author.as_str());
        let asks = |r: &&Review| r.verdict == Verdict::RequestChanges && r.dismissed_at.is_none();
        let objection = reviews.iter().filter(|r| !by_agent(r)).rfind(asks);
        // Whoever only says something decides nothing.
        let decides = |r: &&Review| r.head == *head && r.verdict != Verdict::Discuss;
        if let Some(newest) = reviews.iter().rfind(decides) {
            // Only a person lifts what a person asked for.
            let stands = objection.filter(|o| by_agent(newest) || newest.id < o.id);
            return Ok(match (newest.verdict, stands) {
                (Verdict::Approve, None) => (Some(newest.author.clone()), None),
                (Verdict::Approve, Some(objection)) => (None, Some(objection.author.clone())),
                _ => (None, Some(newest.author.clone())),
            });
        }
    }
    let same = |e: &&Entry| {
        e.project == project.name && e.branch == branch && e.head == *head && e.target.as_ref() == target
    };
    let before = floor.entries.iter().rev().find(same).and_then(|e| e.by_hand.as_ref());
    Ok((before.and_then(|by| by.approved_by.clone()), None))
}

fn refused(name: &str, to: &str, why: &Hindrance, pr: Option<&PrSummary>, against: Option<&str>) -> CliError {
    let since = against.map(|who| format!("; {who} asked for changes")).unwrap_or_default();
    let error = CliError::failed(format!("{name} cannot be queued: {why}{since}"));
    let approve = format!("`shopfloor merge-queue add {name}{to} --approve` approves that head in your name");
    match (why, pr) {
        (Hindrance::NotApproved(_), Some(pr)) if to.is_empty() && pr.author != body::author() => {
            error.hint(format!("{approve}; so does `shopfloor pr review {} --approve`", pr.number))
        }
        (Hindrance::NotApproved(_), _) => error.hint(approve),
        (Hindrance::NoChecks, _) => {
            error.hint("add [ci] steps to shopfloor.toml, or say there that it wants none: no_checks = true")
        }
        (Hindrance::Landing, _) => {
            CliError { exit: Exit::Busy, ..error }.hint("try again when it has landed")
        }
        (Hindrance::Job(issue), _) => error.hint(format!("`shopfloor merge-queue add {issue}` queues that")),
        (Hindrance::Primary, _) => error,
    }
}

/// Takes it out of the queue.
pub fn remove(context: &Context, project: &ProjectName, name: &str) -> CliResult<Exit> {
    let branch = name.to_owned();
    context.submit(&Event::BranchRefused { project: project.clone(), branch })?;
    let engine = context.engine()?;
    if engine.floor().queued_by_hand(project, name).is_some() {
        return Err(CliError::new(Exit::Busy, format!("{name} is being published right now"))
            .hint("it lands, or it is taken out if the publication fails"));
    }
    show(context, project, name)
}

/// Says where its newest entry is now.
fn show(context: &Context, project: &ProjectName, name: &str) -> CliResult<Exit> {
    let engine = context.engine()?;
    let floor = engine.floor();
    let mine = |e: &&Entry| e.project == *project && e.branch == name && e.job.is_none();
    let entry = floor.entries.iter().rev().find(mine);
    let Some(entry) = entry else { return Err(CliError::failed(format!("{name} was not queued"))) };
    let state = floor.entry_status(entry);
    let position = floor.queue_order(&entry.queue()).iter().position(|e| e.id == entry.id).map(|at| at + 1);
    if context.json {
        output::json(&serde_json::json!({
            "entry": entry.id,
            "branch": name,
            "head": entry.head,
            "issue": entry.issue,
            "state": state,
            "position": position,
        }));
    } else {
        let place = position.map(|at| format!(", position {at}")).unwrap_or_default();
        let checks = matches!(entry.state, EntryState::Checking { .. });
        let checks = if checks { ": its head is checked first" } else { "" };
        output::line(format!("{name}: {state}{place}{checks}"));
    }
    Ok(Exit::Fine)
}
