//! Jobs' heads and the commits they stand on: nobody is told about a head that was red only once, or blamed
//! for a primary branch that is itself red, and a job that waits for that to be mended is not forgotten.

use super::Checker;
use crate::git::commit_of;
use crate::world::World;
use shopfloor_core::effect::Action;
use shopfloor_core::ids::{JobId, Sha};
use shopfloor_core::state::{Floor, JobState, Message, Who};
use shopfloor_core::texts::FirstLine;
use shopfloor_store::OutboxEffect;

const BLAME: &str = "6 nobody is blamed for what others did";
const WAITS: &str = "7 every wait has a deadline";

/// The commit that an agent is told to mend.
fn told_red(message: &Message) -> Option<Sha> {
    let red = matches!(FirstLine::of(&message.text), Some(FirstLine::CiFailed | FirstLine::CiTimeout));
    let text = message.text.lines().nth(1).filter(|_| red)?.strip_prefix("Commit ")?;
    text.split(':').next()?.to_owned().try_into().ok()
}

impl Checker {
    /// Checked before [`Checker::newest_message`] moves on.
    pub(super) fn heads_are_judged_fairly(&mut self, world: &mut World, floor: &Floor) {
        let new: Vec<&Message> = floor.messages.iter().filter(|m| m.id > self.newest_message).collect();
        for message in new {
            let Some(head) = told_red(message) else { continue };
            let commit = commit_of(&head);
            let runs = world.red_runs.get(&commit).copied().unwrap_or(0);
            if runs < 2 {
                world.broken(
                    BLAME,
                    format!("job {} is told of c{commit}, which was red {runs} times", message.job),
                );
            }
            let job = floor.jobs.get(&message.job);
            let base = job.and_then(|j| j.known.base.as_ref()).map(commit_of);
            // If that could not be found out, the message says so.
            let known = !message.text.contains("is not known");
            if let Some(base) = base.filter(|base| world.git.is_red(*base) && known) {
                world.broken(
                    BLAME,
                    format!("job {} is blamed for c{commit} on c{base}, which is red", message.job),
                );
            }
        }
    }

    /// 7: a parked job waits for a running check, or for a primary branch that is known to be red.
    pub(super) fn no_parked_job_is_forgotten(
        &self,
        world: &mut World,
        floor: &Floor,
        outbox: &[OutboxEffect],
    ) {
        let mut forgotten = Vec::new();
        let waits =
            |id: &JobId| floor.jobs.get(id).is_some_and(|j| matches!(j.state, JobState::Parked { .. }));
        for queue in floor.queues.iter() {
            for parked in &queue.parked {
                if let Who::Job(job) = parked.who
                    && !waits(&job)
                {
                    forgotten.push(format!("job {job} is parked, and does not know"));
                }
            }
        }
        for job in floor.jobs.iter().filter(|j| matches!(j.state, JobState::Parked { .. })) {
            let queue = floor.queues.get(&job.queue());
            let parked = queue.and_then(|q| Some((q, q.parked.iter().find(|p| p.who == Who::Job(job.id))?)));
            let Some((queue, parked)) = parked else {
                forgotten.push(format!("job {} waits for the primary branch, and nobody knows", job.id));
                continue;
            };
            let is_run =
                |run| outbox.iter().any(|q| matches!(*q.action, Action::RunCi { run: r, .. } if r == run));
            let runs = queue.base_checks().any(|check| !check.red && is_run(check.run));
            let red = queue.plan.base().is_some_and(|base| queue.is_red(base));
            if !runs && !red && queue.plan.base().is_some() {
                forgotten.push(format!("job {} waits for {:?}, which nobody checks", job.id, parked.on));
            }
            world.saw(if parked.red { "job parked on a red base" } else { "job waits for a base check" });
        }
        for text in forgotten {
            world.broken(WAITS, text);
        }
    }
}
