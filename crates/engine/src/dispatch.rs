//! Which effects may be performed now: the oldest of each lane, when its time has come.

use shopfloor_core::effect::Action;
use shopfloor_core::time::Time;
use shopfloor_store::Queued;
use std::collections::BTreeSet;
use std::time::Duration;

/// Attempts that may fail before it is told: less is a hiccup.
pub const TROUBLE_AFTER: u32 = 3;

/// The longest pause between two attempts. It goes on soon after what was in its way is gone.
const BACKOFF_MAX: Duration = Duration::from_secs(60);

/// The pause after a failed attempt: half a second, doubling, at most a minute.
pub fn backoff(attempts: u32) -> Duration {
    Duration::from_millis(500 * 2u64.saturating_pow(attempts.saturating_sub(1).min(10))).min(BACKOFF_MAX)
}

/// When an effect that waits is due; of one that waits longer than anything does, the clock was set back.
fn due(effect: &Queued, now: Time) -> Option<Time> {
    let waits = effect.not_before > now && effect.not_before.since(now) <= BACKOFF_MAX;
    waits.then_some(effect.not_before)
}

/// What can be done, and when to look again.
#[derive(Debug, Default)]
pub struct Dispatch {
    pub now: Vec<Queued>,
    pub wake: Option<Time>,
}

/// `outbox` is oldest first. `busy` are the lanes with an effect under way; `checks_free` is how
/// many more runs of checks may begin.
pub fn runnable(outbox: Vec<Queued>, busy: &BTreeSet<String>, now: Time, mut checks_free: usize) -> Dispatch {
    let mut taken = busy.clone();
    let mut dispatch = Dispatch::default();
    for effect in outbox {
        if !taken.insert(effect.action.lane()) {
            continue;
        }
        if let Some(due) = due(&effect, now) {
            dispatch.wake = Some(dispatch.wake.map_or(due, |w| w.min(due)));
            continue;
        }
        if matches!(effect.action, Action::RunCi { .. }) {
            if checks_free == 0 {
                continue;
            }
            checks_free -= 1;
        }
        dispatch.now.push(effect);
    }
    dispatch
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::effect::{CiPurpose, CommitSource};
    use shopfloor_core::ids::{EffectId, Epoch, JobId, MessageId, RunId};

    fn ring(id: u64, epoch: u64, not_before: u64) -> Queued {
        Queued {
            id: EffectId(id),
            action: Action::RingInbox { epoch: Epoch(epoch), message: MessageId(id) },
            attempts: 0,
            not_before: Time(not_before),
            last_error: None,
        }
    }

    fn check(id: u64) -> Queued {
        let action = Action::RunCi {
            job: Some(JobId(1)),
            project: "p".parse().unwrap(),
            issue: Default::default(),
            run: RunId(id),
            commit: "a".repeat(40).parse().unwrap(),
            source: CommitSource::Hub,
            purpose: CiPurpose::Head,
        };
        Queued { action, ..ring(id, 0, 0) }
    }

    fn ids(d: &Dispatch) -> Vec<u64> {
        d.now.iter().map(|q| q.id.0).collect()
    }

    #[test]
    fn one_effect_a_lane_oldest_first() {
        let d = runnable(vec![ring(1, 1, 0), ring(2, 1, 0), ring(3, 2, 0)], &BTreeSet::new(), Time(5), 9);
        assert_eq!(ids(&d), [1, 3]);
    }

    #[test]
    fn a_deferred_effect_holds_its_lane_and_sets_the_alarm() {
        let d = runnable(vec![ring(1, 1, 9), ring(2, 1, 0), ring(3, 2, 7)], &BTreeSet::new(), Time(5), 9);
        assert_eq!(ids(&d), [0u64; 0]);
        assert_eq!(d.wake, Some(Time(7)));
    }

    #[test]
    fn busy_lanes_and_full_slots_wait() {
        let busy = BTreeSet::from(["inbox:1".to_owned()]);
        let d = runnable(vec![ring(1, 1, 0), check(2), check(3), check(4)], &busy, Time(5), 2);
        assert_eq!(ids(&d), [2, 3]);
    }

    #[test]
    fn backoff_grows_and_is_bounded() {
        assert_eq!(backoff(1), Duration::from_millis(500));
        assert_eq!(backoff(3), Duration::from_secs(2));
        assert_eq!(backoff(u32::MAX), Duration::from_secs(60));
    }
}
