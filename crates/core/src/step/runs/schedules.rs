//! Schedules: what is due is planned, then run, put off or passed over. When it is next due, and what a formula comes
//! to, the world says: cron and templates are none of the core's business.

use super::{Runs, may_run};
use crate::effect::{Action, PlanRun, PlannedRun, outcome};
use crate::event::{NoteKind, RunAsk};
use crate::ids::{ProjectName, RunNumber, ScheduleName};
use crate::recipe::Recipe;
use crate::state::{Came, LastTime, OnMissed, Planning, Postponed, RunResult, Schedule, SchedulePlan, Spent};
use crate::step::Turn;
use crate::texts::{notes, reasons};
use crate::time::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long after its time nobody can have been there.
const MISSED_AFTER: Duration = Duration::from_secs(300);
/// How often it is looked whether there is room now.
const ROOM_AGAIN: Duration = Duration::from_secs(60);

impl Turn<'_> {
    /// The schedules of a project, all of them. What is known of one that stays as it is, stays.
    pub(in crate::step) fn schedules_set(
        &mut self,
        project: &ProjectName,
        plans: &BTreeMap<ScheduleName, SchedulePlan>,
    ) {
        let mine = |schedule: &&Schedule| schedule.project == *project;
        let known: Vec<ScheduleName> =
            self.floor.schedules.iter().filter(mine).map(|schedule| schedule.name.clone()).collect();
        for gone in known.iter().filter(|name| !plans.contains_key(name)) {
            self.floor.schedules.remove(Runs(()), &(project.clone(), gone.clone()));
        }
        for (name, plan) in plans {
            let key = (project.clone(), name.clone());
            match self.floor.schedules.get(&key) {
                Some(known) if known.plan == *plan => continue,
                Some(_) => {}
                None => {
                    let (project, name) = key.clone();
                    let plan = plan.clone();
                    let fresh = Schedule {
                        project,
                        name,
                        plan,
                        next: None,
                        planning: Planning::Nothing,
                        postponed: None,
                        paused: None,
                        last: None,
                        passed: None,
                        spent: Spent::default(),
                    };
                    self.floor.schedules.put(Runs(()), fresh);
                }
            }
            if let Some(schedule) = self.floor.schedules.edit(Runs(()), &key) {
                schedule.plan = plan.clone();
                (schedule.next, schedule.postponed, schedule.passed) = (None, None, None);
            }
            self.plan_next(&key);
        }
    }

    /// Orders the time at which it is next due.
    fn plan_next(&mut self, key: &(ProjectName, ScheduleName)) {
        let in_force = self.floor.schedules.get(key).is_some_and(Schedule::is_in_force);
        let planning = if in_force { Planning::Next } else { Planning::Nothing };
        self.order_plan(key, planning);
    }

    fn order_plan(&mut self, key: &(ProjectName, ScheduleName), planning: Planning) {
        let Some(schedule) = self.floor.schedules.edit(Runs(()), key) else { return };
        schedule.planning = planning;
        let due = match planning {
            Planning::Nothing => return,
            Planning::Next => None,
            Planning::Due(at) => Some(at),
        };
        let (plan, (project, name)) = (schedule.plan.clone(), key.clone());
        self.act(Action::PlanRun(PlanRun { project, schedule: name, plan, due }));
    }

    pub(in crate::step) fn schedule_due(&mut self, project: &ProjectName, name: &ScheduleName) {
        let (now, key) = (self.now, (project.clone(), name.clone()));
        let Some(schedule) = self.floor.schedules.get(&key).cloned() else { return };
        let Some(due) = schedule.next else { return self.plan_next(&key) };
        let missed = schedule.postponed.is_none() && now.since(due) > MISSED_AFTER;
        if missed && schedule.plan.on_missed == OnMissed::Skip {
            self.came(&key, Came::Skipped { why: reasons::missed().to_owned() });
            return self.plan_next(&key);
        }
        if self.needs_checkup(&schedule) {
            if let Some(schedule) = self.floor.schedules.edit(Runs(()), &key) {
                schedule.planning = Planning::Due(due);
            }
            return self.checkup_due(project, name, due);
        }
        self.order_plan(&key, Planning::Due(due));
    }

    /// The checkup that comes before a run of the supervisor's is over. If there is nothing for an agent to do, nothing
    /// is run: no worktree is made, and nothing is spent.
    pub(in crate::step) fn checkup_over(
        &mut self,
        project: &ProjectName,
        name: &ScheduleName,
        due: Time,
        wanted: bool,
    ) {
        let key = (project.clone(), name.clone());
        let asked = Planning::Due(due);
        if self.floor.schedules.get(&key).is_none_or(|schedule| schedule.planning != asked) {
            return;
        }
        if wanted {
            return self.order_plan(&key, asked);
        }
        self.came(&key, Came::Skipped { why: reasons::nothing_unexplained().to_owned() });
        if let Some(schedule) = self.floor.schedules.edit(Runs(()), &key) {
            schedule.postponed = None;
        }
        self.plan_next(&key);
    }

    pub(in crate::step) fn run_planned(&mut self, action: &PlanRun, planned: &outcome::RunPlanned) {
        let PlanRun { project, schedule: name, plan, due } = action;
        let key = (project.clone(), name.clone());
        let (now, asked) = (self.now, due.map_or(Planning::Next, Planning::Due));
        let Some(schedule) = self.floor.schedules.edit(Runs(()), &key) else { return };
        // It was changed, paused or taken out meanwhile.
        if schedule.plan != *plan || schedule.planning != asked {
            return;
        }
        schedule.planning = Planning::Nothing;
        if let PlannedRun::NotNow { why } = &planned.what {
            let since = schedule.postponed.as_ref().map_or(now, |postponed| postponed.since);
            let first = schedule.postponed.is_none();
            let again_at = now + ROOM_AGAIN;
            schedule.postponed = Some(Postponed { since, why: why.clone(), again_at });
            if first {
                self.note(NoteKind::RunState, project, None, notes::run_put_off(name, why));
            }
            return;
        }
        schedule.next = planned.next;
        schedule.postponed = None;
        match &planned.what {
            PlannedRun::NotDue | PlannedRun::NotNow { .. } => {}
            PlannedRun::Ready { recipe } => self.run_is_due(&key, recipe),
            PlannedRun::Cannot { why } => self.schedule_failed(&key, why),
        }
    }

    fn run_is_due(&mut self, key: &(ProjectName, ScheduleName), recipe: &Recipe) {
        let (project, name) = key;
        if let Err(run) = may_run(self.floor, project, &recipe.formula) {
            let why = reasons::run_under_way(run);
            self.note(NoteKind::RunState, project, None, notes::run_passed_over(name, &why));
            return self.came(key, Came::Skipped { why });
        }
        let by = reasons::by_schedule(name);
        let ask = RunAsk { recipe: recipe.clone(), by, schedule: Some(name.clone()) };
        self.run_asked(project, &ask);
    }

    /// It cannot be run as it is. People are told once for each reason, not each time that it is due.
    fn schedule_failed(&mut self, key: &(ProjectName, ScheduleName), why: &str) {
        let came = Came::Failed { why: why.to_owned() };
        let passed = self.floor.schedules.get(key).and_then(|schedule| schedule.passed.as_ref());
        let kind = match passed.is_some_and(|passed| passed.came == came) {
            true => NoteKind::RunState,
            false => NoteKind::Escalation,
        };
        self.note(kind, &key.0, None, notes::schedule_failed(&key.1, why));
        self.came(key, came);
    }

    /// Nobody can say what is to be run, or when: that is asked again.
    pub(in crate::step) fn plan_impossible(&mut self, action: &PlanRun, why: &str) {
        let known = self.floor.schedules.get(&(action.project.clone(), action.schedule.clone()));
        let put_off = known.and_then(|schedule| schedule.postponed.as_ref());
        if put_off.is_none_or(|postponed| postponed.why != why) {
            let text = notes::schedule_failed(&action.schedule, why);
            self.note(NoteKind::Escalation, &action.project, None, text);
        }
        let what = PlannedRun::NotNow { why: why.to_owned() };
        self.run_planned(action, &outcome::RunPlanned { next: None, what });
    }

    /// What came of a time at which it was due. A run that goes on is not forgotten for one that did not begin.
    fn came(&mut self, key: &(ProjectName, ScheduleName), came: Came) {
        let at = self.now;
        let Some(schedule) = self.floor.schedules.edit(Runs(()), key) else { return };
        match came {
            Came::Run { .. } => {
                (schedule.last, schedule.passed) = (Some(LastTime { at, came }), None);
            }
            Came::Skipped { .. } | Came::Failed { .. } => schedule.passed = Some(LastTime { at, came }),
        }
    }

    /// A run of it was asked for, by its time or by hand.
    pub(super) fn schedule_runs(&mut self, project: &ProjectName, name: &ScheduleName, run: RunNumber) {
        self.came(&(project.clone(), name.clone()), Came::Run { run, result: None });
    }

    /// A run of it has ended.
    pub(super) fn schedule_ran(&mut self, run: RunNumber, result: RunResult) {
        let Some(known) = self.floor.runs.get(&run) else { return };
        let Some(key) = known.schedule.clone().map(|name| (known.project.clone(), name)) else { return };
        let time = known.started_at.map(|at| self.now.since(at)).unwrap_or_default();
        let cost = known.spent;
        let Some(schedule) = self.floor.schedules.edit(Runs(()), &key) else { return };
        let spent = &mut schedule.spent;
        spent.runs += 1;
        spent.time = spent.time.saturating_add(time);
        spent.cost = spent.cost.plus(cost);
        if let Some(LastTime { came: Came::Run { run: last, result: so_far }, .. }) = &mut schedule.last
            && *last == run
        {
            *so_far = Some(result);
        }
    }

    pub(in crate::step) fn schedule_paused(&mut self, project: &ProjectName, name: &ScheduleName, by: &str) {
        let now: Time = self.now;
        let key = (project.clone(), name.clone());
        let Some(schedule) = self.floor.schedules.edit(Runs(()), &key).filter(|s| s.paused.is_none()) else {
            return;
        };
        schedule.paused = Some((by.to_owned(), now));
        (schedule.next, schedule.postponed, schedule.planning) = (None, None, Planning::Nothing);
        self.note(NoteKind::RunState, project, None, notes::schedule_paused(name, by));
    }

    pub(in crate::step) fn schedule_resumed(&mut self, project: &ProjectName, name: &ScheduleName, by: &str) {
        let key = (project.clone(), name.clone());
        let Some(schedule) = self.floor.schedules.edit(Runs(()), &key).filter(|s| s.paused.is_some()) else {
            return;
        };
        schedule.paused = None;
        self.note(NoteKind::RunState, project, None, notes::schedule_resumed(name, by));
        self.plan_next(&key);
    }
}
