//! `shopfloor gc`: what is old is removed now. The daemon does it, if one runs; else this process does.

use super::{CliError, CliResult, Context, Exit, foreground, output};
use crate::ports;
use clap::Args;
use serde::Serialize;
use shopfloor_core::effect::Tidy;
use shopfloor_core::ids::Epoch;
use shopfloor_core::step::{step, tidy_order};
use shopfloor_core::text::size;
use shopfloor_core::time::Time;
use shopfloor_desk::view::tidied::TidiedView;
use shopfloor_engine::perform::tidy;
use shopfloor_engine::{Until, is_being_tidied};

/// Remove what is old and no longer needed, and pack what has grown
///
/// Old entries of the journal, the records and logs of checks, the folders of sessions, and rescue refs that are not the
/// only copy of anything go; the floor's repositories are packed. The daemon does this by itself once a day. How long
/// things are kept is said by `[retention]` in floor.toml and `[rescue]` in shopfloor.toml. No work is lost by it. If no
/// daemon runs, the store's file gives its free room back, too.
#[derive(Args)]
pub struct GcArgs {
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct GcView {
    dry_run: bool,
    /// A daemon did it.
    by_daemon: bool,
    projects: Vec<TidiedView>,
    /// Bytes by which the store's file became smaller.
    store_bytes: u64,
}

pub fn run(context: &Context, args: &GcArgs) -> CliResult<Exit> {
    let view = if args.dry_run { look(context)? } else { remove(context)? };
    let trouble = view.projects.iter().any(|project| project.trouble.is_some());
    if context.json {
        output::json(&view);
    } else {
        show(&view);
    }
    Ok(if trouble { Exit::Failed } else { Exit::Fine })
}

/// What tidying would remove, by the configuration as it is now.
fn look(context: &Context) -> CliResult<GcView> {
    let only = context.named_project()?;
    let engine = context.engine()?;
    let mut floor = engine.floor().clone();
    let now = shopfloor_desk::now();
    let (ports, events) = ports::to_look(context, &floor)?;
    for event in &events {
        step(&mut floor, now, event);
    }
    let mut projects = Vec::new();
    for project in floor.projects.iter().filter(|p| only.as_ref().is_none_or(|only| *only == p.name)) {
        let mut order = Tidy { dry_run: true, idle: true, ..tidy_order(&floor, &project.name, now) };
        if !projects.is_empty() {
            // What projects share is counted once.
            order = Tidy {
                journal_before: Time(0),
                tombstones_before: Time(0),
                sessions_upto: Epoch(0),
                ..order
            };
        }
        let what = tidy(&ports, &order).map_err(|e| CliError::failed(e.to_string()))?;
        projects.push(TidiedView::new(&project.name, &what));
    }
    Ok(GcView { dry_run: true, by_daemon: false, projects, store_bytes: 0 })
}

fn remove(context: &Context) -> CliResult<GcView> {
    let only = context.named_project()?;
    context.tidy(only.as_ref())?;
    if !context.json && context.daemon()?.running {
        output::line("the daemon tidies up");
    }
    let here = foreground::carry_out(
        context,
        &Until::Tidied,
        &mut |floor| !is_being_tidied(floor),
        "stopped before it was done",
    )?;
    // While this process holds the floor, nobody needs to write.
    let store_bytes = here.as_ref().map_or(Ok(0), |_| context.compact())?;
    let engine = context.engine()?;
    let meant = engine.floor().projects.iter().filter(|p| only.as_ref().is_none_or(|only| *only == p.name));
    let projects = meant.map(TidiedView::last).collect();
    Ok(GcView { dry_run: false, by_daemon: here.is_none(), projects, store_bytes })
}

fn show(view: &GcView) {
    let mut lines: Vec<(&str, u64, Option<u64>)> = Vec::new();
    for line in view.projects.iter().flat_map(TidiedView::lines) {
        match lines.iter_mut().find(|(name, ..)| *name == line.0) {
            Some((_, count, bytes)) => {
                *count += line.1;
                *bytes = bytes.zip(line.2).map(|(one, other)| one + other);
            }
            None => lines.push(line),
        }
    }
    let rows: Vec<Vec<String>> = lines
        .into_iter()
        .map(|(name, count, bytes)| {
            vec![name.to_owned(), count.to_string(), output::or_dash(bytes.map(size))]
        })
        .collect();
    output::table(&["WHAT", if view.dry_run { "WOULD GO" } else { "GONE" }, "SIZE"], &rows);
    if view.store_bytes > 0 {
        output::line(format!("the store's file is {} smaller", size(view.store_bytes)));
    }
    for project in &view.projects {
        if let Some(why) = &project.trouble {
            output::line(format!("{} could not be tidied, and will be tried again:", project.project));
            output::quoted(why);
        }
    }
}
