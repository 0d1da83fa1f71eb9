//! The end of a run: nothing is under way any more, and then days pass in which only deadlines may speak.

use super::Sim;
use crate::daemon::Daemon;
use crate::world::Weather;
use shopfloor_core::liveness::State;
use shopfloor_core::state::{Entry, Job, JobState, SessionState, SessionStatus};
use shopfloor_store::Store;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

impl Sim {
    /// Nothing is under way, and every job left waits for a person.
    pub(super) fn is_quiet(&mut self) -> bool {
        let Some(daemon) = &mut self.daemon else { return false };
        let waits = |job: &Job| match &job.state {
            // Its agent is told once that nobody reviews.
            JobState::Reviewing { head } => {
                job.session.is_none() || job.memo.review_late.as_ref() == Some(head)
            }
            // One with a default goes on without anybody.
            JobState::NeedsHuman { asked, .. } => asked.default.is_none() || asked.due.is_none(),
            _ => false,
        };
        let floor = self.cli.floor();
        // It lands after what such a job carries.
        let behind = |entry: &Entry| floor.is_at_it(entry).1.is_some_and(waits);
        let waits = |job: &Job| match &job.state {
            JobState::Merging { entry } => floor.entries.get(entry).is_some_and(behind),
            _ => waits(job),
        };
        daemon.is_idle().unwrap_or(false)
            // Nobody is to be told anything, now or later.
            && floor.messages.iter().all(|m| m.deadline.is_none())
            // Nor is anybody given time who is at work, or has it.
            && floor.sessions.iter().all(|s| {
                let works = |status: &SessionStatus| {
                    matches!(
                        status.state,
                        State::Background { .. }
                            | State::Working { .. }
                            | State::Dialog { .. }
                            | State::NoProgress
                    )
                };
                let timed = s.resume_at.is_some() || s.review_due.is_some() || s.hold.is_some();
                let timed = timed || s.status.as_ref().is_some_and(works);
                s.state != SessionState::Live || !timed
            })
            && floor.jobs.iter().filter(|j| j.is_live()).all(waits)
            && floor.entries.iter().all(|e| !e.state.is_live() || behind(e))
    }

    /// When nothing is left to happen, time passes. Deadlines may speak; nothing else does.
    pub(super) fn finale(&mut self) {
        let end = self.world.lock().now + 4 * DAY;
        {
            let mut world = self.world.lock();
            world.weather = Weather::default();
            world.crash_in = None;
            world.say("quiet");
        }
        let quiet_from = self.checker.position;
        // What is held is tried again, ever more rarely: that is no idleness.
        let held = self.cli.floor().outages().next().is_some();
        while let Some(wake) = self.daemon.as_ref().and_then(|d| d.wake())
            && wake < end
        {
            self.world.lock().now = wake;
            self.with_daemon(Daemon::tick);
            self.with_daemon(Daemon::dispatch);
            self.settle();
            // What a deadline led to (a comment) is done and read back before the next.
            while let Some((time, _)) = self.queue.first_key_value().map(|(k, _)| *k) {
                let (_, wake) = self.queue.pop_first().expect("just seen");
                self.world.lock().now = time;
                self.happen(wake);
                self.with_daemon(Daemon::dispatch);
                self.settle();
            }
            if self.checker.violations_in(&self.world) > 0 {
                return;
            }
        }
        let entries = self.cli.store().journal(quiet_from, usize::MAX).expect("the memory store reads");
        let mut world = self.world.lock();
        if !held {
            self.checker.idle_is_quiet(&mut world, &entries);
        }
        self.checker.at_the_end(&mut world, self.cli.floor(), &self.project);
    }
}
