//! `shopfloor doctor agents`: whether what we believe about agent clients still holds.

use super::super::error::CliError;
use super::super::{CliResult, Context, Exit, now, output};
use super::scratch::Scratch;
use super::{Check, live, programs, report};
use crate::config::runtimes::{self, Override};
use crate::conformance::{self, Judged};
use clap::{Args, ValueEnum};
use serde::Serialize;
use shopfloor_adapters::host::command;
use shopfloor_core::runtime::screen::{self, Reading};
use shopfloor_core::runtime::{RuntimeSpec, Version, VersionCheck};
use shopfloor_core::text::neutralise;
use shopfloor_core::time::Time;
use shopfloor_desk::time::utc_offset;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Check what is known about agent clients: recorded screens and hooks, and the installed programs
///
/// Every recorded screen and hook payload is read by the runtime's rules and compared with what it
/// is. With --client, the installed program is also tried, which takes about half a minute: it is started in a
/// home of its own, with a dummy for a key and a model on loopback, so it costs nothing and needs no
/// login. Use it to certify a new version, after changing a runtime's patterns (--runtime), and to see
/// what your own captures are taken for (--screens; `tmux capture-pane -p > NAME.txt` makes one).
#[derive(Args)]
pub struct AgentsArgs {
    /// Only this client; the installed one is tried
    #[arg(long, value_enum)]
    client: Option<Client>,
    /// Do not start the client: only the recordings, and its version
    #[arg(long)]
    no_run: bool,
    /// Put this file (a runtime's table, as TOML) over the client's own runtime
    #[arg(long, value_name = "FILE", requires = "client")]
    runtime: Option<PathBuf>,
    /// Say what each screen in this folder is taken for, and check nothing
    #[arg(long, value_name = "DIR", requires = "client")]
    screens: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Client {
    Claude,
    Codex,
}

impl Client {
    fn name(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
        }
    }
}

const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
const FILE_BYTES_MAX: u64 = 1024 * 1024;
const FILES_MAX: usize = 1000;
/// Failing recordings that are shown of one behaviour.
const SHOWN_MAX: usize = 5;

pub fn run(context: &Context, args: &AgentsArgs) -> CliResult<Exit> {
    let clients = args.client.map_or(vec![Client::Claude, Client::Codex], |client| vec![client]);
    let mut checks = Vec::new();
    for client in clients {
        let spec = spec(client, args.runtime.as_deref())?;
        if let Some(folder) = &args.screens {
            return screens(context, &spec, folder);
        }
        checks.extend(recordings(client.name(), &spec));
        checks.extend(program(client.name(), &spec, args.client.is_some() && !args.no_run));
    }
    Ok(report(context, checks))
}

fn spec(client: Client, over: Option<&Path>) -> CliResult<RuntimeSpec> {
    let text = runtimes::text_of(client.name()).expect("every client has a runtime");
    let Some(file) = over else { return Ok(runtimes::load(text, None)?) };
    let over = read(file).map_err(|why| CliError::usage(format!("{}: {why}", file.display())))?;
    Ok(runtimes::load(text, Some(Override { file, text: &over }))?)
}

/// One check a behaviour.
fn recordings(client: &str, spec: &RuntimeSpec) -> Vec<Check> {
    let mut behaviours: BTreeMap<String, Vec<Judged>> = BTreeMap::new();
    for verdict in conformance::run(client, spec) {
        behaviours.entry(verdict.behaviour.clone()).or_default().push(verdict);
    }
    let check = |(behaviour, verdicts): (String, Vec<Judged>)| {
        let name = format!("{client} {behaviour}");
        let bad: Vec<&Judged> = verdicts.iter().filter(|verdict| !verdict.ok).collect();
        let good = format!("{} of {} recordings", verdicts.len() - bad.len(), verdicts.len());
        if bad.is_empty() {
            return Check::ok(name, good);
        }
        let mut detail = good;
        for verdict in bad.iter().take(SHOWN_MAX) {
            let Judged { recording, expected, found, .. } = verdict;
            detail.push_str(&format!("\n{recording}: is {expected}; taken for {found}"));
        }
        if bad.len() > SHOWN_MAX {
            detail.push_str(&format!("\n… and {} more", bad.len() - SHOWN_MAX));
        }
        Check::fail(name, detail).hint("a rule takes it for something else; rules are tried in order")
    };
    behaviours.into_iter().map(check).collect()
}

/// The installed program: its version, and how it behaves if it is to be `tried`.
fn program(client: &str, spec: &RuntimeSpec, tried: bool) -> Vec<Check> {
    let name = format!("{client} program");
    let Some(check) = &spec.version else { return Vec::new() };
    let Some((program, arguments)) = check.argv.split_first() else { return Vec::new() };
    let Some(path) = programs::on_path(program) else {
        return vec![
            Check::warn(name, format!("{program} is not on the PATH: only the recordings were checked"))
                .hint("install it to use this runtime; nothing else needs it"),
        ];
    };
    // Even for that some write to their home: it is not the user's.
    let home = match Scratch::new(&format!("{client}-version")) {
        Ok(home) => home,
        Err(e) => return vec![Check::fail(name, e.to_string())],
    };
    let mut ask = Command::new(&path);
    ask.args(arguments).env_clear().env("HOME", home.path()).env("TMPDIR", home.path());
    ask.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let answer = match command::run(&mut ask, ANSWER_TIMEOUT) {
        Ok(answer) => answer,
        Err(e) => return vec![Check::fail(name, format!("{} cannot be run: {e}", path.display()))],
    };
    let said = format!("{}\n{}", answer.stdout, answer.stderr);
    let Some(found) = Version::find(&said).filter(|_| answer.status.success()) else {
        let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing").trim().to_owned();
        return vec![Check::fail(name, format!("{} names no version; it said: {first}", path.display()))];
    };
    if found < check.minimum {
        let detail = format!("{} is version {found}; at least {} is needed", path.display(), check.minimum);
        return vec![Check::fail(name, detail).hint(format!("install {client} {} or newer", check.minimum))];
    }
    let mut checks = vec![Check::ok(name, format!("{} is version {found}", path.display()))];
    if tried {
        checks.extend(live::run(client, spec));
    }
    checks.push(not_tried(client, check, &found, tried));
    checks
}

/// What stands on the recordings alone, which may be of other versions.
fn not_tried(client: &str, check: &VersionCheck, found: &Version, tried: bool) -> Check {
    let name = format!("{client} not tried");
    let detail = match tried {
        true => live::NOT_TRIED.to_owned(),
        false => "its behaviour: --client tries it".to_owned(),
    };
    if check.recorded.contains(found) {
        return Check::ok(name, detail);
    }
    let known: Vec<String> = check.recorded.iter().map(Version::to_string).collect();
    Check::warn(name, format!("{detail}; {found} is not recorded, only {}", known.join(" and "))).hint(
        format!("capture its screens and see `shopfloor doctor agents --client {client} --screens DIR`"),
    )
}

/// A screen of the user's, and what it is taken for.
#[derive(Serialize)]
struct Taken {
    file: String,
    taken_for: String,
    rule: Option<String>,
    row: Option<String>,
    composer: &'static str,
    /// Whether a message would be typed there.
    would_type: bool,
}

fn screens(context: &Context, spec: &RuntimeSpec, folder: &Path) -> CliResult<Exit> {
    let list = std::fs::read_dir(folder)
        .map_err(|e| CliError::no_such(format!("{} cannot be read: {e}", folder.display())))?;
    let mut files: Vec<PathBuf> = list.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    if files.is_empty() {
        return Err(CliError::no_such(format!("{} holds no file", folder.display()))
            .hint("make a capture with `tmux capture-pane -p -t SESSION > NAME.txt`"));
    }
    if files.len() > FILES_MAX {
        return Err(CliError::usage(format!("{} holds more than {FILES_MAX} files", folder.display())));
    }
    let (now, offset) = (now(), utc_offset());
    let taken: Vec<Taken> = files.iter().map(|file| take(spec, file, now, offset)).collect();
    if context.json {
        output::json(&taken);
        return Ok(Exit::Fine);
    }
    let rows: Vec<Vec<String>> = taken
        .iter()
        .map(|taken| {
            let because = match (&taken.rule, &taken.row) {
                (Some(rule), Some(row)) => format!("rule {rule}: {}", row.trim()),
                _ => "no rule holds".into(),
            };
            let typed = if taken.would_type { "yes" } else { "no" };
            vec![
                neutralise(&taken.file),
                taken.taken_for.clone(),
                taken.composer.into(),
                typed.into(),
                neutralise(&because),
            ]
        })
        .collect();
    output::table(&["SCREEN", "TAKEN FOR", "COMPOSER", "TYPES", "BECAUSE"], &rows);
    Ok(Exit::Fine)
}

fn take(spec: &RuntimeSpec, file: &Path, now: Time, offset: i32) -> Taken {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (reading, unread) = match read(file) {
        Ok(text) => (screen::read(spec, &text, now, offset), None),
        Err(why) => (Reading::default(), Some(why)),
    };
    let meaning = reading.meaning().map_or("nothing".into(), |meaning| meaning.to_string());
    Taken {
        file: name,
        taken_for: unread.unwrap_or(meaning),
        rule: reading.claim.as_ref().map(|claim| claim.rule.clone()),
        row: reading.claim.as_ref().map(|claim| claim.row.clone()),
        composer: reading.composer.as_str(),
        would_type: reading.composer == screen::Composer::Empty,
    }
}

fn read(file: &Path) -> Result<String, String> {
    let cannot = |e: std::io::Error| format!("cannot be read: {e}");
    let mut bytes = Vec::new();
    let open = std::fs::File::open(file).map_err(cannot)?;
    open.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err("is larger than 1 MiB".into());
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".into())
}
