//! `shopfloor session attach`: a hand session in one's own terminal.

use crate::cli::attach::{Way, attach};
use crate::cli::{CliResult, Context, Exit};
use clap::Args;
use shopfloor_hand::find_live;

/// Attach to a session's terminal (leave it with Ctrl-b d)
#[derive(Args)]
pub struct AttachArgs {
    name: String,
    #[command(flatten)]
    way: Way,
}

pub fn run(context: &Context, args: &AttachArgs) -> CliResult<Exit> {
    let hands = super::sessions(context);
    let hand = find_live(context, &hands, &args.name)?;
    attach(context, &hands.tmux, hand.name.to_string(), &args.way)
}
