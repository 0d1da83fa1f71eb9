//! `shopfloor vault list`.

use super::super::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::state::Request;
use shopfloor_core::text::one_line;
use shopfloor_core::texts::vault::who;
use shopfloor_desk::now;
use shopfloor_desk::view::vault::{RequestView, all, why};

/// List the requests that are open, and the newest that are over
///
/// Of all projects, unless --project names one.
#[derive(Args)]
pub struct ListArgs {
    /// Only those that are open
    #[arg(long)]
    open: bool,
}

const ENDED: usize = 20;

pub fn run(context: &Context, args: &ListArgs) -> CliResult<Exit> {
    let only = context.named_project()?;
    let engine = context.engine()?;
    let requests = all(engine.floor(), only.as_ref(), if args.open { 0 } else { ENDED });
    if context.json {
        output::json(&requests.into_iter().map(RequestView::from).collect::<Vec<_>>());
        return Ok(Exit::Fine);
    }
    if requests.is_empty() {
        output::line("no requests");
        return Ok(Exit::Fine);
    }
    let row = |request: &&Request| {
        vec![
            request.number.to_string(),
            request.project.to_string(),
            request.r#type.to_string(),
            request.state_name().to_owned(),
            output::span(now().since(request.asked_at)),
            one_line(&who(request), 40),
            output::or_dash(request.question().map(|(question, _)| format!("q{question}"))),
            one_line(&why(request).unwrap_or_else(|| request.reason.clone()), 80),
        ]
    };
    output::table(
        &["REQUEST", "PROJECT", "TYPE", "STATE", "AGE", "BY", "QUESTION", "WAITS FOR, OR WHY"],
        &requests.iter().map(row).collect::<Vec<_>>(),
    );
    Ok(Exit::Fine)
}
