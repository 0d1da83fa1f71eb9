//! `shopfloor trends`: where things are going.

use super::{CliError, CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::text::one_line;
use shopfloor_core::trends::{DAYS_DEFAULT, DAYS_MAX};
use shopfloor_desk::view::trends::TrendsView;

/// Show where things are going: checks, agents, issues, the machine; with the numbers
///
/// A line is laid through each series by least squares: how much it moves a day, and how much of the series that explains
/// (R², from 0 to 1). What is notable has a name; while an open issue has that name in its title, it is known.
#[derive(Args)]
pub struct TrendsArgs {
    /// How many days back
    #[arg(long, default_value_t = DAYS_DEFAULT, value_name = "N")]
    days: u32,
    /// Exit with 78 if nothing is notable that no open issue is about and no predictor was shown within a week
    #[arg(long)]
    check: bool,
}

pub fn run(context: &Context, args: &TrendsArgs) -> CliResult<Exit> {
    if !(1..=DAYS_MAX).contains(&args.days) {
        return Err(CliError::usage(format!("--days {}: it must be from 1 to {DAYS_MAX}", args.days)));
    }
    let shown = TrendsView::new(context, &context.project()?.name, args.days)?;
    match context.json {
        true => output::json(&shown),
        false => print(&shown),
    }
    Ok(if args.check && !shown.found.is_news() { Exit::NothingToDo } else { Exit::Fine })
}

fn print(shown: &TrendsView) {
    let found = &shown.found;
    let number = |value: f64| if value.abs() < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") };
    let rows: Vec<Vec<String>> = found
        .trends
        .iter()
        .map(|trend| {
            let line = &trend.line;
            let mut row = vec![trend.name.to_owned(), trend.unit.to_owned(), line.n.to_string()];
            row.extend([line.first, line.last, line.mean, line.slope_per_day].map(number));
            row.push(format!("{:.2}", line.r2));
            row
        })
        .collect();
    output::line(format!("{}, the last {} days", shown.project, shown.days));
    if !rows.is_empty() {
        output::table(&["TREND", "UNIT", "DAYS", "FIRST", "LAST", "MEAN", "A DAY", "R2"], &rows);
    }
    for flaky in &found.flaky_steps {
        let step = one_line(&flaky.step, 80);
        output::line(format!("flaky     {step}: {} times red on a commit that is green", flaky.flakes));
    }
    let stale = &found.stale_issues;
    let oldest: Vec<String> =
        stale.issues.iter().map(|(issue, days)| format!("#{issue} for {days} days")).collect();
    let oldest = if oldest.is_empty() { String::new() } else { format!(": {}", oldest.join(", ")) };
    output::line(format!("stale     {} of {} open issues{oldest}", stale.stale, stale.open));
    for notable in &found.notable {
        output::line(notable.line());
    }
    if found.notable.is_empty() {
        output::line("nothing is notable");
    }
}
