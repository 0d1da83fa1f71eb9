//! `[schedules.NAME]`: when formulas are run by themselves; and when a schedule is next due.

use super::ProjectConfig;
use super::check::deadline;
use super::duration::Span;
use super::error::ConfigError;
use super::formula::{Library, Place, fill};
use super::hand::Scalar;
use super::pinned::Files;
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
use std::path::Path;

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
            return Err(source.at_value(&key("cron"), format!("`cron`: {why}")).hint(
                "write minute, hour, day of the month, month and day of the week: \"0 6 * * *\" is daily at six",
            ));
        }
        if let Err(why) = zone(schedule.tz.as_deref()) {
            return Err(source
                .at_value(&key("tz"), why)
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

/// What the words of a pattern say, in order.
const FIELDS: [&str; 5] =
    ["the minute", "the hour", "the day of the month", "the month", "the day of the week"];

fn cron(pattern: &str) -> Result<Cron, String> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(pattern).map_err(|_| {
        let words: Vec<&str> = pattern.split_whitespace().collect();
        // Nicknames such as `@daily` have no fields.
        if words.len() != FIELDS.len() && !pattern.starts_with('@') {
            return match words.len() {
                0 => "it is empty".to_owned(),
                1 => "it has 1 field, and not five".to_owned(),
                fields => format!("it has {fields} fields, and not five"),
            };
        }
        let alone = |at: usize| {
            let mut fields = ["*"; FIELDS.len()];
            fields[at] = words[at];
            fields.join(" ")
        };
        let fields = if pattern.starts_with('@') { 0 } else { FIELDS.len() };
        let wrong = (0..fields).find(|at| parser.parse(&alone(*at)).is_err());
        wrong.map_or_else(
            || format!("{pattern:?} is no time"),
            |at| format!("{:?} cannot be {}", words[at], FIELDS[at]),
        )
    })
}

/// What keeps schedules from running the formulas that they name: each with its place, and whether the schedule is
/// enabled. `files`: the formulas there are.
pub fn formulas(
    file: &Path,
    text: &str,
    config: &ProjectConfig,
    files: &Files,
) -> Result<Vec<(bool, ConfigError)>, ConfigError> {
    let source = Source::parse(file, text)?;
    let library = Library::new(files);
    let wrong = config.schedules.iter().filter_map(|(name, schedule)| {
        Some((schedule.enabled, formula_of(&source, name, schedule, config, &library)?))
    });
    Ok(wrong.collect())
}

fn formula_of(
    source: &Source<'_>,
    name: &str,
    schedule: &ScheduleConfig,
    config: &ProjectConfig,
    library: &Library,
) -> Option<ConfigError> {
    let path = ["schedules", name, "formula"];
    let wanted = &schedule.formula;
    let Some(found) = library.get(wanted) else {
        let what = format!("schedule `{name}` runs a formula that there is not, `{wanted}`");
        return Some(source.at_value(&path, what).hint(library.instead(wanted)));
    };
    let Ok(formula) = &found.formula else {
        let what = format!("schedule `{name}` runs the formula `{wanted}`, which is wrong");
        return Some(
            source.at_value(&path, what).hint("`shopfloor formula check` says what is wrong with it"),
        );
    };
    // Who switches one on may have to add a role first.
    if let Some(lack) = formula.lacks(config).into_iter().find(|_| schedule.enabled) {
        let what = format!("schedule `{name}` runs `{wanted}`: {}", lack.message);
        return Some(source.at_value(&path, what).hint(lack.hint));
    }
    let vars = schedule.plan().vars;
    let why = fill(wanted, formula, &vars, &Place::of(config)).err()?;
    let given = vars.keys().find(|var| why.contains(&format!("`{var}`")));
    let path = given.map_or(path.to_vec(), |var| vec!["schedules", name, "vars", var]);
    let what = format!("schedule `{name}` runs `{wanted}`: {why}");
    Some(source.at_key(&path, what).hint(format!("`shopfloor formula show {wanted}` shows its variables")))
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
    use super::super::formula::FORMULAS;
    use super::super::{FloorConfig, load};
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
    fn a_schedule_runs_a_formula_that_there_is_with_variables_that_it_has() {
        let of = |schedule: &str| {
            let text = format!(
                "[project]\nname = \"a\"\n[ci]\nno_checks = true\n[schedules.daily]\ncron = \"0 6 * * *\"\n{schedule}\n"
            );
            let file = Path::new("shopfloor.toml");
            let config = load::project_from(file, &text, &FloorConfig::default()).expect("good");
            let tidy = "role = \"dev\"\n[vars.area]\n[[steps]]\nid = \"do\"\ntitle = \"Tidy {{ area }}\"\n";
            let wrong = "[[steps]]\n";
            let gone = "role = \"gardener\"\n[[steps]]\nid = \"do\"\ntitle = \"t\"\n";
            let files = [("tidy", tidy), ("wrong", wrong), ("gone", gone)];
            let files = files.map(|(name, text)| (format!("{FORMULAS}/{name}.toml"), text.to_owned()));
            formulas(file, &text, &config, &files.into()).expect("it parses")
        };
        for good in ["formula = \"tidy\"", "formula = \"tidy\"\nvars = { area = \"docs\" }"] {
            assert_eq!(of(good), [], "{good}");
        }
        for (bad, place, why) in [
            ("formula = \"tidi\"", (7, 11), "runs a formula that there is not, `tidi`"),
            ("formula = \"wrong\"", (7, 11), "which is wrong"),
            ("formula = \"gone\"", (7, 11), "there is no [agents.gardener]"),
            ("formula = \"tidy\"\nvars = { aera = \"x\" }", (8, 10), "it has no variable `aera`"),
        ] {
            let [(enabled, error)] = &of(bad)[..] else { panic!("{bad}: {:?}", of(bad)) };
            let at = error.place.as_ref().expect("a place");
            assert!(*enabled && error.message.contains(why), "{error}");
            assert_eq!((at.line, at.column), place, "{error}");
        }
        assert!(!of("formula = \"tidi\"\nenabled = false")[0].0);
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for (bad, why) in [
            ("", "it is empty"),
            ("x", "it has 1 field, and not five"),
            ("0 6 * *", "it has 4 fields, and not five"),
            ("0 0 6 * * *", "it has 6 fields, and not five"),
            ("61 * * * *", "\"61\" cannot be the minute"),
            ("0 6 * * someday", "\"someday\" cannot be the day of the week"),
            ("@sometimes", "\"@sometimes\" is no time"),
        ] {
            assert_eq!(cron(bad).map(drop), Err(why.to_owned()), "{bad:?}");
        }
        assert!(zone(Some("Europe/Atlantis")).is_err());
    }
}
