//! Upkeep: few files afterwards, nothing lost, and nobody who borrows notices.

use crate::floor::{Floor, branch, each, gits};
use shopfloor_core::effect::Tidy;
use shopfloor_core::ids::PrNumber;
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::Workspace;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// As many objects that nobody refers to as files, and refs.
pub fn litter(floor: &Floor, dir: &Path, count: usize, word: &str) -> Vec<String> {
    let paths: Vec<String> = (0..count)
        .map(|n| floor.write(floor.home.path(), format!("{word}{n}"), format!("{word} {n}")))
        .map(|p| p.display().to_string())
        .collect();
    let list = floor.write(floor.home.path(), format!("{word}-list"), paths.join("\n") + "\n");
    let output = std::process::Command::new(&floor.program)
        .arg("--git-dir")
        .arg(dir)
        .args(["hash-object", "-w", "--stdin-paths"])
        .stdin(File::open(list).expect("the list"))
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("names").lines().map(str::to_owned).collect()
}

pub fn counted(floor: &Floor, dir: &Path) -> (usize, usize) {
    let text = floor.git_in(dir, &["count-objects", "-v"]);
    let number = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|n| n.trim().parse::<usize>().ok()).expect("a number")
    };
    (number("count:"), number("packs:"))
}

fn keep_up(floor: &Floor, idle: bool) {
    floor.workspace.keep_up(&floor.tidy(idle)).expect("kept up");
}

#[test]
fn the_hub_is_packed_and_drops_nothing() {
    each(|floor| {
        let hub = floor.hub();
        floor.prepare(1);
        let head = floor.commit("agent", 1, "file", "text", "change");
        floor.push(1);
        let (old, new) = floor.candidate(1, &head, MergeMethod::Merge);
        floor.publish(&old, &new).expect("asked").expect("published");
        let dangling = litter(floor, &hub, 1_100, "unreferred");
        for n in 0..300 {
            floor.git_in(&hub, &["update-ref", &format!("refs/pull/{n}/head"), new.as_str()]);
        }
        keep_up(floor, false);
        assert!(counted(floor, &hub).0 > 1_000, "not while somebody works");
        let refs = floor.git_in(&hub, &["for-each-ref"]);
        let dry_run = Tidy { dry_run: true, ..floor.tidy(true) };
        let would = floor.workspace.keep_up(&dry_run).expect("counted");
        assert!(would.objects > 1_100 && would.refs > 300, "{would:?}");
        assert!(counted(floor, &hub).0 > 1_000 && hub.join("refs/pull/7/head").exists());
        keep_up(floor, true);
        assert_eq!(counted(floor, &hub), (0, 1));
        assert_eq!(floor.git_in(&hub, &["for-each-ref"]), refs);
        assert!(!hub.join("refs/pull/7/head").exists());
        for name in [&dangling[0], &dangling[1_099]] {
            floor.git_in(&hub, &["cat-file", "-e", name]);
        }
        // Who borrows from it has everything.
        for repo in [hub.clone(), floor.repository(1), floor.clone_repo(), floor.queue()] {
            floor.git_in(&repo, &["fsck", "--connectivity-only", "--no-dangling"]);
            floor.git_in(&repo, &["cat-file", "-e", new.as_str()]);
        }
        // And the next change lands.
        let head = floor.commit("agent", 1, "file", "more", "more");
        floor.push(1);
        let (old, newer) = floor.candidate(1, &head, MergeMethod::Merge);
        assert_eq!(old, new);
        floor.publish(&old, &newer).expect("asked").expect("published");
    });
}

#[test]
fn many_packs_become_one() {
    let floor = Floor::new(&gits()[0]);
    let hub = floor.hub();
    for round in 0..22 {
        litter(&floor, &hub, 3, &format!("round{round}-"));
        let list = floor.git_in(&hub, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
        let list = floor.write(floor.home.path(), "objects", list);
        let packed = std::process::Command::new(&floor.program)
            .arg("--git-dir")
            .arg(&hub)
            .args(["pack-objects", "--quiet"])
            .arg(hub.join("objects/pack/some"))
            .stdin(File::open(list).expect("the list"))
            .output()
            .expect("git runs");
        assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    }
    litter(&floor, &hub, 1_100, "last");
    let before = floor.git_in(&hub, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    keep_up(&floor, true);
    assert_eq!(counted(&floor, &hub), (0, 1));
    let after = floor.git_in(&hub, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    assert_eq!(before, after);
}

#[test]
fn what_a_killed_upkeep_left_is_swept_and_it_is_done_again() {
    let mut floor = Floor::new(&gits()[0]);
    let hub = floor.hub();
    let names = litter(&floor, &hub, 1_100, "unreferred");
    // Dies in the middle of a pack, and of the file of all packs.
    floor.intercept(
        "case \"$*\" in *pack-objects*) : > \"$(dirname \"$0\")/a floor/projects/demo/hub.git/objects/pack/tmp_pack_abc\"; kill -9 $$;; esac",
    );
    assert!(floor.workspace.keep_up(&floor.tidy(true)).is_err());
    let half = hub.join("objects/pack/tmp_pack_abc");
    let lock = hub.join("objects/pack/multi-pack-index.lock");
    File::create(&lock).expect("a lock");
    for file in [&half, &lock] {
        let opened = File::options().write(true).open(file).expect("it is there");
        opened.set_modified(SystemTime::now() - Duration::from_secs(2 * 24 * 3600)).expect("aged");
    }
    floor.intercept("");
    keep_up(&floor, true);
    assert!(!half.exists() && !lock.exists());
    assert_eq!(counted(&floor, &hub), (0, 1));
    floor.git_in(&hub, &["cat-file", "-e", &names[500]]);
}

#[test]
fn the_queues_own_copies_go_when_the_hub_has_packed_them() {
    let floor = Floor::new(&gits()[0]);
    floor.prepare(1);
    let head = floor.commit("agent", 1, "file", "text", "change");
    floor.push(1);
    let (old, new) = floor.candidate(1, &head, MergeMethod::Merge);
    floor.publish(&old, &new).expect("asked").expect("published");
    let fresh = litter(&floor, &floor.queue(), 1_100, "fresh");
    litter(&floor, &floor.hub(), 1_100, "unreferred");
    assert!(floor.queue().join("objects").join(&new.as_str()[..2]).join(&new.as_str()[2..]).exists());
    keep_up(&floor, true);
    assert!(!floor.queue().join("objects").join(&new.as_str()[..2]).join(&new.as_str()[2..]).exists());
    floor.git_in(&floor.queue(), &["cat-file", "-e", new.as_str()]);
    floor.git_in(&floor.queue(), &["cat-file", "-e", &fresh[7]]);
}

#[test]
fn what_is_pinned_has_no_log_and_a_branch_has() {
    each(|floor| {
        floor.prepare(1);
        floor.commit("Ada", 1, "a", "1\n", "a");
        let head = floor.push(1);
        floor.workspace.pin_pr(&floor.project.name, PrNumber(1), &head).expect("pinned");
        floor.workspace.pin_merged(&floor.project.name, &head).expect("pinned");
        let logs = floor.hub().join("logs/refs");
        assert!(logs.join("heads").join(branch(1)).exists());
        assert!(!logs.join("pull").exists() && !logs.join("shopfloor").exists());
    });
}
