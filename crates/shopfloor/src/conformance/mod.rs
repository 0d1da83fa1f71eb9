//! The conformance table: recordings of real clients, and what each of them has to be taken for.
//! The tests run it on the embedded runtimes; `shopfloor doctor agents` runs it on those of a user.

use serde::{Deserialize, Serialize};
use shopfloor_adapters::agent::hooks::{parse_hook, parse_notify, parse_statusline};
use shopfloor_core::liveness::{HookEvent, HookState, Stand};
use shopfloor_core::runtime::screen::{self, Reading};
use shopfloor_core::runtime::{RuntimeSpec, Version};
use shopfloor_core::time::Time;
use std::collections::BTreeMap;

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/recordings.rs"));
}

/// The table's own file among the recordings.
const TABLE: &str = "expected.toml";

/// When the recordings were made, as far as a reset's time of day needs it: 2026-11-15 07:45:05 UTC.
const RECORDED_AT: Time = Time(1_794_728_705_000);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    screens: BTreeMap<String, Screen>,
    hooks: BTreeMap<String, Hook>,
    /// Other files, which no rule is run on.
    #[serde(default)]
    titles: BTreeMap<String, Title>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Screen {
    /// Which behaviour it is a recording of.
    of: String,
    /// The most the screen may claim; `nothing` if it must not be understood.
    is: String,
    composer: String,
    #[serde(default)]
    context_low: bool,
    /// Per cent, by the status line on the screen.
    context: Option<u8>,
    /// Minutes of the day (UTC) of a limit's reset.
    until: Option<String>,
    /// Where the terminal's cursor was, column and row, and whether a paste went into the composer there.
    cursor: Option<(usize, usize)>,
    #[serde(default)]
    typed_into: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hook {
    of: String,
    is: String,
    /// Where a session in a turn stands after it.
    then: String,
}

/// A title, as measured; the recordings hold none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Title {
    client: String,
    of: String,
    title: String,
    is: String,
}

/// One recording, judged.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    pub client: String,
    pub behaviour: String,
    pub recording: String,
    pub ok: bool,
    pub expected: String,
    pub found: String,
}

/// The client and the version a recording's path names: `claude-2.1.325/screens/01-ready.txt`.
fn client_of(path: &str) -> (&str, &str) {
    let folder = path.split('/').next().unwrap_or_default();
    folder.rsplit_once('-').unwrap_or((folder, ""))
}

/// The versions of a client there are recordings of.
pub fn versions(client: &str) -> Vec<Version> {
    let mut versions: Vec<Version> = embedded::RECORDINGS
        .iter()
        .map(|(path, _)| client_of(path))
        .filter(|(name, _)| *name == client)
        .filter_map(|(_, version)| Version::find(version))
        .collect();
    versions.sort();
    versions.dedup();
    versions
}

/// Runs the table for one client on a runtime. A recording that is not in the table fails, as does
/// a row without a recording.
pub fn run(client: &str, spec: &RuntimeSpec) -> Vec<Judged> {
    let text = embedded::RECORDINGS.iter().find(|(path, _)| *path == TABLE).map_or("", |(_, text)| *text);
    let table: Table = toml::from_str(text).expect("the table is tested");
    let mut verdicts = Vec::new();
    let mut judge = |path: &str, of: &str, expected: String, found: String| {
        verdicts.push(Judged {
            client: client.to_owned(),
            behaviour: of.to_owned(),
            recording: path.to_owned(),
            ok: expected == found,
            expected,
            found,
        });
    };
    let recordings = embedded::RECORDINGS.iter().filter(|(path, _)| client_of(path).0 == client);
    for (path, content) in recordings.clone() {
        if let Some(row) = table.screens.get(*path) {
            let reading = screen::read(spec, content, RECORDED_AT, 0);
            let expected = expected_screen(row);
            judge(path, &row.of, expected, found_screen(&reading));
            if let Some(cursor) = row.cursor {
                let says = |typed| if typed { "typed into" } else { "not typed into" }.to_owned();
                let found = says(screen::is_typed_into(spec, content, cursor));
                judge(path, &row.of, says(row.typed_into), found);
            }
        } else if let Some(row) = table.hooks.get(*path) {
            judge(path, &row.of, format!("{}, then {}", row.is, row.then), found_hook(path, content));
        } else {
            judge(path, "unlisted", "a row in the table".into(), "none".into());
        }
    }
    let listed = table.screens.keys().chain(table.hooks.keys()).filter(|path| client_of(path).0 == client);
    for path in listed.filter(|path| !recordings.clone().any(|(known, _)| known == path)) {
        judge(path, "missing", "a recording".into(), "none".into());
    }
    for (name, row) in table.titles.iter().filter(|(_, row)| row.client == client) {
        let found = screen::read_title(spec, &row.title).map_or("nothing".into(), |c| c.meaning.to_string());
        judge(&format!("title {name}"), &row.of, row.is.clone(), found);
    }
    verdicts
}

fn expected_screen(row: &Screen) -> String {
    let mut text = format!("{}, composer {}", row.is, row.composer);
    if let Some(until) = &row.until {
        text.push_str(&format!(", until {until}"));
    }
    if row.context_low {
        text.push_str(", context low");
    }
    if let Some(percent) = row.context {
        text.push_str(&format!(", {percent}%"));
    }
    text
}

/// A reading in the table's words.
pub fn found_screen(reading: &Reading) -> String {
    let is = reading.meaning().map_or("nothing".into(), |meaning| meaning.to_string());
    let mut text = format!("{is}, composer {}", reading.composer.as_str());
    if let Some(until) = reading.claim.as_ref().and_then(|claim| claim.until) {
        let minutes = until.0 / 60_000 % 1440;
        text.push_str(&format!(", until {:02}:{:02}", minutes / 60, minutes % 60));
    }
    if reading.context_low {
        text.push_str(", context low");
    }
    if let Some(percent) = reading.statusline.and_then(|line| line.context_percent) {
        text.push_str(&format!(", {percent}%"));
    }
    text
}

/// What a payload is, and where a session that is in a turn stands after it.
fn found_hook(path: &str, content: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.starts_with("statusline-input") {
        return match parse_statusline(content.as_bytes()).map(|payload| payload.fact) {
            Ok(line) => {
                let limit = if line.limited_until.is_some() { "limited" } else { "not limited" };
                let percent = line.context_percent.map_or("?".into(), |p| p.to_string());
                format!("statusline at {percent}%, {limit}, then model")
            }
            Err(e) => e.to_string(),
        };
    }
    let payload =
        if name.starts_with("notify-argv") { parse_notify(content) } else { parse_hook(content.as_bytes()) };
    match payload {
        Ok(payload) => {
            let turn = HookState::new(Time(0))
                .after(&HookEvent::UserPromptSubmit { prompt: "x".into(), turn: None }, Time(1))
                .after(&payload.event, Time(2));
            format!("{}, then {}", payload.event, stand(&turn.stand))
        }
        Err(e) => e.to_string(),
    }
}

fn stand(stand: &Stand) -> &'static str {
    match stand {
        Stand::Silent => "silent",
        Stand::Ready => "ready",
        Stand::Model => "model",
        Stand::Tool { .. } => "tool",
        Stand::Permission { .. } => "permission",
        Stand::Question => "question",
        Stand::Compacting => "compacting",
        Stand::Queued => "queued",
        Stand::Idle => "idle",
        Stand::Interrupted => "interrupted",
        Stand::Failed { .. } => "failed",
        Stand::Ended { .. } => "ended",
    }
}

#[cfg(test)]
mod tests;
