//! `shopfloor session monitor`: wait for a session's end, and say how it ended.

use super::result;
use super::state_file::StateFile;
use crate::cli::verify::verification;
use crate::cli::{CliError, CliResult, Context, Exit, now, output};
use clap::Args;
use shopfloor_hand::Hand;
use shopfloor_hand::key::StoryKey;
use shopfloor_hand::monitor::{self, Wish};
use shopfloor_hand::verify::Verification;
use shopfloor_hand::watch::Limits;
use std::path::PathBuf;
use std::time::Duration;

/// Wait until a session has finished, say how, and clean it up
///
/// It sleeps on events of the kernel; nothing is polled. The answer is one line of CSV: final state, output
/// file, exit reason, output verified; or with --json an object with these fields. The final state is one of
/// completed, crashed, stuck, timeout, incomplete (idle or ended, and not verified, or waiting for
/// somebody) and not_found.
///
/// Exit codes: 0 completed, 4 not_found, 1 any other final state. With --exit-zero only the output says so, as
/// with the seed's monitor-session, and a script with `set -e` can read it.
///
/// A session that completed, or whose program ended, is removed; its output stays in the file. Any other that
/// still runs is left alone, and the reason says so.
#[derive(Args)]
pub struct MonitorArgs {
    name: String,
    /// At most this many polls, 10 s apart [default: no limit but --timeout; the seed's is 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_polls: Option<u32>,
    /// At most this many minutes
    #[arg(long, value_name = "MIN", default_value_t = 60, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    timeout: u64,
    /// Say on standard error what each look shows
    #[arg(long, short)]
    verbose: bool,
    /// Verify the work by `[verify.STEP]` in shopfloor.toml
    #[arg(long, value_name = "STEP", requires = "story_key")]
    workflow: Option<String>,
    /// The key to verify
    #[arg(long, value_name = "KEY", requires = "workflow")]
    story_key: Option<StoryKey>,
    /// Where to leave the session's output [default: a file in the floor's home]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Do not remove the session, whatever its end
    #[arg(long)]
    keep: bool,
    /// Exit with 0 whatever the final state is, for scripts with `set -e`
    #[arg(long)]
    exit_zero: bool,
    #[command(flatten)]
    state_file: StateFile,
}

pub fn run(context: &Context, args: MonitorArgs) -> CliResult<Exit> {
    let wish = Wish {
        limits: Limits { timeout: Duration::from_secs(args.timeout * 60), polls_max: args.max_polls },
        watching: &|shown, look| {
            if args.verbose {
                eprintln!("{} look {look}: {shown}", output::timestamp(now()));
            }
        },
        output: args.output.as_deref(),
        keep: args.keep,
    };
    let result = monitor::monitor(context, &args.name, &wish, |hand| verifier(context, hand, &args))?;
    result::print(&result, context.json);
    Ok(if args.exit_zero { Exit::Fine } else { result::exit(&result) })
}

fn verifier(context: &Context, hand: &Hand, args: &MonitorArgs) -> CliResult<Option<Verification>> {
    let (Some(step), Some(key)) = (&args.workflow, &args.story_key) else { return Ok(None) };
    let cwd = match &hand.record {
        Some(record) => PathBuf::from(&record.cwd),
        None => std::env::current_dir()?,
    };
    let project = match &hand.record {
        Some(record) => context.engine()?.floor().projects.get(&record.project).cloned(),
        None => Some(context.project()?),
    };
    let project =
        project.ok_or_else(|| CliError::no_such("the session's project is not on this floor any more"))?;
    let state_file = args.state_file.path()?;
    verification(context, &project, step, key.clone(), &cwd, state_file).map(Some)
}
