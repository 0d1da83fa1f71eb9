//! `shopfloor next`: to whoever has waited longest for a person.

use super::attach::{Way, attach};
use super::session::sessions;
use super::{CliError, CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::text::one_line;
use shopfloor_desk::now;
use shopfloor_desk::view::awaiting::{self, Awaiting};
use shopfloor_hand::resting::resting;

/// Attach to whoever has waited longest for a person
///
/// Agents with a question or a dialog, and hand sessions that rest at their prompt, show a dialog or signalled
/// that they need somebody. Of all projects, unless --project names one. Exit code 4 if nobody waits.
#[derive(Args)]
pub struct NextArgs {
    /// Only say who it is, how long they have waited, and what for
    #[arg(long)]
    print: bool,
    /// Look only: nothing typed reaches the agent
    #[arg(long, short)]
    read_only: bool,
}

impl NextArgs {
    /// What to do instead, if it is only for people: whoever is attached types.
    pub(super) fn persons(&self, json: bool) -> Option<&'static str> {
        (!self.print && !json).then_some("pass --print to see who waits")
    }
}

pub fn run(context: &Context, args: &NextArgs) -> CliResult<Exit> {
    let only = context.named_project()?;
    let engine = context.engine()?;
    let mut all = awaiting::jobs(engine.floor());
    all.extend(resting(context)?);
    let Some((first, others)) = awaiting::longest(all, only.as_ref()) else {
        return Err(CliError::no_such("nobody waits for a person"));
    };
    if args.print || context.json {
        show(context, first, others);
        return Ok(Exit::Fine);
    }
    match (&first.session, first.issue) {
        (Some(session), _) => {
            let way = Way { read_only: args.read_only, print: false };
            attach(context, &sessions(context).tmux, session.clone(), &way)
        }
        (None, issue) => {
            let answer = issue.map(|issue| format!("`shopfloor answer {issue} \"…\"` answers it"));
            show(context, first, others);
            output::line(format!("it has no terminal now; {}", answer.unwrap_or_default()));
            Ok(Exit::Fine)
        }
    }
}

fn show(context: &Context, one: Awaiting, others: usize) {
    if context.json {
        return output::json(&one.view(others));
    }
    let waits = now().since(one.since);
    let issue = one.issue.map(|issue| format!("#{issue}"));
    let who = one.session.or(issue).unwrap_or_default();
    let more = if others == 0 { String::new() } else { format!(" ({others} more wait)") };
    output::line(format!("{who} waits for {}: {}{more}", output::span(waits), one_line(&one.why, 200)));
}
