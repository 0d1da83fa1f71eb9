//! Projects: their settings as last told, how far their forge was read, and what pauses or troubles them.

use super::Turn;
use crate::event::{NoteKind, Page};
use crate::ids::ProjectName;
use crate::policy::Policy;
use crate::state::{Pause, Project, Trouble, Upkeep};
use crate::texts::{escalations, reasons};
use crate::time::Time;

/// The token required to change projects.
pub struct Projects(());

impl Turn<'_> {
    pub(super) fn project_set(&mut self, project: &ProjectName, checkout: &str, policy: &Policy) {
        let known = self.floor.projects.get(project);
        let (cursor, reading, tidy_at) =
            known.map(|p| (p.cursor.clone(), p.reading, p.tidy_at)).unwrap_or_default();
        let troubles = known.map(|p| p.troubles.clone()).unwrap_or_default();
        let (upkeep, refusals) = known.map(|p| (p.upkeep.clone(), p.refusals.clone())).unwrap_or_default();
        let before = known.map(|p| p.policy.clone());
        let pause = known.map_or_else(|| self.floor_pause(), |known| known.pause.clone());
        self.floor.projects.put(
            Projects(()),
            Project {
                name: project.clone(),
                checkout: checkout.to_owned(),
                policy: policy.clone(),
                cursor,
                reading,
                paused: None,
                pause,
                tidy_at,
                upkeep,
                troubles,
                refusals,
            },
        );
        if let Some(before) = before {
            self.terms_changed(project, &before, policy);
        }
        self.look_at_staff(project);
    }

    pub(super) fn project_paused(&mut self, project: &ProjectName, why: &str) {
        let Some(row) = self.floor.projects.edit(Projects(()), project) else { return };
        row.paused = Some(why.to_owned());
        self.note(NoteKind::Escalation, project, None, escalations::nothing_is_started(why));
    }

    /// Something of the floor's own asked for what only a person may have done.
    pub(super) fn person_needed(&mut self, project: &ProjectName, by: &str, asked: &str) {
        let now = self.now;
        let Some(row) = self.floor.projects.edit(Projects(()), project) else { return };
        if row.refusals.count(by, now) {
            self.note(NoteKind::Refused, project, None, reasons::needs_a_person(by, asked));
        }
    }

    /// The forge was read a page further.
    pub(super) fn turn_the_page(&mut self, project: &ProjectName, page: &Page) {
        let Some(row) = self.floor.projects.edit(Projects(()), project) else { return };
        // A page that did not begin at the cursor must not move it, or there would be a gap.
        if page.after.as_ref().is_none_or(|after| *after == row.cursor) {
            row.cursor.clone_from(&page.cursor);
            row.reading = page.more;
        }
    }

    /// A person pauses the project's agents, or lets them continue. Returns the previous pause.
    pub(super) fn set_pause(&mut self, project: &ProjectName, pause: Option<Pause>) -> Option<Pause> {
        std::mem::replace(&mut self.floor.projects.edit(Projects(()), project)?.pause, pause)
    }

    /// When the project is next tidied, and how far that is now.
    pub(super) fn upkeep(&mut self, project: &ProjectName) -> Option<(&mut Option<Time>, &mut Upkeep)> {
        let row = self.floor.projects.edit(Projects(()), project)?;
        Some((&mut row.tidy_at, &mut row.upkeep))
    }

    /// What is failing now and being retried, for whoever reports it.
    pub(super) fn troubles(&mut self, project: &ProjectName) -> Option<&mut Vec<Trouble>> {
        Some(&mut self.floor.projects.edit(Projects(()), project)?.troubles)
    }

    /// Drops trouble in lanes that only older builds had, which nothing would end: what still fails will say so
    /// again.
    pub(super) fn forget_old_lanes(&mut self, project: &ProjectName) {
        let old = [format!("forge:{project}"), format!("branches:{project}")];
        let Some(row) = self.floor.projects.get(project) else { return };
        if row.troubles.iter().any(|t| old.contains(&t.lane))
            && let Some(row) = self.floor.projects.edit(Projects(()), project)
        {
            row.troubles.retain(|t| !old.contains(&t.lane));
        }
    }
}
