//! `shopfloor merge-queue stats`: how the queue fares.

use crate::cli::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::text::one_line;
use shopfloor_desk::view::stats::{self, QueueStats, Spread};
use std::time::Duration;

/// Show how the queue is doing: how much lands, how long it takes, what is checked, what is flaky
#[derive(Args)]
pub struct StatsArgs {
    /// Count this many days back
    #[arg(long, value_name = "N", default_value_t = 7)]
    days: u32,
}

pub fn run(context: &Context, args: &StatsArgs) -> CliResult<Exit> {
    let only = context.named_project()?;
    let all = stats::all(context, &context.history()?, only.as_ref(), args.days)?;
    if context.json {
        output::json(&all);
        return Ok(Exit::Fine);
    }
    all.iter().for_each(print);
    Ok(Exit::Fine)
}

fn print(stats: &QueueStats) {
    let line = |name: &str, what: String| output::line(format!("  {name:<15} {what}"));
    let spread = |spread: &Option<Spread>| {
        output::or_dash(spread.as_ref().map(|s| {
            let [median, p90] =
                [s.median_seconds, s.p90_seconds].map(|s| output::span(Duration::from_secs(s)));
            format!("{median}; nine of ten within {p90}")
        }))
    };
    output::line(format!("{}  since {}", stats.project, stats.since));
    let QueueStats { landed, failed, conflicted, cancelled, .. } = stats;
    line("landed", format!("{landed}, {} a day", stats.landed_per_day));
    line("did not land", format!("{failed} failed, {conflicted} conflicted, {cancelled} cancelled"));
    line("time to land", spread(&stats.time_to_land));
    line("at once", format!("{} on average, {} at most", output::or_dash(stats.batch_mean), stats.batch_max));
    let each = output::or_dash(stats.runs_per_landed);
    line("runs", format!("{}, {each} for each that landed, {} saved", stats.runs, stats.runs_saved));
    line("checks take", spread(&stats.checks));
    let flakes: Vec<String> =
        stats.flakes.iter().map(|(step, n)| format!("{} ({n})", one_line(step, 80))).collect();
    line("flaky", if flakes.is_empty() { "nothing".into() } else { flakes.join(", ") });
}
