//! Gardens: what is bundled is bundled once, what is changed can be put back, and people are asked until they answer.

use super::Checker;
use crate::world::World;
use shopfloor_core::act::Act;
use shopfloor_core::effect::Action;
use shopfloor_core::ids::{ActId, IssueNumber};
use shopfloor_core::state::Floor;
use shopfloor_store::OutboxEffect;
use std::collections::{BTreeMap, BTreeSet};

/// What is remembered of them.
#[derive(Default)]
pub struct Seen {
    /// Issues in each bundle that was ordered.
    bundles: BTreeMap<ActId, BTreeSet<IssueNumber>>,
}

const ENOUGH: usize = 3;
const KEPT_MAX: usize = 110;
const BOUNDED: &str = "9 everything is bounded";
const REVERSIBLE: &str = "what an act changes can be put back";

impl Checker {
    pub(super) fn gardens_are_kept(&mut self, world: &mut World, floor: &Floor, outbox: &[OutboxEffect]) {
        let mut broken = Vec::new();
        for effect in outbox {
            let Action::Act(order) = &*effect.action else { continue };
            let kept = floor.reversals.get(&order.id);
            if let Some(before) = order.before.as_deref()
                && kept.is_none_or(|kept| kept.before != *before)
            {
                broken
                    .push((REVERSIBLE, format!("act {} is done, and what was there is not kept", order.id)));
            }
            if let Act::Bundle { issues, .. } = &order.what {
                let issues: BTreeSet<IssueNumber> = issues.iter().copied().collect();
                if issues.len() < ENOUGH {
                    broken.push(("dust of a group becomes one issue", format!("bundle of {issues:?}")));
                }
                self.gardens.bundles.insert(order.id, issues);
            }
        }
        for garden in floor.gardens.iter() {
            if garden.dust.len() > 300 || garden.judged.len() > 4_000 || garden.decided.len() > 50 {
                broken.push((BOUNDED, "a garden grows without end".to_owned()));
            }
            let mut groups: BTreeMap<&str, BTreeSet<IssueNumber>> = BTreeMap::new();
            let mut issues = BTreeSet::new();
            for dust in &garden.dust {
                groups.entry(&dust.group).or_default().insert(dust.issue);
                if !issues.insert(dust.issue) {
                    broken.push((BOUNDED, format!("#{} is dust twice", dust.issue)));
                }
            }
        }
        for (_, inquiry) in floor.inquiries() {
            if inquiry.parts.len() > 30 || inquiry.again_at <= world.now && world.weather.transient == 0 {
                // The tick that reminds people is due now.
                let late = world.now.since(inquiry.again_at).as_secs() > 3600;
                if late || inquiry.parts.len() > 30 {
                    broken.push(("7 every wait has a deadline", format!("q{} is forgotten", inquiry.id)));
                }
            }
        }
        if floor.reversals.len() > KEPT_MAX * floor.projects.len().max(1) {
            broken.push((BOUNDED, format!("{} acts are kept", floor.reversals.len())));
        }
        let markers: Vec<&String> =
            world.forge.issues.values().filter_map(|issue| issue.marker.as_ref()).collect();
        let once: BTreeSet<&String> = markers.iter().copied().collect();
        if once.len() != markers.len() {
            broken.push(("4 effects are idempotent", "one marker made two issues".to_owned()));
        }
        for (invariant, text) in broken {
            world.broken(invariant, text);
        }
    }
}
