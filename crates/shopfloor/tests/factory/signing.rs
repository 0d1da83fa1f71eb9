//! The commits that the queue makes are signed when they land, and nothing lands without.

use crate::branches::{PEOPLE, floor, push};
use crate::floor::{Floor, wait_for};
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
