//! `shopfloor agents enable` and `shopfloor agents disable`: the other agents, switched on and off.

use super::super::config::accept::{Change, accept_all, proposal};
use super::super::{CliError, CliResult, Context, Exit, output};
use crate::config::{FILE_NAME, load, switch};
use clap::Args;
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_core::ids::Role;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

#[derive(Args)]
pub struct SwitchArgs {
    /// gardener, supervisor, predictor, planner or action
    name: String,
}

/// Changes the file, and accepts that change and no other.
pub fn run(context: &Context, args: &SwitchArgs, on: bool) -> CliResult<Exit> {
    let role = Role::OTHERS.into_iter().find(|role| role.as_str() == args.name).ok_or_else(|| {
        CliError::usage(format!("{:?} is none of the agents that can be switched", args.name))
            .hint(format!("they are {}", Role::OTHERS.map(|role| role.to_string()).join(", ")))
    })?;
    let project = context.project()?;
    let file = Path::new(&project.checkout).join(FILE_NAME);
    let config = load::project(&file, &context.floor_config()?)?;
    let text = std::fs::read_to_string(&file)?;
    let edited = match on {
        true => switch::on(&file, &text, &config, role)?,
        false => switch::off(&file, &text, &config, role)?,
    };
    let changed = edited != text;
    // What else waits to be accepted is not accepted unseen.
    let alone = changed && Change::of(context, &project)?.is_nothing();
    if changed {
        load::project_from(&file, &edited, &context.floor_config()?)?;
        let mode = std::fs::metadata(&file)?.permissions().mode() & 0o777;
        write_atomic(&std::fs::canonicalize(&file)?, edited.as_bytes(), mode)?;
    }
    if alone {
        accept_all(context, &project, proposal(context, &project)?)?;
    }
    report(context, role, on, changed, alone);
    Ok(Exit::Fine)
}

fn report(context: &Context, role: Role, on: bool, changed: bool, accepted: bool) {
    if context.json {
        output::json(&serde_json::json!({
            "agent": role.as_str(),
            "enabled": on,
            "changed": changed,
            "accepted": accepted || !changed,
        }));
        return;
    }
    let state = if on { "on" } else { "off" };
    output::line(match changed {
        true => format!("{role}: switched {state} in {FILE_NAME}; commit that"),
        false => format!("{role}: is {state} already"),
    });
    if changed && !accepted {
        output::line("other changes wait to be accepted as well: `shopfloor config accept` shows them all");
    }
}
