//! Runs of formulas: asked for, ended, and what their agents say of their steps.

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
        self.submit(&Event::RunAsked { project: project.clone(), ask })?;
        let engine = self.engine()?;
        let run = engine.floor().live_run(project, &formula).or_else(|| newest(&engine, project));
        run.map(|run| run.number).ok_or_else(|| Error::failed("the floor has not taken it in"))
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

fn newest<'e, S>(engine: &'e shopfloor_engine::Engine<S>, project: &ProjectName) -> Option<&'e Run>
where
    S: shopfloor_store::Store,
{
    engine.floor().runs.iter().rfind(|run| run.project == *project)
}
