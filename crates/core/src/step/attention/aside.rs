//! Events that the program fails on. One bug must not stop the whole floor, nor come back at every start: the
//! event is skipped, recorded and reported, and whatever would bring it back is put off.

use super::Attention;
use crate::event::{Event, NoteKind};
use crate::ids::ProjectName;
use crate::state::{Due, Mute};
use crate::step::Turn;
use crate::text::one_line;
use crate::texts::escalations;
use std::time::Duration;

/// How long a timer is put off.
const MUTED_FOR: Duration = Duration::from_secs(3600);
const WHY_CHARS_MAX: usize = 300;

impl Turn<'_> {
    pub(in crate::step) fn set_aside(&mut self, aside: &Event, what: &str, why: &str) {
        match aside {
            // Else it would be read again, and again.
            Event::Observed { project, page } => self.turn_the_page(project, page),
            Event::TimerDue { due } => {
                self.floor.mutes.put(Attention(()), Mute { due: due.clone(), until: self.now + MUTED_FOR });
            }
            _ => {}
        }
        let why = one_line(why, WHY_CHARS_MAX);
        let text = escalations::bug_with_event(what, &why);
        for project in self.concerned(aside) {
            self.note(NoteKind::Escalation, &project, None, text.clone());
        }
    }

    /// The failure comes after the event, when the next issue is looked for: until that is fixed, only work that
    /// has begun continues.
    pub(in crate::step) fn begin_nothing(&mut self, why: &str) {
        let why = escalations::bug_in_scheduling(&one_line(why, WHY_CHARS_MAX));
        let projects: Vec<ProjectName> = self.floor.projects.iter().map(|p| p.name.clone()).collect();
        for project in projects {
            if self.floor.projects.get(&project).is_some_and(|p| p.paused.is_none()) {
                self.project_paused(&project, &why);
            }
        }
    }

    /// What the timer is for may work this time; otherwise it is put off again.
    pub(in crate::step) fn unmute(&mut self, due: &Due) {
        self.floor.mutes.remove(Attention(()), due);
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
