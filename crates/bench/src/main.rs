//! Measures Shopfloor on this machine: prints a table and writes it as JSON. Run by
//! `cargo xtask bench`.
//!
//! These are measurements, not tests: nothing here fails because it is slow. The floor that is
//! measured lives in a folder of its own, with a home of its own, and is gone afterwards.

mod backlog;
mod commits;
mod cost;
mod daemon;
mod dialogs;
mod fill;
mod floor;
mod growth;
mod hook;
mod landing;
mod merges;
mod phase;
mod report;
mod rescue;
mod scale;
mod sessions;
mod stats;
mod sync;
mod usage;

use anyhow::{Context, Result, bail};
use floor::BenchFloor;
use report::Report;
use scale::Scale;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is measured, with what, and how much of it.
pub struct Bench {
    binary: PathBuf,
    /// Where the folders are made that it works in.
    base: PathBuf,
    pub scale: Scale,
}

impl Bench {
    /// A floor of its own, with this command as its agent.
    pub fn floor(&self, agent: &str) -> Result<BenchFloor> {
        BenchFloor::make(scratch(&self.base)?, &self.binary, agent)
    }
}

/// What can be measured by itself.
type Part = fn(&Bench, &mut Report) -> Result<()>;

/// Each with its option. Without any, all are measured but the long ones.
const PARTS: [(&str, Part); 14] = [
    ("--queue", queue),
    ("--forge", first_reading),
    ("--past", growth::past::measure),
    ("--pulls", growth::pulls::measure),
    ("--chain", growth::chain::measure),
    ("--refs", growth::refs::measure),
    ("--floors", growth::floors::measure),
    ("--files", growth::files::measure),
    ("--jobs", growth::jobs::measure),
    ("--issue", cost::issue::measure),
    ("--starts", cost::starts::measure),
    ("--clients", cost::clients::measure),
    ("--together", cost::together::measure),
    ("--schedules", cost::schedules::measure),
];
/// What grows with what: `--growth`.
const GROWTH: [&str; 7] = ["--past", "--pulls", "--chain", "--refs", "--floors", "--files", "--jobs"];
/// What one of something costs: `--cost`.
const COST: [&str; 5] = ["--issue", "--starts", "--clients", "--together", "--schedules"];

struct Args {
    bench: Bench,
    out: PathBuf,
    quick: bool,
    parts: Vec<Part>,
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
    let (mut binary, mut out, mut quick, mut names) = (None, None, false, Vec::new());
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().map(PathBuf::from).context("a path is missing");
        match word.to_str() {
            Some("--binary") => binary = Some(value()?),
            Some("--out") => out = Some(value()?),
            Some("--quick") => quick = true,
            Some("--growth") => names.extend(GROWTH.map(str::to_owned)),
            Some("--cost") => names.extend(COST.map(str::to_owned)),
            Some(part) if PARTS.iter().any(|(name, _)| *name == part) => names.push(part.to_owned()),
            _ => {
                let parts = PARTS.map(|(name, _)| name).join(" ");
                bail!(
                    "{word:?} is not known: use --binary FILE --out FILE [--quick] [--growth] [--cost], or of {parts}"
                )
            }
        }
    }
    let binary = std::path::absolute(binary.context("--binary FILE is missing: the program to measure")?)?;
    let base = binary.parent().and_then(Path::parent).context("the binary is in no folder")?.to_owned();
    let chosen = PARTS.iter().filter(|(name, _)| names.iter().any(|wanted| wanted == name));
    Ok(Args {
        bench: Bench { binary, base, scale: if quick { scale::QUICK } else { scale::FULL } },
        out: out.context("--out FILE is missing: where the JSON goes")?,
        quick,
        parts: if names.is_empty() { vec![queue, the_rest] } else { chosen.map(|(_, part)| *part).collect() },
    })
}

fn run(args: &Args) -> Result<()> {
    let mut report = Report::new(args.quick);
    for part in &args.parts {
        part(&args.bench, &mut report)?;
    }
    report.print();
    report.write(&args.out)
}

fn queue(bench: &Bench, report: &mut Report) -> Result<()> {
    eprintln!("clean merges …");
    merges::measure(&scratch(&bench.base)?, &bench.scale, report)?;
    landing::measure(report);
    Ok(())
}

fn the_rest(bench: &Bench, report: &mut Report) -> Result<()> {
    let scale = &bench.scale;
    eprintln!("store commits …");
    commits::measure(&scratch(&bench.base)?, scale, report)?;

    eprintln!("commands and daemon with {} identities …", scale.identities);
    let crowded = bench.floor(floor::IDLE_AGENT)?;
    fill::identities(&crowded, scale.identities)?;
    daemon::measure(&crowded, scale, report)?;
    drop(crowded);

    first_reading(bench, report)?;

    eprintln!("phase to reaction, {} rounds …", scale.phase_rounds);
    let quiet = bench.floor(floor::IDLE_AGENT)?;
    phase::measure(&quiet, scale, report)?;
    eprintln!("hooks, {} calls each …", scale.hook_calls);
    hook::measure(&quiet, scale, report)?;
    drop(quiet);

    eprintln!("{} live sessions, {} s …", scale.sessions, scale.sessions_watched.as_secs());
    let busy = bench.floor(floor::IDLE_AGENT)?;
    sessions::measure(&busy, scale, report)?;
    drop(busy);
    eprintln!("{} dialogs …", scale.dialogs);
    let asking = bench.floor(floor::IDLE_AGENT)?;
    dialogs::measure(&asking, scale, report)?;
    drop(asking);
    eprintln!("rescue snapshots …");
    let large = bench.floor(floor::IDLE_AGENT)?;
    rescue::measure(&large, scale, report)?;
    drop(large);
    Ok(())
}

fn first_reading(bench: &Bench, report: &mut Report) -> Result<()> {
    let scale = &bench.scale;
    eprintln!("first reading of {} issues …", scale.issues);
    let fresh = bench.floor(floor::IDLE_AGENT)?;
    sync::measure(&fresh, scale, report)?;
    eprintln!("commands on {} issues …", scale.issues);
    backlog::measure(&fresh, scale, report)?;
    backlog::together(&fresh, scale, report)
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
