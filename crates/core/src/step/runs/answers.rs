//! What agents leave as their answer to a step: read, and taken by whoever understands it, or told what is wrong with it.

use crate::effect::{Action, ReadAnswer, outcome};
use crate::groom::answer::{Answer, Mistake};
use crate::ids::{Epoch, JobId, Role, RunNumber, StepId};
use crate::recipe::AnswerKind;
use crate::state::{Run, StepState};
use crate::step::Turn;
use crate::step::garden::Gardener;
use crate::texts::agents;

impl Turn<'_> {
    /// The agent says that its answer is there.
    pub(super) fn read_answer(
        &mut self,
        (run, step, attempt): (RunNumber, &StepId, u32),
        (job, role, epoch): (JobId, Role, Epoch),
        answer: AnswerKind,
    ) {
        let Some(project) = self.floor.runs.get(&run).map(|run| run.project.clone()) else { return };
        let step = step.clone();
        self.act(Action::ReadAnswer(ReadAnswer { job, project, run, step, attempt, role, epoch, answer }));
    }

    /// What it says is done in this step, or nothing of it is.
    pub(in crate::step) fn answer_read(&mut self, read: &ReadAnswer, found: &outcome::AnswerRead) {
        let ReadAnswer { run: number, step, attempt, .. } = read;
        if !self.floor.awaits_step(*number, step, *attempt) {
            return;
        }
        let Some(id) = self.floor.runs.get(number).and_then(Run::job) else { return };
        let taken = match found {
            outcome::AnswerRead::Wrong { mistake } => Err(mistake.clone()),
            outcome::AnswerRead::Groom { answer, digest } => self.take_answer(read, answer, *digest),
        };
        match taken {
            Err(mistake) => {
                let why = mistake.to_string();
                self.not_so((*number, step, *attempt), id, &why, &agents::answer_unusable(step, &why));
            }
            Ok(digest) => {
                self.set_step(*number, step, |record| {
                    record.state = StepState::Done;
                    record.answer = digest;
                });
                self.step_succeeded(*number, id, step);
            }
        }
    }

    /// One that was taken for another step already is not taken again; that nothing has to be done may be said again.
    fn take_answer(
        &mut self,
        read: &ReadAnswer,
        answer: &Answer,
        digest: u64,
    ) -> Result<Option<u64>, Mistake> {
        let before = self.floor.runs.get(&read.run).and_then(|run| {
            let taken = run.steps().find(|(_, record)| record.answer == Some(digest));
            taken.map(|(step, _)| step.id.clone())
        });
        if let Some(step) = before {
            return Err(Mistake { line: 0, what: crate::texts::reasons::answered_before(&step) });
        }
        self.groom(&Gardener::from(read), answer)?;
        Ok((*answer != Answer::default()).then_some(digest))
    }
}
