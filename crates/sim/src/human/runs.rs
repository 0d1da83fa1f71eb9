//! People and runs of formulas: they ask for some, and change their mind.

use crate::world::World;
use shopfloor_core::event::{Event, RunAsk};
use shopfloor_core::ids::{FormulaName, ProjectName, Role, RunNumber, StepId};
use shopfloor_core::recipe::{Context, Recipe, Step};
use shopfloor_core::state::{Floor, OnMissed, Run, Schedule, SchedulePlan};
use std::collections::BTreeMap;
use std::time::Duration;

/// Those that there are.
const FORMULAS: [&str; 2] = ["tidy", "report"];
/// Whose schedule has the floor looked at first.
const SUPERVISOR: &str = "supervisor";

fn plan_of(formula: &str, minute: u64, once: bool, enabled: bool) -> SchedulePlan {
    SchedulePlan {
        formula: formula.parse().expect("a name"),
        cron: format!("{minute} * * * *"),
        tz: None,
        vars: BTreeMap::new(),
        timeout: None,
        on_missed: if once { OnMissed::Once } else { OnMissed::Skip },
        enabled,
    }
}

impl World {
    pub(super) fn ask_for_run(&mut self, project: &ProjectName) -> Event {
        let recipe = self.some_recipe();
        self.saw("run asked for");
        self.say(format!("person wants {} carried out", recipe.formula));
        let ask = RunAsk { recipe, by: "person".to_owned(), schedule: None };
        Event::RunAsked { project: project.clone(), ask }
    }

    pub(super) fn cancel_run(&mut self, project: &ProjectName, floor: &Floor) -> Option<Event> {
        let live: Vec<_> = floor.runs.iter().filter(|run| run.is_live()).map(|run| run.number).collect();
        // One that is over, and may be on the shelf, is cancelled in vain.
        let run = if self.rng.permille(150) { RunNumber(1) } else { *self.rng.pick(&live)? };
        self.saw("run cancelled");
        self.say(format!("person cancels run {run}"));
        Some(Event::RunCancelled { project: project.clone(), run })
    }

    /// Has other schedules than before, or pauses or resumes one.
    pub(super) fn schedule(&mut self, project: &ProjectName, floor: &Floor) -> Option<Event> {
        let known: Vec<&Schedule> = floor.schedules.iter().collect();
        let by = "person".to_owned();
        match self.rng.pick(&known).filter(|_| known.len() > 1).map(|s| (s.name.clone(), s.paused.is_some()))
        {
            Some((schedule, true)) => {
                self.saw("schedule resumed");
                Some(Event::ScheduleResumed { project: project.clone(), schedule, by })
            }
            Some((schedule, false)) if self.rng.permille(600) => {
                self.saw("schedule paused");
                Some(Event::SchedulePaused { project: project.clone(), schedule, by })
            }
            _ => {
                self.saw("schedules set");
                let plans = (0..2).map(|n| {
                    let minute = self.rng.below(60);
                    let once = self.rng.permille(500);
                    (format!("s{n}"), plan_of(FORMULAS[n], minute, once, self.rng.permille(900)))
                });
                let mut plans: Vec<(String, SchedulePlan)> = plans.collect();
                // Drawn by itself.
                let once = self.nerves.permille(500);
                plans.push(("s2".to_owned(), plan_of(SUPERVISOR, 20, once, self.nerves.permille(900))));
                let plans = plans.into_iter().map(|(name, plan)| (name.parse().expect("a name"), plan));
                Some(Event::SchedulesSet { project: project.clone(), plans: plans.collect() })
            }
        }
    }

    fn some_recipe(&mut self) -> Recipe {
        let formula = FORMULAS[self.rng.below(2) as usize].parse().expect("a name");
        self.recipe_of(&formula)
    }

    /// Up to five steps, each of which may need the ones before it.
    pub(crate) fn recipe_of(&mut self, formula: &FormulaName) -> Recipe {
        let count = self.rng.range(1, 5);
        let steps: Vec<Step> = (0..count).map(|number| self.some_step(number)).collect();
        Recipe {
            formula: formula.clone(),
            version: "1".into(),
            description: "what has to be done".into(),
            // Those who predict land nothing; those who plan begin what is there. The others are like any developer.
            role: match formula.as_str() == FORMULAS[1] {
                true => Role::PREDICTOR,
                false if self.deeds.permille(400) => Role::PLANNER,
                false => Role::DEV,
            },
            model: None,
            vars: BTreeMap::new(),
            lifetime: Duration::from_secs(3600 * self.rng.range(1, 12)),
            idle: self.rng.permille(300).then(|| Duration::from_secs(4 * 3600)),
            context: Context::default(),
            steps,
        }
    }

    fn some_step(&mut self, number: u64) -> Step {
        let id = |number: u64| -> StepId { format!("s{number}").parse().expect("an id") };
        let needs = (0..number).filter(|_| self.rng.permille(500)).map(id).collect();
        let is_command = self.rng.permille(450);
        Step {
            id: id(number),
            title: String::new(),
            needs,
            description: "do it".into(),
            skipped: self.rng.permille(80),
            run: is_command.then(|| vec!["true".to_owned()]),
            timeout: None,
            verify: (!is_command && self.rng.permille(300)).then(|| "there".to_owned()),
        }
    }
}

/// What its agent says next, if anything can be said.
pub(crate) fn next_step(run: &Run) -> Option<StepId> {
    run.open_steps().map(|step| step.id.clone()).next()
}
