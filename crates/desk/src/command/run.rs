//! Runs of formulas: asked for, ended, and what their agents say of their steps.

use super::not_taken;
use crate::{Desk, Error, Exit, Result};
use shopfloor_core::event::{Event, RunAsk, StepSaid};
use shopfloor_core::ids::{Epoch, ProjectName, RunNumber};
use shopfloor_core::state::{Run, Shelf};
use shopfloor_core::step::{may_run, may_say};

impl Error {
    pub(crate) fn no_run(project: &ProjectName, number: RunNumber) -> Error {
        Error::no_such(format!("{project} has no run {number}")).hint("`shopfloor runs` shows them")
    }
}

impl Desk {
    /// Asks for a formula to be carried out. Returns the run's number.
    pub fn ask_for_run(&self, project: &ProjectName, ask: RunAsk) -> Result<RunNumber> {
        let formula = ask.recipe.formula.clone();
        let engine = self.engine()?;
        if let Err(other) = may_run(engine.floor(), project, &formula) {
            return Err(Error::new(Exit::Busy, format!("run {other} of {formula} is still under way"))
                .hint(format!("`shopfloor run show {other}` says how far along it is")));
        }
        if let Some(flaw) = ask.recipe.flaw() {
            return Err(Error::usage(format!("{formula} cannot be carried out: {flaw}")));
        }
        self.take_run(project, ask)
    }

    /// Others may have asked since it was looked at: what was not taken in says so.
    fn take_run(&self, project: &ProjectName, ask: RunAsk) -> Result<RunNumber> {
        let (applied, engine) = self.submit_and_see(&Event::RunAsked { project: project.clone(), ask })?;
        if let Some(why) = not_taken(&applied) {
            return Err(Error::new(Exit::Busy, why).hint("`shopfloor runs` shows what goes on"));
        }
        let newest = engine.floor().runs.iter().rfind(|run| run.project == *project);
        newest.map(|run| run.number).ok_or_else(|| Error::failed("the floor has not taken it in"))
    }

    /// A run, also one that ended long ago.
    pub fn run(&self, project: &ProjectName, number: RunNumber) -> Result<Run> {
        let floor = self.committed_about(&[Shelf::Run(project.clone(), number)])?;
        let run = floor.runs.get(&number).filter(|run| run.project == *project);
        run.cloned().ok_or_else(|| Error::no_run(project, number))
    }

    /// Ends a run. Its work is kept on a rescue ref.
    pub fn cancel_run(&self, project: &ProjectName, number: RunNumber) -> Result<Run> {
        let run = self.run(project, number)?;
        if !run.is_live() {
            return Err(Error::failed(format!("run {number} is over already")));
        }
        self.submit(&Event::RunCancelled { project: project.clone(), run: number })?;
        self.run(project, number)
    }

    /// The run that a session carries out.
    pub fn run_of_session(&self, epoch: Epoch) -> Result<Run> {
        let engine = self.engine()?;
        let floor = engine.floor();
        let run = floor.sessions.get(&epoch).and_then(|session| floor.run_of(session.job));
        run.cloned().ok_or_else(|| {
            Error::no_such("this session carries out no run").hint(
                "steps are those of a formula's run; `shopfloor phase` signals how far along an issue is",
            )
        })
    }

    /// Takes what a session says of a step; returns its run afterwards.
    pub fn say_of_step(&self, epoch: Epoch, said: StepSaid) -> Result<Run> {
        may_say(self.engine()?.floor(), epoch, &said.step).map_err(|why| {
            Error::failed(why.to_string())
                .hint("`shopfloor step list` shows the steps, and what can be done now")
        })?;
        self.submit(&Event::StepSaid { epoch, said })?;
        self.run_of_session(epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_adapters::layout::Layout;
    use shopfloor_core::policy::Policy;
    use shopfloor_core::recipe::Recipe;

    fn ask(formula: &str) -> RunAsk {
        let recipe = serde_json::json!({
            "formula": formula, "role": "dev", "lifetime": { "secs": 60, "nanos": 0 },
            "steps": [{ "id": "look", "run": ["true"] }],
        });
        let recipe: Recipe = serde_json::from_value(recipe).expect("a recipe");
        RunAsk { recipe, by: "dev1".to_owned(), schedule: None }
    }

    #[test]
    fn of_two_who_ask_at_once_the_second_is_told_that_a_run_goes_on() {
        let home = tempfile::tempdir().expect("a folder");
        let desk = Desk::new(Layout::new(home.path()));
        let project: ProjectName = "sample".parse().expect("a name");
        let policy = Policy::default();
        let set = Event::ProjectSet { project: project.clone(), checkout: "/nowhere".into(), policy };
        desk.new_engine().expect("a floor").submit(crate::now(), &set).expect("committed");
        // Both have looked, and found nothing in the way.
        let first = desk.take_run(&project, ask("upkeep")).expect("taken in");
        let second = desk.take_run(&project, ask("upkeep")).expect_err("another goes on");
        assert_eq!(second.exit, Exit::Busy);
        assert!(second.message.contains(&format!("run {first}")), "{}", second.message);
        // Each gets the number of its own.
        let other = desk.take_run(&project, ask("other")).expect("taken in");
        assert_ne!(other, first);
    }
}
