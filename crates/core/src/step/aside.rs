//! Events that the program fails on. One bug must not stop the whole floor, nor come back with every start: the
//! event is left out, on record and told, and what would bring it again is put off.

use super::Turn;
use crate::event::{Event, NoteKind};
use crate::ids::ProjectName;
use crate::state::Mute;
use crate::text::one_line;
use std::time::Duration;

/// A timer is tried again after this long.
const MUTED_FOR: Duration = Duration::from_secs(3600);
const WHY_CHARS_MAX: usize = 300;

impl Turn<'_> {
    pub(super) fn set_aside(&mut self, aside: &Event, what: &str, why: &str) {
        match aside {
            // Else it would be read again, and again.
            Event::Observed { project, cursor, more, .. } => {
                if let Some(row) = self.floor.projects.edit(project) {
                    row.cursor = row.cursor.max(*cursor);
                    row.reading = *more;
                }
            }
            Event::TimerDue { due } => {
                self.floor.mutes.put(Mute { due: due.clone(), until: self.now + MUTED_FOR });
            }
            _ => {}
        }
        let why = one_line(why, WHY_CHARS_MAX);
        let text = format!(
            "a bug: {what} could not be taken in and is left out ({why}); `shopfloor events` has it whole"
        );
        for project in self.concerned(aside) {
            self.note(NoteKind::Escalation, &project, None, text.clone());
        }
    }

    /// What fails comes after the event, when the next issue is looked for: until that is mended only what is begun goes
    /// on.
    pub(super) fn begin_nothing(&mut self, why: &str) {
        let why = format!("a bug keeps issues from being begun: {}", one_line(why, WHY_CHARS_MAX));
        let projects: Vec<ProjectName> = self.floor.projects.iter().map(|p| p.name.clone()).collect();
        for project in projects {
            if self.floor.projects.get(&project).is_some_and(|p| p.paused.is_none()) {
                self.project_paused(&project, &why);
            }
        }
    }

    fn concerned(&self, event: &Event) -> Vec<ProjectName> {
        let all = || self.floor.projects.iter().map(|p| p.name.clone());
        match event {
            Event::Observed { project, .. } => vec![project.clone()],
            Event::Performed { action, .. } => self.floor.project_of(action).into_iter().collect(),
            _ => all().collect(),
        }
    }
}
