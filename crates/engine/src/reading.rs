//! When each project's forge is read: at the start, on a hint, and every so often regardless. A forge that
//! cannot be read is tried again with a growing pause; one where nothing happens is read less and less often.

use crate::dispatch::backoff;
use crate::ports::forge::Resync;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Reading {
    wanted: BTreeSet<ProjectName>,
    /// Forges that could not be read: how often in a row, and when to try again.
    failed: BTreeMap<ProjectName, (u32, Time)>,
    /// When forges that are not part of the floor are read again.
    resyncs: BTreeMap<ProjectName, Next>,
}

struct Next {
    since: Time,
    pause: Duration,
}

impl Next {
    fn at(&self) -> Time {
        self.since + self.pause
    }

    fn is_due(&self, now: Time) -> bool {
        // The clock may have been set back.
        self.at() <= now || now < self.since
    }
}

impl Reading {
    pub fn want(&mut self, project: ProjectName) {
        self.wanted.insert(project);
    }

    /// The store changed: that concerns only the forges that are in it.
    pub fn want_all_here(&mut self, projects: impl Iterator<Item = ProjectName>) {
        self.wanted.extend(projects.filter(|project| !self.resyncs.contains_key(project)));
    }

    pub fn want_none(&mut self) {
        self.wanted.clear();
    }

    /// The wanted projects that may be read now and are not `busy`.
    pub fn ready(&mut self, now: Time, busy: impl Fn(&ProjectName) -> bool) -> Vec<ProjectName> {
        let due = self.resyncs.iter().filter(|(_, next)| next.is_due(now));
        self.wanted.extend(due.map(|(project, _)| project.clone()));
        let may = |p: &&ProjectName| !busy(p) && self.failed.get(*p).is_none_or(|(_, at)| *at <= now);
        let ready: Vec<ProjectName> = self.wanted.iter().filter(may).cloned().collect();
        self.wanted.retain(|project| !ready.contains(project));
        ready
    }

    /// The forge was read, with or without news.
    pub fn was_read(&mut self, now: Time, project: &ProjectName, resync: Option<Resync>, news: bool) {
        self.failed.remove(project);
        match resync {
            Some(Resync { soonest, latest }) => {
                let before = self.resyncs.get(project).map_or(Duration::ZERO, |next| next.pause);
                let pause = if news { soonest } else { (before * 2).clamp(soonest, latest.max(soonest)) };
                self.resyncs.insert(project.clone(), Next { since: now, pause });
            }
            None => drop(self.resyncs.remove(project)),
        }
    }

    /// The forge could not be read. Returns how often in a row that has happened now.
    pub fn could_not(&mut self, now: Time, project: &ProjectName) -> u32 {
        let failures = self.failed.get(project).map_or(0, |(n, _)| *n) + 1;
        self.failed.insert(project.clone(), (failures, now + backoff(failures)));
        self.wanted.insert(project.clone());
        failures
    }

    /// When a forge is to be read without anybody asking. Those being read right now are waited for.
    pub fn wake(&self, busy: impl Fn(&ProjectName) -> bool) -> Option<Time> {
        let again = self.failed.iter().map(|(project, (_, at))| (project, *at));
        let resyncs = self.resyncs.iter().filter(|(project, _)| !self.failed.contains_key(*project));
        let resyncs = resyncs.map(|(project, next)| (project, next.at()));
        again.chain(resyncs).filter(|(project, _)| !busy(project)).map(|(_, at)| at).min()
    }

    pub fn wanted(&self) -> impl Iterator<Item = &ProjectName> {
        self.wanted.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESYNC: Resync = Resync { soonest: Duration::from_secs(60), latest: Duration::from_secs(600) };

    fn project(name: &str) -> ProjectName {
        name.parse().unwrap()
    }

    fn at(seconds: u64) -> Time {
        Time(1_000_000) + Duration::from_secs(seconds)
    }

    fn ready(reading: &mut Reading, now: Time) -> Vec<String> {
        reading.ready(now, |_| false).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_forge_elsewhere_is_looked_at_less_and_less_often_until_something_happens() {
        let (mut reading, mut now, p) = (Reading::default(), at(0), project("p"));
        let mut pauses = Vec::new();
        for news in [true, false, false, false, false, false, true, false] {
            reading.was_read(now, &p, Some(RESYNC), news);
            let next = reading.wake(|_| false).unwrap();
            pauses.push(next.since(now).as_secs());
            assert!(ready(&mut reading, now).is_empty());
            now = next;
            assert_eq!(ready(&mut reading, now), ["p"]);
        }
        assert_eq!(pauses, [60, 120, 240, 480, 600, 600, 60, 120]);
    }

    #[test]
    fn a_change_of_the_store_says_nothing_of_a_forge_elsewhere() {
        let mut reading = Reading::default();
        reading.was_read(at(0), &project("far"), Some(RESYNC), true);
        reading.was_read(at(0), &project("near"), None, true);
        let all = || [project("far"), project("near")].into_iter();
        reading.want_all_here(all());
        assert_eq!(ready(&mut reading, at(1)), ["near"]);
        assert_eq!(reading.wake(|_| false), Some(at(60)), "and nothing wakes for one that is here");
        reading.want(project("far"));
        assert_eq!(ready(&mut reading, at(1)), ["far"], "a hint does");
    }

    #[test]
    fn one_that_cannot_be_read_is_tried_again_with_a_growing_pause() {
        let (mut reading, p) = (Reading::default(), project("p"));
        assert_eq!(reading.could_not(at(0), &p), 1);
        assert_eq!(reading.could_not(at(0), &p), 2);
        assert!(ready(&mut reading, at(0)).is_empty());
        assert_eq!(reading.wake(|_| false), Some(at(1)));
        assert_eq!(reading.wake(|_| true), None, "it is being read");
        assert_eq!(ready(&mut reading, at(1)), ["p"]);
        reading.was_read(at(1), &p, None, false);
        assert_eq!(reading.wake(|_| false), None);
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_put_a_resync_off() {
        let (mut reading, p) = (Reading::default(), project("p"));
        reading.was_read(at(100_000), &p, Some(RESYNC), true);
        assert_eq!(ready(&mut reading, at(0)), ["p"]);
    }
}
