//! `shopfloor vault approve`, `reject` and `retry`: a person's word on a request. The first counts.

use super::super::{CliResult, Context, Exit, output};
use super::{FROM, project_of, show};
use clap::Args;
use shopfloor_core::state::Decision;
use shopfloor_desk::command::Which;

#[derive(Args)]
pub struct DecideArgs {
    /// The request's number, or the question about it
    #[arg(value_name = "N|qN")]
    request: Which,
    /// Why, for whoever asked and for the record
    #[arg(long, default_value = "")]
    reason: String,
}

pub fn run(context: &Context, args: DecideArgs, decision: Decision) -> CliResult<Exit> {
    let project = project_of(context, args.request)?;
    let desk = context.heard_from(context.author(), FROM);
    let request = desk.decide(&project, args.request, decision, args.reason)?;
    if context.json {
        show::print(context, &request);
        return Ok(Exit::Fine);
    }
    output::line(match decision {
        Decision::Reject => format!("request {} is rejected", request.number),
        Decision::Approve | Decision::Retry if context.daemon()?.running => {
            format!(
                "request {0} is carried out; `shopfloor vault show {0}` shows how it went",
                request.number
            )
        }
        Decision::Approve | Decision::Retry => {
            format!("request {} is carried out when the daemon runs (`shopfloor up`)", request.number)
        }
    });
    Ok(Exit::Fine)
}
