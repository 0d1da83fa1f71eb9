//! What the factory does about findings by itself: safe, known, bounded, and said.

use super::checkup::places;
use crate::effect::{Action, EndStray, outcome};
use crate::event::NoteKind;
use crate::health::Remedy;
use crate::ids::ProjectName;
use crate::state::{Known, REMEDIES_MAX};
use crate::step::Turn;
use crate::texts::health;
use std::time::Duration;

/// Pruning takes a while and reads a lot: not every time that the disk is looked at.
const TIDY_EVERY: Duration = Duration::from_secs(6 * 3600);

impl Turn<'_> {
    /// Applies the remedies of what is found. Returns what was done, in words.
    pub(super) fn remedy(&mut self, project: &ProjectName) -> Vec<String> {
        let now = self.now;
        let mut done = Vec::new();
        for place in places(project) {
            let due = |known: &&Known| {
                let lately = known.tried_at.is_some_and(|at| now.since(at) < TIDY_EVERY);
                let waits = known.finding.remedy == Some(Remedy::Tidy) && lately;
                known.finding.remedy.is_some() && known.tried < REMEDIES_MAX && !waits
            };
            let known: Vec<Known> = self.health_row(&place).findings.iter().filter(due).cloned().collect();
            for Known { finding, tried, .. } in known {
                let Some(remedy) = &finding.remedy else { continue };
                let times = tried + 1;
                let text = health::remedied(&finding, remedy, times);
                // On record before it is ordered.
                self.note(NoteKind::Health, project, None, text.clone());
                done.push(text);
                self.edit_health(&place, |row| {
                    let this = row.findings.iter_mut().find(|known| known.finding.key == finding.key);
                    if let Some(known) = this {
                        (known.tried, known.tried_at) = (times, Some(now));
                    }
                });
                self.apply(project, remedy);
            }
        }
        done
    }

    fn apply(&mut self, project: &ProjectName, remedy: &Remedy) {
        match remedy {
            Remedy::Tidy => self.tidy(project, true),
            Remedy::CancelChecks { runs } => {
                for run in runs {
                    self.act(Action::CancelCi { project: project.clone(), run: *run });
                }
            }
            Remedy::EndAgain => self.sessions_resumed(),
            Remedy::EndStrays { strays } => {
                for stray in strays {
                    // In the lane of whoever has that worktree now: nothing else is done to it meanwhile.
                    let job = self.floor.newest(project, stray.assignment).filter(|job| job.is_live());
                    let job = job.map(|job| job.id);
                    self.act(Action::EndStray(EndStray { job, stray: stray.clone() }));
                }
            }
        }
    }

    pub(in crate::step) fn stray_ended(&mut self, order: &EndStray, ended: &outcome::SessionEnded) {
        let text = health::stray_ended(order.stray.epoch, ended.rescue.as_deref());
        self.note(NoteKind::Health, &order.stray.project, None, text);
    }
}
