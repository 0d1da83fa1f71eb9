//! Several projects on one floor: what each may see of it, and the invariants they share.
//!
//! Each project is checked by itself, on a floor that holds only its rows: whatever it would need from
//! another project is missing there. What concerns all of them is checked here.

use crate::world::{World, Worlds};
use shopfloor_core::ids::{EffectId, JobId, ProjectName};
use shopfloor_core::state::{Floor, Job, Project};
use shopfloor_core::step::{Standings, Waiting};
use shopfloor_core::time::Time;
use shopfloor_store::OutboxEffect;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

const ISOLATED: &str = "3 projects do not cross";
const FAIR: &str = "7 no project holds up another";
const BOUNDED: &str = "9 everything is bounded";
/// Longer than the longest run of the checks plus a crash of the daemon.
const PATIENCE: Duration = Duration::from_secs(2 * 3600);

/// The floor as one project sees it.
pub fn of_project<'f>(floor: &'f Floor, worlds: &Worlds, project: &ProjectName) -> Cow<'f, Floor> {
    if worlds.len() == 1 {
        return Cow::Borrowed(floor);
    }
    let mut own = Floor::default();
    macro_rules! take {
        ($($table:ident: $is_own:expr;)*) => {
            $(floor.$table.iter().filter($is_own).for_each(|row| own.$table.load(row.clone()));)*
        };
    }
    take! {
        counters: |_| true;
        projects: |row| row.name == *project;
        issues: |row| row.project == *project;
        jobs: |row| row.project == *project;
        sessions: |row| row.project == *project;
        agents: |row| row.project == *project;
        entries: |row| row.project == *project;
        queues: |row| row.project == *project;
        messages: |row| floor.jobs.get(&row.job).is_some_and(|job| job.project == *project);
        records: |row| row.project == *project;
        pulls: |row| row.project == *project;
        staff: |row| row.project == *project;
        tries: |row| row.project == *project;
        runs: |row| row.project == *project;
        schedules: |row| row.project == *project;
        requests: |row| row.project == *project;
        health: |row| row.project.as_ref().is_none_or(|of| of == project);
        gardens: |row| row.project == *project;
        reversals: |row| row.project == *project;
    }
    Cow::Owned(own)
}

/// Whether an effect belongs to a project.
pub fn is_of(effect: &OutboxEffect, project: &ProjectName) -> bool {
    effect.action.project().is_none_or(|of| of == project)
}

/// What is remembered about all projects from step to step.
#[derive(Default)]
pub struct Together {
    newest: Option<JobId>,
    /// The jobs that each project had, and whether it could start another.
    before: BTreeMap<ProjectName, (usize, Option<JobId>, bool)>,
    /// Since when a project could start something and did not.
    ready: BTreeMap<ProjectName, Time>,
    /// What is next in each lane, and since when.
    heads: BTreeMap<String, (EffectId, Time)>,
}

impl Together {
    /// `changed`: something was committed since the last time.
    pub fn after_step(&mut self, worlds: &Worlds, floor: &Floor, outbox: &[OutboxEffect], changed: bool) {
        if worlds.len() == 1 {
            return;
        }
        let (mut broken, now) = (Vec::new(), worlds.now());
        if changed {
            broken.extend(nothing_crosses(floor));
            broken.extend(self.the_floor_is_not_too_full(floor));
            broken.extend(self.they_take_turns(floor));
            self.note_who_may_start(floor, now);
        }
        broken.extend(self.who_may_start_does(now));
        broken.extend(self.nobody_waits_for_another(worlds, outbox, now));
        let mut world = worlds.first().lock();
        for (invariant, text) in broken {
            world.broken(invariant, text);
        }
    }

    /// The floor's `max_jobs` holds across all projects.
    fn the_floor_is_not_too_full(&mut self, floor: &Floor) -> Option<(&'static str, String)> {
        let live = floor.jobs.iter().filter(|job| job.is_live()).count();
        let max = floor.projects.iter().filter_map(|p| p.policy.floor_max_jobs).min();
        // Not counting jobs that a person brings back.
        let newest = floor.jobs.iter().last().map(|job| job.id);
        let grew = newest > std::mem::replace(&mut self.newest, newest);
        let max = max.filter(|max| grew && live > (*max).max(1))?;
        Some((BOUNDED, format!("{live} jobs live on a floor for {max}")))
    }

    /// Where slots are shared, no project gets another while a project with fewer wants one.
    fn they_take_turns(&mut self, floor: &Floor) -> Vec<(&'static str, String)> {
        let standings = Standings::of(floor);
        let stand = |project: &Project| {
            let of = |job: &&Job| job.project == project.name;
            let live = floor.all_live_jobs(&project.name).count();
            let wants = floor.live_jobs(&project.name).count() < project.policy.max_jobs.max(1)
                && may_begin(floor, project)
                && floor
                    .issues
                    .iter()
                    .any(|i| i.project == project.name && standings.why(i) == Waiting::Ready);
            (project.name.clone(), (live, floor.jobs.iter().rfind(of).map(|job| job.id), wants))
        };
        let now: BTreeMap<_, _> = floor.projects.iter().map(stand).collect();
        let before = std::mem::replace(&mut self.before, now.clone());
        let mut broken = Vec::new();
        let started = before.iter().filter_map(|(name, (_, newest, _))| {
            now.get(name).filter(|now| now.1 > *newest).map(|now| (name, now.0.saturating_sub(1)))
        });
        for (got, had) in started {
            let passed_over = before.iter().find(|(name, (live, newest, wanted))| {
                let wants = now.get(*name).is_some_and(|n| n.2 && n.1 == *newest && n.0 == *live);
                *name != got && *wanted && wants && *live < had
            });
            if let Some((other, _)) = passed_over {
                broken.push((FAIR, format!("{got} gets another job, and {other} has fewer and waits")));
            }
        }
        broken
    }

    /// An issue that is ready, with room for it, is not left waiting because of another project.
    fn who_may_start_does(&self, now: Time) -> impl Iterator<Item = (&'static str, String)> {
        let late = self.ready.iter().filter(move |(_, since)| now.since(**since) > PATIENCE);
        late.map(|(project, _)| (FAIR, format!("an issue of {project} is ready and not started")))
    }

    fn note_who_may_start(&mut self, floor: &Floor, now: Time) {
        let live = floor.jobs.iter().filter(|job| job.is_live()).count();
        let standings = Standings::of(floor);
        for project in floor.projects.iter() {
            let own = || floor.live_jobs(&project.name).count();
            let room = own() < project.policy.max_jobs.max(1)
                && project.policy.floor_max_jobs.is_none_or(|max| live < max.max(1));
            let mut issues = floor.issues.iter().filter(|issue| issue.project == project.name);
            let ready = room && may_begin(floor, project);
            if !ready || !issues.any(|issue| standings.why(issue) == Waiting::Ready) {
                self.ready.remove(&project.name);
                continue;
            }
            self.ready.entry(project.name.clone()).or_insert(now);
        }
    }

    /// Effects that were not attempted yet are attempted, whatever else fails on the floor. Those behind a
    /// failing effect of their own lane wait for it.
    fn nobody_waits_for_another(
        &mut self,
        worlds: &Worlds,
        outbox: &[OutboxEffect],
        now: Time,
    ) -> Vec<(&'static str, String)> {
        let mut heads: BTreeMap<String, &OutboxEffect> = BTreeMap::new();
        for effect in outbox {
            heads.entry(effect.action.lane()).or_insert(effect);
        }
        let before = std::mem::take(&mut self.heads);
        let mut broken = Vec::new();
        for (lane, effect) in heads.into_iter().filter(|(_, effect)| effect.attempts == 0) {
            let since = before.get(&lane).filter(|(id, _)| *id == effect.id).map_or(now, |(_, since)| *since);
            if now.since(since) > PATIENCE {
                broken.push((FAIR, format!("{} of {lane} waits and is not tried", effect.action.name())));
            }
            self.heads.insert(lane, (effect.id, since));
        }
        if !broken.is_empty() {
            worlds.first().lock().saw("effect waits");
        }
        broken
    }
}

fn may_begin(floor: &Floor, project: &Project) -> bool {
    let held = floor.staff.get(&project.name).is_some_and(|staff| staff.looking || !staff.outages.is_empty());
    project.paused.is_none() && project.pause.is_none() && !project.reading && !held
}

/// 3: sessions, messages and entries belong to their jobs' projects.
fn nothing_crosses(floor: &Floor) -> Vec<(&'static str, String)> {
    let of = |job| floor.jobs.get(job).map(|job| &job.project);
    let mut broken = Vec::new();
    for session in floor.sessions.iter().filter(|s| of(&s.job).is_some_and(|p| *p != s.project)) {
        broken.push((ISOLATED, format!("session {} works for another project", session.epoch)));
    }
    for entry in floor.entries.iter() {
        if entry.job.as_ref().and_then(of).is_some_and(|project| *project != entry.project) {
            broken.push((ISOLATED, format!("entry {} is of another project's job", entry.id)));
        }
    }
    for message in floor.messages.iter() {
        let to = message.to.and_then(|epoch| floor.sessions.get(&epoch));
        if to.is_some_and(|session| of(&message.job).is_some_and(|project| *project != session.project)) {
            broken.push((ISOLATED, format!("message {} goes to another project's agent", message.id)));
        }
    }
    broken
}

/// 3: whatever is asked of a project's world is about that project.
pub fn is_own(world: &mut World, project: &ProjectName) {
    if world.project != *project {
        let text = format!("{project} is asked for in the world of {}", world.project);
        world.broken(ISOLATED, text);
    }
}
