//! How much is done of each thing.

use std::time::Duration;

pub struct Scale {
    pub commits: u32,
    pub identities: u64,
    pub command_runs: u32,
    pub phase_rounds: u32,
    pub hook_calls: u32,
    pub sessions: u64,
    pub kills: u32,
    pub dialogs: u32,
    pub sessions_watched: Duration,
    pub snapshots: u32,
    pub merges: u32,
    pub issues: u64,
    /// Ended jobs and closed issues.
    pub past: [u64; 2],
    /// Open issues and open pull requests, beside that many ended jobs.
    pub backlogs: [(u64, u64); 2],
    pub ended: u64,
    /// Issues, each of which waits for the one before.
    pub chain: [u64; 2],
    /// Pull requests whose heads the hub keeps.
    pub refs: [u32; 2],
    /// Floors on the machine beside the one that is measured.
    pub floors: usize,
    pub ci_runs: u32,
    /// Files of a worktree.
    pub files: [usize; 2],
    /// Issues that one floor works on.
    pub jobs: u64,
    /// Issues whose cost is compared with git's.
    pub issue_rounds: u32,
    /// Agents that are started at once.
    pub starts: u64,
    /// Clients in terminals.
    pub clients: u64,
    /// Heads and queue entries that share one slot.
    pub entries: u64,
}

pub const FULL: Scale = Scale {
    commits: 2000,
    identities: 1000,
    command_runs: 30,
    phase_rounds: 1000,
    hook_calls: 500,
    sessions: 100,
    kills: 20,
    dialogs: 20,
    sessions_watched: Duration::from_secs(60),
    snapshots: 20,
    merges: 1000,
    issues: 10_000,
    past: [100, 10_000],
    backlogs: [(3_000, 8), (10_000, 64)],
    ended: 1_000,
    chain: [1_000, 10_000],
    refs: [100, 10_000],
    floors: 11,
    ci_runs: 50,
    files: [5_000, 50_000],
    jobs: 2_000,
    issue_rounds: 30,
    starts: 50,
    clients: 50,
    entries: 32,
};
pub const QUICK: Scale = Scale {
    commits: 200,
    identities: 1000,
    command_runs: 5,
    phase_rounds: 50,
    hook_calls: 100,
    sessions: 20,
    kills: 3,
    dialogs: 5,
    sessions_watched: Duration::from_secs(10),
    snapshots: 5,
    merges: 40,
    issues: 1000,
    past: [100, 1_000],
    backlogs: [(300, 2), (1_000, 8)],
    ended: 100,
    chain: [100, 1_000],
    refs: [100, 1_000],
    floors: 3,
    ci_runs: 10,
    files: [500, 5_000],
    jobs: 40,
    issue_rounds: 5,
    starts: 10,
    clients: 10,
    entries: 6,
};
