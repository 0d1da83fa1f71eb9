//! A branch that no job carries, in the merge queue: what the hub and the forge say about it decides whether
//! it may be queued.

use super::{Approve, Asking, Change, Queued, pull};
use crate::{Desk, Error, Exit, Result, answer};
use shopfloor_adapters::forge::local::{AUTHOR, DEV_ACCOUNT, REVIEW_ACCOUNT};
use shopfloor_adapters::git::branches::{self, BranchProblem, OriginBranch};
use shopfloor_core::effect::Verdict;
use shopfloor_core::event::{BranchAsk, Event};
use shopfloor_core::forge::{PrState, PrSummary, Review};
use shopfloor_core::ids::{PrNumber, ProjectName, Sha, Target};
use shopfloor_core::protected::Protected;
use shopfloor_core::state::{Entry, Floor, Project};
use shopfloor_core::step::{Hindrance, may_queue};
use shopfloor_core::text;
use shopfloor_engine::ports::forge::{By, NewReview};

/// How much of a pull request's text becomes a commit's message.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;

/// What a person asks for, besides the branch.
#[derive(Clone, Default)]
pub struct Wish {
    pub urgent: bool,
    /// Never together with others.
    pub alone: bool,
    pub approve: Approve,
    pub pr: Option<PrNumber>,
    /// Even if one of its commits says that it is not finished.
    pub unfinished: bool,
    /// The branch it is to land on; `None`: the primary branch.
    pub target: Option<Target>,
}

impl Asking<'_> {
    /// The head of a branch in the hub.
    pub(crate) fn look(&self, name: &str, target: Option<&Target>) -> Result<OriginBranch> {
        let project = &self.project;
        if project.policy.is_landed_on(name) {
            let what = if name == project.policy.primary_branch { "the primary branch" } else { "a target" };
            return Err(Error::usage(format!("{name} is {what}: it is what others are merged into")));
        }
        let onto = project.policy.branch_of(target);
        branches::branch(&*(self.origin)()?, onto, name).map_err(|problem| {
            let message = problem.to_string();
            match problem {
                BranchProblem::BadName(_) => Error::usage(message),
                BranchProblem::Unknown(_) => {
                    Error::no_such(message).hint(format!("push it there first: `git push shopfloor {name}`"))
                }
                BranchProblem::NoPrimary(_) => {
                    Error::failed(message).hint("`shopfloor doctor` says what to do about it")
                }
                BranchProblem::Nothing(..) | BranchProblem::Empty(..) => {
                    Error::failed(message).hint("there is nothing to merge; commit and push first")
                }
                BranchProblem::Unrelated(..) => {
                    Error::failed(message).hint(format!("begin the branch at {onto}"))
                }
                BranchProblem::Git(_) | BranchProblem::Origin(_) => Error::failed(message),
            }
        })
    }
}

impl Desk {
    /// Puts a branch into the queue, with the head it now has on the hub.
    pub fn queue_branch(&self, asking: &Asking<'_>, name: &str, wish: Wish) -> Result<Queued> {
        let approves = wish.approve.is_given();
        let found = asking.look(name, wish.target.as_ref())?;
        let (ask, pr) = self.may_queue_branch(asking, name, found, wish)?;
        let (project, author) = (&asking.project.name, &asking.by);
        // Nobody reviews their own pull request; the queue records that they approve it.
        if approves && let Some(pr) = pr.as_ref().filter(|pr| pr.author != *author) {
            let (by, head, verdict) = (By::Person(author), &ask.head, Verdict::Approve);
            let review = NewReview { by, marker: None, head, verdict, text: "Approved when it was queued." };
            answer(self.forge(project)?.post_review(pr.number, &review))?;
        }
        let approved = approves.then(|| ask.head.clone());
        self.submit(&Event::BranchAsked { project: project.clone(), ask })?;
        Ok(Queued { change: Change::Branch(name.to_owned()), approved })
    }

    /// What to ask of the merge queue, if that is allowed.
    pub fn may_queue_branch(
        &self,
        asking: &Asking<'_>,
        name: &str,
        found: OriginBranch,
        wish: Wish,
    ) -> Result<(BranchAsk, Option<PrSummary>)> {
        let Asking { project, by, .. } = asking;
        let engine = self.engine()?;
        let before = |e: &Entry| e.project == project.name && e.branch == name && e.head == found.head;
        let accepted = wish.unfinished || engine.floor().entries.iter().any(before);
        if let Some(subject) = found.unfinished.as_ref().filter(|_| !accepted) {
            return Err(Error::failed(format!("{name} is not finished, by its own account: {subject:?}")).hint(format!(
                "tidy it up first (`git rebase --interactive --autosquash`) and push it; `shopfloor merge-queue add {name} --unfinished` queues it as it is"
            )));
        }
        let approves = wish.approve.of(name, &found.head)?;
        let pr = pull_request(self, asking, name, wish.pr)?;
        let (approved_by, against) = match approves {
            true => (Some(by.clone()), None),
            false => {
                let asked = Asked { branch: name, head: &found.head, target: wish.target.as_ref() };
                approval(self, engine.floor(), project, &asked, pr.as_ref())?
            }
        };
        let patterns = Protected::new(&project.policy.protected).map_err(Error::usage)?;
        let protected = patterns.of(&found.paths);
        let unapproved = match approves
            || protected.is_empty()
            || self.has_persons_approval(project, &found.head, pr.as_ref())?
        {
            true => Vec::new(),
            false => protected,
        };
        let (title, message) = words(self, project, pr.as_ref(), found.subject)?;
        let to = wish.target.as_ref().map(|target| format!(" --to {}", target.branch())).unwrap_or_default();
        let ask = BranchAsk {
            branch: name.to_owned(),
            head: found.head,
            tree: found.tree,
            title,
            message,
            pr: pr.as_ref().map(|pr| (pr.number, pr.issue)),
            by: by.clone(),
            author: Some(found.author).filter(|author| !author.is_empty()),
            approved_by,
            urgent: wish.urgent,
            alone: wish.alone,
            target: wish.target,
            after: found.after,
            unapproved,
        };
        may_queue(engine.floor(), &project.name, &ask)
            .map_err(|why| refused(name, &to, &why, by, pr.as_ref(), against.as_deref()))?;
        Ok((ask, pr))
    }

    /// Whether a person approved this very head.
    fn has_persons_approval(&self, project: &Project, head: &Sha, pr: Option<&PrSummary>) -> Result<bool> {
        let Some(pr) = pr else { return Ok(false) };
        let reviews = answer(self.forge(&project.name)?.pull(pr.number))?.reviews;
        let approves =
            |r: &Review| r.head == *head && r.verdict == Verdict::Approve && r.dismissed_at.is_none();
        Ok(reviews.iter().any(|r| approves(r) && !by_agent(r)))
    }

    /// Takes the branch out of the queue.
    pub(super) fn unqueue_branch(&self, project: &ProjectName, name: &str) -> Result<Change> {
        let branch = name.to_owned();
        self.submit(&Event::BranchRefused { project: project.clone(), branch })?;
        if self.engine()?.floor().queued_by_person(project, name).is_some() {
            return Err(Error::new(Exit::Busy, format!("{name} is being published right now"))
                .hint("it lands, or it is taken out if the publication fails"));
        }
        Ok(Change::Branch(name.to_owned()))
    }
}

/// The branch's open pull request; if one is named, it has to be that one.
fn pull_request(
    desk: &Desk,
    asking: &Asking<'_>,
    branch: &str,
    named: Option<PrNumber>,
) -> Result<Option<PrSummary>> {
    let forge = &*desk.forge(&asking.project.name)?;
    let Some(number) = named else {
        let open = pull::open(forge, branch)?;
        return open.map(|pr| desk.follow_branch(asking, pr)).transpose();
    };
    let pr = answer(forge.pull(number))?.summary();
    if pr.branch != branch {
        return Err(Error::usage(format!("pull request #{number} is of {}, not of {branch}", pr.branch)));
    }
    if pr.state != PrState::Open {
        return Err(Error::failed(format!("pull request #{number} is {}", pr.state.as_str())));
    }
    desk.follow_branch(asking, pr).map(Some)
}

/// The change's title and its commit's message: the words of a person's pull request, else those of its
/// commits. What the factory writes by itself is about the issue.
fn words(
    desk: &Desk,
    project: &Project,
    pr: Option<&PrSummary>,
    subject: String,
) -> Result<(String, Option<String>)> {
    let Some(pr) = pr.filter(|pr| pr.author != DEV_ACCOUNT && pr.author != AUTHOR) else {
        return Ok((subject, None));
    };
    let body = answer(desk.forge(&project.name)?.pull(pr.number))?.body;
    let message = text::head(text::neutralise(&body).trim(), MESSAGE_BYTES_MAX);
    Ok((text::one_line(&pr.title, 200), Some(message).filter(|message| !message.is_empty())))
}

fn by_agent(review: &Review) -> bool {
    [AUTHOR, REVIEW_ACCOUNT].contains(&review.author.as_str())
}

/// What is to be merged, and into what.
struct Asked<'a> {
    branch: &'a str,
    head: &'a Sha,
    target: Option<&'a Target>,
}

/// Who approved this very head, and who has requested changes to it since: the newest word counts. An
/// approval given when it was queued before is on record there.
fn approval(
    desk: &Desk,
    floor: &Floor,
    project: &Project,
    asked: &Asked<'_>,
    pr: Option<&PrSummary>,
) -> Result<(Option<String>, Option<String>)> {
    let Asked { branch, head, target } = *asked;
    // A pull request was reviewed for the primary branch: elsewhere, the same head is another change.
    if let Some(pr) = pr.filter(|_| target.is_none()) {
        let reviews = answer(desk.forge(&project.name)?.pull(pr.number))?.reviews;
        let asks = |r: &&Review| r.verdict == Verdict::RequestChanges && r.dismissed_at.is_none();
        let objection = reviews.iter().filter(|r| !by_agent(r)).rfind(asks);
        // A review that only discusses decides nothing.
        let decides = |r: &&Review| r.head == *head && r.verdict != Verdict::Discuss;
        if let Some(newest) = reviews.iter().rfind(decides) {
            // Only a person lifts what a person requested.
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
    let before = floor.entries.iter().rev().find(same).and_then(|e| e.person.as_ref());
    Ok((before.and_then(|by| by.approved_by.clone()), None))
}

fn refused(
    name: &str,
    to: &str,
    why: &Hindrance,
    by: &str,
    pr: Option<&PrSummary>,
    against: Option<&str>,
) -> Error {
    let since = against.map(|who| format!("; {who} asked for changes")).unwrap_or_default();
    let error = Error::failed(format!("{name} cannot be queued: {why}{since}"));
    let approve = format!("`shopfloor merge-queue add {name}{to} --approve` approves that head in your name");
    match (why, pr) {
        (Hindrance::NotApproved(_) | Hindrance::NoPersonsWord(..), Some(pr))
            if to.is_empty() && pr.author != by =>
        {
            error.hint(format!("{approve}; so does `shopfloor pr review {} --approve`", pr.number))
        }
        (Hindrance::NotApproved(_) | Hindrance::NoPersonsWord(..), _) => error.hint(approve),
        (Hindrance::NoChecks, _) => {
            error.hint("add [ci] steps to shopfloor.toml, or say there that it has none: no_checks = true")
        }
        (Hindrance::Landing, _) => Error { exit: Exit::Busy, ..error }.hint("try again when it has landed"),
        (Hindrance::Job(issue), _) => error.hint(format!("`shopfloor merge-queue add {issue}` queues that")),
        (Hindrance::Primary, _) => error,
    }
}
