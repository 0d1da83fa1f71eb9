//! `shopfloor status --timers`: what the floor does next if nothing happens, and when.

use super::{CliResult, Context, Exit, output};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::Floor;
use shopfloor_desk::view::timer::{self, TimerView};

pub fn run(context: &Context, floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> CliResult<Exit> {
    let shown = timer::all(floor, mine);
    if context.json {
        output::json(&shown);
    } else if shown.is_empty() {
        output::line("no timers: nothing will be done until something happens");
    } else {
        let row = |t: &TimerView| vec![t.within.clone(), t.subject.clone(), t.then.to_owned()];
        output::table(&["DUE", "ABOUT", "THEN"], &shown.iter().map(row).collect::<Vec<_>>());
    }
    Ok(Exit::Fine)
}
