//! Dust: issues that are too small to be worked on by themselves. Enough of one group become one issue.

use super::Turn;
use super::taken::{Gardener, is_free};
use crate::act::Act;
use crate::groom::answer::Speck;
use crate::ids::{Assignment, IssueNumber, ProjectName};
use crate::state::{DUST_KEPT, Dust};
use crate::texts::groom as texts;
use std::collections::{BTreeMap, BTreeSet};

/// So many distinct issues of a group become one.
const ENOUGH: usize = 3;
/// Of one bundle; the rest waits for the next.
const BUNDLE_MAX: usize = 20;
const DUST_MAX: usize = 300;

impl Turn<'_> {
    pub(super) fn add_dust(&mut self, gardener: &Gardener, specks: &[Speck]) {
        if specks.is_empty() {
            return;
        }
        self.sweep_old_dust(&gardener.project);
        let now = self.now;
        let Some(garden) = self.garden(&gardener.project) else { return };
        for speck in specks {
            // What was said last of an issue counts.
            garden.dust.retain(|known| known.issue != speck.issue);
            let Gardener { job, run, role, .. } = *gardener;
            let Speck { issue, group, title, reason, .. } = speck.clone();
            garden.dust.push(Dust { issue, group, title, reason, at: now, job, run, role });
        }
        let over = garden.dust.len().saturating_sub(DUST_MAX);
        garden.dust.drain(..over);
        let groups: BTreeSet<String> = specks.iter().map(|speck| speck.group.clone()).collect();
        for group in groups {
            self.bundle(gardener, &group);
        }
    }

    /// Dust that has waited for too long is forgotten.
    pub(super) fn sweep_old_dust(&mut self, project: &ProjectName) {
        let now = self.now;
        let is_old = |dust: &Dust| now.since(dust.at) >= DUST_KEPT;
        if self.floor.gardens.get(project).is_some_and(|garden| garden.dust.iter().any(is_old))
            && let Some(garden) = self.floor.garden_mut(project)
        {
            garden.dust.retain(|dust| !is_old(dust));
        }
    }

    /// Makes one issue of a group, if there is enough of it. What goes into it is dust no longer, in this very step.
    fn bundle(&mut self, gardener: &Gardener, group: &str) {
        let project = &gardener.project;
        let Some(garden) = self.floor.gardens.get(project) else { return };
        let of_group = garden.dust.iter().filter(|dust| dust.group == group);
        let free = of_group.filter(|dust| is_free(self.floor, project, dust.issue).is_ok());
        let parts: BTreeMap<IssueNumber, Dust> =
            free.take(BUNDLE_MAX).map(|dust| (dust.issue, dust.clone())).collect();
        if parts.len() < ENOUGH {
            return;
        }
        let all: Vec<Dust> = parts.values().cloned().collect();
        let (title, body) = (texts::bundle_title(group, parts.len()), texts::bundle(&all));
        let issues: Vec<IssueNumber> = parts.keys().copied().collect();
        let act = Act::Bundle { title, body, issues: issues.clone() };
        if let Some(garden) = self.floor.garden_mut(project) {
            garden.dust.retain(|dust| !issues.contains(&dust.issue));
        }
        // The factory makes it, of what was counted already.
        let (who, of) = ((gardener.job, gardener.role), Assignment::Run(gardener.run));
        self.order_for(project, who, of, act.clean(), false);
    }
}
