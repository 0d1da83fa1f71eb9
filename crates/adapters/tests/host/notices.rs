//! The project's commands about what landed or did not, on real processes.

use super::support::{BOUND, Script};
use shopfloor_adapters::host::process::{Liveness, is_same};
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::notices::{Commands, NoticeConfig};
use shopfloor_core::effect::{CommandEnd, EntryEnd, ProcessId, Telling};
use shopfloor_core::ids::{EntryId, RunId, Sha};
use shopfloor_core::redact::Redactor;
use shopfloor_engine::ports::Notices;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const MINUTE: Duration = Duration::from_secs(60);

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().expect("a folder") }
    }

    fn layout(&self) -> Layout {
        Layout::new(self.folder.path().join("floor"))
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn printed(&self) -> String {
        fs::read_to_string(self.out()).unwrap_or_default()
    }

    fn run(&self, script: &str, timeout: Duration, telling: &Telling) -> CommandEnd {
        let (out, checkout) = (self.out(), self.folder.path().to_owned());
        let argv = ["sh", "-c", script, "sh", "$SHOPFLOOR_TITLE; `id`"].map(str::to_owned).to_vec();
        let path = std::env::var_os("PATH").expect("a path");
        let config = NoticeConfig {
            on_landed: argv.clone(),
            on_not_landed: argv,
            timeout,
            env: vec![("PATH".into(), path), ("OUT".into(), out.into())],
            redactor: Redactor::new(["hunter2".to_owned()]),
            checkout,
        };
        let configs = Arc::new(move |_: &_| Some(config.clone()));
        Commands { layout: self.layout(), configs }.run(telling).expect("answered")
    }

    fn entry_folder(&self) -> PathBuf {
        self.layout().told(&telling().project).join("entry-7")
    }
}

fn sha(digit: &str) -> Sha {
    digit.repeat(40).parse().expect("a commit")
}

fn telling() -> Telling {
    Telling {
        project: "p".parse().expect("a name"),
        entry: EntryId(7),
        end: EntryEnd::Landed,
        target: "main".into(),
        branch: "alice/fix".into(),
        head: sha("a"),
        title: "a\nb$(touch x)\u{1b}[31m `id`".into(),
        issue: None,
        pr: None,
        by: "alice".into(),
        author: Some("Ann <ann@x>".into()),
        base: Some(sha("b")),
        behind: vec!["x".into(), "y".into()],
        commit: Some(sha("c")),
        run: Some(RunId(3)),
        log: String::new(),
        reason: String::new(),
    }
}

#[test]
fn it_is_run_once_with_what_others_wrote_in_variables_only() {
    let place = Place::new();
    let script = r#"printf '%s|%s|%s|%s|%s|%s|%s\n' "$1" "$SHOPFLOOR_TITLE" "$SHOPFLOOR_OUTCOME" "$SHOPFLOOR_BEHIND" \
        "$SHOPFLOOR_AUTHOR" "$SHOPFLOOR_ISSUE" "$(ls -A)" >> "$OUT"; echo "$SHOPFLOOR_LOG"; echo hunter2"#;
    let how = place.run(script, MINUTE, &telling());
    assert_eq!(how.trouble, None);
    let expected = "$SHOPFLOOR_TITLE; `id`|a b$(touch x) `id`|landed|x y|Ann <ann@x>||\n";
    assert_eq!(place.printed(), expected);
    let log = fs::read_to_string(&how.log).expect("a log");
    assert!(log.contains("ci/run-3/log") && !log.contains("hunter2"), "{log}");
    // Asked for again, since its outcome was not committed: it is answered.
    assert_eq!(place.run(script, MINUTE, &telling()), how);
    assert_eq!(place.printed(), expected);
    // Another entry that has the number now, since the store was put back, is another.
    assert_eq!(place.run(script, MINUTE, &Telling { commit: Some(sha("d")), ..telling() }).trouble, None);
    assert_eq!(place.printed().lines().count(), 2);
}

#[test]
fn one_that_was_cut_short_is_ended_and_not_run_again() {
    let place = Place::new();
    assert_eq!(place.run("echo x >> $OUT", MINUTE, &telling()).trouble, None);
    // As a daemon leaves it that dies in the middle.
    let folder = place.entry_folder();
    fs::remove_file(folder.join("ended.json")).expect("removed");
    let told = folder.to_str().expect("text");
    let mut left = Script::start("echo $$; sleep 300", &[("SHOPFLOOR_TOLD", told)]);
    let process: ProcessId = left.process();
    let how = place.run("echo x >> $OUT", MINUTE, &telling());
    assert!(how.trouble.as_deref().is_some_and(|why| why.contains("not run again")), "{how:?}");
    assert_eq!((place.printed().as_str(), is_same(process)), ("x\n", Liveness::Gone));
    assert_eq!(place.run("echo x >> $OUT", MINUTE, &telling()), how);
    drop(left);
    // Before that was on record nothing was begun: then it is.
    fs::remove_dir_all(&folder).expect("removed");
    assert_eq!(place.run("echo x >> $OUT", MINUTE, &telling()).trouble, None);
    assert_eq!(place.printed(), "x\nx\n");
}

#[test]
fn one_that_hangs_is_ended_with_all_it_started_and_one_that_fails_is_told() {
    let place = Place::new();
    let script = "sleep 300 & echo $! >> $OUT; setsid sleep 300 & echo $! >> $OUT; wait";
    let how = place.run(script, Duration::from_millis(500), &telling());
    assert!(how.trouble.as_deref().is_some_and(|why| why.contains("not done within")), "{how:?}");
    for pid in place.printed().lines() {
        let gone = shopfloor_adapters::host::process::identify(pid.parse().expect("a pid")).is_none();
        assert!(gone, "{pid} is left");
    }
    let other = |entry| Telling { entry: EntryId(entry), end: EntryEnd::Failed, ..telling() };
    assert_eq!(place.run("exit 3", BOUND, &other(8)).trouble.as_deref(), Some("exit code 3"));
    // A program that is not there is told, too, and nothing is tried again.
    let configs = Arc::new(|_: &_| {
        Some(NoticeConfig {
            on_landed: vec!["/no/such/program".into()],
            on_not_landed: vec![],
            timeout: MINUTE,
            env: vec![],
            redactor: Redactor::default(),
            checkout: PathBuf::new(),
        })
    });
    let commands = Commands { layout: place.layout(), configs };
    let how = commands.run(&Telling { entry: EntryId(9), ..telling() }).expect("answered");
    assert!(how.trouble.as_deref().is_some_and(|why| why.contains("/no/such/program")), "{how:?}");
    let how = commands.run(&other(10)).expect("answered");
    assert!(how.trouble.as_deref().is_some_and(|why| why.contains("configuration")), "{how:?}");
}
