//! Phases: what agents signal, each taken in once and only from the current session.

use crate::ids::{Duty, Epoch};
use crate::phase::{Phase, PhaseReport};
use crate::state::JobState;
use crate::step::Turn;
use crate::texts::{agents, notes, reasons};

impl Turn<'_> {
    pub(in crate::step) fn phase_written(&mut self, epoch: Epoch, stamp: &str, report: &PhaseReport) {
        let Some(session) = self.floor.session_mut(epoch) else { return };
        if session.phase_stamp.as_deref() == Some(stamp) {
            return;
        }
        session.phase_stamp = Some(stamp.to_owned());
        let (id, role) = (session.job, session.role);
        let Some(job) = self.job(id) else { return };
        let current = job.session_on(role.duty()) == Some(epoch);
        if !current || report.session.is_some_and(|s| s != epoch) {
            self.stale(id, notes::stale_phase(report.phase));
            return;
        }
        // A reviewer that has not read its next task yet speaks of the previous one.
        let early = role.reviews() && self.floor.next_message(epoch).is_some();
        if let Some(session) = self.floor.session_mut(epoch) {
            session.phase = Some(report.phase).filter(|_| !early);
            // It got somewhere: what failed before is over.
            session.stops.nudges = 0;
        }
        self.seen(epoch);
        if role.develops() {
            // An agent whose turn it is has something left to do: `done` is no answer to that.
            if report.phase != Phase::Done || self.job(id).is_some_and(|j| j.state != JobState::Working) {
                self.taken_are_answered(id);
            }
            self.record_phase(id, report.phase, report.detail.as_deref());
            self.checkpoint(id);
        }
        match role.duty() {
            Duty::Develop => self.dev_phase(id, report),
            Duty::Review => match report.phase {
                Phase::Done => {
                    self.collect_review(epoch);
                }
                Phase::Failed => {
                    let why = report.detail.as_deref().unwrap_or(reasons::none_given()).to_owned();
                    self.reviewer_failed(id, epoch, &reasons::reviewer_gave_up(&why));
                }
                Phase::AwaitingCi | Phase::AwaitingReview | Phase::NeedsHuman => {
                    self.stale(id, notes::reviewer_signalled(report.phase));
                }
            },
        }
    }

    pub(in crate::step) fn phase_unreadable(&mut self, epoch: Epoch, stamp: &str, first_line: &str) {
        let Some(session) = self.floor.session_mut(epoch) else { return };
        if session.phase_stamp.as_deref() == Some(stamp) {
            return;
        }
        session.phase_stamp = Some(stamp.to_owned());
        let (id, role) = (session.job, session.role);
        let current = self.job(id).is_some_and(|j| j.session == Some(epoch) && j.state == JobState::Working);
        if role.develops() && current {
            let line = crate::text::one_line(first_line, 80);
            self.remind(id, &agents::phase_not_understood(&line), reasons::no_such_phase());
        }
    }
}
