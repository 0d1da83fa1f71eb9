//! What agents had the factory do on the forge. Each is safe to repeat from its beginning: an issue and a comment carry
//! the act's marker, and the rest says what is to be, not what is to change. What was there is told before anything is
//! changed, and what a person changed in between is not written over.

use crate::ports::forge::{By, Forge, NewComment, NewIssue};
use crate::ports::{Final, PortError, PortResult, Ports};
use shopfloor_core::act::{Act, ActOrder, Before, TEXT_BYTES_MAX, with_dependencies};
use shopfloor_core::effect::Outcome;
use shopfloor_core::effect::outcome::Acted;
use shopfloor_core::forge::{Issue, IssueState, Subject};
use shopfloor_core::ids::{ActId, IssueNumber, Role};
use shopfloor_core::label::Label;
use shopfloor_core::texts::{comments, groom, markers};

/// Labels that say where an issue stands, and not what it is about: its parts begin without them.
const STANDINGS: [Label; 3] = [Label::InProgress, Label::Blocked, Label::Underspecified];

pub(crate) fn perform(ports: &Ports, order: &ActOrder) -> PortResult<Outcome> {
    let forge = &*ports.forges.of(&order.project)?;
    let Some(before) = &order.before else {
        return match order.what.changes_what_is_there() {
            true => Ok(Outcome::ActSeen(look(forge, &order.what)?)),
            false => make(forge, order).map(Outcome::Acted),
        };
    };
    change(forge, order, before).map(Outcome::Acted)
}

/// What an act would change.
fn look(forge: &dyn Forge, what: &Act) -> PortResult<Before> {
    if let Act::Bundle { issues, .. } = what {
        let open = open_of(forge, issues)?;
        return match open.is_empty() {
            true => Err(rejected("all of these were closed in the meantime".to_owned())),
            false => Ok(Before { open, ..Before::default() }),
        };
    }
    let Some(number) = what.issue() else { return Ok(Before::default()) };
    let found = forge.issue(number)?;
    let open = if found.state == IssueState::Open { vec![number] } else { vec![] };
    let text = || match found.body.len() > TEXT_BYTES_MAX {
        true => Err(rejected(format!("the text of #{number} is too long to be kept, so it is not changed"))),
        false => Ok(Some(found.body.clone())),
    };
    Ok(match what {
        Act::Edit { title, body, .. } => Before {
            title: title.as_ref().map(|_| found.title.clone()),
            body: if body.is_some() { text()? } else { None },
            ..Before::default()
        },
        Act::Link { .. } => Before { body: text()?, ..Before::default() },
        Act::Label { .. } => Before { labels: found.labels, ..Before::default() },
        Act::Split { .. } | Act::CloseAs { .. } if open.is_empty() => {
            return Err(rejected(format!("#{number} was closed in the meantime")));
        }
        Act::Split { .. } => Before { labels: found.labels, open, ..Before::default() },
        _ => Before { open, ..Before::default() },
    })
}

fn open_of(forge: &dyn Forge, issues: &[IssueNumber]) -> PortResult<Vec<IssueNumber>> {
    let mut open = Vec::new();
    for number in issues {
        if forge.issue(*number)?.state == IssueState::Open {
            open.push(*number);
        }
    }
    Ok(open)
}

fn rejected(why: String) -> PortError {
    PortError::permanent(Final::Rejected, why)
}

/// What changes nothing that is there.
fn make(forge: &dyn Forge, order: &ActOrder) -> PortResult<Acted> {
    let (by, marker) = (By::Agent(order.role), markers::act(order.id));
    let issue = match &order.what {
        Act::CreateIssue { title, body, labels, deps } => {
            if !labels.is_empty() {
                // The configuration names them, so the project is to have them.
                forge.ensure_labels(labels)?;
            }
            let body = comments::by_agent(body, order.role, order.assignment, order.id);
            forge.create_issue(&NewIssue { by, marker: Some(&marker), title, body: &body, labels, deps })?
        }
        Act::Comment { issue, text } => {
            forge.comment(Subject::Issue(*issue), &NewComment { by, marker: Some(&marker), body: text })?;
            *issue
        }
        _ => return Err(rejected("what was there before is not known".to_owned())),
    };
    Ok(Acted { issue, made: vec![] })
}

fn change(forge: &dyn Forge, order: &ActOrder, before: &Before) -> PortResult<Acted> {
    let mut made = Vec::new();
    let issue = match &order.what {
        Act::Label { issue, add, remove } => {
            let labels: Vec<String> = order.what.labels().cloned().collect();
            forge.ensure_labels(&labels)?;
            forge.edit_labels(*issue, add, remove)?;
            *issue
        }
        Act::Close { issue } => {
            forge.close_issue(*issue)?;
            *issue
        }
        Act::Edit { issue, title, body } => {
            edit(forge, *issue, before, (title.as_deref(), body.as_deref()))?;
            *issue
        }
        Act::Link { issue, on } => {
            let linked = with_dependencies(before.body.as_deref().unwrap_or_default(), &[*on]);
            edit(forge, *issue, before, (None, Some(&linked)))?;
            *issue
        }
        Act::CloseAs { issue, of } => {
            close_with(forge, order.id, order.role, *issue, &groom::duplicate_of(*of))?;
            *issue
        }
        Act::Split { issue, parts } => {
            let stands = |label: &String| STANDINGS.iter().any(|standing| standing.as_str() == label);
            let labels: Vec<String> = before.labels.iter().filter(|label| !stands(label)).cloned().collect();
            for (at, part) in (1..).zip(parts) {
                let (by, marker) = (By::Agent(order.role), markers::part(order.id, at));
                let body = groom::part_of(*issue, &part.body);
                let body = comments::by_agent(&body, order.role, order.assignment, order.id);
                let new = NewIssue {
                    by,
                    marker: Some(&marker),
                    title: &part.title,
                    body: &body,
                    labels: &labels,
                    deps: &[],
                };
                made.push(forge.create_issue(&new)?);
            }
            close_with(forge, order.id, order.role, *issue, &groom::became(&made))?;
            *issue
        }
        Act::Bundle { title, body, .. } => {
            let (by, marker, labels) = (By::Factory, markers::act(order.id), [Label::Backlog.to_string()]);
            let new = NewIssue { by, marker: Some(&marker), title, body, labels: &labels, deps: &[] };
            let bundle = forge.create_issue(&new)?;
            for issue in &before.open {
                close_with(forge, order.id, order.role, *issue, &groom::became(&[bundle]))?;
            }
            made.push(bundle);
            bundle
        }
        Act::CreateIssue { .. } | Act::Comment { .. } => return make(forge, order),
    };
    Ok(Acted { issue, made })
}

/// Says why, and closes it.
fn close_with(forge: &dyn Forge, act: ActId, role: Role, issue: IssueNumber, why: &str) -> PortResult<()> {
    let marker = markers::act(act);
    let comment = NewComment { by: By::Agent(role), marker: Some(&marker), body: why };
    forge.comment(Subject::Issue(issue), &comment)?;
    forge.close_issue(issue)
}

/// Writes over what was there, and nothing else.
fn edit(
    forge: &dyn Forge,
    number: IssueNumber,
    before: &Before,
    (title, body): (Option<&str>, Option<&str>),
) -> PortResult<()> {
    let now: Issue = forge.issue(number)?;
    let moved = |is: &str, was: &Option<String>, wanted: Option<&str>| {
        wanted.is_some_and(|wanted| is != wanted && was.as_deref() != Some(is))
    };
    if moved(&now.title, &before.title, title) || moved(&now.body, &before.body, body) {
        return Err(rejected(format!("somebody else changed #{number} in the meantime")));
    }
    forge.edit_issue(number, title, body)
}
