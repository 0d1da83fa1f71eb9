//! The attacks again, as an ordinary user: whoever runs the tests may be root, who is kept from nothing.

use crate::floor::THEIRS;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Nobody: a user without anything.
const USER: &str = "65534";

/// A program as an ordinary user, who may write to that folder; `None`: that cannot be arranged here.
pub fn as_ordinary_user(folder: &Path, program: &str, args: &[&str]) -> Option<Command> {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).expect("open");
    if !rustix::process::geteuid().is_root() {
        let mut command = Command::new(program);
        command.args(args);
        return Some(command);
    }
    let user = ["--reuid", USER, "--regid", USER, "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"];
    match Command::new("setpriv").args(user).arg("true").output() {
        Ok(output) if output.status.success() => {}
        Err(e) if e.kind() != ErrorKind::NotFound => panic!("setpriv: {e}"),
        _ => return None,
    }
    let mut command = Command::new("setpriv");
    command.args(user).arg(program).args(args);
    Some(command)
}

#[test]
fn an_ordinary_user_is_as_safe() {
    // Where tests' files are is closed to other users.
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let at = folder.path();
    std::fs::copy(std::env::current_exe().expect("this test"), at.join("tests")).expect("copied");
    std::fs::copy(env!("CARGO_BIN_EXE_shopfloor"), at.join("shopfloor")).expect("copied");
    let program = at.join("tests").display().to_string();
    let Some(mut tests) = as_ordinary_user(at, &program, &["attacks", "--test-threads=2"]) else {
        println!("skipped: there is no setpriv, so root stays root");
        return;
    };
    let ran =
        tests.current_dir(at).env("HOME", at).env("TMPDIR", at).env(THEIRS, at).output().expect("they run");
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
    let passed =
        said.lines().filter(|line| line.starts_with("test attacks") && line.ends_with(" ok")).count();
    assert!(passed >= 10, "{said}");
}
