//! Which effects may be performed now: the oldest of each lane, once it is due. Runs of checks share the room
//! there is for them.

use shopfloor_core::effect::Action;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::Urgency;
use shopfloor_core::time::Time;
use shopfloor_store::OutboxEffect;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How many attempts fail before anybody is told: fewer are a hiccup.
pub const TROUBLE_AFTER: u32 = 3;

/// The longest pause between two attempts: an effect continues soon after its obstacle is gone.
const BACKOFF_MAX: Duration = Duration::from_secs(60);

/// The pause after a failed attempt: half a second, doubling, at most a minute.
pub fn backoff(attempts: u32) -> Duration {
    Duration::from_millis(500 * 2u64.saturating_pow(attempts.saturating_sub(1).min(10))).min(BACKOFF_MAX)
}

/// When a waiting effect is due. If it would wait longer than any effect does, the clock was set back, and it
/// is due now.
fn due(effect: &OutboxEffect, now: Time) -> Option<Time> {
    let waits = effect.not_before > now && effect.not_before.since(now) <= BACKOFF_MAX;
    waits.then_some(effect.not_before)
}

/// What can be done, and when to look again.
#[derive(Debug, Default)]
pub struct Dispatch {
    pub now: Vec<OutboxEffect>,
    pub wake: Option<Time>,
}

/// The room for runs of checks.
#[derive(Debug, Default)]
pub struct Checks {
    /// How many more may begin.
    pub free: usize,
    /// How many are under way, by project.
    pub running: BTreeMap<ProjectName, usize>,
    /// When each project's last one began, counted in runs.
    pub served: BTreeMap<ProjectName, u64>,
}

/// A project's run begins: it is the last to have been served.
pub fn serve(served: &mut BTreeMap<ProjectName, u64>, project: &ProjectName) {
    let last = served.values().max().copied().unwrap_or_default();
    served.insert(project.clone(), last + 1);
}

/// `outbox` is oldest first. `busy` are the lanes with an effect under way; `urgency` ranks runs of checks.
pub fn runnable(
    outbox: Vec<OutboxEffect>,
    busy: &BTreeSet<String>,
    now: Time,
    checks: Checks,
    urgency: impl Fn(&Action) -> Option<Urgency>,
) -> Dispatch {
    let mut taken = busy.clone();
    let mut dispatch = Dispatch::default();
    let mut waiting = Vec::new();
    for effect in outbox {
        if !taken.insert(effect.action.lane()) {
            continue;
        }
        if let Some(due) = due(&effect, now) {
            dispatch.wake = Some(dispatch.wake.map_or(due, |w| w.min(due)));
            continue;
        }
        match urgency(&effect.action) {
            Some(urgency) => waiting.push((urgency, effect)),
            None => dispatch.now.push(effect),
        }
    }
    dispatch.now.extend(checks.shared_out(waiting));
    dispatch
}

impl Checks {
    /// First what is urgent and about to land; then each project in its turn, whoever was served longest ago first,
    /// also if there are more projects than slots; within a project the most urgent run, and of equally urgent ones the
    /// oldest. No project's crowd keeps another waiting.
    fn shared_out(mut self, mut waiting: Vec<(Urgency, OutboxEffect)>) -> Vec<OutboxEffect> {
        let mut now = Vec::new();
        while now.len() < self.free && !waiting.is_empty() {
            let running = |q: &OutboxEffect| q.action.project().and_then(|p| self.running.get(p)).copied();
            let served = |q: &OutboxEffect| q.action.project().and_then(|p| self.served.get(p)).copied();
            let turn = |(urgency, effect): &(Urgency, OutboxEffect)| {
                let urgent = *urgency == Urgency::UrgentTrial;
                (!urgent, running(effect).unwrap_or(0), served(effect).filter(|_| !urgent), *urgency)
            };
            // `min_by_key` takes the first of equals: the oldest.
            let next = (0..waiting.len()).min_by_key(|at| turn(&waiting[*at])).unwrap_or(0);
            let (_, effect) = waiting.remove(next);
            if let Some(project) = effect.action.project() {
                *self.running.entry(project.clone()).or_default() += 1;
                serve(&mut self.served, project);
            }
            now.push(effect);
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::effect::{CiPurpose, CommitSource};
    use shopfloor_core::ids::{EffectId, Epoch, JobId, MessageId, RunId};

    fn ring(id: u64, epoch: u64, not_before: u64) -> OutboxEffect {
        OutboxEffect {
            host: Default::default(),
            id: EffectId(id),
            action: Action::RingInbox { epoch: Epoch(epoch), message: MessageId(id) }.into(),
            attempts: 0,
            not_before: Time(not_before),
            last_error: None,
        }
    }

    fn check(id: u64) -> OutboxEffect {
        check_of("p", id)
    }

    fn check_of(project: &str, id: u64) -> OutboxEffect {
        let action = Action::RunCi {
            job: Some(JobId(1)),
            project: project.parse().unwrap(),
            issue: Default::default(),
            run: RunId(id),
            commit: "a".repeat(40).parse().unwrap(),
            source: CommitSource::Hub,
            purpose: CiPurpose::Head,
            about: Default::default(),
        };
        OutboxEffect { action: action.into(), ..ring(id, 0, 0) }
    }

    /// Runs below 100 are of heads, those below 200 of trials, below 300 of urgent ones, others of urgent heads.
    fn urgency(action: &Action) -> Option<Urgency> {
        let Action::RunCi { run, .. } = action else { return None };
        let urgencies = [Urgency::Head, Urgency::Trial, Urgency::UrgentTrial, Urgency::UrgentHead];
        Some(urgencies[(run.0 / 100) as usize])
    }

    fn runnable(outbox: Vec<OutboxEffect>, busy: &BTreeSet<String>, now: Time, free: usize) -> Dispatch {
        super::runnable(outbox, busy, now, Checks { free, ..Checks::default() }, urgency)
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
    fn trials_go_before_heads_and_urgent_ones_before_all() {
        let outbox = || vec![check(1), check(2), check(101), check(102), check(201)];
        let begun = |free| ids(&runnable(outbox(), &BTreeSet::new(), Time(5), free));
        assert_eq!(begun(1), [201]);
        assert_eq!(begun(4), [201, 101, 102, 1]);
        // Of a hundred heads, the urgent one is the next, once nothing that is about to land waits.
        let mut outbox: Vec<OutboxEffect> = (1..100).map(check).collect();
        outbox.extend([check(301), check(101)]);
        assert_eq!(ids(&runnable(outbox, &BTreeSet::new(), Time(5), 3)), [101, 301, 1]);
    }

    #[test]
    fn no_project_keeps_another_waiting() {
        let mut outbox: Vec<OutboxEffect> = (101..150).map(check).collect();
        outbox.extend([check_of("q", 1), check_of("q", 2), check_of("r", 151)]);
        let begun = |free, running: &[(&str, usize)]| {
            let running = running.iter().map(|(p, n)| (p.parse().unwrap(), *n)).collect();
            ids(&super::runnable(
                outbox.clone(),
                &BTreeSet::new(),
                Time(5),
                Checks { free, running, ..Checks::default() },
                urgency,
            ))
        };
        assert_eq!(begun(4, &[]), [101, 151, 1, 102]);
        assert_eq!(begun(3, &[("p", 2), ("r", 1)]), [1, 151, 2]);
    }

    /// One slot becomes free at a time, and there are more projects than slots.
    #[test]
    fn projects_take_turns_at_the_next_free_slot() {
        let mut waiting: Vec<OutboxEffect> = (101..130).map(check).collect();
        waiting.extend((31..40).map(|id| check_of("q", id)));
        waiting.extend((41..50).map(|id| check_of("r", id)));
        let (mut running, mut served, mut order) = (Vec::new(), BTreeMap::new(), Vec::new());
        while order.len() < 9 {
            let mut by_project: BTreeMap<ProjectName, usize> = BTreeMap::new();
            for project in &running {
                *by_project.entry(ProjectName::clone(project)).or_default() += 1;
            }
            let checks = Checks { free: 2 - running.len(), running: by_project, served: served.clone() };
            let begun = super::runnable(waiting.clone(), &BTreeSet::new(), Time(5), checks, urgency).now;
            for effect in begun {
                let project = effect.action.project().unwrap().clone();
                serve(&mut served, &project);
                order.push(project.to_string());
                running.push(project);
                waiting.retain(|other| other.id != effect.id);
            }
            // The older of the two is done.
            running.remove(0);
        }
        // Two runs of each have begun of any six; trials are not in the way of other projects' heads.
        assert_eq!(order, ["p", "q", "r", "p", "q", "r", "p", "q", "r"]);
    }

    #[test]
    fn backoff_grows_and_is_bounded() {
        assert_eq!(backoff(1), Duration::from_millis(500));
        assert_eq!(backoff(3), Duration::from_secs(2));
        assert_eq!(backoff(u32::MAX), Duration::from_secs(60));
    }
}
