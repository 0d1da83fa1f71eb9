//! `shopfloor rescue show`.

use super::super::{CliResult, Context, Exit, output};
use super::{RescueView, Site};
use clap::Args;
use serde::Serialize;

/// Show what a snapshot holds, compared with its worktree's HEAD
#[derive(Args)]
pub struct ShowArgs {
    /// A rescue ref; or an agent or an issue, for the newest of its snapshots
    #[arg(value_name = "REF|AGENT|ISSUE")]
    what: String,
    /// Which files changed, and how much (the default)
    #[arg(long)]
    stat: bool,
    /// The changes themselves
    #[arg(long, conflicts_with = "stat")]
    patch: bool,
}

/// What is shown of a difference; the whole is had with `restore`.
const SHOWN_BYTES_MAX: usize = 256 * 1024;

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    rescue: RescueView,
    changes: String,
}

pub fn run(context: &Context, args: &ShowArgs) -> CliResult<Exit> {
    let site = Site::open(context)?;
    let found = site.find(&args.what)?;
    let changes = site.workspace.rescued_changes(&site.project, &found, args.patch, SHOWN_BYTES_MAX)?;
    let changes = context.redactor()?.redact(&changes);
    if context.json {
        output::json(&Shown { rescue: RescueView::new(&site.project, &found), changes });
        return Ok(Exit::Fine);
    }
    output::line(format!("{} of {}, {}", found.reference, found.agent, output::timestamp(found.at)));
    output::line(format!("  commit {}", found.commit));
    output::line(format!("  HEAD was {}", output::or_dash(found.head.as_ref())));
    output::line(match &found.also_in {
        Some(branch) => format!("  all of it is also in {branch}"),
        None => "  only here".to_owned(),
    });
    for (at, part) in found.parts.iter().enumerate() {
        let name = shopfloor_core::text::one_line(&part.name, 200);
        output::line(format!("  {}. {} {} ({name})", at + 1, part.kind.as_str(), part.commit.short()));
    }
    if !found.parts.is_empty() {
        let how = "get one with `shopfloor rescue restore REF --part N`, and `--to DIR` or `--branch NAME`";
        output::line(format!("  {how}"));
    }
    for left in &found.left {
        let (path, size) =
            (shopfloor_core::text::one_line(&left.path, 300), shopfloor_core::text::size(left.bytes));
        let why = if left.ignored { "ignored, and not in it" } else { "too large, and not in it" };
        output::line(format!("  {why}: {path} ({size})"));
    }
    output::line("");
    if changes.is_empty() {
        output::line("  no file differed from that HEAD");
    } else {
        output::quoted(&changes);
    }
    Ok(Exit::Fine)
}
