//! Why a run of a formula is where it is.

use super::issue;
use crate::cli::events;
use crate::cli::{CliResult, Context, Exit, output};
use shopfloor_core::ids::{ProjectName, RunNumber};
use shopfloor_core::state::Floor;
use shopfloor_core::text::one_line;
use shopfloor_desk::view::formula_run::{state, why};
use shopfloor_desk::view::run_explanation::Explained;

pub fn run(context: &Context, floor: &Floor, project: &ProjectName, number: RunNumber) -> CliResult<Exit> {
    let explained = Explained::new(context, floor, project, number)?;
    if context.json {
        output::json(&explained.view(floor));
        return Ok(Exit::Fine);
    }
    let Explained { run, daemon, job, pending, notes } = &explained;
    let by = one_line(&run.by, 80);
    output::line(format!("run {} of {}, asked for by {by}: {}", run.number, run.recipe.formula, state(run)));
    if let Some(why) = why(floor, run).filter(|_| job.is_none_or(|job| !job.is_live())) {
        output::line(format!("  {}", one_line(&why, 300)));
    }
    if run.is_live() {
        issue::print_daemon(daemon);
    }
    if let Some(job) = job {
        issue::print_job(floor, job);
    }
    issue::print_pending(floor, pending);
    if !notes.is_empty() {
        output::line("  what happened:");
    }
    notes.iter().for_each(events::print_line);
    Ok(Exit::Fine)
}
