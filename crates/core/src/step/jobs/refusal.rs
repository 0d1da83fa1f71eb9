//! What follows when an agent gives up, or will not begin.

use crate::ids::{IssueNumber, JobId};
use crate::label::Label;
use crate::policy::OnAlreadyDone;
use crate::refusal::Refusal;
use crate::state::{End, Goal, JobState};
use crate::step::Turn;
use crate::text::one_line;
use crate::texts::reasons;

/// How much of an agent's reason is quoted.
const WHY_CHARS_MAX: usize = 300;

impl Turn<'_> {
    pub(super) fn gave_up(&mut self, id: JobId, why: &str) {
        // A queued job has changed something, whatever the agent says; its entry ends with the job.
        let queued = self.job(id).is_some_and(|j| matches!(j.state, JobState::InQueue { .. }));
        match Refusal::read(why) {
            Some(Refusal::Unmet(numbers)) => self.unmet(id, &numbers, why),
            Some(Refusal::Unclear) => {
                self.finish_with(id, End::Blocked, &reasons::cannot_do_it(why), &[Label::Underspecified]);
            }
            // The agent's word is not enough: the branch is looked at first.
            Some(Refusal::Done) if !queued => {
                if let Some(job) = self.floor.job_mut(id) {
                    job.memo.already_done = Some(after_the_word(why)).filter(|said| !said.is_empty());
                }
                self.push(id, Goal::Nothing);
            }
            Some(Refusal::Done) | None => self.finish(id, End::Failed, &reasons::gave_up(why)),
        }
    }

    /// The issue waits for those it needs, and is begun again then. Issues that are closed or do not exist are
    /// nothing to wait for.
    fn unmet(&mut self, id: JobId, numbers: &[IssueNumber], why: &str) {
        let Some((job, issue)) = self.carrier(id) else { return };
        let project = job.project.clone();
        let is_open = |n: &IssueNumber| self.floor.issues.get(&(project.clone(), *n)).is_some_and(|i| i.open);
        let waits: Vec<IssueNumber> = numbers.iter().copied().filter(|n| *n != issue && is_open(n)).collect();
        if waits.is_empty() {
            self.finish(id, End::Failed, &reasons::waits_for_what_is_closed(why));
            return;
        }
        self.dependencies_found(&project, issue, &waits);
        self.finish_with(id, End::Refused, &reasons::waits_for(&waits, why), &[Label::Backlog]);
    }

    /// The agent says that the issue is done already; this handles what its branch says.
    pub(super) fn nothing_to_do(&mut self, id: JobId, ahead: u32, dirty: u32) {
        let said = self.floor.job_mut(id).and_then(|job| job.memo.already_done.take());
        if ahead > 0 || dirty > 0 {
            let why = reasons::done_already_but_changed(said.as_deref(), ahead, dirty);
            self.finish(id, End::Failed, &why);
            return;
        }
        match self.policy_of(id).on_already_done {
            OnAlreadyDone::Close => {
                self.finish_with(id, End::Refused, &reasons::done_already(said.as_deref()), &[]);
            }
            OnAlreadyDone::Ask => self.block(id, &reasons::done_already_to_close(said.as_deref())),
        }
    }
}

/// What an agent says besides the word that names its refusal.
fn after_the_word(why: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    one_line(why.trim_start().trim_start_matches(is_word).trim_start_matches([':', ' ']), WHY_CHARS_MAX)
}
