//! The hub's `update` hook asks for this when somebody pushes who does not say that they are a session. Whether they are
//! a person has been decided before it gets here (`cli/authority.rs`): by the processes they descend from, not by what
//! their environment says.
//!
//! It is put on record before the branch moves. A push that fails afterwards leaves a record that nothing refers to.

use super::super::{CliError, CliResult, Context, Exit};
use clap::Args;
use shopfloor_core::event::Event;
use shopfloor_core::ids::Sha;

#[derive(Args)]
pub struct PushedArgs {
    /// The full name of the branch
    #[arg(value_name = "REF")]
    name: String,
    /// Where it is; zeros if it is new
    old: String,
    /// Where it is to be; zeros if it is to be deleted
    new: String,
}

impl PushedArgs {
    pub(super) fn moved(&self) -> [&str; 3] {
        [&self.name, &self.old, &self.new]
    }
}

pub fn run(context: &Context, args: &PushedArgs) -> CliResult<Exit> {
    let Some(branch) = args.name.strip_prefix("refs/heads/") else { return Ok(Exit::Fine) };
    // A branch that is gone is missed in any case.
    let Some(new) = commit(&args.new)? else { return Ok(Exit::Fine) };
    let (branch, old, by) = (branch.to_owned(), commit(&args.old)?, context.author());
    let project = context.project()?.name;
    context.submit(&Event::BranchPushed { project, branch, old, new, by })?;
    Ok(Exit::Fine)
}

fn commit(text: &str) -> CliResult<Option<Sha>> {
    if text.bytes().all(|byte| byte == b'0') {
        return Ok(None);
    }
    let no = |_| CliError::usage(format!("{} is not a commit", shopfloor_core::text::one_line(text, 80)));
    text.parse().map(Some).map_err(no)
}
