//! What an act changes is kept, so that a person can undo it: before it is done, what was there; and what became of it.

use super::Gardening;
use crate::act::{Act, ActOrder, Before};
use crate::effect::{Action, UndoAct, outcome};
use crate::event::NoteKind;
use crate::ids::{ActId, IssueNumber, ProjectName};
use crate::state::{Floor, Reversal, ReversalState};
use crate::step::Turn;
use crate::texts::notes;
use std::fmt;
use std::time::Duration;

/// Of one project, and for how long.
const REVERSALS_MAX: usize = 100;
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Why an act is not undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotUndone {
    Unknown(ActId),
    /// It is on its way, or being undone.
    UnderWay(ActId),
    Undone(ActId, String),
}

impl fmt::Display for NotUndone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotUndone::Unknown(act) => write!(f, "there is no act {act} that can be undone"),
            NotUndone::UnderWay(act) => write!(f, "act {act} is under way"),
            NotUndone::Undone(act, by) => write!(f, "act {act} was undone by {by}"),
        }
    }
}

pub fn may_undo(floor: &Floor, project: &ProjectName, act: ActId) -> Result<(), NotUndone> {
    let known = floor.reversals.get(&act).filter(|reversal| reversal.project == *project);
    match known.map(|reversal| &reversal.state) {
        None => Err(NotUndone::Unknown(act)),
        Some(ReversalState::Begun | ReversalState::Undoing { .. }) => Err(NotUndone::UnderWay(act)),
        Some(ReversalState::Undone { by, .. }) => Err(NotUndone::Undone(act, by.clone())),
        Some(ReversalState::Done | ReversalState::Kept { .. }) => Ok(()),
    }
}

impl Turn<'_> {
    /// What is there before an act: kept, and then the act is done.
    pub(in crate::step) fn act_seen(&mut self, order: &ActOrder, before: &Before) {
        self.keep_reversal(order, before.clone());
        let before = Some(Box::new(before.clone()));
        self.act(Action::Act(ActOrder { before, ..order.clone() }));
    }

    pub(in crate::step) fn reversal_of(&mut self, order: &ActOrder, acted: &outcome::Acted) {
        if matches!(order.what, Act::Comment { .. }) {
            return;
        }
        if self.floor.reversals.get(&order.id).is_none() {
            self.keep_reversal(order, Before::default());
        }
        if let Some(reversal) = self.floor.reversals.edit(Gardening(()), &order.id) {
            reversal.issue = Some(acted.issue);
            reversal.made.clone_from(&acted.made);
            if matches!(order.what, Act::CreateIssue { .. }) {
                reversal.made = vec![acted.issue];
            }
            reversal.state = ReversalState::Done;
        }
    }

    pub(in crate::step) fn no_reversal_of(&mut self, act: ActId) {
        if self.floor.reversals.get(&act).is_some() {
            self.floor.reversals.remove(Gardening(()), &act);
        }
    }

    fn keep_reversal(&mut self, order: &ActOrder, before: Before) {
        let now = self.now;
        let of_project = |known: &&Reversal| known.project == order.project;
        let mine = || self.floor.reversals.iter().filter(of_project);
        let over = (mine().count() + 1).saturating_sub(REVERSALS_MAX);
        let settled =
            |known: &&Reversal| !matches!(known.state, ReversalState::Begun | ReversalState::Undoing { .. });
        let old = mine().filter(settled).enumerate();
        let old = old.filter(|(place, known)| *place < over || now.since(known.at) >= KEPT);
        let old: Vec<ActId> = old.map(|(_, known)| known.act).collect();
        for act in old {
            self.floor.reversals.remove(Gardening(()), &act);
        }
        let reversal = Reversal {
            act: order.id,
            project: order.project.clone(),
            role: order.role,
            run: order.assignment.run(),
            what: order.what.clone(),
            before,
            made: vec![],
            issue: order.what.issue(),
            at: now,
            state: ReversalState::Begun,
        };
        self.floor.reversals.put(Gardening(()), reversal);
    }

    pub(in crate::step) fn undo_asked(&mut self, project: &ProjectName, act: ActId, force: bool, by: &str) {
        if let Err(why) = may_undo(self.floor, project, act) {
            return self.note(NoteKind::StaleSignal, project, None, why.to_string());
        }
        let Some(reversal) = self.floor.reversals.edit(Gardening(()), &act) else { return };
        reversal.state = ReversalState::Undoing { by: by.to_owned(), force };
        let (what, issue) = (notes::act(&reversal.what), reversal.issue);
        let order =
            UndoAct { project: project.clone(), force, by: by.to_owned(), reversal: reversal.clone() };
        self.note(NoteKind::AgentAct, project, issue, notes::undo_wanted(act, &what, by));
        self.act(Action::UndoAct(Box::new(order)));
    }

    /// It was put back, or was not because somebody changed it since.
    pub(in crate::step) fn undone(&mut self, order: &UndoAct, kept: Option<&str>) {
        let now = self.now;
        let (act, by) = (order.reversal.act, order.by.clone());
        let Some(reversal) = self.floor.reversals.edit(Gardening(()), &act) else { return };
        let issue: Option<IssueNumber> = reversal.issue;
        let what = notes::act(&reversal.what);
        reversal.state = match kept {
            None => ReversalState::Undone { by, when: now },
            Some(why) => ReversalState::Kept { why: why.to_owned() },
        };
        let text = match kept {
            None => notes::undone(act, &what),
            Some(why) => notes::not_undone(act, &what, why),
        };
        self.note(NoteKind::AgentAct, &order.project, issue, text);
    }
}
