//! What happens to the merge queue while nobody looks, or at the very moment of a publication: the daemon was dead, a
//! branch moves as it is approved, something is withdrawn, paused, pushed or killed between the last check and the move of
//! the primary branch.

use crate::branches::{Gate, PEOPLE, floor, push, push_onto, push_primary};
use crate::floor::{Floor, wait_for};
use crate::races::{daemon, is_gone, landed_once};
use rustix::process::{Signal, kill_process};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

/// Where git waits before it moves the primary branch for the queue.
struct Door {
    fifo: File,
    came: std::path::PathBuf,
}

impl Door {
    /// The daemon's git is a script from now on.
    fn new(floor: &mut Floor) -> Door {
        let path = std::env::var("PATH").expect("a path");
        let real = std::env::split_paths(&path).map(|p| p.join("git")).find(|p| p.is_file()).expect("git");
        let (bin, fifo, came) = (floor.path("bin"), floor.path("door"), floor.path("came"));
        std::fs::create_dir(&bin).expect("a folder");
        std::fs::write(&came, "").expect("written");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
        // What it is to do is read before it waits: whoever asked may be dead by then.
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *'shopfloor: merge queue'*)\n  wanted=$(mktemp); cat > \"$wanted\"\n  \
             echo came >> '{}'; read _ < '{}'\n  exec '{}' \"$@\" < \"$wanted\";;\nesac\nexec '{}' \"$@\"\n",
            came.display(),
            fifo.display(),
            real.display(),
            real.display()
        );
        let wrapper = bin.join("git");
        std::fs::write(&wrapper, script).expect("written");
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).expect("made executable");
        floor.env.push(("PATH".into(), format!("{}:{path}", bin.display()).into()));
        let fifo = File::options().read(true).write(true).open(fifo).expect("the door opens");
        Door { fifo, came }
    }

    fn wait(&self, times: usize) {
        let came = || std::fs::read_to_string(&self.came).expect("readable").lines().count();
        wait_for("it is about to be published", || came() == times);
    }

    fn open(&mut self, times: usize) {
        self.fifo.write_all("\n".repeat(times).as_bytes()).expect("written");
    }
}

fn status(floor: &Floor, branch: &str) -> String {
    let (_, all) = floor.json(&["merge-queue", "list", "--all"]);
    let rows = all.as_array().expect("a list");
    let row = rows.iter().find(|e| e["branch"] == branch);
    row.and_then(|e| e["status"].as_str()).unwrap_or("unknown").to_owned()
}

/// A branch that is about to be published, with a daemon.
fn at_the_door() -> (Floor, Door) {
    let mut floor = floor(PEOPLE);
    let door = Door::new(&mut floor);
    push(&floor, "alice/fix", "a.txt", "one");
    floor.ok(&["up", "--detach"]);
    floor.ok(&["merge-queue", "add", "alice/fix", "--approve"]);
    door.wait(1);
    (floor, door)
}

#[test]
fn what_happened_while_the_daemon_was_dead_is_seen_by_the_next() {
    let floor = floor(PEOPLE);
    let mut gate = Gate::new(&floor);
    let names = ["stays", "moved", "deleted", "withdrawn"];
    let heads = names.map(|name| push(&floor, name, &format!("{name}.txt"), "approved"));
    floor.ok(&["up", "--detach"]);
    for name in names {
        floor.ok(&["merge-queue", "add", name, "--approve"]);
    }
    wait_for("something is being checked", || gate.began() > 0);
    let dead = daemon(&floor);
    kill_process(dead, Signal::KILL).expect("killed");
    wait_for("it is gone", || is_gone(dead));
    push_onto(&floor, heads[1].as_str(), "moved", "unseen.txt", "unseen");
    floor.hub(&["update-ref", "-d", "refs/heads/deleted"]);
    floor.ok(&["merge-queue", "remove", "withdrawn"]);
    push(&floor, "late", "late.txt", "approved");
    floor.ok(&["merge-queue", "add", "late", "--approve"]);
    push_primary(&floor, "between.txt");
    gate.let_through(60);
    floor.until_idle();
    for name in ["stays", "late"] {
        assert_eq!(floor.landed(&format!("{name}.txt")), "approved");
        landed_once(&floor, name);
    }
    let files = floor.hub(&["ls-tree", "--name-only", "main"]);
    for name in ["moved", "unseen", "deleted", "withdrawn"] {
        assert!(!files.contains(&format!("{name}.txt")), "{files}");
    }
    for name in ["moved", "deleted", "withdrawn"] {
        assert_eq!(status(&floor, name), "cancelled");
    }
    assert!(files.contains("between.txt"), "{files}");
}

/// Whichever is first: what lands is what was approved, or nothing.
#[test]
fn an_approval_and_a_push_at_the_same_moment() {
    let floor = floor(PEOPLE);
    floor.ok(&["up", "--detach"]);
    for round in 0..6 {
        let (branch, file) = (format!("race-{round}"), format!("race-{round}.txt"));
        let first = push(&floor, &branch, &file, "first");
        // The second is made, and pushed at the moment of the approval.
        let second = push_onto(&floor, first.as_str(), "spare", &file, "second");
        let hub = floor.home().join("projects/sample/hub.git");
        let mut push = std::process::Command::new("git");
        push.args(["update-ref", &format!("refs/heads/{branch}"), second.as_str()]).current_dir(&hub);
        let mut pushed = push.spawn().expect("git runs");
        let added = floor.run(&["merge-queue", "add", &branch, "--approve"]);
        assert!(pushed.wait().expect("waited").success());
        let said = String::from_utf8_lossy(&added.stdout).into_owned();
        let approved = [(&first, "first"), (&second, "second")]
            .into_iter()
            .find(|(head, _)| said.contains(&format!("approved {head}")));
        let Some((head, content)) = approved else { panic!("{said}") };
        wait_for("it is decided", || ["merged", "cancelled"].contains(&status(&floor, &branch).as_str()));
        match status(&floor, &branch).as_str() {
            "merged" => assert_eq!(floor.landed(&file), content),
            _ => assert_eq!(*head, first, "what is at the approved commit lands"),
        }
        let files = floor.hub(&["ls-tree", "--name-only", "main"]);
        assert_eq!(files.contains(&file), status(&floor, &branch) == "merged");
    }
    floor.ok(&["down"]);
    floor.assert_history_green();
}

#[test]
fn what_is_withdrawn_or_paused_while_it_is_published_lands() {
    let (floor, mut door) = at_the_door();
    // From here on only git knows.
    let refused = floor.run(&["merge-queue", "remove", "alice/fix"]);
    assert_eq!(refused.status.code(), Some(5), "{}", String::from_utf8_lossy(&refused.stderr));
    floor.ok(&["merge-queue", "pause", "too late"]);
    door.open(1);
    wait_for("it landed", || status(&floor, "alice/fix") == "merged");
    landed_once(&floor, "alice/fix");
    // The next one is held.
    push(&floor, "bob/fix", "b.txt", "two");
    floor.ok(&["merge-queue", "add", "bob/fix", "--approve"]);
    wait_for("its head passed", || status(&floor, "bob/fix") == "queued");
    floor.ok(&["merge-queue", "resume"]);
    door.wait(2);
    door.open(1);
    wait_for("it landed", || status(&floor, "bob/fix") == "merged");
    floor.ok(&["down"]);
}

#[test]
fn a_push_to_the_primary_branch_right_before_the_publication_wins() {
    let (floor, mut door) = at_the_door();
    let theirs = push_primary(&floor, "between.txt");
    door.open(1);
    // What was checked is not what would land: it is checked again, on top of theirs.
    door.wait(2);
    assert_eq!(floor.hub(&["rev-parse", "main"]), theirs);
    door.open(1);
    wait_for("it landed", || status(&floor, "alice/fix") == "merged");
    floor.ok(&["down"]);
    assert_eq!((floor.landed("a.txt"), floor.landed("between.txt")), ("one".into(), "by hand".into()));
    landed_once(&floor, "alice/fix");
    floor.assert_history_green();
}

#[test]
fn a_push_to_the_branch_right_before_the_publication_keeps_it_out() {
    let (floor, mut door) = at_the_door();
    let primary = floor.hub(&["rev-parse", "main"]);
    push_onto(&floor, "main", "alice/fix", "a.txt", "unseen");
    door.open(1);
    wait_for("it is out of the queue", || status(&floor, "alice/fix") == "cancelled");
    floor.ok(&["down"]);
    assert_eq!(floor.hub(&["rev-parse", "main"]), primary);
}

/// The git that a dead daemon has left moves the branch, before or after the next daemon wants to.
#[test]
fn a_publication_that_outlives_its_daemon_is_one() {
    for before in [true, false] {
        let (floor, mut door) = at_the_door();
        let dead = daemon(&floor);
        kill_process(dead, Signal::KILL).expect("killed");
        wait_for("it is gone", || is_gone(dead));
        if before {
            door.open(1);
            wait_for("it moved", || floor.hub(&["ls-tree", "--name-only", "main"]).contains("a.txt"));
        }
        floor.ok(&["up", "--detach"]);
        door.wait(2);
        door.open(if before { 1 } else { 2 });
        wait_for("it landed", || status(&floor, "alice/fix") == "merged");
        floor.ok(&["down"]);
        landed_once(&floor, "alice/fix");
        assert_eq!(floor.hub(&["rev-list", "--count", "--first-parent", "main", "--grep=^alice/fix"]), "1");
        floor.assert_history_green();
    }
}

/// Nobody knows yet whether the primary branch is to blame for one branch when another moves it, and the daemon is killed
/// between the two answers.
#[test]
fn a_daemon_that_dies_while_the_base_is_checked_and_another_branch_lands() {
    for moved_first in [true, false] {
        let mut floor = floor(PEOPLE);
        let (fifo, began) = (floor.path("base-gate"), floor.path("base-began"));
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
        std::fs::write(&began, "").expect("written");
        // Only the checks of the primary branch itself wait.
        let script = format!(
            "#!/bin/sh\nif [ \"$SHOPFLOOR_PURPOSE\" = base ]; then echo began >> '{}'; read _ < '{}'; fi\n\
             ! grep -rn BROKEN --include='*.txt' .\n",
            began.display(),
            fifo.display()
        );
        std::fs::write(floor.path("repo/check.sh"), script).expect("written");
        floor.git(&["commit", "--quiet", "-am", "a gate"]);
        floor.git(&["push", "--quiet", "shopfloor", "main"]);
        let mut gate = File::options().read(true).write(true).open(&fifo).expect("the gate opens");
        let mut door = Door::new(&mut floor);
        push(&floor, "bad", "bad.txt", "BROKEN");
        push(&floor, "good", "good.txt", "one");
        floor.ok(&["up", "--detach"]);
        floor.ok(&["merge-queue", "add", "bad", "--approve"]);
        wait_for("the base is checked", || std::fs::read_to_string(&began).is_ok_and(|t| !t.is_empty()));
        floor.ok(&["merge-queue", "add", "good", "--approve"]);
        door.wait(1);
        let dead = daemon(&floor);
        kill_process(dead, Signal::KILL).expect("killed");
        wait_for("it is gone", || is_gone(dead));
        if moved_first {
            door.open(1);
            wait_for("it moved", || floor.hub(&["ls-tree", "--name-only", "main"]).contains("good.txt"));
        }
        gate.write_all(&[b'\n'; 20]).expect("written");
        floor.ok(&["up", "--detach"]);
        door.open(20);
        wait_for("each is decided", || {
            (status(&floor, "good"), status(&floor, "bad")) == ("merged".into(), "failed".into())
        });
        floor.ok(&["down"]);
        landed_once(&floor, "good");
        assert!(!floor.hub(&["ls-tree", "--name-only", "main"]).contains("bad.txt"));
        floor.assert_history_green();
    }
}
