//! Measures Shopfloor on this machine: prints a table and writes it as JSON. Run by
//! `cargo xtask bench`.
//!
//! These are measurements, not tests: nothing here fails because it is slow. The floor that is
//! measured lives in a folder of its own, with a home of its own, and is gone afterwards.

mod backlog;
mod commits;
mod daemon;
mod dialogs;
mod fill;
mod floor;
mod hook;
mod landing;
mod merges;
mod phase;
mod report;
mod rescue;
mod sessions;
mod stats;
mod sync;

use anyhow::{Context, Result, bail};
use floor::BenchFloor;
use report::Report;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How much is done of each thing.
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
}

const FULL: Scale = Scale {
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
};
const QUICK: Scale = Scale {
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
};

struct Args {
    binary: PathBuf,
    out: PathBuf,
    quick: bool,
    /// Only the merge queue.
    queue: bool,
    /// Only the forge.
    forge: bool,
}

fn main() -> ExitCode {
    match arguments().and_then(|args| run(&args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<Args> {
    let (mut binary, mut out, mut quick, mut queue, mut forge) = (None, None, false, false, false);
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().map(PathBuf::from).context("a path is missing");
        match word.to_str() {
            Some("--binary") => binary = Some(value()?),
            Some("--out") => out = Some(value()?),
            Some("--quick") => quick = true,
            Some("--queue") => queue = true,
            Some("--forge") => forge = true,
            _ => bail!("{word:?} is not known: use --binary FILE --out FILE [--quick] [--queue | --forge]"),
        }
    }
    let binary = binary.context("--binary FILE is missing: the shopfloor program to measure")?;
    Ok(Args {
        binary: std::path::absolute(binary)?,
        out: out.context("--out FILE is missing: where the JSON goes")?,
        quick,
        queue,
        forge,
    })
}

fn run(args: &Args) -> Result<()> {
    let scale = if args.quick { QUICK } else { FULL };
    let mut report = Report::new(args.quick);
    let base = args.binary.parent().and_then(Path::parent).context("the binary is in no folder")?;

    if args.forge {
        first_reading(args, base, &scale, &mut report)?;
    } else {
        eprintln!("clean merges …");
        merges::measure(&scratch(base)?, &scale, &mut report)?;
        landing::measure(&mut report);
        if !args.queue {
            the_rest(args, base, &scale, &mut report)?;
        }
    }
    report.print();
    report.write(&args.out)
}

fn the_rest(args: &Args, base: &Path, scale: &Scale, report: &mut Report) -> Result<()> {
    eprintln!("store commits …");
    commits::measure(&scratch(base)?, scale, report)?;

    eprintln!("commands and daemon with {} identities …", scale.identities);
    let crowded = BenchFloor::make(scratch(base)?, &args.binary, floor::IDLE_AGENT)?;
    fill::identities(&crowded, scale.identities)?;
    daemon::measure(&crowded, scale, report)?;
    drop(crowded);

    first_reading(args, base, scale, report)?;

    eprintln!("phase to reaction, {} rounds …", scale.phase_rounds);
    let quiet = BenchFloor::make(scratch(base)?, &args.binary, floor::IDLE_AGENT)?;
    phase::measure(&quiet, scale, report)?;
    eprintln!("hooks, {} calls each …", scale.hook_calls);
    hook::measure(&quiet, scale, report)?;
    drop(quiet);

    eprintln!("{} live sessions, {} s …", scale.sessions, scale.sessions_watched.as_secs());
    let busy = BenchFloor::make(scratch(base)?, &args.binary, floor::IDLE_AGENT)?;
    sessions::measure(&busy, scale, report)?;
    drop(busy);
    eprintln!("{} dialogs …", scale.dialogs);
    let asking = BenchFloor::make(scratch(base)?, &args.binary, floor::IDLE_AGENT)?;
    dialogs::measure(&asking, scale, report)?;
    drop(asking);
    eprintln!("rescue snapshots …");
    let large = BenchFloor::make(scratch(base)?, &args.binary, floor::IDLE_AGENT)?;
    rescue::measure(&large, scale, report)?;
    drop(large);
    Ok(())
}

fn first_reading(args: &Args, base: &Path, scale: &Scale, report: &mut Report) -> Result<()> {
    eprintln!("first reading of {} issues …", scale.issues);
    let fresh = BenchFloor::make(scratch(base)?, &args.binary, floor::IDLE_AGENT)?;
    sync::measure(&fresh, scale, report)?;
    eprintln!("commands on {} issues …", scale.issues);
    backlog::measure(&fresh, "", scale, report)?;
    backlog::together(&fresh, scale, report)?;
    drop(fresh);

    eprintln!("a chain of {} issues, each of which waits for the one before …", scale.issues);
    let chained = BenchFloor::make(scratch(base)?, &args.binary, floor::IDLE_AGENT)?;
    sync::fill(&chained, scale, true)?;
    backlog::measure(&chained, ", a chain", scale, report)?;
    phase::measure_with(&chained, ", a chain", scale, report)
}

/// A fresh folder on the disk the build is on: the temporary folder is often in memory, where
/// syncing costs nothing. If that makes socket paths too long, the temporary folder after all.
fn scratch(base: &Path) -> Result<PathBuf> {
    // A Unix socket's path has at most 107 bytes.
    const SOCKET_PATH_MAX: usize = 107 - "/0000000-00/floor/daemon.sock".len();
    let near = base.join("bench");
    let parent = if near.as_os_str().len() <= SOCKET_PATH_MAX { near } else { std::env::temp_dir() };
    std::fs::create_dir_all(&parent)?;
    for n in 0..100 {
        let dir = parent.join(format!("{}-{n}", std::process::id()));
        match std::fs::create_dir(&dir) {
            Ok(()) => return Ok(dir.canonicalize()?),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e).with_context(|| format!("making {}", dir.display())),
        }
    }
    bail!("{} is full of our folders", parent.display())
}
