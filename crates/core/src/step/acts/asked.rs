//! Acts that agents ask for: allowed and ordered, or refused.

use super::Acts;
use crate::act::{Act, ActOrder, Refusal};
use crate::capability::{Capability, Rights};
use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{ActId, Epoch, IssueNumber, ProjectName, Role};
use crate::label::{ACTIONED, UNREVIEWED, WATCHED};
use crate::similar::Title;
use crate::state::{Conduct, Deed, Floor, Session, SessionState};
use crate::step::Turn;
use crate::texts::notes;
use std::collections::BTreeSet;

/// What the agents of one role may ask the vault for in one job: enough for whoever means well.
const REQUESTS_MAX: u32 = 20;

/// Whether a session may have that done. `Some`: it was asked for before, and is on its way or done.
pub fn may_act(floor: &Floor, epoch: Epoch, act: &Act) -> Result<Option<ActId>, Refusal> {
    let session = at_work(floor, epoch)?;
    let rights = floor.policy(&session.project).rights(session.role);
    let act = &act.clone().dressed(&rights);
    let capability = act.needs(session.assignment.issue());
    allowed(&rights, session.role, capability)?;
    let may_touch = |label: &String| rights.labels.contains(label) || rights.always.contains(label);
    if let Some(label) = act.labels().find(|label| !may_touch(label)) {
        return Err(Refusal::Label(session.role, label.clone()));
    }
    if let Act::Close { issue } = act
        && !may_close(floor, &session.project, &rights, *issue)
    {
        return Err(Refusal::Closes(session.role, *issue));
    }
    if let Some(flaw) = act.flaw() {
        return Err(flaw);
    }
    let conduct = floor.conduct(epoch);
    if let Some(deed) = conduct.and_then(|conduct| conduct.deed(act)) {
        return Ok(Some(deed.id));
    }
    let (issues, changes) = conduct.map_or((0, 0), |conduct| (conduct.issues, conduct.changes));
    let one_more_issue = || match issues < rights.max_issues {
        true => Ok(()),
        false => Err(Refusal::Issues(rights.max_issues)),
    };
    match act {
        Act::CreateIssue { title, labels, .. } => {
            one_more_issue()?;
            is_new(floor, &session.project, session.role, title, labels)?;
        }
        Act::Comment { .. } | Act::Label { .. } | Act::Close { .. } => {
            if changes >= rights.max_changes {
                return Err(Refusal::Changes(rights.max_changes));
            }
            if begins(conduct, act) {
                one_more_issue()?;
            }
            is_reasoned(floor, &session.project, conduct, act)?;
        }
    }
    Ok(None)
}

/// By its labels, as they are known here: of what is not known, nobody knows what it is.
fn may_close(floor: &Floor, project: &ProjectName, rights: &Rights, issue: IssueNumber) -> bool {
    let known = floor.issues.get(&(project.clone(), issue));
    rights.closes.is_empty() || known.is_some_and(|issue| !issue.labels.is_disjoint(&rights.closes))
}

/// As the factory would do it for that session.
pub fn dressed(floor: &Floor, epoch: Epoch, act: Act) -> Act {
    match floor.sessions.get(&epoch) {
        Some(session) => act.dressed(&floor.policy(&session.project).rights(session.role)),
        None => act,
    }
}

/// Whether it has an issue worked on that was there, and that is not counted yet.
fn begins(conduct: Option<&Conduct>, act: &Act) -> bool {
    conduct.map_or(act.begins(), |conduct| conduct.begins(act)).is_some()
}

/// A prediction is watched or worked on, or it says on it why nothing follows: whoever reads it later finds out.
fn is_reasoned(
    floor: &Floor,
    project: &ProjectName,
    conduct: Option<&Conduct>,
    act: &Act,
) -> Result<(), Refusal> {
    let Some(issue) = act.issue() else { return Ok(()) };
    let is = |label: &String, one: &str| label == one;
    let dismisses = match act {
        Act::Label { add, remove, .. } => {
            let lets_go = remove.iter().any(|label| is(label, UNREVIEWED) || is(label, WATCHED));
            let watches = add.iter().any(|label| is(label, WATCHED) || is(label, UNREVIEWED));
            add.iter().any(|label| is(label, ACTIONED)) || (lets_go && !watches)
        }
        Act::Close { .. } => floor
            .issues
            .get(&(project.clone(), issue))
            .is_some_and(|issue| issue.labels.contains(UNREVIEWED) || issue.labels.contains(WATCHED)),
        Act::CreateIssue { .. } | Act::Comment { .. } => false,
    };
    let begun = act.begins().is_some() || conduct.is_some_and(|conduct| conduct.begun.contains(&issue));
    let said = conduct.is_some_and(|conduct| conduct.has_spoken_on(issue));
    if dismisses && !begun && !said { Err(Refusal::NoReason(issue)) } else { Ok(()) }
}

/// Whether a session has that capability.
pub fn may_do(floor: &Floor, epoch: Epoch, capability: Capability) -> Result<(), Refusal> {
    let session = at_work(floor, epoch)?;
    allowed(&floor.policy(&session.project).rights(session.role), session.role, capability)
}

/// Whether a session may ask people something and work on meanwhile.
pub fn may_ask(floor: &Floor, epoch: Epoch) -> Result<(), Refusal> {
    may_do(floor, epoch, Capability::AskQuestion)?;
    let session = at_work(floor, epoch)?;
    if let Some(query) = floor.conduct(epoch).and_then(|conduct| conduct.query.as_ref()) {
        return Err(Refusal::Asks(query.asked.id));
    }
    super::queries::room_for_another(floor, session.job)
}

/// Whether a session may ask the vault for something more. What is over asks for nothing: its capabilities say so.
pub fn may_ask_the_vault(floor: &Floor, epoch: Epoch) -> Result<(), Refusal> {
    let asked = floor.conduct(epoch).map_or(0, |conduct| conduct.requests);
    if asked >= REQUESTS_MAX { Err(Refusal::Requests(REQUESTS_MAX)) } else { Ok(()) }
}

/// The session, if it is one that works for its job.
fn at_work(floor: &Floor, epoch: Epoch) -> Result<&Session, Refusal> {
    let works = |session: &&Session| {
        let live = matches!(session.state, SessionState::Starting | SessionState::Live);
        live && floor.jobs.get(&session.job).is_some_and(|job| job.is_live())
    };
    floor.sessions.get(&epoch).filter(works).ok_or(Refusal::Over)
}

fn allowed(rights: &Rights, role: Role, capability: Capability) -> Result<(), Refusal> {
    if rights.allow(capability) { Ok(()) } else { Err(Refusal::Lacks(role, capability)) }
}

/// Refuses what is like an open issue of its kind: one that agents of the same role made, or that shares a label with it;
/// or like one of those that are being made.
fn is_new(
    floor: &Floor,
    project: &ProjectName,
    role: Role,
    title: &str,
    labels: &[String],
) -> Result<(), Refusal> {
    let labels: BTreeSet<&String> = labels.iter().collect();
    let mut mine = Title::new(title);
    let of_its_kind = floor.issues.iter().filter(|issue| {
        let kind = issue.by == Some(role) || issue.labels.iter().any(|label| labels.contains(label));
        issue.open && issue.project == *project && kind
    });
    for issue in of_its_kind {
        if mine.is_like(&issue.title) {
            return Err(Refusal::Like(Some(issue.number), issue.title.clone()));
        }
    }
    let theirs = floor.conducts.iter().filter(|conduct| conduct.project == *project && conduct.role == role);
    for deed in theirs.flat_map(|conduct| &conduct.deeds) {
        if let Some(title) = deed.title.as_ref().filter(|title| mine.is_like(title)) {
            return Err(Refusal::Like(deed.issue(), title.clone()));
        }
    }
    Ok(())
}

impl Turn<'_> {
    pub(in crate::step) fn act_asked(&mut self, epoch: Epoch, act: &Act) {
        let act = dressed(self.floor, epoch, act.clone().clean());
        match may_act(self.floor, epoch, &act) {
            Ok(None) => self.order_act(epoch, act),
            // It is on its way, or done: whoever asks again is told so.
            Ok(Some(_)) => {}
            Err(refusal) => self.refuse(epoch, &notes::act(&act), &refusal),
        }
    }

    fn order_act(&mut self, epoch: Epoch, what: Act) {
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let (project, job, role) = (session.project.clone(), session.job, session.role);
        let (assignment, wanted) = (session.assignment, notes::act_wanted(role, epoch, &notes::act(&what)));
        let id = ActId(self.number(|c| &mut c.acts));
        let title = match &what {
            Act::CreateIssue { title, .. } => Some(title.clone()),
            _ => None,
        };
        let said_on = match &what {
            Act::Comment { issue, .. } => Some(*issue),
            _ => None,
        };
        let (makes_one, deed) = (title.is_some(), Deed { id, key: what.key(), title, said_on, end: None });
        let Some(conduct) = self.conduct_of(epoch) else { return };
        match makes_one {
            true => conduct.issues += 1,
            false => conduct.changes += 1,
        }
        if let Some(issue) = conduct.begins(&what) {
            conduct.issues += 1;
            conduct.begun.push(issue);
        }
        conduct.deeds.push(deed);
        self.note(NoteKind::AgentAct, &project, assignment.number(), wanted);
        self.act(Action::Act(ActOrder { id, project, job, role, assignment, what }));
    }

    /// Counts what a session asks the vault for. `false`: it has asked for so much.
    pub(in crate::step) fn vault_asked_by(&mut self, epoch: Epoch, what: &str) -> bool {
        if let Err(refusal) = may_ask_the_vault(self.floor, epoch) {
            self.refuse(epoch, what, &refusal);
            return false;
        }
        // What is over has no conduct any more.
        if at_work(self.floor, epoch).is_ok()
            && let Some(conduct) = self.conduct_of(epoch)
        {
            conduct.requests += 1;
        }
        true
    }

    /// Says so on record, a few times for each agent.
    pub(super) fn refuse(&mut self, epoch: Epoch, what: &str, why: &Refusal) {
        // What is over has no conduct any more.
        if at_work(self.floor, epoch).is_err() {
            return;
        }
        let Some(conduct) = self.conduct_of(epoch) else { return };
        if !conduct.is_worth_refusing_on_record() {
            return;
        }
        conduct.refused += 1;
        let (project, text) = (conduct.project.clone(), notes::act_refused(conduct.role, epoch, what, why));
        let number = self.floor.sessions.get(&epoch).and_then(|session| session.assignment.number());
        self.note(NoteKind::Refused, &project, number, text);
    }

    /// What the session's agent did so far, begun if it is nothing.
    pub(super) fn conduct_of(&mut self, epoch: Epoch) -> Option<&mut Conduct> {
        let session = self.floor.sessions.get(&epoch)?;
        let key = (session.job, session.role);
        if self.floor.conducts.get(&key).is_none() {
            let (job, role, project) = (session.job, session.role, session.project.clone());
            let new = Conduct {
                job,
                role,
                project,
                issues: 0,
                changes: 0,
                begun: vec![],
                requests: 0,
                refused: 0,
                deeds: vec![],
                query: None,
            };
            self.floor.conducts.put(Acts(()), new);
        }
        self.floor.conduct_mut(key)
    }
}
