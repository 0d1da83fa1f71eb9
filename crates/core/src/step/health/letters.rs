//! What people write to the supervisor: it waits for the next run, and that run's notes are the answer.

use super::checkup::{is_supervisors, places};
use crate::event::NoteKind;
use crate::ids::{ProjectName, RunNumber};
use crate::state::{Floor, Letter, Run, RunResult, StepState};
use crate::step::Turn;
use crate::text::{head, neutralise, one_line};
use crate::texts::health;

/// So many letters wait at the most.
const WAITING_MAX: usize = 20;
/// So many are kept with their answers.
const KEPT_MAX: usize = 50;
const TEXT_BYTES_MAX: usize = 4 * 1024;
const BY_CHARS_MAX: usize = 80;
/// So many runs may fail to answer one.
const RUNS_MAX: u32 = 3;

/// Whether another letter may be written; else how many wait.
pub fn may_tell(floor: &Floor, project: &ProjectName) -> Result<(), usize> {
    let row = floor.health.get(&Some(project.clone()));
    let open = row.map_or(0, |row| row.open_letters().count());
    if open < WAITING_MAX { Ok(()) } else { Err(open) }
}

impl Turn<'_> {
    pub(in crate::step) fn supervisor_told(&mut self, project: &ProjectName, text: &str, by: &str) {
        if self.floor.projects.get(project).is_none() {
            return;
        }
        if let Err(open) = may_tell(self.floor, project) {
            return self.note(NoteKind::StaleSignal, project, None, health::too_many_letters(open));
        }
        let number = self.number(|c| &mut c.letters);
        let (at, by) = (self.now, one_line(by, BY_CHARS_MAX));
        let text = head(neutralise(text).trim(), TEXT_BYTES_MAX);
        let note = health::letter(number, &by, &text);
        let row = self.health_row(&Some(project.clone()));
        while row.letters.len() >= KEPT_MAX {
            let answered = row.letters.iter().position(|letter| letter.answer.is_some());
            row.letters.remove(answered.unwrap_or(0));
        }
        row.letters.push(Letter { number, text, by, at, run: None, failed: 0, answer: None });
        self.note(NoteKind::Health, project, None, note);
    }

    /// A run begins: what waits for the supervisor is this run's to answer.
    pub(in crate::step) fn letters_go_to(&mut self, number: RunNumber) {
        let Some(run) = self.floor.runs.get(&number).filter(|run| is_supervisors(&run.recipe.formula)) else {
            return;
        };
        let place = Some(run.project.clone());
        let waits = |letter: &Letter| letter.answer.is_none() && letter.run.is_none();
        if self.floor.health.get(&place).is_some_and(|row| row.letters.iter().any(waits)) {
            self.edit_health(&place, |row| {
                row.letters.iter_mut().filter(|letter| waits(letter)).for_each(|l| l.run = Some(number));
            });
        }
    }

    /// A run has ended, for better or worse.
    pub(in crate::step) fn supervisor_ran(&mut self, number: RunNumber, result: RunResult) {
        let Some(run) = self.floor.runs.get(&number).filter(|run| is_supervisors(&run.recipe.formula)) else {
            return;
        };
        let (project, began) = (run.project.clone(), run.started_at);
        let said = notes_of(run);
        if began.is_some() && result != RunResult::NothingToDo {
            self.was_looked_into(&project, number);
            self.record_entry(&project, health::run_entry(number, result, &said));
        }
        let mine = |letter: &Letter| letter.run == Some(number) && letter.answer.is_none();
        let place = Some(project.clone());
        let answered = result == RunResult::Done && !said.is_empty();
        let Some(row) = self.floor.health.get(&place).filter(|row| row.letters.iter().any(mine)) else {
            return;
        };
        let numbers: Vec<u64> = row.letters.iter().filter(|letter| mine(letter)).map(|l| l.number).collect();
        let mut given_up = Vec::new();
        self.edit_health(&place, |row| {
            for letter in row.letters.iter_mut().filter(|letter| mine(letter)) {
                if answered {
                    letter.answer = Some(said.clone());
                    continue;
                }
                (letter.run, letter.failed) = (None, letter.failed + 1);
                if letter.failed >= RUNS_MAX {
                    letter.answer = Some(health::no_answer().to_owned());
                    given_up.push(letter.number);
                }
            }
        });
        if answered {
            self.note(NoteKind::Health, &project, None, health::answers(&numbers, &said));
        }
        if !given_up.is_empty() {
            self.note(NoteKind::Escalation, &project, None, health::not_answered(&given_up));
        }
    }

    /// What was there to be looked into when the run began, an agent has looked into.
    fn was_looked_into(&mut self, project: &ProjectName, number: RunNumber) {
        let now = self.now;
        let Some(began) = self.floor.runs.get(&number).and_then(|run| run.started_at) else { return };
        for place in places(project) {
            self.edit_health(&place, |row| {
                let keys: Vec<_> = row.unexplained(now).map(|known| known.finding.key.clone()).collect();
                for known in &mut row.findings {
                    if keys.contains(&known.finding.key) && known.since <= began {
                        known.looked = Some((known.finding.priority, now));
                    }
                }
            });
        }
    }
}

/// What its agent said of its steps.
fn notes_of(run: &Run) -> String {
    let said = run.steps().filter(|(step, record)| {
        step.run.is_none() && record.state == StepState::Done && !record.note.trim().is_empty()
    });
    let said: Vec<String> = said.map(|(_, record)| record.note.trim().to_owned()).collect();
    head(&said.join("\n\n"), TEXT_BYTES_MAX)
}
