//! What agents have done: nothing that their role may not, no more than their quota, each thing once.

use super::Checker;
use crate::forge::AGENTS;
use crate::world::World;
use shopfloor_core::act::{Act, ActOrder};
use shopfloor_core::effect::Action;
use shopfloor_core::ids::{ActId, IssueNumber, JobId, Role};
use shopfloor_core::texts::markers;
use shopfloor_store::OutboxEffect;
use std::collections::{BTreeMap, BTreeSet};

/// What is remembered of them.
#[derive(Default)]
pub struct Seen {
    /// What was ordered for the agents of a job: issues, and other changes.
    orders: BTreeMap<(JobId, Role), [BTreeSet<ActId>; 2]>,
    /// The issues that agents of a job had begun, which count like those that they made.
    begun: BTreeMap<(JobId, Role), BTreeSet<IssueNumber>>,
    /// The labels that each issue was to be made with, by its marker.
    made: BTreeMap<String, (Role, BTreeSet<String>)>,
    looked_at: BTreeSet<IssueNumber>,
}

const ROLE: &str = "11 an agent does what its role may";

impl Checker {
    pub(super) fn agents_keep_to_their_role(&mut self, world: &mut World, outbox: &[OutboxEffect]) {
        let mut broken = Vec::new();
        for effect in outbox {
            match &*effect.action {
                Action::Act(order) => broken.extend(self.order_is_allowed(world, order)),
                Action::PushBranch { role, assignment, .. } if !world.policy.rights(*role).lands => {
                    broken.push(format!("the {role} agent of {assignment} lands something"));
                }
                _ => {}
            }
        }
        let mut of_markers: BTreeMap<&String, usize> = BTreeMap::new();
        for (number, issue) in &world.forge.issues {
            let Some(marker) = issue.marker.as_ref().filter(|_| issue.author.starts_with(AGENTS)) else {
                continue;
            };
            *of_markers.entry(marker).or_default() += 1;
            let Some((role, labels)) = self.acts.made.get(marker) else {
                broken.push(format!("#{number} was made and never allowed"));
                continue;
            };
            if issue.author != format!("{AGENTS}{role}") {
                broken.push(format!("#{number} of a {role} agent is by {}", issue.author));
            }
            // Later others may have changed them.
            if self.acts.looked_at.insert(*number) && !labels.is_superset(&issue.labels) {
                broken.push(format!("#{number} was made with {:?} and not {labels:?}", issue.labels));
            }
        }
        let twice = of_markers.into_iter().filter(|(_, count)| *count > 1);
        broken.extend(twice.map(|(marker, count)| format!("{marker} made {count} issues")));
        for text in broken {
            world.broken(ROLE, text);
        }
    }

    fn order_is_allowed(&mut self, world: &World, order: &ActOrder) -> Vec<String> {
        let (role, rights) = (order.role, world.policy.rights(order.role));
        let mut broken = Vec::new();
        let needed = order.what.needs(order.assignment.issue());
        if !rights.allow(needed) {
            broken.push(format!("a {role} agent may not {}", needed.means()));
        }
        let may_touch = |label: &String| rights.labels.contains(label) || rights.always.contains(label);
        if let Some(label) = order.what.labels().find(|label| !may_touch(label)) {
            broken.push(format!("a {role} agent touches {label}"));
        }
        let [issues, changes] = self.acts.orders.entry((order.job, role)).or_default();
        match &order.what {
            Act::CreateIssue { labels, .. } => {
                issues.insert(order.id);
                if let Some(label) = rights.always.iter().find(|label| !labels.contains(label)) {
                    broken.push(format!("a {role} agent makes an issue without {label}"));
                }
                let labels = labels.iter().cloned().collect();
                self.acts.made.insert(markers::act(order.id), (role, labels));
            }
            _ => {
                changes.insert(order.id);
            }
        }
        let begun = self.acts.begun.entry((order.job, role)).or_default();
        begun.extend(order.what.begins());
        let (issues, changes) = ((issues.len() + begun.len()) as u32, changes.len() as u32);
        if issues > rights.max_issues || changes > rights.max_changes {
            broken.push(format!(
                "the {role} agents of job {} made {issues} issues, {changes} changes",
                order.job
            ));
        }
        broken
    }
}
