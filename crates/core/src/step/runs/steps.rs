//! The steps of a run: what is done next, what agents say of theirs, and what became of commands and verifiers.

use crate::effect::{Action, RunStep, VerifyStep, outcome};
use crate::event::{NoteKind, StepSaid};
use crate::ids::{Epoch, JobId, RunNumber, StepId};
use crate::phase::{Phase, PhaseReport};
use crate::recipe::NOTHING_TO_DO;
use crate::state::{Floor, Goal, JobState, Run, RunResult, StepRecord, StepState};
use crate::step::Turn;
use crate::text::{head, neutralise, tail};
use crate::texts::{agents, notes, reasons};
use std::fmt;

const OUTPUT_BYTES_MAX: usize = 16 * 1024;
const NOTE_BYTES_MAX: usize = 4 * 1024;
/// How often an agent may say of one step that it is done, and be wrong.
const CLAIMS_MAX: u32 = 5;

/// Why what a session says of a step is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAStep {
    /// The session carries out no run, or another has taken over.
    NoRun,
    Unknown(StepId),
    /// A command of ours.
    Ours(StepId),
    Over(StepId, &'static str),
    /// These come before it.
    Needs(StepId, Vec<StepId>),
    BeingVerified(StepId),
}

impl fmt::Display for NotAStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&reasons::not_a_step(self))
    }
}

/// Whether a session may say of a step that it is done, or that it passes it over. Returns its run.
pub fn may_say(floor: &Floor, epoch: Epoch, step: &StepId) -> Result<RunNumber, NotAStep> {
    let session = floor.sessions.get(&epoch).ok_or(NotAStep::NoRun)?;
    let current = floor.jobs.get(&session.job).is_some_and(|job| job.session == Some(epoch));
    let run = floor.run_of(session.job).filter(|run| !run.is_ending() && current).ok_or(NotAStep::NoRun)?;
    let (_, known, record) = run.step(step).ok_or_else(|| NotAStep::Unknown(step.clone()))?;
    match &record.state {
        _ if known.run.is_some() => return Err(NotAStep::Ours(step.clone())),
        StepState::Claimed { .. } => return Err(NotAStep::BeingVerified(step.clone())),
        state if state.is_over() => return Err(NotAStep::Over(step.clone(), state.name())),
        _ => {}
    }
    match run.missing(known) {
        missing if missing.is_empty() => Ok(run.number),
        missing => Err(NotAStep::Needs(step.clone(), missing)),
    }
}

impl Floor {
    /// Whether this answer about a step is still waited for.
    pub(in crate::step) fn awaits_step(&self, run: RunNumber, step: &StepId, attempt: u32) -> bool {
        let state = self.runs.get(&run).filter(|run| !run.is_ending()).and_then(|run| run.step(step));
        let this = [StepState::Running { attempt }, StepState::Claimed { attempt }];
        state.is_some_and(|(_, _, record)| this.contains(&record.state))
    }
}

impl Turn<'_> {
    /// Does what is next: a command, the agent, or the end.
    pub(in crate::step) fn advance(&mut self, number: RunNumber) {
        let Some(run) = self.floor.runs.get(&number).filter(|run| !run.is_ending()) else { return };
        let Some(id) = run.job() else { return };
        if run.under_way().is_some() {
            return;
        }
        let there = self.job(id).is_some_and(|job| job.session.is_some());
        if let Some(at) = run.next_command() {
            self.run_command(id, number, at);
        } else if run.awaits_agent() {
            if !there {
                self.start_or_put_off(id);
            }
        } else if run.is_through() {
            // An agent may still commit what it made: it says when it is through.
            if !there {
                self.land_run(number);
            }
        } else {
            // Cannot be with a recipe that has no flaw: something waits for what is never over.
            self.end_run(number, RunResult::Failed, reasons::run_is_stuck());
        }
    }

    fn lands(&self, id: JobId) -> bool {
        self.job(id).is_none_or(|job| self.floor.policy(&job.project).rights(job.role).lands)
    }

    fn run_command(&mut self, id: JobId, number: RunNumber, at: usize) {
        let now = self.now;
        let Some(job) = self.job(id) else { return };
        let (role, issue, there) = (job.role, job.issue(), job.session.is_some());
        let Some(run) = self.floor.run_mut(number) else { return };
        let (Some(step), Some(record)) = (run.recipe.steps.get(at), run.steps.get_mut(at)) else { return };
        record.attempts += 1;
        let attempt = record.attempts;
        (record.state, record.at) = (StepState::Running { attempt }, now);
        let (timeout, within) = (step.command_timeout(), step.within());
        let action = Action::RunStep(RunStep {
            job: id,
            project: run.project.clone(),
            run: number,
            step: step.id.clone(),
            attempt,
            role,
            issue,
            command: step.run.clone().unwrap_or_default(),
            timeout,
        });
        self.act(action);
        match there {
            // Its agent waits for it, and is given the time.
            true => self.wait_until(id, now + within + self.idle_limit(id)),
            false => self.enter(id, JobState::RunningStep, within),
        }
    }

    pub(in crate::step) fn step_ran(&mut self, action: &RunStep, ran: &outcome::StepRan) {
        let RunStep { run: number, step, attempt, job, .. } = action;
        if !self.floor.awaits_step(*number, step, *attempt) {
            return self.stale(*job, notes::step_not_waited_for(step));
        }
        let outcome::StepRan { code, how, output } = ran;
        let output = tail(neutralise(output).trim_end(), OUTPUT_BYTES_MAX);
        let (state, note) = match code {
            Some(0) => (StepState::Done, String::new()),
            Some(NOTHING_TO_DO) => (StepState::Done, reasons::nothing_to_do().to_owned()),
            _ => (StepState::Failed, how.clone()),
        };
        self.set_step(*number, step, |record| {
            record.state = state;
            (record.note, record.output) = (note, output);
        });
        match code {
            Some(0) => self.step_succeeded(*number, *job, step),
            Some(NOTHING_TO_DO) => {
                self.end_run(*number, RunResult::NothingToDo, &reasons::step_found_nothing(step));
            }
            _ => self.end_run(*number, RunResult::Failed, &reasons::step_failed(step, how)),
        }
    }

    /// The step is done: the next may begin, and an agent that waits for that is told.
    pub(super) fn step_succeeded(&mut self, number: RunNumber, id: JobId, step: &StepId) {
        let there = self.job(id).is_some_and(|job| job.session.is_some());
        self.advance(number);
        let Some(run) = self.floor.runs.get(&number).filter(|_| there) else { return };
        let text = match run.under_way() {
            None if run.awaits_agent() => agents::step_ran(step, run),
            None if run.is_through() => agents::steps_are_over(step),
            _ => return,
        };
        self.inform(id, &text);
    }

    /// What the session says of a step of its own.
    pub(in crate::step) fn step_said(&mut self, epoch: Epoch, said: &StepSaid) {
        let StepSaid { step, skip, note } = said;
        let number = match may_say(self.floor, epoch, step) {
            Ok(number) => number,
            Err(why) => {
                let Some(job) = self.floor.sessions.get(&epoch).map(|session| session.job) else { return };
                return self.stale(job, why.to_string());
            }
        };
        self.seen(epoch);
        let note = head(&neutralise(note), NOTE_BYTES_MAX);
        let Some((id, role, issue, verify, answer)) = self.floor.runs.get(&number).and_then(|run| {
            let job = self.job(run.job()?)?;
            let step = run.step(step)?.1;
            Some((job.id, job.role, job.issue(), step.verify.clone(), step.answer))
        }) else {
            return;
        };
        let (verify, answer) = (verify.filter(|_| !skip), answer.filter(|_| !skip));
        let mut attempt = 0;
        self.set_step(number, step, |record| {
            record.attempts += 1;
            attempt = record.attempts;
            record.note = note;
            record.state = match (skip, verify.is_some() || answer.is_some()) {
                (true, _) => StepState::Skipped,
                (false, false) => StepState::Done,
                (false, true) => StepState::Claimed { attempt },
            };
        });
        if let Some(answer) = answer {
            return self.read_answer((number, step, attempt), (id, role, epoch), answer);
        }
        match verify {
            Some(verify) => {
                let project = self.floor.runs.get(&number).map(|run| run.project.clone());
                let Some(project) = project else { return };
                let (run, step) = (number, step.clone());
                self.act(Action::VerifyStep(VerifyStep {
                    job: id,
                    project,
                    run,
                    step,
                    attempt,
                    role,
                    issue,
                    verify,
                }));
            }
            None => self.advance(number),
        }
    }

    pub(in crate::step) fn step_verified(&mut self, claim: &VerifyStep, seen: &outcome::StepVerified) {
        let VerifyStep { run: number, step, attempt, .. } = claim;
        let (number, attempt) = (*number, *attempt);
        if !self.floor.awaits_step(number, step, attempt) {
            return;
        }
        let Some(id) = self.floor.runs.get(&number).and_then(Run::job) else { return };
        let outcome::StepVerified { there, why } = seen;
        match there {
            true => {
                self.set_step(number, step, |record| record.state = StepState::Done);
                self.step_succeeded(number, id, step);
            }
            false => self.not_so((number, step, attempt), id, why, &agents::step_not_verified(step, why)),
        }
    }

    /// A step that its agent claimed is open again, and the agent is told why; a few times.
    pub(super) fn not_so(
        &mut self,
        (number, step, attempt): (RunNumber, &StepId, u32),
        id: JobId,
        why: &str,
        told: &str,
    ) {
        self.set_step(number, step, |record| record.state = StepState::Open);
        match attempt < CLAIMS_MAX {
            true => self.tell(id, told),
            false => {
                self.end_run(number, RunResult::Failed, &reasons::step_never_verified(step, attempt, why));
            }
        }
    }

    /// Its command or its verifier can never be run.
    pub(in crate::step) fn step_impossible(
        &mut self,
        number: RunNumber,
        step: &StepId,
        attempt: u32,
        why: &str,
    ) {
        if self.floor.awaits_step(number, step, attempt) {
            self.set_step(number, step, |record| {
                record.state = StepState::Failed;
                why.clone_into(&mut record.note);
            });
            self.end_run(number, RunResult::Failed, &reasons::step_failed(step, why));
        }
    }

    /// What a phase of its agent means for a run. Returns whether that is all: else it is taken as any developer's.
    pub(in crate::step) fn run_signalled(&mut self, number: RunNumber, report: &PhaseReport) -> bool {
        let Some(run) = self.floor.runs.get(&number) else { return true };
        let Some(id) = run.job() else { return true };
        let why = || report.detail.clone().unwrap_or_else(|| reasons::none_given().into());
        match report.phase {
            Phase::Failed => self.end_run(number, RunResult::Failed, &reasons::gave_up(&why())),
            _ if !run.is_through() => {
                let text = agents::steps_are_open(run);
                self.remind(id, &text, reasons::steps_are_open());
            }
            Phase::Done if self.job(id).is_some_and(|job| job.state == JobState::Working) => {
                self.land_run(number);
            }
            Phase::AwaitingCi | Phase::AwaitingReview if !self.lands(id) => self.land_run(number),
            // What it left is on its way.
            Phase::Done => {}
            _ => return false,
        }
        true
    }

    /// Every step is over: what they left on its branch is on its way. What a role that lands nothing left in its
    /// worktree is kept as at any end, and goes no further.
    fn land_run(&mut self, number: RunNumber) {
        let Some(run) = self.floor.run_mut(number) else { return };
        run.landing = true;
        let Some(id) = run.job() else { return };
        match self.lands(id) {
            true => self.push(id, Goal::Land),
            false => self.end_run(number, RunResult::Done, ""),
        }
    }

    /// Nobody is needed for a run whose steps are over, unless what they left came back. Returns whether that is so.
    pub(in crate::step) fn needs_no_agent(&mut self, id: JobId) -> bool {
        let through =
            self.floor.run_of(id).filter(|run| run.is_through() && !run.landing && !run.is_ending());
        let Some(number) = through.map(|run| run.number) else { return false };
        self.land_run(number);
        true
    }

    pub(super) fn set_step(
        &mut self,
        number: RunNumber,
        step: &StepId,
        change: impl FnOnce(&mut StepRecord),
    ) {
        let now = self.now;
        let Some(run) = self.floor.run_mut(number) else { return };
        let Some(at) = run.recipe.steps.iter().position(|known| known.id == *step) else { return };
        let Some(record) = run.steps.get_mut(at) else { return };
        change(record);
        record.at = now;
        let (project, text) = (run.project.clone(), notes::step_is(number, step, &run.steps[at]));
        self.note(NoteKind::RunState, &project, None, text);
    }
}
