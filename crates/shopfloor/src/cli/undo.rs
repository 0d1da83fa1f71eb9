//! `shopfloor undo`: a person undoes what an agent had the factory do.

use super::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::ids::ActId;
use shopfloor_core::text::one_line;
use shopfloor_desk::view::groom::{ReversalView, reversals};

/// Undo what an agent had the factory do to an issue
///
/// Without a number it lists what can be undone, of the last 30 days. What somebody changed since is not written over:
/// the command says so, and changes nothing.
#[derive(Args)]
pub struct UndoArgs {
    /// The act's number
    act: Option<u64>,
    /// List the acts, also beside a number
    #[arg(long)]
    list: bool,
    /// Put back what was there before, whatever became of it since
    #[arg(long, requires = "act")]
    force: bool,
}

pub fn run(context: &Context, args: &UndoArgs) -> CliResult<Exit> {
    let project = context.project()?.name;
    if let Some(act) = args.act {
        let undone = context.undo(&project, ActId(act), args.force, &context.author())?;
        match context.json && !args.list {
            true => output::json(&undone),
            false if !args.list => output::line(format!("undone: {}", undone.what)),
            false => {}
        }
    }
    if args.act.is_some() && !args.list {
        return Ok(Exit::Fine);
    }
    let engine = context.engine()?;
    let all = reversals(engine.floor(), &project);
    if context.json {
        output::json(&all);
        return Ok(Exit::Fine);
    }
    match all.is_empty() {
        true => output::line("nothing can be undone"),
        false => {
            output::table(&["ACT", "WHEN", "WHO", "STATE", "WHAT"], &all.iter().map(row).collect::<Vec<_>>());
        }
    }
    Ok(Exit::Fine)
}

fn row(reversal: &ReversalView) -> Vec<String> {
    let who = match reversal.run {
        Some(run) => format!("{}, run {run}", reversal.role),
        None => reversal.role.to_string(),
    };
    let state = match reversal.detail.as_str() {
        "" => reversal.state.to_owned(),
        detail => format!("{} ({})", reversal.state, one_line(detail, 60)),
    };
    vec![reversal.act.to_string(), reversal.at.clone(), who, state, one_line(&reversal.what, 80)]
}
