//! Where the machine allows it, a client test runs in a network namespace that has nothing but
//! loopback: no client can reach its vendor, whatever it tries.
//!
//! The test starts itself once more in there. All it starts is in there too: the model server, tmux,
//! the client.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where `cargo xtask test` put the clients: `bin/claude`, `bin/codex`.
const CLIENTS: &str = "SHOPFLOOR_TEST_CLIENTS";
/// Set for the test within: the file that it makes when it has run.
const WITHIN: &str = "SHOPFLOOR_TEST_WITHIN";
/// As root, and as anybody who may make user namespaces.
const WAYS: [&[&str]; 2] = [&["-n"], &["-r", "-n"]];

/// Runs a test with the folder of the clients, if there is one. `F` has to be a closure in the test
/// itself: the test's name is read from it.
pub fn with_clients<F: FnOnce(&Path)>(test: F) {
    let Some(clients) = std::env::var_os(CLIENTS).map(PathBuf::from) else {
        println!("skipped: {CLIENTS} is not set; `cargo xtask test` fetches the clients and sets it");
        return;
    };
    if let Some(ran) = std::env::var_os(WITHIN) {
        test(&clients);
        std::fs::write(ran, "").expect("written");
        return;
    }
    let works = |way: &&[&str]| unshare(way, "true", &[]).output().is_ok_and(|out| out.status.success());
    let Some(way) = WAYS.into_iter().find(works) else {
        println!("no network namespace can be made here: the environment alone keeps clients on loopback");
        return test(&clients);
    };
    let folder = tempfile::tempdir().expect("a folder");
    let ran = folder.path().join("ran");
    let own = std::env::current_exe().expect("a test binary");
    let name = test_name(std::any::type_name::<F>());
    let out = unshare(way, own.to_str().expect("a path in UTF-8"), &[name, "--exact", "--nocapture"])
        .env(WITHIN, &ran)
        .output()
        .expect("unshare runs");
    // Said by this test: whoever reads only what failed reads why.
    let said = || [out.stdout.as_slice(), &out.stderr].concat();
    assert!(out.status.success(), "in its network namespace:\n{}", String::from_utf8_lossy(&said()));
    assert!(ran.exists(), "{name} is not the test's name, and nothing ran");
}

fn unshare(way: &[&str], program: &str, args: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(way).args(["--", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh", program]).args(args);
    command.stdin(Stdio::null());
    command
}

/// `clients::claude::a_test::{{closure}}` is the closure of `claude::a_test`.
fn test_name(closure: &str) -> &str {
    let path = closure.split("::{{").next().unwrap_or(closure);
    path.split_once("::").map_or(path, |(_, name)| name)
}

#[test]
fn within_there_is_nothing_but_loopback() {
    with_clients(|_| {
        if std::env::var_os(WITHIN).is_some() {
            let devices = std::fs::read_to_string("/proc/net/dev").expect("read");
            let names: Vec<&str> = devices
                .lines()
                .filter_map(|line| line.split_once(':').map(|(name, _)| name.trim()))
                .collect();
            assert_eq!(names, ["lo"]);
        }
    });
}
