//! What is due by a schedule: the formula as it was accepted, filled in; or why it is not run now. And when it is due
//! again.

use crate::config::formula::{Library, Place, Wanted, fill};
use crate::config::schedule;
use crate::projects::{Loaded, Projects};
use shopfloor_adapters::host::{machine, samples};
use shopfloor_adapters::layout::Layout;
use shopfloor_core::effect::outcome::RunPlanned;
use shopfloor_core::effect::{PlanRun, PlannedRun};
use shopfloor_core::ids::{FormulaName, ProjectName};
use shopfloor_core::recipe::Recipe;
use shopfloor_core::state::SchedulePlan;
use shopfloor_desk::now;
use shopfloor_engine::ports::{IssueText, PortError, PortResult, Schedules};
use std::collections::BTreeMap;

const MEGABYTE: u64 = 1_000_000;

pub(super) struct Timetable {
    pub projects: Projects,
    pub layout: Layout,
}

impl Schedules for Timetable {
    fn plan(&self, asked: &PlanRun) -> PortResult<RunPlanned> {
        // The machine is looked at anyway; what cannot be kept is no reason to run nothing.
        let _ = samples::take(&self.layout.samples(), self.layout.root(), now());
        let project = self.loaded(&asked.project)?;
        let next = match schedule::next(&asked.plan, now()) {
            Ok(next) => next,
            Err(why) => return Ok(RunPlanned { next: None, what: PlannedRun::Cannot { why } }),
        };
        let what = match asked.due {
            None => PlannedRun::NotDue,
            Some(_) => match no_room(&project) {
                Some(why) => PlannedRun::NotNow { why },
                None => match recipe(&project, &asked.plan) {
                    Ok(recipe) => PlannedRun::Ready { recipe: Box::new(recipe) },
                    Err(why) => PlannedRun::Cannot { why },
                },
            },
        };
        Ok(RunPlanned { next, what })
    }

    fn action(&self, project: &ProjectName, text: &IssueText) -> PortResult<PlannedRun> {
        let project = self.loaded(project)?;
        let ready =
            Wanted::in_text(&text.body).and_then(|wanted| filled_in(&project, &wanted.formula, &wanted.vars));
        Ok(match ready {
            Ok(recipe) => PlannedRun::Ready { recipe: Box::new(recipe) },
            Err(why) => PlannedRun::Cannot { why },
        })
    }
}

impl Timetable {
    fn loaded(&self, project: &ProjectName) -> PortResult<Loaded> {
        self.projects.get(project).ok_or_else(|| {
            PortError::transient(format!("the configuration of project {project} is not to be had"))
        })
    }
}

/// What a schedule's formula comes to, as it was accepted.
pub fn recipe(project: &Loaded, plan: &SchedulePlan) -> Result<Recipe, String> {
    let recipe = filled_in(project, &plan.formula, &plan.vars)?;
    Ok(Recipe { lifetime: plan.timeout.unwrap_or(recipe.lifetime), ..recipe })
}

fn filled_in(
    project: &Loaded,
    name: &FormulaName,
    vars: &BTreeMap<String, String>,
) -> Result<Recipe, String> {
    let library = Library::new(&project.files);
    let found = library
        .get(name)
        .ok_or_else(|| format!("there is no formula {name} that was accepted: {}", library.instead(name)))?;
    let formula = found.formula.as_ref().map_err(ToString::to_string)?;
    if let Some(lack) = formula.lacks(&project.config).into_iter().next() {
        return Err(lack.message);
    }
    fill(name, formula, vars, &Place::of(&project.config))
}

/// Why the machine has no room for a run, if it has none. What a control group allows counts as the machine.
fn no_room(project: &Loaded) -> Option<String> {
    let limits = &project.config.limits;
    let wanted = u64::from(limits.min_memory);
    if let Some(available) = machine::memory().available.map(|bytes| bytes / MEGABYTE)
        && available < wanted
    {
        return Some(format!("{available} MB of memory are available, and [limits] min_memory is {wanted}"));
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let load = machine::load()?[0] / cores as f64;
    let most = limits.max_load;
    (most > 0 && load > f64::from(most))
        .then(|| format!("the load is {load:.1} for each core, and [limits] max_load is {most}"))
}
