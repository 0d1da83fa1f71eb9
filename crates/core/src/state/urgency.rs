//! Which run of the checks goes first when there is not enough room for all.
//!
//! A trial is about to land, and others wait behind it; a head that passes only joins them. So trials go before
//! heads, and within each group those that a person called urgent go first.

use super::Floor;
use crate::effect::{Action, CiPurpose};
use crate::ids::QueueId;
use crate::label::Label;
use crate::planner::Priority;

/// The most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A candidate that contains something a person wants before the rest.
    UrgentTrial,
    /// A candidate, or the primary branch if something failed on it.
    Trial,
    UrgentHead,
    /// Somebody is waiting to hear whether a branch would land.
    Try,
    Head,
}

impl Floor {
    /// `None`: the action is not a run of the checks.
    pub fn urgency(&self, action: &Action) -> Option<Urgency> {
        let Action::RunCi { project, issue, purpose, about, .. } = action else { return None };
        let urgent = |entry| self.entries.get(entry).is_some_and(|e| e.priority > Priority::default());
        Some(match purpose {
            CiPurpose::Base => Urgency::Trial,
            CiPurpose::Trial(id) => {
                let queue = QueueId::new(project, about.target.as_ref());
                let plan = self.queues.get(&queue).map(|queue| &queue.plan);
                let trial = plan.and_then(|plan| plan.trials().find(|trial| trial.id == *id));
                match trial.is_some_and(|trial| trial.list.iter().any(urgent)) {
                    true => Urgency::UrgentTrial,
                    false => Urgency::Trial,
                }
            }
            CiPurpose::Entry(entry) if urgent(entry) => Urgency::UrgentHead,
            CiPurpose::Head => {
                let row = issue.and_then(|issue| self.issues.get(&(project.clone(), issue)));
                match row.is_some_and(|issue| issue.labels.contains(Label::Priority.as_str())) {
                    true => Urgency::UrgentHead,
                    false => Urgency::Head,
                }
            }
            CiPurpose::Try(_) => Urgency::Try,
            CiPurpose::Entry(_) => Urgency::Head,
        })
    }
}
