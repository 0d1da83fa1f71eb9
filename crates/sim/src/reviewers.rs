//! Virtual reviewers: they read what they are told, not all of them closely; they write drafts, verdicts and
//! garbage, and most report when they are done.

use crate::agents::Proc;
use crate::rng::Rng;
use crate::world::World;
use shopfloor_core::effect::{Review, Verdict};
use shopfloor_core::ids::Epoch;
use shopfloor_core::phase::Phase;
use shopfloor_core::texts::FirstLine;

impl Proc {
    pub(crate) fn read_as_reviewer(&mut self, first: Option<&FirstLine>, text: &str, rng: &mut Rng) {
        let commit = |before: &str| {
            let rest = text.split_once(before)?.1;
            rest.get(..40)?.to_owned().try_into().ok()
        };
        match first {
            // Some do not read closely.
            Some(FirstLine::ReviewAgain) if !rng.permille(50) => {
                self.head = commit("to commit ").or(self.head.take());
            }
            Some(FirstLine::ResultUnusable) => {
                self.result = None;
                self.head = commit("not of ").or(self.head.take());
            }
            _ => {}
        }
        self.review_acts = 0;
    }
}

impl World {
    pub(crate) fn reviewer_act(&mut self, epoch: Epoch) {
        let proc = self.procs[&epoch].clone();
        if proc.review_acts > 4 {
            return;
        }
        self.procs.get_mut(&epoch).expect("just seen").review_acts += 1;
        if proc.result.is_some() && proc.decided.is_some() && proc.decided == proc.head {
            // It was reminded: it had only forgotten to signal.
            self.signal(epoch, Phase::Done);
            return;
        }
        if self.rng.permille(150) {
            // A reviewer tries something out.
            self.edit(&proc.tree, false);
        }
        if proc.review_acts == 0 {
            self.agent_again(epoch, 600_000);
            return;
        }
        if self.rng.permille(200) {
            // A draft is not a verdict, however it reads.
            self.saw("draft of a review");
            self.write_result(epoch, &proc, good(Verdict::Approve));
            self.agent_again(epoch, 60_000);
            return;
        }
        let result = match self.rng.below(100) {
            0..65 => good(Verdict::Approve),
            65..82 => good(Verdict::RequestChanges),
            82..86 => good(Verdict::Discuss),
            86..92 => {
                self.saw("review garbage");
                Err("not JSON".to_owned())
            }
            92..97 => {
                self.saw("reviewer died");
                self.die(epoch, Some(1), "died without a review");
                return;
            }
            _ => {
                self.saw("reviewer hangs");
                return;
            }
        };
        self.decide(epoch, &proc, result);
    }

    /// Writes what it has to say, and signals so, in one way or another.
    fn decide(&mut self, epoch: Epoch, proc: &Proc, result: Result<Review, String>) {
        let garbage = result.is_err();
        if let (Ok(review), Some(head)) = (&result, &proc.head) {
            self.verdicts.insert((epoch, head.clone(), review.verdict.as_str()));
        }
        self.write_result(epoch, proc, result);
        if !garbage {
            self.procs.get_mut(&epoch).expect("just seen").decided = proc.head.clone();
        }
        match self.rng.below(8) {
            0 | 1 => self.die(epoch, Some(0), "left after its review"),
            2..6 => self.signal(epoch, Phase::Done),
            6 if self.rng.permille(100) => self.signal(epoch, Phase::Failed),
            _ if garbage => self.agent_again(epoch, 600_000),
            _ => self.saw("reviewer does not say that it is done"),
        }
    }

    fn write_result(&mut self, epoch: Epoch, proc: &Proc, result: Result<Review, String>) {
        let row = self.procs.get_mut(&epoch).expect("just seen");
        row.result = Some((proc.head.clone(), result));
        // Whatever it had decided is no longer in the file.
        row.decided = None;
        row.results += 1;
        self.notices.insert(epoch);
        self.say(format!("session {epoch} writes its result"));
    }
}

fn good(verdict: Verdict) -> Result<Review, String> {
    Ok(Review { verdict, reason: "because".into(), markdown: "text".into(), follow_ups: vec![] })
}
