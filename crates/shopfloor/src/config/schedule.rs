//! `[schedules.NAME]`: when formulas are run by themselves; and when a schedule is next due.

use super::check::deadline;
use super::duration::Span;
use super::error::ConfigError;
use super::hand::Scalar;
use super::source::Source;
use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::ids::{FormulaName, ScheduleName};
use shopfloor_core::state::{OnMissed, SchedulePlan};
use shopfloor_core::time::Time;
use std::collections::BTreeMap;

/// When a formula is run by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleConfig {
    /// The formula's name: see `shopfloor formula list`.
    #[schemars(with = "String")]
    pub formula: FormulaName,
    /// Minute, hour, day of the month, month and day of the week, as cron has them: "0 6 * * *" is daily at six,
    /// "*/20 * * * *" every twenty minutes, "0 7 * * mon" on Mondays at seven.
    pub cron: String,
    /// The time zone that this is meant in, such as "Europe/Berlin" or "UTC"; without it that of the machine. A time
    /// that a clock skips is made up for as soon as it has; one that it has twice counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tz: Option<String>,
    /// The formula's variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vars: BTreeMap<String, Scalar>,
    #[serde(default = "yes")]
    pub enabled: bool,
    /// How long a run may take, instead of what the formula says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// What becomes of times at which the floor was down: "once" makes up for all of them with one run, "skip" waits
    /// for the next.
    #[serde(default)]
    #[schemars(with = "String", extend("enum" = ["once", "skip"]))]
    pub on_missed: OnMissed,
}

fn yes() -> bool {
    true
}

impl ScheduleConfig {
    pub fn plan(&self) -> SchedulePlan {
        SchedulePlan {
            formula: self.formula.clone(),
            cron: self.cron.clone(),
            tz: self.tz.clone(),
            vars: self.vars.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
            timeout: self.timeout.map(|timeout| timeout.0),
            on_missed: self.on_missed,
            enabled: self.enabled,
        }
    }
}

pub(super) fn check(
    source: &Source<'_>,
    schedules: &BTreeMap<String, ScheduleConfig>,
) -> Result<(), ConfigError> {
    for (name, schedule) in schedules {
        let key = |key| ["schedules", name.as_str(), key];
        if name.parse::<ScheduleName>().is_err() {
            return Err(source
                .at_key(&["schedules", name], format!("`{name}` cannot be the name of a schedule"))
                .hint(ScheduleName::RULE));
        }
        if let Err(why) = cron(&schedule.cron) {
            return Err(source.at_key(&key("cron"), format!("`cron`: {why}")).hint(
                "write minute, hour, day of the month, month and day of the week: \"0 6 * * *\" is daily at six",
            ));
        }
        if let Err(why) = zone(schedule.tz.as_deref()) {
            return Err(source
                .at_key(&key("tz"), why)
                .hint("write a name such as \"Europe/Berlin\" or \"UTC\""));
        }
        if let Some(timeout) = schedule.timeout {
            deadline(source, &key("timeout"), timeout)?;
        }
    }
    Ok(())
}

/// When it is next due after that time; `None`: never.
pub fn next(plan: &SchedulePlan, after: Time) -> Result<Option<Time>, String> {
    let at = Timestamp::from_millisecond(after.0 as i64).map_err(|e| e.to_string())?;
    let at: Zoned = at.to_zoned(zone(plan.tz.as_deref())?);
    match cron(&plan.cron)?.find_next_occurrence(&at, false) {
        Ok(next) => Ok(u64::try_from(next.timestamp().as_millisecond()).ok().map(Time)),
        Err(CronError::TimeSearchLimitExceeded) => Ok(None),
        Err(why) => Err(why.to_string()),
    }
}

fn cron(pattern: &str) -> Result<Cron, String> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(pattern).map_err(|e| e.to_string())
}

fn zone(name: Option<&str>) -> Result<TimeZone, String> {
    match name {
        None => Ok(TimeZone::system()),
        Some("UTC") => Ok(TimeZone::UTC),
        Some(name) => TimeZone::get(name)
            .map_err(|_| format!("there is no time zone {name:?}, or this machine has no list of them")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(cron: &str, tz: &str, after: &str, times: usize) -> Vec<String> {
        let plan = SchedulePlan {
            formula: "tidy".parse().expect("a name"),
            cron: cron.into(),
            tz: Some(tz.into()),
            vars: BTreeMap::new(),
            timeout: None,
            on_missed: OnMissed::Once,
            enabled: true,
        };
        let after: Timestamp = after.parse().expect("a time");
        let mut at = Time(after.as_millisecond() as u64);
        let mut all = Vec::new();
        for _ in 0..times {
            let Some(next) = next(&plan, at).expect("a schedule") else { break };
            at = next;
            all.push(Timestamp::from_millisecond(at.0 as i64).expect("a time").to_string());
        }
        all
    }

    #[test]
    fn a_schedule_is_due_by_the_clock_of_its_zone() {
        assert_eq!(
            due("0 6 * * *", "UTC", "2026-11-19T05:59:59Z", 2),
            ["2026-11-19T06:00:00Z", "2026-11-20T06:00:00Z"]
        );
        assert_eq!(due("0 6 * * *", "UTC", "2026-11-19T06:00:00Z", 1), ["2026-11-20T06:00:00Z"]);
        assert_eq!(due("0 7 * * mon", "Europe/Berlin", "2026-11-19T00:00:00Z", 1), ["2026-11-23T06:00:00Z"]);
        assert_eq!(due("0 0 30 2 *", "UTC", "2026-11-19T00:00:00Z", 1), [""; 0]);
    }

    #[test]
    fn a_time_that_the_clock_skips_is_made_up_for_and_one_that_it_has_twice_counts_once() {
        // In Berlin 02:30 is skipped on 2026-03-29, and comes twice on 2026-10-25.
        assert_eq!(
            due("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
            ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
        );
        assert_eq!(
            due("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        );
        // What is due every hour is due in both of them.
        assert_eq!(
            due("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", 3),
            ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"]
        );
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for bad in ["", "x", "0 6 * *", "61 * * * *", "0 0 6 * * *"] {
            assert!(cron(bad).is_err(), "{bad:?}");
        }
        assert!(zone(Some("Europe/Atlantis")).is_err());
    }
}
