//! A checkup: what is found is told, remedied and summed up; and an agent is started only if something is left for it.

use crate::effect::{Action, CheckHealth, RecordHealth};
use crate::event::NoteKind;
use crate::health::{FINDINGS_MAX, Finding, FindingKey, Measured, Priority, of_machine, of_project};
use crate::ids::{FormulaName, ProjectName, Role, ScheduleName};
use crate::state::{Known, Schedule};
use crate::step::Turn;
use crate::texts::health;
use crate::time::Time;
use std::collections::BTreeSet;
use std::time::Duration;

/// While a run is put off, it is looked at each minute whether there is room; at everything else only so often.
const CHECKED_LATELY: Duration = Duration::from_secs(19 * 60);
const DAY_MS: u64 = 24 * 3_600_000;

/// Whether a formula is the supervisor's.
pub(super) fn is_supervisors(formula: &FormulaName) -> bool {
    formula.as_str() == Role::SUPERVISOR.as_str()
}

impl Turn<'_> {
    /// Whether a checkup has to come before a run by that schedule is planned.
    pub(in crate::step) fn needs_checkup(&self, schedule: &Schedule) -> bool {
        let row = self.floor.health.get(&Some(schedule.project.clone()));
        let last = row.and_then(|row| row.checked_at);
        let lately = last.is_some_and(|at| self.now.since(at) < CHECKED_LATELY);
        is_supervisors(&schedule.plan.formula) && !(schedule.postponed.is_some() && lately)
    }

    pub(in crate::step) fn checkup_due(&mut self, project: &ProjectName, name: &ScheduleName, due: Time) {
        let schedule = Some((name.clone(), due));
        self.act(Action::CheckHealth(CheckHealth { project: project.clone(), schedule }));
    }

    /// A person wants one now.
    pub(in crate::step) fn checkup_asked(&mut self, project: &ProjectName) {
        if self.floor.projects.get(project).is_some() {
            self.act(Action::CheckHealth(CheckHealth { project: project.clone(), schedule: None }));
        }
    }

    pub(in crate::step) fn health_checked(&mut self, order: &CheckHealth, measured: &Measured) {
        let (now, project) = (self.now, &order.project);
        if self.floor.projects.get(project).is_none() {
            return;
        }
        let policy = self.policy(project);
        let first_of_day = self.is_first_of_day(project);
        self.find(None, of_machine(measured, &policy.machine), measured);
        let found = of_project(self.floor, now, project, measured);
        self.find(Some(project.clone()), found, measured);
        self.health_row(&Some(project.clone())).checked_at = Some(now);
        // Before anything is tried: what is urgent is in this commit, and its effect is the first.
        let urgent = self.tell_urgent(project);
        let done = self.remedy(project);
        let news = self.sum_up(project);
        self.record_checkup(project, urgent, done, news, first_of_day);
        if let Some((name, due)) = &order.schedule {
            let wanted = self.floor.wants_supervisor(project, now);
            self.checkup_over(project, name, *due, wanted);
        }
    }

    /// It can never be done. People are told; the schedule goes on.
    pub(in crate::step) fn checkup_impossible(&mut self, order: &CheckHealth, why: &str) {
        self.note(NoteKind::Escalation, &order.project, None, health::cannot_look(why));
        if let Some((name, due)) = &order.schedule {
            self.checkup_over(&order.project, name, *due, false);
        }
    }

    fn is_first_of_day(&self, project: &ProjectName) -> bool {
        let last = self.floor.health.get(&Some(project.clone())).and_then(|row| row.checked_at);
        last.is_none_or(|at| at.0 / DAY_MS != self.now.0 / DAY_MS)
    }

    /// Takes in what is found in one place. What is no longer found is forgotten.
    fn find(&mut self, place: Option<ProjectName>, found: Vec<Finding>, measured: &Measured) {
        let now = self.now;
        let row = self.health_row(&place);
        let mut known = row.taking_in(found, measured, now);
        known.sort_by_key(|known| known.finding.priority);
        known.truncate(FINDINGS_MAX);
        row.findings = known;
    }

    /// Tells people what is urgent and new, or worse than when they were told. Returns it, for the records.
    fn tell_urgent(&mut self, project: &ProjectName) -> Vec<(String, String)> {
        let now = self.now;
        let mut told = Vec::new();
        for place in places(project) {
            let row = self.health_row(&place);
            let news = |known: &&Known| {
                let priority = known.finding.priority;
                priority.is_urgent() && known.told.is_none_or(|told| priority < told)
            };
            let news: Vec<Finding> = row.shown(now).filter(news).map(|known| known.finding.clone()).collect();
            for known in &mut row.findings {
                if news.iter().any(|finding| finding.key == known.finding.key) {
                    known.told = Some(known.finding.priority);
                }
            }
            for finding in news {
                let text = health::urgent(&finding);
                self.note(NoteKind::Escalation, project, None, text.clone());
                told.push((finding.key.to_string(), text));
            }
        }
        told
    }

    /// Tells people what is found, if that differs from what they were told last. Returns it.
    fn sum_up(&mut self, project: &ProjectName) -> Option<String> {
        let now = self.now;
        let shown: Vec<Known> =
            self.floor.health_of(project).flat_map(|row| row.shown(now).cloned()).collect();
        let mut summary: Vec<(FindingKey, Priority)> =
            shown.iter().map(|known| (known.finding.key.clone(), known.finding.priority)).collect();
        summary.sort();
        // What is only quiet is not over.
        let found = self.floor.health_of(project).flat_map(|row| &row.findings);
        let found: BTreeSet<FindingKey> = found.map(|known| known.finding.key.clone()).collect();
        let quiet = found.len().saturating_sub(shown.len());
        let row = self.health_row(&Some(project.clone()));
        if row.summary == summary {
            return None;
        }
        let over: Vec<FindingKey> = row.summary.iter().map(|(key, _)| key.clone()).collect();
        let over: Vec<FindingKey> = over.into_iter().filter(|key| !found.contains(key)).collect();
        row.summary = summary;
        let text = health::summary(&shown, &over, quiet);
        self.note(NoteKind::Health, project, None, text.clone());
        Some(text)
    }

    /// The day's journal has a line a day at least, and more only if there is something to say.
    fn record_checkup(
        &mut self,
        project: &ProjectName,
        urgent: Vec<(String, String)>,
        done: Vec<String>,
        news: Option<String>,
        first_of_day: bool,
    ) {
        let now = self.now;
        if urgent.is_empty() && done.is_empty() && news.is_none() && !first_of_day {
            return;
        }
        let shown: Vec<Known> =
            self.floor.health_of(project).flat_map(|row| row.shown(now).cloned()).collect();
        let entry = health::journal_entry(&shown, &done);
        let record = RecordHealth { project: project.clone(), at: now, urgent, entry };
        // What is urgent is said before what is done.
        self.step.effects.insert(0, Action::RecordHealth(record));
    }

    /// An acknowledgement is over: what is urgent is not kept quiet until somebody looks again.
    pub(super) fn tell_what_was_quiet(&mut self, project: &ProjectName) {
        let urgent = self.tell_urgent(project);
        if !urgent.is_empty() {
            let told: Vec<String> = urgent.iter().map(|(_, text)| text.clone()).collect();
            let entry = health::journal_entry(&[], &told);
            self.act(Action::RecordHealth(RecordHealth {
                project: project.clone(),
                at: self.now,
                urgent,
                entry,
            }));
        }
    }

    /// An entry by itself.
    pub(super) fn record_entry(&mut self, project: &ProjectName, entry: String) {
        let record = RecordHealth { project: project.clone(), at: self.now, urgent: Vec::new(), entry };
        self.act(Action::RecordHealth(record));
    }
}

/// Of the machine, and of the project.
pub(super) fn places(project: &ProjectName) -> [Option<ProjectName>; 2] {
    [None, Some(project.clone())]
}
