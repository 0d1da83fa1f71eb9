//! The project's own setup of worktrees: files copied, commands run, ports given.

use super::floor::{Floor, each, gits};
use shopfloor_adapters::setup::{SetupConfig, WorktreeSetup};
use shopfloor_core::redact::Redactor;
use shopfloor_engine::ports::{Outfit, PortError, Setup, SetupFailure, Workspace};
use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

fn config(floor: &Floor) -> SetupConfig {
    let env = [("PATH", std::env::var_os("PATH").expect("PATH")), ("HOME", floor.home.path().into())];
    SetupConfig {
        setup: vec![],
        teardown: vec![],
        timeout: Duration::from_secs(60),
        include: vec![],
        ports: 21_000..=21_999,
        env: env.map(|(name, value)| (OsString::from(name), value)).to_vec(),
        redactor: Redactor::new(["correct-horse".to_owned()]),
        checkout: floor.project.checkout.clone(),
        isolation: Arc::default(),
        network: shopfloor_adapters::jail::Network::All,
    }
}

fn setup(floor: &Floor, config: SetupConfig) -> WorktreeSetup {
    let name = floor.project.name.clone();
    let configs = Arc::new(move |wanted: &_| (*wanted == name).then(|| config.clone()));
    WorktreeSetup::new(floor.git.clone(), floor.layout.clone(), configs)
}

fn done(floor: &Floor, config: SetupConfig, issue: u64) -> Outfit {
    floor.prepare(issue);
    setup(floor, config).set_up(&floor.tree(issue)).expect("done").expect("it works")
}

fn failed(floor: &Floor, config: SetupConfig, issue: u64) -> SetupFailure {
    floor.prepare(issue);
    setup(floor, config).set_up(&floor.tree(issue)).expect("done").expect_err("it fails")
}

fn commands(list: &[&str]) -> Vec<String> {
    list.iter().map(|command| (*command).to_owned()).collect()
}

#[test]
fn only_files_that_git_ignores_here_and_there_are_copied_and_nobody_keeps_them_for_good() {
    each(|floor| {
        let from = &floor.project.checkout;
        floor.write(from, ".gitignore", ".env\n*.local\nsecret*\nhave\nnested/\n");
        floor.user(&["add", ".gitignore"]);
        floor.user(&["commit", "--quiet", "-m", "ignore"]);
        floor.user(&["push", "--quiet", "shopfloor", "main"]);
        for (name, text) in [
            (".env", "A=1\n"),
            ("config/db.local", "db\n"),
            ("config/deep/other.local", "other\n"),
            ("plain.txt", "not ignored\n"),
            ("only-here.txt", "ignored here only\n"),
            ("have", "theirs\n"),
            ("wanted", "in the list of the checkout\n"),
            ("secret", "s\n"),
            ("secret-dir-target/inner.local", "outside\n"),
        ] {
            floor.write(from, name, text);
        }
        fs::set_permissions(from.join(".env"), fs::Permissions::from_mode(0o600)).expect("mode");
        floor.write(from, ".git/info/exclude", "only-here.txt\nwanted\nsecret-dir-target\n");
        symlink("secret", from.join("link.local")).expect("link");
        let to = floor.prepare(1);
        floor.write(&to, "have", "ours\n");
        // A link in the worktree leads nowhere else, either.
        symlink(floor.home.path(), to.join("config")).expect("link");
        let include =
            commands(&[".env", "*.local", "plain.txt", "only-here.txt", "have", "# more\nsecret*\nwanted\n"]);
        let outfit = done(floor, SetupConfig { include, ..config(floor) }, 1);
        let text = |name: &str| fs::read_to_string(to.join(name)).ok();
        assert_eq!(text(".env").as_deref(), Some("A=1\n"));
        assert_eq!(fs::metadata(to.join(".env")).expect("meta").permissions().mode() & 0o777, 0o600);
        assert_eq!(text("secret").as_deref(), Some("s\n"));
        assert_eq!(text("have").as_deref(), Some("ours\n"), "never overwritten");
        for absent in ["plain.txt", "only-here.txt", "wanted", "link.local"] {
            assert!(!to.join(absent).exists(), "{absent}");
        }
        assert!(!floor.home.path().join("db.local").exists(), "a link was followed");
        let notes = outfit.notes.join("\n");
        assert!(notes.contains("plain.txt: git does not ignore it"), "{notes}");
        assert!(notes.contains("more were not copied"), "{notes}");
        let log = floor.layout.setup(&floor.tree(1)).join("log");
        let log = fs::read_to_string(log).expect("a log");
        assert!(log.contains("link.local: a symbolic link"), "{log}");
        assert!(log.contains("config/db.local: behind a symbolic link"), "{log}");
        // What is copied is in no commit and no snapshot.
        fs::remove_file(to.join("config")).expect("removed");
        assert_eq!(floor.git_in(&to, &["status", "--porcelain"]), "");
        let snapshot = floor.workspace.snapshot(&floor.tree(1)).expect("kept").expect("there is a worktree");
        let kept =
            floor.git_in(&floor.clone_repo(), &["ls-tree", "-r", "--name-only", snapshot.commit.as_str()]);
        assert!(!kept.contains(".env") && !kept.contains("secret"), "{kept}");
    });
}

#[test]
fn commands_run_once_in_a_clean_environment_and_again_when_they_are_others() {
    let floor = Floor::new(&gits()[0]);
    let out = floor.home.path().join("out");
    let count = format!("env > env.txt; pwd >> '{}'; echo x > made.txt", out.display());
    let asked = SetupConfig { setup: commands(&[&count]), ..config(&floor) };
    let outfit = done(&floor, asked.clone(), 1);
    let to = floor.prepare(1);
    assert_eq!(fs::read_to_string(to.join("made.txt")).expect("made"), "x\n");
    let env = fs::read_to_string(to.join("env.txt")).expect("env");
    let port = outfit.port.expect("a port");
    for expect in [format!("SHOPFLOOR_PORT={port}\n"), "ISSUE=1\n".into(), "PROJECT_NAME=demo\n".into()] {
        assert!(env.contains(&expect), "{expect}: {env}");
    }
    assert!(!env.contains("CARGO"), "{env}");
    let times = || fs::read_to_string(&out).expect("counted").lines().count();
    assert_eq!(done(&floor, asked.clone(), 1), Outfit { port: Some(port), notes: vec![] });
    assert_eq!(times(), 1);
    done(&floor, SetupConfig { setup: commands(&[&count, "true"]), ..asked }, 1);
    assert_eq!(times(), 2);
}

#[test]
fn what_fails_is_told_without_secrets_and_tried_again_from_the_beginning() {
    let floor = Floor::new(&gits()[0]);
    let asked = commands(&[
        "echo one >> tries",
        "printf 'a \\033[31mcorrect-horse\\n'; exit 3",
        "echo never > never",
    ]);
    let asked = SetupConfig { setup: asked, ..config(&floor) };
    let failure = failed(&floor, asked.clone(), 1);
    assert!(failure.why.contains("exit code 3") && !failure.why.contains("correct-horse"), "{failure:?}");
    assert!(failure.excerpt.starts_with("a [redacted]"), "{failure:?}");
    let to = floor.prepare(1);
    assert!(!to.join("never").exists());
    failed(&floor, asked.clone(), 1);
    assert_eq!(fs::read_to_string(to.join("tries")).expect("tries"), "one\none\n");
    // The log says the same to whoever looks at it.
    let log = fs::read_to_string(floor.layout.setup(&floor.tree(1)).join("log"));
    assert!(!log.expect("a log").contains("correct-horse"));
    // What it pushes is refused: it may run what a branch brings along.
    let push = SetupConfig { setup: commands(&["git push origin HEAD:refs/heads/main2"]), ..asked };
    assert!(failed(&floor, push, 1).excerpt.contains("a worktree's setup may not push"));
}

#[test]
fn what_a_killed_daemon_left_of_a_setup_is_ended_before_it_runs_again() {
    let floor = Floor::new(&gits()[0]);
    floor.prepare(1);
    let folder = floor.layout.setup(&floor.tree(1));
    let mut left = Command::new("sleep")
        .arg("300")
        .env("SHOPFLOOR_SETUP", &folder)
        .stdin(Stdio::null())
        .spawn()
        .expect("sleep");
    done(&floor, SetupConfig { setup: commands(&["true"]), ..config(&floor) }, 1);
    // Only a process that has ended can be collected without waiting for five minutes.
    let status = left.wait().expect("collected");
    assert!(!status.success());
}

#[test]
fn ports_are_unique_stable_and_given_back() {
    let floor = Floor::new(&gits()[0]);
    // Those of this process, below the ones that kernels give out; somebody has the first.
    let first = 10_000 + u16::try_from(std::process::id() % 200).expect("small") * 50;
    let taken = TcpListener::bind(("127.0.0.1", first)).expect("a free port");
    let ports = SetupConfig { ports: first..=first + 49, ..config(&floor) };
    let port = |issue| done(&floor, ports.clone(), issue).port.expect("a port");
    let (one, two) = (port(1), port(2));
    assert!(one != two && one != first, "{one} {two}");
    // Its own agent may be listening.
    let own = TcpListener::bind(("127.0.0.1", one)).expect("free");
    assert_eq!((port(1), port(2)), (one, two));
    let narrow = SetupConfig { ports: one..=one, ..ports.clone() };
    let error = setup(&floor, narrow).set_up(&floor.tree(2)).expect_err("there is none");
    assert!(error.to_string().contains("widen `ports`"), "{error}");
    drop((own, taken));
    // A program that another test starts at that moment has what was open, until it runs.
    while TcpListener::bind(("127.0.0.1", one)).is_err() {
        std::thread::yield_now();
    }
    assert_eq!(setup(&floor, ports.clone()).tear_down(&floor.tree(1), &|| Ok(())).expect("done"), None);
    let again = SetupConfig { ports: one..=one, ..ports.clone() };
    assert_eq!(done(&floor, again, 3).port, Some(one));
}

#[test]
fn a_teardown_that_fails_is_told_and_ends() {
    let floor = Floor::new(&gits()[0]);
    let to = floor.prepare(1);
    let out = floor.home.path().join("out");
    let asked = [format!("echo $SHOPFLOOR_PORT > '{}'; exit 2", out.display()), "echo last > last".into()];
    let asked = SetupConfig { teardown: asked.to_vec(), ..config(&floor) };
    let port = done(&floor, asked.clone(), 1).port.expect("a port");
    let note =
        setup(&floor, asked.clone()).tear_down(&floor.tree(1), &|| Ok(())).expect("done").expect("told");
    assert!(note.contains("its teardown failed") && note.contains("exit code 2"), "{note}");
    assert_eq!(fs::read_to_string(&out).expect("ran"), format!("{port}\n"));
    assert!(to.join("last").exists(), "the others ran all the same");
    // There is nothing to tear down in a worktree that is gone.
    fs::remove_dir_all(&to).expect("removed");
    fs::remove_file(&out).expect("removed");
    assert_eq!(setup(&floor, asked).tear_down(&floor.tree(1), &|| Ok(())).expect("done"), None);
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_server_that_is_down_is_weather_and_no_fault_of_the_project() {
    let floor = Floor::new(&gits()[0]);
    floor.prepare(1);
    let asked =
        SetupConfig { setup: commands(&["echo 'Could not resolve host: x'; exit 6"]), ..config(&floor) };
    let answer = setup(&floor, asked).set_up(&floor.tree(1));
    assert!(matches!(&answer, Err(PortError::Transient(why)) if why.contains("resolve host")), "{answer:?}");
}
