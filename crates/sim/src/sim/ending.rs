//! The end of a run: nothing is under way any more, and then days pass in which only deadlines may act.

use super::{Sim, Site};
use crate::daemon::Daemon;
use crate::together::of_project;
use crate::world::{Shared, Weather};
use shopfloor_core::liveness::State;
use shopfloor_core::state::{Entry, Job, JobState, SessionState, SessionStatus};
use shopfloor_core::step::RunWaiting;
use shopfloor_engine::Engine;
use shopfloor_store::Store;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

impl Sim {
    /// Whether nothing is under way, and every remaining job waits for a person.
    pub(super) fn is_quiet(&mut self) -> bool {
        let Some(daemon) = &mut self.daemon else { return false };
        let waits = |job: &Job| match &job.state {
            // Its agent is told once that nobody reviews it.
            JobState::Reviewing { head } => {
                job.session.is_none() || job.memo.review_late.as_ref() == Some(head)
            }
            // A question with a default continues without anybody.
            JobState::NeedsHuman { asked, .. } => asked.default.is_none() || asked.due.is_none(),
            _ => false,
        };
        let floor = self.cli.floor();
        // It lands after what such a job carries.
        let behind = |entry: &Entry| floor.is_at_it(entry).1.is_some_and(waits);
        // It carries out the formula that such a job is at.
        let in_turn = |job: &Job| RunWaiting::behind(floor, job).is_some_and(waits);
        let waits = |job: &Job| match &job.state {
            JobState::InQueue { entry, .. } => floor.entries.get(entry).is_some_and(behind),
            JobState::Preparing => in_turn(job),
            _ => waits(job),
        };
        let is_read = |(site, world): (&Site, &Shared)| {
            let read = floor.projects.get(&site.project).map(|p| p.cursor.as_str().parse());
            read == Some(Ok(world.lock().forge.log.len()))
        };
        // A hint may be lost: the forge is read all the same.
        daemon.is_idle().unwrap_or(false)
            && self.sites.iter().zip(self.worlds.iter()).all(is_read)
            // Nobody is to be told anything, now or later.
            && floor.messages.iter().all(|m| m.deadline.is_none())
            // Nor is any session at work, held, or given time.
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
                let timed = s.stops.resume_at.is_some() || s.review.due.is_some() || s.hold.is_some();
                let timed = timed || s.status.as_ref().is_some_and(works);
                s.state != SessionState::Live || !timed
            })
            && floor.requests.iter().all(|r| !r.is_live())
            && floor.jobs.iter().filter(|j| j.is_live()).all(waits)
            && floor.entries.iter().all(|e| !e.state.is_live() || behind(e))
    }

    /// When nothing is left to happen, time passes. Deadlines may act; nothing else does.
    pub(super) fn finale(&mut self) {
        let end = self.worlds.now() + 4 * DAY;
        for world in self.worlds.iter() {
            let mut world = world.lock();
            world.weather = Weather::default();
            world.crash_in = None;
            world.say("quiet");
        }
        let quiet_from = self.sites[0].checker.position;
        // What is held is retried, ever more rarely: that does not count as activity.
        let held = self.cli.floor().outages().next().is_some();
        while let Some(wake) = self.daemon.as_ref().and_then(super::super::daemon::Daemon::wake)
            && wake < end
        {
            self.worlds.pass(|_| wake);
            self.with_daemon(Daemon::tick);
            self.with_daemon(Daemon::dispatch);
            self.settle();
            // What a deadline led to (a comment) is done and read back before the next deadline.
            while let Some((time, _)) = self.queue.first_key_value().map(|(k, _)| *k) {
                let (_, wake) = self.queue.pop_first().expect("just seen");
                self.worlds.pass(|_| time);
                self.happen(wake);
                self.with_daemon(Daemon::dispatch);
                self.settle();
            }
            if self.is_broken() {
                return;
            }
        }
        self.cli.store().verify().expect("nothing is at hand and on the shelf");
        let whole = Engine::open(self.cli.store().clone()).and_then(Engine::whole_floor);
        let whole = whole.expect("the memory store reads");
        // Whoever follows along, and whoever begins anew, know the same, whatever was pruned.
        let anew = Engine::open(self.store.clone()).expect("the memory store opens");
        if format!("{:?}", anew.floor()) != format!("{:?}", self.cli.floor()) {
            let why = "what is stored is not what a reader that followed along knows";
            self.worlds.first().lock().broken("4 commit, then act", why);
        }
        let entries = self.cli.store().journal(quiet_from, usize::MAX).expect("the memory store reads");
        for (site, world) in self.sites.iter().zip(self.worlds.iter()) {
            let mut world = world.lock();
            if !held {
                site.checker.idle_is_quiet(&mut world, &entries);
            }
            let floor = of_project(&whole, &self.worlds, &site.project);
            let room = self.cli.floor().jobs.iter().filter(|job| job.is_live()).count();
            let room = world.policy.floor_max_jobs.is_none_or(|max| room < max.max(1));
            site.checker.at_the_end(&mut world, &floor, &site.project, room);
        }
    }
}
