//! `shopfloor groom`: what is out of order in the backlog, found without an agent.

use super::{CliResult, Context, Exit, output};
use clap::Args;
use serde::Serialize;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::text::neutralise;
use shopfloor_core::texts::groom;
use shopfloor_desk::view::groom::FindingView;

/// Show what is out of order in the backlog
///
/// Issues that are much alike, too short, too large, quiet for long, without a word on when they are done, blocked for no
/// reason, or waiting for one another or for what nobody works on. `[groom]` of shopfloor.toml says from when on. What a
/// gardener has judged and nobody has changed since is left out.
#[derive(Args)]
pub struct GroomArgs {
    /// Exit with 78 if nothing is found
    #[arg(long)]
    check: bool,
    /// Also what was judged before
    #[arg(long)]
    all: bool,
}

#[derive(Serialize)]
struct GroomView<'f> {
    project: &'f ProjectName,
    findings: Vec<FindingView<'f>>,
    /// What people decided, and the gardener was not told yet.
    decided: &'f [String],
}

pub fn run(context: &Context, args: &GroomArgs) -> CliResult<Exit> {
    let project = context.project()?.name;
    let groomed = context.groom(&project)?;
    let report = if args.all { groomed.all() } else { groomed.report() };
    let end = if args.check && report.is_empty() { Exit::NothingToDo } else { Exit::Fine };
    if context.json {
        let mut findings = groomed.view();
        findings.retain(|finding| args.all || !finding.judged);
        output::json(&GroomView { project: &project, findings, decided: &groomed.decided });
    } else if report.is_empty() {
        output::line(groom::nothing(groomed.judged.len()));
    } else {
        // The gardener's session gets the keys as well: what it was shown is judged then.
        let text = if args.check { report.text() } else { report.findings() };
        output::line(neutralise(text.trim_end()));
    }
    Ok(end)
}
