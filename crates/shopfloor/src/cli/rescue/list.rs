//! `shopfloor rescue list`.

use super::super::{CliResult, Context, Exit, output};
use super::{RescueView, Site, files, parts};
use clap::Args;
use shopfloor_adapters::git::Rescued;
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::text::one_line;

/// List the snapshots, by agent, oldest first
#[derive(Args)]
pub struct ListArgs {
    /// Only those of this issue's agents
    #[arg(long, value_name = "N")]
    issue: Option<IssueNumber>,
}

/// `3 files, 1 stash, 1 left out`.
fn changed(rescued: &Rescued) -> String {
    let out = rescued.left.iter().filter(|left| !left.ignored).count();
    let out = if out == 0 { String::new() } else { format!("{out} left out") };
    let all = [files(rescued.files), parts(rescued), out];
    all.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

pub fn run(context: &Context, args: ListArgs) -> CliResult<Exit> {
    let site = Site::open(context)?;
    let mut all = site.all()?;
    if let Some(issue) = args.issue {
        all.retain(|r| r.tree_of(&site.project).is_some_and(|of| of.number() == Some(issue)));
    }
    if context.json {
        let views: Vec<RescueView> = all.iter().map(|r| RescueView::new(&site.project, r)).collect();
        output::json(&views);
        return Ok(Exit::Fine);
    }
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|r| {
            vec![
                one_line(&r.reference, 120),
                one_line(&r.agent, 60),
                output::timestamp(r.at),
                output::or_dash(r.head.as_ref().map(|head| head.short())),
                changed(r),
                r.also_in
                    .as_ref()
                    .map_or("only here".to_owned(), |name| format!("also in {}", one_line(name, 60))),
            ]
        })
        .collect();
    output::table(&["REF", "AGENT", "WHEN", "HEAD", "CHANGED", "KEPT"], &rows);
    Ok(Exit::Fine)
}
