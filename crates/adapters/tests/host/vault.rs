//! What the vault was asked for, carried out on real processes: once, as it was shown, with secrets that nobody else has.

use super::support::{BOUND, Script};
use shopfloor_adapters::host::process::{Liveness, identify, is_same};
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::vault::{Fires, VaultConfig};
use shopfloor_conformance::vault::deploy;
use shopfloor_core::effect::{Fire, Fired, ProcessId};
use shopfloor_core::ids::RequestNumber;
use shopfloor_core::redact::Redactor;
use shopfloor_core::vault::{Risk, Spec};
use shopfloor_engine::ports::Vault;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const MINUTE: Duration = Duration::from_secs(60);
const SECRET: &str = "swordfish-in-a-pond";
/// Set for a process that is to be killed while it fires.
const CHILD: &str = "SHOPFLOOR_TEST_FIRES_IN";

fn spec(script: &str) -> Spec {
    Spec {
        run: ["sh", "-c", script, "sh", "{payload.version}"].map(str::to_owned).to_vec(),
        risk: Risk::Low,
        reversible: true,
        requires_human: false,
        idempotent: false,
        secrets: vec!["DEPLOY_TOKEN".to_owned()],
        timeout: MINUTE,
        cwd: None,
        schema: None,
    }
}

fn order(spec: &Spec) -> Fire {
    let mut command = spec.run.clone();
    command[4] = "$(touch x); `id`".to_owned();
    Fire {
        project: "p".parse().expect("a name"),
        request: RequestNumber(3),
        attempt: 1,
        r#type: deploy(),
        spec: spec.clone(),
        command,
        payload: "{\n  \"version\": 1\n}".to_owned(),
        by: "agent 7".to_owned(),
    }
}

fn layout(folder: &Path) -> Layout {
    Layout::new(folder.join("floor"))
}

/// `secrets`: the value, if it is set.
fn fires(folder: &Path, spec: &Spec, secret: Option<&str>) -> Fires {
    let path = std::env::var_os("PATH").expect("a path");
    let config = VaultConfig {
        spec: Some(spec.clone()),
        secrets: match secret {
            Some(value) => Ok(vec![("DEPLOY_TOKEN".to_owned(), value.to_owned())]),
            None => Err("the variable DEPLOY_TOKEN is not set".to_owned()),
        },
        env: vec![("PATH".into(), path), ("OUT".into(), folder.join("out").into())],
        redactor: Redactor::new(secret.map(str::to_owned)),
        checkout: folder.to_owned(),
    };
    Fires { layout: layout(folder), configs: Arc::new(move |_: &_, _: &_| Ok(config.clone())) }
}

fn fire(folder: &Path, fire: &Fire) -> Fired {
    fires(folder, &fire.spec, Some(SECRET)).fire(fire).expect("answered")
}

fn printed(folder: &Path) -> String {
    fs::read_to_string(folder.join("out")).unwrap_or_default()
}

fn own_folder(folder: &Path) -> PathBuf {
    layout(folder).fires(&"p".parse().expect("a name")).join("request-3/1")
}

/// Whether any file below holds that text.
fn holds(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).expect("listed").flatten().any(|entry| match entry.path() {
        path if path.is_dir() => holds(&path, text),
        path => String::from_utf8_lossy(&fs::read(path).expect("read")).contains(text),
    })
}

#[test]
fn the_payload_is_input_and_arguments_and_the_secret_stays_where_it_is_used() {
    let place = TempDir::new().expect("a folder");
    let script = r#"printf '%s|%s|%s|%s|' "$1" "$SHOPFLOOR_REQUEST" "$SHOPFLOOR_ASKED_BY" "$(pwd)" >> "$OUT"; cat >> "$OUT"
        test ${#DEPLOY_TOKEN} = 19 && echo "token $DEPLOY_TOKEN""#;
    let order = order(&spec(script));
    let fired = fire(place.path(), &order);
    let output = "token [redacted]\n".to_owned();
    assert_eq!(fired, Fired::Ended { code: Some(0), how: String::new(), output });
    let here = place.path().canonicalize().expect("a path").display().to_string();
    let expected = format!("$(touch x); `id`|3|agent 7|{here}|{{\n  \"version\": 1\n}}");
    assert_eq!(printed(place.path()), expected);
    assert!(!holds(&place.path().join("floor"), SECRET), "it is in a file of the floor's");
    // Asked for again, since its outcome was not committed: it is answered, whatever is declared by now.
    let elsewhere = Spec { timeout: BOUND, ..order.spec.clone() };
    assert_eq!(fires(place.path(), &elsewhere, None).fire(&order).expect("answered"), fired);
    // Another request that has the number now, since the store was put back, is another.
    fire(place.path(), &Fire { by: "ann".to_owned(), ..order });
    assert_eq!(printed(place.path()).matches("version").count(), 2);
}

#[test]
fn what_is_not_there_is_said_and_nothing_is_begun() {
    let place = TempDir::new().expect("a folder");
    let order = order(&spec("echo x >> $OUT"));
    let not_begun = |fires: Fires, order: &Fire, what: &str| match fires.fire(order).expect("answered") {
        Fired::NotBegun { why } => assert!(why.contains(what), "{why}"),
        other => panic!("{other:?}"),
    };
    not_begun(fires(place.path(), &order.spec, None), &order, "DEPLOY_TOKEN is not set");
    let nowhere = Spec { cwd: Some("/no/such/folder".to_owned()), ..order.spec.clone() };
    let elsewhere = Fire { spec: nowhere.clone(), ..order.clone() };
    not_begun(fires(place.path(), &nowhere, Some(SECRET)), &elsewhere, "/no/such/folder");
    for program in ["/no/such/program", "no-such-program", "/etc/passwd"] {
        let command = vec![program.to_owned()];
        not_begun(
            fires(place.path(), &order.spec, Some(SECRET)),
            &Fire { command, ..order.clone() },
            program,
        );
    }
    assert_eq!(printed(place.path()), "");
    // And once it is there, it is carried out.
    assert!(matches!(fire(place.path(), &order), Fired::Ended { code: Some(0), .. }));
    assert_eq!(printed(place.path()), "x\n");
}

#[test]
fn a_daemon_that_is_killed_in_the_middle_never_leads_to_a_second_shot() {
    const SCRIPT: &str = "echo $$ >> $OUT; echo half of it; sleep 300";
    if let Some(folder) = std::env::var_os(CHILD) {
        fire(Path::new(&folder), &order(&spec(SCRIPT)));
        return;
    }
    let place = TempDir::new().expect("a folder");
    let test = "vault::a_daemon_that_is_killed_in_the_middle_never_leads_to_a_second_shot";
    let mut daemon = Command::new(std::env::current_exe().expect("this program"))
        .args([test, "--exact"])
        .env(CHILD, place.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let begun = std::time::Instant::now();
    while !own_folder(place.path()).join("process.json").exists() || printed(place.path()).is_empty() {
        assert!(begun.elapsed() < BOUND, "it does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    daemon.kill().expect("killed");
    daemon.wait().expect("reaped");
    let pid = printed(place.path()).trim().parse().expect("a pid");
    let process: Option<ProcessId> = identify(pid);
    let fired = fire(place.path(), &order(&spec(SCRIPT)));
    let Fired::CutShort { output } = &fired else { panic!("{fired:?}") };
    assert_eq!(output, "half of it\n");
    assert_eq!(printed(place.path()).lines().count(), 1, "a second shot");
    assert!(process.is_none_or(|process| is_same(process) == Liveness::Gone), "it goes on");
    assert_eq!(fire(place.path(), &order(&spec(SCRIPT))), fired, "and stays so");
    // What nobody knows the end of stays on record.
    let pruned = |before| {
        let tidy = tidy(before);
        fires(place.path(), &spec(SCRIPT), Some(SECRET)).prune(&tidy).expect("pruned").count
    };
    fs::rename(own_folder(place.path()).join("answer.json"), place.path().join("kept")).expect("moved");
    assert_eq!(pruned(u64::MAX / 2), 0);
    fs::rename(place.path().join("kept"), own_folder(place.path()).join("answer.json")).expect("moved");
    assert_eq!((pruned(0), pruned(u64::MAX / 2)), (0, 1));
}

fn tidy(before: u64) -> shopfloor_core::effect::Tidy {
    let floor = shopfloor_core::state::Floor::default();
    let project = "p".parse().expect("a name");
    let order = shopfloor_core::step::tidy_order(&floor, &project, shopfloor_core::time::Time(0));
    shopfloor_core::effect::Tidy { folders_before: shopfloor_core::time::Time(before), ..order }
}

#[test]
fn what_may_be_done_twice_is_done_again_a_few_times() {
    let place = TempDir::new().expect("a folder");
    let again = Spec { idempotent: true, ..spec("echo x >> $OUT") };
    let order = order(&again);
    fire(place.path(), &order);
    let mut left = None;
    for count in 2..=4 {
        // As a daemon leaves it that dies in the middle.
        fs::remove_file(own_folder(place.path()).join("answer.json")).expect("removed");
        let mark = own_folder(place.path()).display().to_string();
        let mut script = Script::start("echo $$; sleep 300", &[("SHOPFLOOR_VAULT", &mark)]);
        let process = script.process();
        let fired = fire(place.path(), &order);
        assert_eq!(is_same(process), Liveness::Gone, "what was left is ended first");
        left = Some(fired);
        assert_eq!(printed(place.path()).lines().count(), count.min(3));
    }
    assert!(matches!(left, Some(Fired::CutShort { .. })), "{left:?}");
}

#[test]
fn one_that_hangs_is_ended_with_all_it_started() {
    let place = TempDir::new().expect("a folder");
    let script = "sleep 300 & echo $! >> $OUT; setsid sleep 300 & echo $! >> $OUT; wait";
    let short = Spec { timeout: Duration::from_millis(500), ..spec(script) };
    let fired = fire(place.path(), &order(&short));
    assert!(
        matches!(&fired, Fired::Ended { code: None, how, .. } if how.contains("not done within")),
        "{fired:?}"
    );
    for pid in printed(place.path()).lines() {
        assert!(identify(pid.parse().expect("a pid")).is_none(), "{pid} is left");
    }
    let failing = Fire { attempt: 2, ..order(&spec("exit 3")) };
    let how = "exit code 3".to_owned();
    assert_eq!(fire(place.path(), &failing), Fired::Ended { code: Some(3), how, output: String::new() });
}
