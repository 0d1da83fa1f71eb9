//! `shopfloor merge-queue try`: would it land?

use crate::cli::{CliError, CliResult, Context, Exit, foreground, output};
use clap::Args;
use shopfloor_core::ids::TryId;
use shopfloor_core::state::Floor;
use shopfloor_desk::command::Change;
use shopfloor_desk::view::tries::TryView;
use shopfloor_engine::Until;

/// Check a branch as it would land, without landing it
///
/// Puts the branch on top of the primary branch, or of another one, as it would land there, and runs the checks
/// on the result. It needs no approval, holds up nothing, and lands nothing: `merge-queue add` queues it.
/// Without a daemon, the checks run here. Exit codes: 0 it passes, 3 it does not, 6 it conflicts, 1 that could
/// not be determined.
#[derive(Args)]
pub struct TryArgs {
    /// An issue's number, or a branch
    change: Change,
    /// The branch to put it on, or the name of a target [default: the primary branch]
    #[arg(long, value_name = "BRANCH")]
    on: Option<String>,
    /// Only ask; `merge-queue list` and `explain` show the result
    #[arg(long)]
    no_wait: bool,
    /// Stop trying it
    #[arg(long, conflicts_with_all = ["on", "no_wait"])]
    cancel: bool,
}

pub fn run(context: &Context, args: &TryArgs) -> CliResult<Exit> {
    let project = context.project()?;
    if args.cancel {
        show(context, context.drop_try(&project.name, &args.change)?)?;
        return Ok(Exit::Fine);
    }
    let id = context.try_branch(&context.asking(project), &args.change, args.on.as_deref())?;
    if args.no_wait {
        show(context, id)?;
        return Ok(Exit::Fine);
    }
    wait(context, id)?;
    show(context, id)
}

fn wait(context: &Context, id: TryId) -> CliResult<()> {
    let mut told = None;
    let mut ended = |floor: &Floor| {
        let Some(row) = floor.tries.get(&id) else { return true };
        if !context.json && told != Some(row.state.name()) && row.state.is_live() {
            told = Some(row.state.name());
            output::line(TryView::new(floor, &context.layout, row).tell());
        }
        !row.state.is_live()
    };
    ended(context.engine()?.floor());
    foreground::carry_out(context, &Until::Tried(id), &mut ended, "stopped before the result was known")?;
    Ok(())
}

/// Says how it is, and in the exit code what came of it.
fn show(context: &Context, id: TryId) -> CliResult<Exit> {
    let engine = context.engine()?;
    let Some(row) = engine.floor().tries.get(&id) else {
        return Err(CliError::no_such(format!("try {id} is gone")));
    };
    let view = TryView::new(engine.floor(), &context.layout, row);
    if context.json {
        output::json(&view);
        return Ok(view.exit());
    }
    output::line(view.tell());
    if let Some(excerpt) = &view.excerpt {
        output::quoted(excerpt);
    }
    Ok(view.exit())
}
