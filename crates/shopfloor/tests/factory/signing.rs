//! The commits that the queue makes are signed when they land, and nothing lands without.

use crate::branches::{PEOPLE, floor, push};
use crate::floor::{Floor, wait_for};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

fn ssh_key(floor: &Floor) -> String {
    let key = floor.path("home/key");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "queue", "-f"])
        .arg(&key)
        .stdin(Stdio::null())
        .status()
        .expect("ssh-keygen runs");
    assert!(made.success());
    let public = std::fs::read_to_string(floor.path("home/key.pub")).expect("a public key");
    std::fs::write(floor.path("home/signers"), format!("queue@localhost {public}")).expect("written");
    key.display().to_string()
}

/// A key of gpg's without a passphrase, and its folder, which has to be short because of the sockets in it.
fn gpg_key() -> Option<(tempfile::TempDir, String)> {
    if Command::new("gpg").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("gpg is not installed: nothing is signed with it here");
        return None;
    }
    let home = tempfile::Builder::new().prefix("g-").tempdir_in("/tmp").expect("a folder");
    let gpg = |args: &[&str]| {
        let mut gpg = Command::new("gpg");
        gpg.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        gpg.env("GNUPGHOME", home.path()).args(["--batch", "--passphrase", ""]).args(args);
        let done = gpg.stdin(Stdio::null()).output().expect("gpg runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    gpg(&["--quick-generate-key", "Queue <queue@localhost>", "ed25519", "sign", "never"]);
    let keys = gpg(&["--list-secret-keys", "--with-colons"]);
    let name = keys.lines().find_map(|line| line.strip_prefix("fpr:")).expect("a fingerprint");
    let name = name.trim_matches(':').to_owned();
    Some((home, name))
}

/// What gpg started ends with it.
fn end_gpg(home: &std::path::Path) {
    let _ = Command::new("gpgconf").arg("--homedir").arg(home).args(["--kill", "all"]).status();
}

/// What git says of the signatures of the first-parent line, the newest first.
fn signatures(floor: &Floor) -> Vec<String> {
    let signers = format!("gpg.ssh.allowedSignersFile={}", floor.path("home/signers").display());
    let log = floor.hub(&["-c", &signers, "log", "--first-parent", "--format=%G? %s", "main"]);
    log.lines().map(str::to_owned).collect()
}

#[test]
fn what_lands_is_signed_with_every_method() {
    for method in ["squash", "merge", "rebase"] {
        let floor = floor(&format!("{PEOPLE}[merge]\nslots = 2\npeople = \"{method}\"\n"));
        let key = ssh_key(&floor);
        floor.configure(|config| format!("{config}[merge.signing]\nformat = \"ssh\"\nkey = {key:?}\n"));
        // All but the first have to be put on top of another.
        for branch in ["a", "b", "c"] {
            push(&floor, branch, &format!("f-{branch}"), "1");
        }
        for branch in ["a", "b", "c"] {
            floor.ok(&["merge-queue", "add", branch, "--approve"]);
        }
        let (code, text) = floor.until_idle();
        assert_eq!(code, 0, "{method}: {text}");
        let shown = signatures(&floor);
        // A person's own commit that only has to be taken lands as it is.
        let unsigned = shown.iter().filter(|line| line.starts_with("N ")).count();
        let (begin, as_it_is) = (1, usize::from(method == "rebase"));
        assert_eq!(unsigned, begin + as_it_is, "{method}: {shown:?}");
        assert!(
            shown.iter().all(|line| line.starts_with("N ") || line.starts_with("G ")),
            "{method}: {shown:?}"
        );
        floor.hub(&["fsck", "--strict", "--no-progress"]);
    }
}

/// Without the key nothing lands, and everything does once it is there.
#[test]
fn a_key_that_is_not_to_be_had_holds_the_queue_and_loses_nothing() {
    let floor = floor(PEOPLE);
    let key = ssh_key(&floor);
    let aside = format!("{key}.aside");
    std::fs::rename(&key, &aside).expect("moved");
    floor.configure(|config| format!("{config}[merge.signing]\nformat = \"ssh\"\nkey = {key:?}\n"));
    push(&floor, "a", "f-a", "1");
    floor.ok(&["up", "--detach"]);
    floor.ok(&["merge-queue", "add", "a", "--approve"]);
    wait_for("the trouble is shown", || floor.ok(&["status"]).contains("to sign a commit"));
    assert!(!floor.hub(&["ls-tree", "--name-only", "main"]).contains("f-a"));
    std::fs::rename(&aside, &key).expect("moved");
    wait_for("it lands", || floor.hub(&["ls-tree", "--name-only", "main"]).contains("f-a"));
    assert!(signatures(&floor)[0].starts_with("G "));
}

#[test]
fn what_lands_is_signed_with_gpg() {
    let Some((home, key)) = gpg_key() else { return };
    let mut floor = floor(PEOPLE);
    floor.env.push(("GNUPGHOME".into(), home.path().into()));
    floor.configure(|config| format!("{config}[merge.signing]\nformat = \"openpgp\"\nkey = {key:?}\n"));
    for branch in ["a", "b"] {
        push(&floor, branch, &format!("f-{branch}"), "1");
        floor.ok(&["merge-queue", "add", branch, "--approve"]);
    }
    let (code, text) = floor.until_idle();
    let program = floor.path("home/verify");
    let script = format!("#!/bin/sh\nexec gpg --homedir '{}' \"$@\"\n", home.path().display());
    std::fs::write(&program, script).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    let verify = format!("gpg.program={}", program.display());
    let shown = floor.hub(&["-c", &verify, "log", "--first-parent", "--format=%G? %GF %s", "main"]);
    end_gpg(home.path());
    assert_eq!(code, 0, "{text}");
    let good = shown.lines().filter(|line| line.starts_with(&format!("G {key} "))).count();
    assert_eq!(good, shown.lines().count() - 1, "all but the first: {shown}");
    floor.hub(&["fsck", "--strict", "--no-progress"]);
}

/// What waits for a key can be taken out, and another branch's queue goes on as far as it can.
#[test]
fn what_cannot_be_signed_holds_up_nobody_and_can_be_taken_out() {
    let floor = floor(PEOPLE);
    let key = ssh_key(&floor);
    let aside = format!("{key}.aside");
    std::fs::rename(&key, &aside).expect("moved");
    floor.configure(|config| {
        format!(
            "{config}[merge.targets.one]\nbranch = \"release/1.x\"\n[merge.signing]\nformat = \"ssh\"\nkey = {key:?}\n"
        )
    });
    floor.hub(&["branch", "release/1.x", "main"]);
    for branch in ["a", "b", "c"] {
        push(&floor, branch, &format!("f-{branch}"), "1");
    }
    floor.ok(&["up", "--detach"]);
    floor.ok(&["merge-queue", "add", "a", "--approve"]);
    wait_for("the trouble is shown", || floor.ok(&["status"]).contains("to sign a commit"));
    // The lane that all queues share is free: this one is built and checked, too.
    floor.ok(&["merge-queue", "add", "b", "--approve", "--to", "release/1.x"]);
    wait_for("the other is green, and waits as well", || {
        let (_, all) = floor.json(&["merge-queue", "list", "--all"]);
        all.as_array().is_some_and(|rows| rows.iter().filter(|e| e["status"] == "merging").count() == 2)
    });
    floor.ok(&["merge-queue", "try", "c"]);
    floor.ok(&["merge-queue", "remove", "a"]);
    std::fs::rename(&aside, &key).expect("moved");
    wait_for("it lands", || floor.hub(&["ls-tree", "--name-only", "release/1.x"]).contains("f-b"));
    assert!(!floor.hub(&["ls-tree", "--name-only", "main"]).contains("f-a"));
}
