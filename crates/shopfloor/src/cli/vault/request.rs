//! `shopfloor vault request`.

use super::super::body::read_file;
use super::super::{CliError, CliResult, Context, Exit, output};
use super::FROM;
use crate::asker::Who;
use clap::Args;
use shopfloor_core::ids::RequestType;
use shopfloor_core::state::RequestState;
use shopfloor_core::text::one_line;
use shopfloor_core::vault::PAYLOAD_BYTES_MAX;
use shopfloor_desk::command::Wanted;
use shopfloor_desk::view::vault::RequestView;
use std::path::Path;

/// Ask for an operation that a person declared in floor.toml
///
/// It is carried out at once, or waits until a person approves it, as its type says. An agent that asks is told how it
/// ended by a message that begins with `Vault: done`, `Vault: failed` or `Vault: rejected`. Exit code 2 if it is
/// rejected at once: an unknown type, or a payload that does not fit.
#[derive(Args)]
pub struct RequestArgs {
    /// The type, as floor.toml has it
    #[arg(value_name = "TYPE")]
    kind: RequestType,
    /// What exactly: JSON, or a file with JSON; `-` is standard input
    #[arg(long, value_name = "FILE|JSON", default_value = "{}")]
    payload: String,
    /// Why, for whoever decides
    #[arg(long)]
    reason: String,
}

impl RequestArgs {
    /// Where the payload is, if it is not given itself.
    pub(super) fn file(&self) -> Option<&Path> {
        let given = self.payload.trim_start().starts_with(['{', '[', '"']);
        (!given).then(|| Path::new(&self.payload))
    }
}

pub fn run(context: &Context, args: RequestArgs) -> CliResult<Exit> {
    let project = context.project()?.name;
    let payload = match args.file() {
        Some(file) => read_file(file)?,
        None => args.payload.clone(),
    };
    let redactor = context.redactor()?;
    // Shown and run is one and the same, so nothing of it can be hidden.
    if payload.len() <= 4 * PAYLOAD_BYTES_MAX && redactor.redact(&payload) != payload {
        return Err(CliError::usage("the payload holds what looks like a secret").hint(
            "a type's `secrets` in floor.toml name what its command gets; leave it out of the payload",
        ));
    }
    let session = match context.inside().map(|inside| &inside.who) {
        Some(Who::Agent(epoch)) => Some(*epoch),
        _ => None,
    };
    let floor_config = context.floor_config()?;
    let spec = floor_config.vault_spec(&args.kind);
    let unknown = spec.is_none().then(|| floor_config.vault_types_like(&args.kind));
    let reason = redactor.redact(&args.reason);
    let wanted = Wanted { r#type: args.kind, spec, payload, reason, session };
    let request = context.heard_from(context.author(), FROM).ask_vault(&project, wanted);
    let request = request.map_err(|e| match unknown.flatten() {
        Some(instead) => e.hint(format!("{instead}; nothing was done, and it is on record")),
        None => e,
    })?;
    if context.json {
        output::json(&RequestView::from(&request));
        return Ok(Exit::Fine);
    }
    let number = request.number;
    output::line(match &request.state {
        RequestState::Waiting { question, .. } => {
            format!("request {number} waits for a person (q{question}); whoever asked is told how it ends")
        }
        RequestState::Ended { .. } => format!("request {number}: {}", one_line(request.state_name(), 20)),
        RequestState::Firing { .. } if context.daemon()?.running => {
            format!("request {number} is carried out; whoever asked is told how it ends")
        }
        RequestState::Firing { .. } => {
            format!("request {number} is carried out when the daemon runs (`shopfloor up`)")
        }
    });
    Ok(Exit::Fine)
}
