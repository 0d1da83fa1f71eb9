//! What a seed decides beforehand: the project's policy, how rough the world is, and what people
//! will do when.

use crate::acts;
use crate::human::Whim;
use crate::rng::Rng;
use crate::world::{Mutation, Storm, Weather, World};
use shopfloor_core::ids::Target;
use shopfloor_core::policy::{
    CheckCommits, HeadChecks, MergeBatch, MergeMethod, Policy, ReviewPeople, TargetPolicy,
};
use shopfloor_core::time::Time;
use std::time::Duration;

/// The projects of a floor. Most floors have one; some two or three, which may then share a limit, and one of
/// which may be out of order for hours.
pub fn worlds(seed: u64, mutation: Option<Mutation>, rough: bool) -> Vec<World> {
    let mut rng = Rng::new(seed ^ 0x9a11e7);
    let count = if rough && rng.permille(200) { rng.range(2, 3) } else { 1 };
    let mut worlds: Vec<World> = (0..count).map(|number| world(seed, number, mutation, rough)).collect();
    if count == 1 {
        return worlds;
    }
    let limit = rng.permille(600).then(|| rng.range(1, 5) as usize);
    let ill = rng.permille(500).then(|| rng.below(count) as usize);
    for (number, world) in worlds.iter_mut().enumerate() {
        world.several = true;
        world.policy.floor_max_jobs = limit;
        world.saw("several projects");
        if ill == Some(number) {
            world.saw("project out of order");
            let until = world.now + Duration::from_secs(3600 * rng.range(2, 8));
            world.storm = Some(Storm { from: world.now, until, permille: 1000, only: None });
        }
    }
    worlds
}

fn world(seed: u64, number: u64, mutation: Option<Mutation>, rough: bool) -> World {
    let mut world = World::new(seed.wrapping_add(number * 1_000_003), Policy::default(), mutation);
    if number > 0 {
        world.project = format!("sim-{number}").parse().expect("a valid name");
    }
    world.policy = policy(&mut world.rng);
    acts::rights(&mut world.policy, seed.wrapping_add(number));
    // Few enough that something is on the shelf in most runs. Not drawn: the seeds stay what they were.
    world.policy.jobs_at_hand = (seed % 4) as usize;
    world.policy.actions = seed.is_multiple_of(3);
    world.policy.keep_journal = Some(Duration::from_secs(3600 * (6 + seed % 48)));
    queues(&mut world);
    world.weather = weather(&mut world.rng);
    world.storm = storm(&mut world);
    if !rough {
        world.weather = Weather::default();
        world.storm = None;
    }
    world
}

/// When the issues are filed. Now and then a crowd, so that many are in the merge queue at once.
pub fn issues(world: &mut World, rough: bool) -> Vec<(Time, Whim)> {
    let crowd = rough && world.rng.permille(80);
    let (issues, apart) = if crowd { (world.rng.range(5, 9), 60) } else { (world.rng.range(1, 4), 3600) };
    if crowd {
        world.policy.max_jobs = issues as usize;
    }
    let at = |number| world.now + Duration::from_secs(number * world.rng.below(apart));
    (0..issues).map(at).map(|at| (at, Whim::FileIssue)).collect()
}

fn policy(rng: &mut Rng) -> Policy {
    let method = [MergeMethod::Rebase, MergeMethod::Merge, MergeMethod::Squash][rng.below(3) as usize];
    let has_checks = !rng.permille(40);
    let policy = Policy {
        review_required: !rng.permille(150),
        review_agent: !rng.permille(100),
        has_checks,
        allow_no_checks: !has_checks && rng.permille(600),
        merge_method: method,
        merge_slots: rng.range(1, 4) as usize,
        tells_landed: true,
        tells_not_landed: true,
        max_jobs: rng.range(1, 5) as usize,
        // Short enough for a run with the idle days at its end.
        rescue_keep: 2,
        keep_worktrees: Duration::from_secs(36 * 3600),
        keep_logs: Duration::from_secs(24 * 3600),
        ..Policy::default()
    };
    let merge_batch = match policy.merge_slots {
        2 => MergeBatch::Tip,
        4 => MergeBatch::Each,
        _ => MergeBatch::Strict,
    };
    let head_checks = match policy.max_jobs {
        2 => HeadChecks::Never,
        4 => HeadChecks::WhenIdle,
        _ => HeadChecks::Always,
    };
    let review_people = match policy.max_jobs {
        1 | 4 => ReviewPeople::Always,
        2 | 5 => ReviewPeople::Ask,
        _ => ReviewPeople::Never,
    };
    let check_commits = if policy.merge_slots == 3 { CheckCommits::Each } else { CheckCommits::Last };
    Policy { merge_batch, head_checks, check_commits, review_people, ..policy }
}

/// What else a seed decides about the queue: other branches to land on, a key to sign with.
fn queues(world: &mut World) {
    let rng = &mut world.rng;
    let count = if rng.permille(220) { rng.range(1, 2) } else { 0 };
    for number in 1..=count {
        let branch: Target = format!("release/{number}.x").try_into().expect("a branch's name");
        // A missing target is made when somebody misses it.
        if !rng.permille(100) {
            world.git.hub.insert(branch.branch().to_owned(), world.git.primary());
        }
        let (name, label) = (format!("release-{number}"), format!("for-{number}"));
        world.forge.labels.insert(label.clone());
        world.policy.targets.push(TargetPolicy { name, branch, label });
    }
    world.policy.merge_people = match rng.below(3) {
        0 => MergeMethod::Squash,
        1 => MergeMethod::Rebase,
        _ => MergeMethod::Merge,
    };
    if rng.permille(100) {
        world.policy.merge_signed = true;
        let from = world.now + Duration::from_secs(rng.below(3 * 3600));
        let away = rng.permille(700).then(|| from..from + Duration::from_secs(60 * rng.range(5, 300)));
        world.keyless = away;
    }
}

fn weather(rng: &mut Rng) -> Weather {
    match rng.below(4) {
        0 => Weather { transient: 0, permanent: 0, interleave: 5 },
        1 => Weather { transient: 20, permanent: 0, interleave: 20 },
        2 => Weather { transient: 40, permanent: 2, interleave: 30 },
        _ => Weather { transient: 120, permanent: 6, interleave: 60 },
    }
}

/// Every fourth run has a storm, of minutes to hours, somewhere in its first hours.
fn storm(world: &mut World) -> Option<Storm> {
    let (now, rng) = (world.now, &mut world.rng);
    if !rng.permille(250) {
        return None;
    }
    let from = now + Duration::from_secs(rng.below(4 * 3600));
    let until = from + Duration::from_secs(60 * rng.range(1, 400));
    let permille = *rng.pick(&[1000, 1000, 700]).expect("not empty");
    let only = rng.permille(600).then(|| (rng.below(3) as u32, 3));
    Some(Storm { from, until, permille, only })
}

/// A few whims in the first hours, and a person who looks around now and then for days.
pub fn whims(world: &mut World) -> Vec<(Time, Whim)> {
    let (now, rng) = (world.now, &mut world.rng);
    let hours = |hours: u64, rng: &mut Rng| now + Duration::from_secs(hours * 3600 + rng.below(3600));
    let whims = [
        Whim::FileIssue,
        Whim::CloseIssue,
        Whim::Relabel,
        Whim::TakeAway,
        Whim::EditIssue,
        Whim::PushPrimary,
        Whim::PushPrimary,
        Whim::PushPrimary,
        Whim::LandByPerson,
        Whim::PushToBranch,
        Whim::Cancel,
        Whim::ReviewSomething,
        Whim::PushBug,
        Whim::Pause,
        Whim::TakeJob,
        Whim::TakeJob,
        Whim::PauseWork,
        Whim::AskToMerge,
        Whim::RefuseToMerge,
        Whim::QueueBranch,
        Whim::TryBranch,
        Whim::TryBranch,
        Whim::QueueBranch,
    ];
    let mut plan = Vec::new();
    for _ in 0..rng.below(9) {
        let hour = rng.below(4);
        plan.push((hours(hour, rng), *rng.pick(&whims).expect("not empty")));
    }
    if rng.permille(250) {
        for _ in 0..rng.range(1, 3) {
            let hour = rng.below(5);
            plan.push((hours(hour, rng), Whim::ShowPull));
        }
    }
    // What people do to the queue's branches comes on top of the rest.
    if rng.permille(300) {
        let whims = [
            Whim::Rewind,
            Whim::Rewind,
            Whim::Rewind,
            Whim::DeleteTarget,
            Whim::Stack,
            Whim::Stack,
            Whim::Stack,
            Whim::Carry,
            Whim::Carry,
            Whim::QueueBranch,
            Whim::QueueBranch,
        ];
        for _ in 0..rng.range(1, 4) {
            let hour = rng.below(6);
            plan.push((hours(hour, rng), *rng.pick(&whims).expect("not empty")));
        }
    }
    // Drawn by themselves.
    if world.wishes.permille(300) {
        for _ in 0..world.wishes.range(1, 3) {
            let at = now + Duration::from_secs(world.wishes.below(5 * 3600));
            plan.push((at, Whim::AskForRun));
            if world.wishes.permille(400) {
                for _ in 0..3 {
                    plan.push((at + Duration::from_secs(world.wishes.below(40_000)), Whim::Schedule));
                }
            }
            if world.wishes.permille(150) {
                plan.push((at + Duration::from_secs(world.wishes.below(3600)), Whim::CancelRun));
            }
        }
    }
    if world.wishes.permille(300) {
        for _ in 0..world.wishes.range(1, 4) {
            let at = now + Duration::from_secs(world.wishes.below(6 * 3600));
            plan.push((at, Whim::AskVault));
            for _ in 0..world.wishes.below(3) {
                let later = Duration::from_secs(world.wishes.range(60, 12 * 3600));
                plan.push((at + later, Whim::DecideInVault));
            }
            if world.wishes.permille(200) {
                plan.push((at + Duration::from_secs(world.wishes.below(3600)), Whim::EditVault));
            }
        }
    }
    if world.nerves.permille(400) {
        for _ in 0..world.nerves.range(2, 8) {
            let at = now + Duration::from_secs(world.nerves.below(20 * 3600));
            plan.push((at, Whim::LookAfterHealth));
        }
    }
    for look in [1, 3, 5, 8, 12, 20, 30, 40, 55] {
        plan.push((hours(look, rng), Whim::LookAround));
        if rng.permille(120) {
            plan.push((hours(look, rng), Whim::Relabel));
        }
    }
    plan
}
