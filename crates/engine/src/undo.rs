//! An act is undone: what was there before is put back, as far as it is what the act made of it. Safe to repeat from its
//! beginning: what is as before already is left alone.

use crate::ports::forge::{By, Forge, NewComment};
use crate::ports::{PortResult, Ports};
use shopfloor_core::act::{Act, Before, with_dependencies};
use shopfloor_core::effect::UndoAct;
use shopfloor_core::effect::outcome::ActUndone;
use shopfloor_core::forge::{Issue, IssueState, Subject};
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::label::Label;
use shopfloor_core::texts::{groom, markers, notes};

pub(crate) fn undo(ports: &Ports, order: &UndoAct) -> PortResult<ActUndone> {
    let forge = &*ports.forges.of(&order.project)?;
    let (reversal, force) = (&order.reversal, order.force);
    let before = &reversal.before;
    let kept = match &reversal.what {
        Act::Edit { issue, title, body } => {
            put_back(forge, *issue, before, (title.as_deref(), body.as_deref()), force)?
        }
        Act::Link { issue, on } => {
            let linked = with_dependencies(before.body.as_deref().unwrap_or_default(), &[*on]);
            put_back(forge, *issue, before, (None, Some(&linked)), force)?
        }
        Act::Label { issue, add, remove } => relabel(forge, *issue, before, (add, remove), force)?,
        Act::Close { .. } | Act::CloseAs { .. } => reopen(forge, &before.open)?,
        Act::CreateIssue { .. } | Act::Split { .. } | Act::Bundle { .. } => {
            match close_made(forge, &reversal.made, force)? {
                None => reopen(forge, &before.open)?,
                kept => kept,
            }
        }
        // Nothing is kept of what is only said.
        Act::Comment { .. } => None,
    };
    if kept.is_none()
        && let Some(issue) = reversal.issue
    {
        let body = groom::undone(reversal.act, &notes::act(&reversal.what), &order.by);
        let marker = markers::undone(reversal.act);
        let comment = NewComment { by: By::Factory, marker: Some(&marker), body: &body };
        forge.comment(Subject::Issue(issue), &comment)?;
    }
    Ok(ActUndone { kept })
}

fn put_back(
    forge: &dyn Forge,
    number: IssueNumber,
    before: &Before,
    (title, body): (Option<&str>, Option<&str>),
    force: bool,
) -> PortResult<Option<String>> {
    let now: Issue = forge.issue(number)?;
    let is_ours = |is: &str, was: &Option<String>, made: Option<&str>| {
        was.as_deref().is_none_or(|was| is == was || made == Some(is))
    };
    let as_left = is_ours(&now.title, &before.title, title) && is_ours(&now.body, &before.body, body);
    if !force && !as_left {
        return Ok(Some(format!("somebody changed #{number} since")));
    }
    forge.edit_issue(number, before.title.as_deref(), before.body.as_deref())?;
    Ok(None)
}

fn relabel(
    forge: &dyn Forge,
    number: IssueNumber,
    before: &Before,
    (add, remove): (&[String], &[String]),
    force: bool,
) -> PortResult<Option<String>> {
    let now = forge.issue(number)?.labels;
    let (added, removed): (Vec<String>, Vec<String>) = (
        add.iter()
            .filter(|label| !before.labels.contains(label) && !remove.contains(label))
            .cloned()
            .collect(),
        remove.iter().filter(|label| before.labels.contains(label)).cloned().collect(),
    );
    let as_made = added.iter().all(|label| now.contains(label)) && !removed.iter().any(|l| now.contains(l));
    let as_before = !added.iter().any(|label| now.contains(label)) && removed.iter().all(|l| now.contains(l));
    if !force && !as_made && !as_before {
        return Ok(Some(format!("somebody changed the labels of #{number} since")));
    }
    forge.edit_labels(number, &removed, &added)?;
    Ok(None)
}

fn reopen(forge: &dyn Forge, issues: &[IssueNumber]) -> PortResult<Option<String>> {
    issues.iter().try_for_each(|issue| forge.reopen_issue(*issue))?;
    Ok(None)
}

/// Closes what was made, unless somebody works on it, or wrote to it.
fn close_made(forge: &dyn Forge, made: &[IssueNumber], force: bool) -> PortResult<Option<String>> {
    for number in made.iter().filter(|_| !force) {
        let now = forge.issue(*number)?;
        let begun = now.state == IssueState::Open
            && (now.labels.iter().any(|label| label == Label::InProgress.as_str())
                || !now.comments.is_empty());
        if begun {
            return Ok(Some(format!("#{number}, which it made, is being worked on or was written to")));
        }
    }
    made.iter().try_for_each(|issue| forge.close_issue(*issue))?;
    Ok(None)
}
