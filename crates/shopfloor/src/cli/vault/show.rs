//! `shopfloor vault show`.

use super::super::{CliResult, Context, Exit, output};
use super::project_of;
use clap::Args;
use shopfloor_core::state::{Decision, Request};
use shopfloor_core::text::one_line;
use shopfloor_core::texts::vault;
use shopfloor_desk::command::Which;
use shopfloor_desk::view::vault::{RequestView, why};

/// Show a request, whole: what would be run, with what, and why
#[derive(Args)]
pub struct ShowArgs {
    /// The request's number, or the question about it
    #[arg(value_name = "N|qN")]
    request: Which,
}

pub fn run(context: &Context, args: &ShowArgs) -> CliResult<Exit> {
    let request = context.request(&project_of(context, args.request)?, args.request)?;
    print(context, &request);
    Ok(Exit::Fine)
}

pub(super) fn print(context: &Context, request: &Request) {
    if context.json {
        return output::json(&RequestView::from(request));
    }
    let (number, by) = (request.number, one_line(&vault::who(request), 120));
    output::line(format!("request {number} for {}, by {by}: {}", request.r#type, request.state_name()));
    if let Some(why) = why(request) {
        output::line(format!("  {}", one_line(&why, 300)));
    }
    output::quoted(&vault::details(request));
    if !request.output.is_empty() {
        output::line("  it printed:");
        output::quoted(&request.output);
    }
    if let Some((question, doubt)) = request.question() {
        let [yes, no] = doubt.options().map(Decision::name);
        output::line(format!(
            "`shopfloor vault {yes} q{question}` or `shopfloor vault {no} q{question}` decides"
        ));
    }
}
