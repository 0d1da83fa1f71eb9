//! What follows when an agent gives up, or will not begin.

use super::Turn;
use crate::ids::{IssueNumber, JobId};
use crate::policy::OnAlreadyDone;
use crate::refusal::Refusal;
use crate::state::{End, Goal, JobState};
use crate::text::one_line;

/// What is quoted of an agent's reason.
const WHY_CHARS_MAX: usize = 300;

impl Turn<'_> {
    pub(super) fn gave_up(&mut self, id: JobId, why: &str) {
        // What is queued has changed something, whatever the agent says; its entry ends with the job.
        let queued = self.job(id).is_some_and(|j| matches!(j.state, JobState::Merging { .. }));
        match Refusal::read(why) {
            Some(Refusal::Unmet(numbers)) => self.unmet(id, &numbers, why),
            Some(Refusal::Unclear) => {
                self.finish_with(
                    id,
                    End::Blocked,
                    &format!("the agent cannot do it as it is: {why}"),
                    &["underspecified"],
                );
            }
            // Not on its word: the branch is looked at first.
            Some(Refusal::Done) if !queued => {
                if let Some(job) = self.floor.jobs.edit(&id) {
                    job.memo.already_done = Some(after_the_word(why)).filter(|said| !said.is_empty());
                }
                self.publish(id, Goal::Nothing);
            }
            Some(Refusal::Done) | None => self.finish(id, End::Failed, &format!("the agent gave up: {why}")),
        }
    }

    /// The issue waits for those it needs and is begun again then. What is closed or does not exist is
    /// nothing to wait for.
    fn unmet(&mut self, id: JobId, numbers: &[IssueNumber], why: &str) {
        let Some(job) = self.job(id) else { return };
        let (project, issue) = (job.project.clone(), job.issue);
        let is_open = |n: &IssueNumber| self.floor.issues.get(&(project.clone(), *n)).is_some_and(|i| i.open);
        let waits: Vec<IssueNumber> = numbers.iter().copied().filter(|n| *n != issue && is_open(n)).collect();
        if waits.is_empty() {
            self.finish(id, End::Failed, &format!("the agent waits for what is not open: {why}"));
            return;
        }
        if let Some(row) = self.floor.issues.edit(&(project, issue)) {
            row.found_deps.extend(&waits);
            row.deps.extend(&waits);
            row.deps.sort_unstable();
            row.deps.dedup();
        }
        let list = waits.iter().map(|n| format!("#{n}")).collect::<Vec<_>>().join(", ");
        self.finish_with(
            id,
            End::Refused,
            &format!("it waits for {list}, as the agent found: {why}"),
            &["backlog"],
        );
    }

    /// The agent says that the issue is done already; this is what its branch says.
    pub(super) fn nothing_to_do(&mut self, id: JobId, ahead: u32, dirty: u32) {
        let said = self.floor.jobs.edit(&id).and_then(|job| job.memo.already_done.take());
        let said = said.map(|said| format!(" ({said})")).unwrap_or_default();
        if ahead > 0 || dirty > 0 {
            let why = format!(
                "the agent says that the issue is done already{said}, but its branch has {ahead} commits and {dirty} changed files of its own"
            );
            self.finish(id, End::Failed, &why);
            return;
        }
        let why = format!("the agent found it done already{said}, and changed nothing");
        match self.policy_of(id).on_already_done {
            OnAlreadyDone::Close => self.finish_with(id, End::Refused, &why, &[]),
            OnAlreadyDone::Ask => self.block(id, &format!("{why}: close the issue if that is so")),
        }
    }
}

/// What an agent says beside the word that names its refusal.
fn after_the_word(why: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    one_line(why.trim_start().trim_start_matches(is_word).trim_start_matches([':', ' ']), WHY_CHARS_MAX)
}
