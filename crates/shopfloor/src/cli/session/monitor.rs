//! `shopfloor session monitor`: wait for a session's end, and say how it ended.
//!
//! Invariants:
//! - It sleeps until the kernel tells of something or the next look is due; it never polls in a loop.
//! - That something could not be watched is never a verdict on the work: what is known is said, and
//!   how it came to be known.
//! - Once the result of a session is taken, nothing of it runs on, unless somebody wants to keep it or it
//!   is still to be looked after (stuck, out of time, incomplete).

use super::result::MonitorResult;
use super::state_file::StateFile;
use super::watcher::Watcher;
use crate::cli::verify::{Answer, Verification};
use crate::cli::{CliError, CliResult, Context, Exit, now, output};
use clap::Args;
use shopfloor_adapters::git::repos;
use shopfloor_adapters::hand::{Hand, HandSessions};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_adapters::terminal::tmux::Probe;
use shopfloor_core::hand::key::StoryKey;
use shopfloor_core::hand::watch::{FinalState, Finding, Limits, Watch};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Wait until a session has finished, say how, and clean it up
///
/// It sleeps on events of the kernel; nothing is polled. The answer is one line of CSV: final state, output
/// file, exit reason, output verified; or with --json an object with these fields. The final state is one of
/// completed, crashed, stuck, timeout, incomplete (idle or ended, and not verified, or waiting for
/// somebody) and not_found.
///
/// Exit codes: 0 completed, 4 not_found, 1 any other final state. The seed's monitor-session says it in its
/// output alone: with --exit-zero so does this one, and a script with `set -e` goes on to read it.
///
/// A session that completed or whose program ended is removed, its output stays in the file. One that
/// still runs otherwise is left, and the reason says so.
#[derive(Args)]
pub struct MonitorArgs {
    name: String,
    /// At most so many polls, 10 s apart [default: none but --timeout; the seed's is 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_polls: Option<u32>,
    /// At most so many minutes
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
    let hands = super::sessions(context);
    let hand = match super::find(context, &hands, &args.name) {
        Ok(hand) => hand,
        Err(e) if e.exit == Exit::NoSuchThing => {
            return Ok(finish(context, &args, not_found(&args.name, e.message, None)));
        }
        Err(e) => return Err(e),
    };
    if let Some(ended) = hand.ended() {
        let taken =
            ended.result.map_or_else(String::new, |result| format!("its result was taken: {result}; "));
        let kept = Some(hands.output_file(&hand.name)).filter(|file| file.exists());
        let why = format!("the session is over: {taken}{}", ended.why);
        return Ok(finish(context, &args, not_found(&hand.name.to_string(), why, kept)));
    }
    // What is wrong with the verifier is said before anybody waits for hours.
    let verification = verification(context, &hand, &args)?;
    let spec = super::runtime_of(context, &hand)?;
    let launched = hand.record.as_ref().map_or_else(now, |record| record.created);
    let limits = Limits { timeout: Duration::from_secs(args.timeout * 60), polls_max: args.max_polls };
    let mut watch = Watch::new((*spec).clone(), launched, now(), limits);
    let mut watcher = Watcher::new(&hands, &hand, &spec, worktree(context, &hand), &mut watch);
    let finding = loop {
        let (state, finding) = watch.take(&watcher.look());
        if args.verbose {
            let shown = watch.claimed().unwrap_or_else(|| state.to_string());
            eprintln!("{} look {}: {shown}", output::timestamp(now()), watch.looks());
        }
        match finding {
            Some(finding) => break finding,
            None => watcher.wait(&mut watch),
        }
    };
    let mut fell_back = std::mem::take(&mut watcher.fell_back);
    if watch.is_deaf() && fell_back.is_empty() {
        fell_back.push("nothing tells when its terminal changes".to_owned());
    }
    let answer =
        verification.filter(|_| finding.wants_verification()).map(|verification| verification.answer());
    let taken = Taken { finding, answer, fell_back, polls: watch.looks() };
    Ok(finish(context, &args, take(context, &hands, &hand, &args, taken)))
}

fn finish(context: &Context, args: &MonitorArgs, result: MonitorResult) -> Exit {
    result.print(context.json);
    if args.exit_zero { Exit::Fine } else { result.exit() }
}

fn not_found(name: &str, exit_reason: String, output: Option<PathBuf>) -> MonitorResult {
    MonitorResult {
        final_state: FinalState::NotFound,
        output_file: output.map(|file| file.display().to_string()),
        exit_reason,
        output_verified: None,
        session: name.to_owned(),
        exit_status: None,
        polls: 0,
        cleaned_up: false,
    }
}

fn verification(context: &Context, hand: &Hand, args: &MonitorArgs) -> CliResult<Option<Verification>> {
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
    Verification::new(context, &project, step, key.clone(), &cwd, state_file).map(Some)
}

/// The git worktree that the session works in, if it is one of the floor's. In any other, others may work and
/// commit too: that says nothing of this session.
fn worktree(context: &Context, hand: &Hand) -> Option<(shopfloor_adapters::git::Git, PathBuf)> {
    super::own_worktree(context, hand)?;
    let git = context.git().ok()?;
    let tree = repos::find_checkout(&git, Path::new(&hand.record.as_ref()?.cwd)).ok()?;
    Some((git, tree))
}

/// What was concluded of a session, before it is cleaned up.
struct Taken {
    finding: Finding,
    answer: Option<Answer>,
    fell_back: Vec<String>,
    polls: u32,
}

fn take(
    context: &Context,
    hands: &HandSessions,
    hand: &Hand,
    args: &MonitorArgs,
    taken: Taken,
) -> MonitorResult {
    let Taken { finding, answer, fell_back, polls } = taken;
    let verified = answer.as_ref().map(|answer| answer.verified);
    let final_state = finding.final_state(verified);
    let mut reason = vec![finding.to_string()];
    if let Some(missing) = answer.as_ref().and_then(Answer::missing) {
        reason.push(format!("not verified: {missing}"));
    }
    if !fell_back.is_empty() {
        reason.push(format!("monitoring fell back: {}", fell_back.join("; ")));
    }
    let output_file = match output(context, hands, hand, args) {
        Ok(file) => file.map(|file| file.display().to_string()),
        Err(e) => {
            reason.push(format!("its output could not be had: {}", e.message));
            None
        }
    };
    let over = !finding.is_alive() || final_state == FinalState::Completed;
    let mut cleaned_up = false;
    if let Some(ended) = hands.look(&hand.name).ended() {
        // By somebody else, in the meantime.
        reason.push(ended.why.clone());
        cleaned_up = true;
    } else if !over {
        reason.push(format!("the session is left: end it with `shopfloor session kill {}`", hand.name));
    } else if !args.keep {
        match super::end(context, hands, hand, &reason.join("; "), Some(final_state)) {
            Ok(_) => cleaned_up = true,
            Err(e) => reason.push(format!("it could not be cleaned up: {}", e.message)),
        }
    }
    MonitorResult {
        final_state,
        output_file,
        exit_reason: reason.join("; "),
        output_verified: verified,
        session: hand.name.to_string(),
        exit_status: match finding {
            Finding::Ended => Some(0),
            Finding::Failed { status } => Some(status),
            _ => None,
        },
        polls,
        cleaned_up,
    }
}

/// Leaves all that the session printed, as far as tmux has it, in a file.
fn output(
    context: &Context,
    hands: &HandSessions,
    hand: &Hand,
    args: &MonitorArgs,
) -> CliResult<Option<PathBuf>> {
    if matches!(hands.look(&hand.name).probe, Ok(Probe::Absent)) {
        // Another monitor may have been faster.
        return Ok(Some(hands.output_file(&hand.name)).filter(|file| file.exists()));
    }
    let redactor = super::redactor(context, hand.record.as_ref().map(|record| &record.project));
    let mut text = super::printed(hands, &hand.name, super::SCROLLBACK_LINES, &redactor)?;
    text.push('\n');
    match &args.output {
        None => Ok(Some(hands.keep_output(&hand.name, &text)?)),
        Some(file) => {
            let file = std::path::absolute(file)?;
            write_atomic(&file, text.as_bytes(), 0o600)
                .map_err(|e| CliError::failed(format!("{}: {e}", file.display())))?;
            Ok(Some(file))
        }
    }
}
