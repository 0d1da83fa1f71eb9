//! What is found of a floor's health now: measured by whoever asks, and weighed as the supervisor's schedule does.

use crate::time::moment;
use crate::{Desk, Result, now};
use serde::Serialize;
use shopfloor_adapters::health::measure;
use shopfloor_core::health::{FINDINGS_MAX, Finding, FindingKey, Measured, Priority, of_machine, of_project};
use shopfloor_core::ids::{ProjectName, RunNumber};
use shopfloor_core::state::{Ack, Floor, Health, Known, Letter};
use shopfloor_core::texts::health;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Serialize)]
pub struct FindingView {
    pub key: FindingKey,
    pub priority: Priority,
    /// `null`: the machine, or the floor as a whole.
    pub project: Option<ProjectName>,
    pub what: String,
    /// The numbers that it follows from.
    pub evidence: BTreeMap<String, u64>,
    /// What the factory does about it by itself, and how often it did.
    pub remedy: Option<String>,
    pub remedied: u32,
    /// Since when it has been known; `null`: nobody has looked before.
    pub since: Option<String>,
    /// A person does not want to hear of it before then.
    pub acknowledged_until: Option<String>,
    /// Whether it is for the supervisor's agent to look into.
    pub unexplained: bool,
}

#[derive(Serialize)]
pub struct AckView {
    pub key: FindingKey,
    /// `null`: of the machine.
    pub project: Option<ProjectName>,
    /// What is more urgent is shown all the same.
    pub priority: Option<Priority>,
    pub until: String,
    pub by: String,
    pub at: String,
}

#[derive(Serialize)]
pub struct LetterView {
    pub letter: u64,
    pub project: ProjectName,
    pub by: String,
    pub at: String,
    pub text: String,
    /// The run that is to answer it, or did.
    pub run: Option<RunNumber>,
    pub answer: Option<String>,
}

/// What is found now, of the machine and of projects, and how it was measured.
pub struct Looked {
    pub rows: Vec<Health>,
    /// What a checkup has found before.
    known: BTreeSet<(Option<ProjectName>, FindingKey)>,
    pub measured: Option<Measured>,
}

impl Looked {
    /// At the machine, and at one project or all of them. Nothing is started, and nothing is put on record.
    pub fn at(desk: &Desk, floor: &Floor, only: Option<&ProjectName>) -> Result<Looked> {
        let mut ci = desk.ci()?;
        let known = floor.health.iter().flat_map(|row| {
            row.findings.iter().map(|known| (row.project.clone(), known.finding.key.clone()))
        });
        let mut looked = Looked { rows: Vec::new(), known: known.collect(), measured: None };
        for project in floor.projects.iter().filter(|row| only.is_none_or(|only| *only == row.name)) {
            let name = &project.name;
            let measured = measure(&desk.layout, name, &mut *ci, now());
            if looked.measured.is_none() {
                let found = of_machine(&measured, &project.policy.machine);
                looked.rows.push(seen(floor, None, found, &measured));
            }
            let found = of_project(floor, now(), name, &measured);
            looked.rows.push(seen(floor, Some(name.clone()), found, &measured));
            looked.measured = Some(measured);
        }
        Ok(looked)
    }

    /// Most urgent first, acknowledged ones among them.
    pub fn findings(&self) -> Vec<FindingView> {
        let all =
            self.rows.iter().flat_map(|row| row.findings.iter().map(move |known| self.view(row, known)));
        let mut all: Vec<FindingView> = all.collect();
        all.sort_by_key(|finding| (finding.acknowledged_until.is_some(), finding.priority));
        all
    }

    /// What the supervisor's agent is to look into and to answer; `None`: there is nothing.
    pub fn briefing(&self) -> Option<String> {
        let unexplained: Vec<&Known> = self.rows.iter().flat_map(|row| row.unexplained(now())).collect();
        let letters: Vec<&Letter> = self.rows.iter().flat_map(Health::open_letters).collect();
        let any = !unexplained.is_empty() || !letters.is_empty();
        any.then(|| health::briefing(&unexplained, &letters))
    }
}

impl Looked {
    fn view(&self, row: &Health, known: &Known) -> FindingView {
        let Known { finding, since, tried, .. } = known;
        let seen_before = self.known.contains(&(row.project.clone(), finding.key.clone()));
        FindingView {
            key: finding.key.clone(),
            priority: finding.priority,
            project: finding.project.clone(),
            what: finding.what.clone(),
            evidence: finding.evidence.clone(),
            remedy: finding.remedy.as_ref().map(health::remedy),
            remedied: *tried,
            since: seen_before.then(|| moment(*since)),
            acknowledged_until: row.ack(finding, now()).map(|ack| moment(ack.until)),
            unexplained: row.unexplained(now()).any(|other| other.finding.key == finding.key),
        }
    }
}

/// The row as a checkup would leave it, but for what is told and done.
fn seen(floor: &Floor, place: Option<ProjectName>, found: Vec<Finding>, measured: &Measured) -> Health {
    let known = floor.health.get(&place).cloned();
    let row = known.unwrap_or_else(|| Health::new(place));
    let mut findings = row.taking_in(found, measured, now());
    findings.sort_by_key(|known| known.finding.priority);
    findings.truncate(FINDINGS_MAX);
    Health { findings, ..row }
}

impl AckView {
    pub fn all(floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> Vec<AckView> {
        let rows = floor.health.iter().filter(|row| row.project.as_ref().is_none_or(&mine));
        let of = |row: &Health, ack: &Ack| AckView {
            key: ack.key.clone(),
            project: row.project.clone(),
            priority: ack.priority,
            until: moment(ack.until),
            by: ack.by.clone(),
            at: moment(ack.at),
        };
        rows.flat_map(|row| row.acks.iter().map(move |ack| of(row, ack))).collect()
    }
}

impl LetterView {
    pub fn all(floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> Vec<LetterView> {
        let rows = floor.health.iter().filter_map(|row| Some((row.project.as_ref()?, &row.letters)));
        let of = |project: &ProjectName, letter: &Letter| LetterView {
            letter: letter.number,
            project: project.clone(),
            by: letter.by.clone(),
            at: moment(letter.at),
            text: letter.text.clone(),
            run: letter.run,
            answer: letter.answer.clone(),
        };
        let mine = rows.filter(|(project, _)| mine(project));
        mine.flat_map(|(project, letters)| letters.iter().map(move |letter| of(project, letter))).collect()
    }
}
