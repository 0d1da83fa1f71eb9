//! What the supervisor looks at, measured. What cannot be seen is left out.

use super::docker;
use crate::ci::record;
use crate::git::locks_held;
use crate::host::machine;
use crate::host::process::{self, Liveness};
use crate::layout::Layout;
use shopfloor_core::effect::CiVerdict;
use shopfloor_core::health::{CheckSeen, Machine, Measured, OldLock, Recent, TreeSeen};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::time::Time;
use shopfloor_engine::ports::{Owner, Tree};
use shopfloor_store::ci::{CiRun, CiRuns};
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// More of one kind says nothing more.
const LISTED_MAX: usize = 50;
/// So many folders are looked at.
const TREES_MAX: usize = 1000;
const RUNS_MAX: usize = 50;
/// What the newest checks say: so many of them, and not those of last week.
const RECENT_MAX: u64 = 10;
const RECENT_WITHIN: Duration = Duration::from_secs(24 * 3600);

pub fn machine(layout: &Layout) -> Machine {
    let (memory, disk) = (machine::memory(), machine::disk(layout.root()));
    let used = machine::disk_used(layout.root());
    let pressure = machine::pressure().and_then(|pressure| pressure.memory);
    let whole = |number: f64, times: f64| (number * times).round().max(0.0) as u64;
    Machine {
        memory_available: memory.available,
        swap_total: memory.swap_total,
        swap_free: memory.swap_free,
        disk_free: disk.map(|(free, _)| free),
        // As `df` counts: of what can be used.
        disk_total: disk.zip(used).map(|((free, _), used)| free + used),
        load: machine::load().map(|[_, _, fifteen]| whole(fifteen, 100.0)),
        cpus: std::thread::available_parallelism().ok().map(|cpus| cpus.get() as u64),
        memory_pressure: pressure.map(|share| whole(share, 10.0)),
    }
}

/// The machine, and what is around a project. Sessions that nobody knows are not looked for here: only the daemon has a
/// line to the terminals.
pub fn measure(layout: &Layout, project: &ProjectName, ci: &mut dyn CiRuns, now: Time) -> Measured {
    let runs = ci.list(project, RUNS_MAX).ok();
    Measured {
        machine: machine(layout),
        containers: docker::containers(),
        locks: Some(locks(layout, project)),
        trees: Some(trees(layout, project)),
        strays: None,
        checks: runs.as_ref().map(|runs| checks(layout, project, runs)),
        recent: runs.map(|runs| recent(&runs, now)),
    }
}

fn checks(layout: &Layout, project: &ProjectName, runs: &[CiRun]) -> Vec<CheckSeen> {
    let seen = runs.iter().filter(|run| run.verdict.is_none()).map(|run| {
        let process = record::load_process(&layout.ci_run(project, run.run)).ok().flatten();
        let alive = process.is_some_and(|process| process::is_same(process) == Liveness::Alive);
        CheckSeen { run: run.run, since: run.started_at, alive }
    });
    seen.take(LISTED_MAX).collect()
}

fn recent(runs: &[CiRun], now: Time) -> Recent {
    let mut found = Recent::default();
    for run in runs.iter().filter(|run| now.since(run.started_at) <= RECENT_WITHIN) {
        let red = match run.verdict {
            Some(CiVerdict::Green) => 0,
            Some(CiVerdict::Red | CiVerdict::TimedOut) => 1,
            _ => continue,
        };
        if found.ended == RECENT_MAX {
            break;
        }
        found.ended += 1;
        found.red += red;
    }
    found
}

/// In the floor's own repositories: agents' are their own business.
fn locks(layout: &Layout, project: &ProjectName) -> Vec<OldLock> {
    let root = layout.project(project);
    let held = layout.repositories(project).into_iter().flat_map(|repository| locks_held(&repository));
    let seen = held.filter_map(|lock| {
        let age = fs::symlink_metadata(&lock).ok()?.modified().ok()?.elapsed().unwrap_or_default();
        let path = lock.strip_prefix(&root).unwrap_or(&lock).display().to_string();
        Some(OldLock { path, age })
    });
    seen.take(LISTED_MAX).collect()
}

fn trees(layout: &Layout, project: &ProjectName) -> Vec<TreeSeen> {
    let folders = fs::read_dir(layout.project(project).join("worktrees"));
    let folders = folders.into_iter().flatten().flatten().take(TREES_MAX);
    let seen = folders.filter_map(|folder| {
        let name = folder.file_name().into_string().ok()?;
        let tree = Tree::named(project, &name)?;
        let Owner::Agent { role, assignment } = tree.owner else { return None };
        let repository = layout.repository(&tree);
        let places = [folder.path(), repository.join("HEAD"), repository.join("index"), repository];
        let changed = places.iter().filter_map(|place| changed(place)).max()?;
        Some(TreeSeen { name, role, assignment, changed })
    });
    let mut seen: Vec<TreeSeen> = seen.collect();
    // Those that nobody has touched for longest.
    seen.sort_by_key(|tree| tree.changed);
    seen.truncate(LISTED_MAX);
    seen
}

fn changed(path: &Path) -> Option<Time> {
    let modified = fs::symlink_metadata(path).ok()?.modified().ok()?;
    Some(Time(u64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::effect::CommitSource;
    use shopfloor_core::ids::{Assignment, IssueNumber, Role, RunId};

    fn run(number: u64, verdict: Option<CiVerdict>, at: u64) -> CiRun {
        CiRun {
            run: RunId(number),
            project: "p".parse().unwrap(),
            issue: None,
            commit: "0".repeat(40).try_into().unwrap(),
            source: CommitSource::Hub,
            verdict,
            step: None,
            log: None,
            started_at: Time(at),
            finished_at: None,
            steps: Vec::new(),
        }
    }

    #[test]
    fn a_trend_is_of_the_newest_checks_of_a_day_that_say_something() {
        let day = RECENT_WITHIN.as_millis() as u64;
        let runs = [
            run(5, Some(CiVerdict::Red), 2 * day),
            run(4, Some(CiVerdict::Infra), 2 * day),
            run(3, None, 2 * day),
            run(2, Some(CiVerdict::Green), 2 * day),
            run(1, Some(CiVerdict::Red), day - 1),
        ];
        assert_eq!(recent(&runs, Time(2 * day)), Recent { ended: 2, red: 1 });
        let many: Vec<CiRun> = (0..30).map(|n| run(n, Some(CiVerdict::Red), day)).collect();
        assert_eq!(recent(&many, Time(day)), Recent { ended: 10, red: 10 });
    }

    #[test]
    fn worktrees_and_locks_are_found_in_the_floors_folders_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let project: ProjectName = "p".parse().unwrap();
        let worktrees = layout.project(&project).join("worktrees");
        for name in ["issue-7", "supervisor-r3", "hand-p-dev-1-2-h3", "somebody's"] {
            fs::create_dir_all(worktrees.join(name)).unwrap();
        }
        let mut found = trees(&layout, &project);
        found.sort_by(|one, other| one.name.cmp(&other.name));
        let names: Vec<&str> = found.iter().map(|tree| tree.name.as_str()).collect();
        assert_eq!(names, ["issue-7", "supervisor-r3"]);
        assert_eq!((found[0].role, found[0].assignment), (Role::DEV, Assignment::Issue(IssueNumber(7))));

        let hub = layout.hub(&project);
        fs::create_dir_all(hub.join("refs/heads")).unwrap();
        fs::write(hub.join("refs/heads/main.lock"), "").unwrap();
        let locks = locks(&layout, &project);
        assert_eq!(locks.len(), 1);
        assert_eq!(locks[0].path, "hub.git/refs/heads/main.lock");
        // A folder that is not there holds none.
        assert_eq!(super::locks(&layout, &"q".parse().unwrap()), Vec::new());
        assert_eq!(super::trees(&layout, &"q".parse().unwrap()), Vec::new());
    }
}
