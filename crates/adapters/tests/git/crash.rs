//! An issue's whole way through git, with git killed at each call in turn: what was cut short is
//! called again and ends as if nothing had happened.

use crate::floor::{Floor, branch, commit_of, gits};
use crate::upkeep::{counted, litter};
use shopfloor_core::effect::{Merged, Tidy};
use shopfloor_core::ids::{Assignment, IssueNumber, ProjectName, Role};
use shopfloor_core::ids::{PrNumber, Sha};
use shopfloor_core::policy::MergeMethod;
use shopfloor_core::step::tidy_order;
use shopfloor_core::time::Time;
use shopfloor_engine::ports::Tree;
use shopfloor_engine::ports::{PortError, PortResult, Workspace};
use shopfloor_engine::proof::{MergedProof, RescueProof};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// `$HOME/fuse` holds how many more calls go well, and whether the killed one does its work first.
const FUSE: &str = r#"
if [ -f "$HOME/fuse" ]; then
    read -r left when <"$HOME/fuse"
    if [ "$left" -eq 0 ]; then
        rm "$HOME/fuse"
        [ "$when" = after ] && "$real" "$@" >/dev/null
        kill -9 $$
    fi
    echo "$((left - 1)) $when" >"$HOME/fuse"
fi"#;

/// When git is killed.
enum Kill {
    /// Once in the story; the fuse was lit before it.
    Once,
    /// In each operation at its first call, then at its second, and so on until it is through.
    EveryCall(&'static str),
}

impl Kill {
    /// Repeats the call until it works. A call that was cut short may only ask for that.
    fn again<T>(&self, floor: &Floor, mut call: impl FnMut() -> PortResult<T>) -> T {
        for calls in 0..100 {
            if let Kill::EveryCall(when) = self {
                light(floor, calls, when);
            }
            match call() {
                Ok(value) => {
                    if let Kill::EveryCall(_) = self {
                        put_out(floor);
                    }
                    return value;
                }
                Err(PortError::Transient(_)) => {}
                Err(PortError::Permanent { why, .. }) => panic!("given up: {why}"),
            }
        }
        panic!("no end of it");
    }
}

fn light(floor: &Floor, calls: u32, when: &str) {
    std::fs::write(floor.home.path().join("fuse"), format!("{calls} {when}\n")).expect("fuse");
}

/// Whether it still burned.
fn put_out(floor: &Floor) -> bool {
    std::fs::remove_file(floor.home.path().join("fuse")).is_ok()
}

fn carry(floor: &Floor, issue: u64, kill: &Kill) {
    let (tree, branch) = (floor.tree(issue), branch(issue));
    let dir = kill.again(floor, || floor.workspace.prepare(&tree, &branch, None)).path;
    let dir = Path::new(&dir);
    assert!(dir.join("readme").exists(), "checked out whole");
    floor.write(dir, format!("file-{issue}"), "work");
    floor.git_as("Ada", dir, &["add", "-A"]);
    floor.git_as("Ada", dir, &["commit", "--quiet", "-m", "work"]);
    floor.write(dir, "draft", "not committed");
    // Somebody deletes the folder; the killed calls make it again as it was.
    kill.again(floor, || floor.workspace.snapshot(&tree)).expect("a worktree");
    std::fs::remove_dir_all(dir).expect("remove");
    kill.again(floor, || floor.workspace.prepare(&tree, &branch, None));
    assert_eq!(std::fs::read(dir.join("draft")).expect("put back"), b"not committed");
    floor.user(&["pull", "--quiet", "--ff-only", "shopfloor", "main"]);
    floor.human_push("human", &issue.to_string());

    let head = kill.again(floor, || floor.workspace.push(&tree, &branch));
    let state = kill.again(floor, || floor.workspace.branch_state(&tree, &branch));
    assert_eq!((state.ahead, state.dirty, state.pushed), (1, 1, Some(head.clone())));
    let built = kill.again(floor, || floor.build(issue, &head, MergeMethod::Rebase));
    let (base, commit) = commit_of(built);
    let publish = || floor.publish(&base, &commit);
    kill.again(floor, publish).expect("nobody else pushed");

    let rescued = kill.again(floor, || {
        let proof = RescueProof::obtain(&floor.workspace, &tree)?;
        let snapshot = proof.snapshot().cloned();
        floor.workspace.remove(proof).map(|()| snapshot)
    });
    if let Some(rescued) = rescued {
        let draft = floor.git_in(&floor.clone_repo(), &["show", &format!("{}:draft", rescued.commit)]);
        assert_eq!(draft, "not committed");
    }
    assert!(!dir.exists());
    let merged =
        Merged { pr: Some(PrNumber(issue)), head: head.clone(), commit: commit.clone(), target: None };
    kill.again(floor, || {
        let proof = MergedProof::obtain(&floor.workspace, &floor.project.name, &merged)?;
        floor.workspace.delete_branch(&branch, proof)
    });
    check(floor, issue, &head, &commit);
}

fn check(floor: &Floor, issue: u64, head: &Sha, commit: &Sha) {
    assert_eq!(floor.head(&floor.hub(), "main"), *commit);
    assert_eq!(floor.head(&floor.hub(), &format!("refs/pull/{issue}/head")), *head);
    for repo in [floor.hub(), floor.clone_repo()] {
        let branches = floor.git_in(&repo, &["for-each-ref", "refs/heads/fix/"]);
        assert_eq!(branches, "", "{}", repo.display());
    }
    let kept =
        floor.git_in(&floor.clone_repo(), &["for-each-ref", &format!("refs/rescue/dev-demo-{issue}/")]);
    assert!(!kept.is_empty(), "the draft is kept");
}

#[test]
fn operations_that_are_killed_again_and_again_get_through() {
    for program in gits() {
        let mut floor = Floor::new(&program);
        floor.intercept(FUSE);
        carry(&floor, 1, &Kill::EveryCall("before"));
        carry(&floor, 2, &Kill::EveryCall("after"));
    }
}

/// Every call once, each in a story of its own.
#[test]
#[ignore = "takes minutes; run it after changing the git adapter"]
fn git_killed_at_any_one_call_changes_nothing_in_the_end() {
    let mut floor = Floor::new(&gits()[0]);
    floor.intercept(FUSE);
    let mut issue = 0;
    for when in ["before", "after"] {
        for calls in 0.. {
            issue += 1;
            light(&floor, calls, when);
            carry(&floor, issue, &Kill::Once);
            if put_out(&floor) {
                assert!(calls > 20, "the story has many calls");
                break;
            }
        }
    }
}

/// As many loose objects and refs in the hub as upkeep cannot leave alone. Returns the objects' names.
fn untidy(floor: &Floor, round: u32) -> Vec<String> {
    let (hub, main) = (floor.hub(), floor.head(&floor.hub(), "main"));
    for n in 0..210 {
        let folder = hub.join(format!("refs/pull/{round}{n:03}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("head"), format!("{main}\n")).expect("a ref");
    }
    litter(floor, &hub, 1_010, &format!("round{round}-"))
}

/// Everything is there, for the hub and for whoever borrows from it.
fn check_whole(floor: &Floor, refs: &str, names: &[String]) {
    let hub = floor.hub();
    assert_eq!(floor.git_in(&hub, &["for-each-ref"]), refs);
    let all = floor.git_in(&hub, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    let all: BTreeSet<&str> = all.lines().collect();
    assert!(names.iter().all(|name| all.contains(name.as_str())), "an object is gone");
    for repo in [hub, floor.repository(1), floor.clone_repo(), floor.queue()] {
        floor.git_in(&repo, &["fsck", "--connectivity-only", "--no-dangling"]);
    }
}

#[test]
fn upkeep_that_is_killed_again_and_again_gets_through_and_drops_nothing() {
    for (program, when) in gits().iter().flat_map(|program| [(program, "before"), (program, "after")]) {
        let mut floor = Floor::new(program);
        floor.prepare(1);
        let names = untidy(&floor, 1);
        let refs = floor.git_in(&floor.hub(), &["for-each-ref"]);
        floor.intercept(FUSE);
        Kill::EveryCall(when).again(&floor, || floor.workspace.keep_up(&floor.tidy(true)));
        check_whole(&floor, &refs, &names);
        assert_eq!(counted(&floor, &floor.hub()).0, 0, "{when}");
    }
}

const HOME: &str = "SHOPFLOOR_TEST_FLOOR";

/// Makes a tree, works in it and removes it, again and again, and says so at each step.
#[test]
#[ignore = "run, and killed, by the next one"]
fn a_process_that_makes_and_removes() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let workspace = Floor::workspace_in(&gits()[0], Path::new(&home));
    let project: ProjectName = "demo".parse().expect("name");
    let tree = Tree::of_job(&project, Role::DEV, Assignment::Issue(IssueNumber(1)));
    for n in 0.. {
        let dir = workspace.prepare(&tree, &branch(1), None).expect("prepare").path;
        println!("made");
        std::fs::write(Path::new(&dir).join("draft"), format!("{n}")).expect("written");
        let proof = RescueProof::obtain(&workspace, &tree).expect("proof");
        println!("kept");
        workspace.remove(proof).expect("removed");
        println!("gone");
    }
}

#[test]
fn a_process_killed_while_it_makes_and_removes_a_tree_leaves_it_whole_or_absent() {
    let floor = Floor::new(&gits()[0]);
    let (dir, repository) = (floor.layout.tree(&floor.tree(1)), floor.repository(1));
    for round in 0..24u32 {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "crash::a_process_that_makes_and_removes", "--ignored", "--nocapture"])
            .env(HOME, floor.home.path())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("started");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let steps = lines.filter(|line| ["made", "kept", "gone"].iter().any(|step| line.ends_with(step)));
        // At another step each time, and a little further into the next.
        steps.take(1 + (round % 7) as usize).for_each(drop);
        (0..round * 20_000).for_each(|n| {
            std::hint::black_box(n);
        });
        let group = format!("-{}", child.id());
        assert!(Command::new("kill").args(["-9", "--", &group]).status().expect("kill").success());
        child.wait().expect("dead");

        // What is there now is a tree, or nothing; a lock that a killed git left goes by its age.
        let ready = again(|| floor.workspace.prepare(&floor.tree(1), &branch(1), None));
        assert!(dir.join("readme").exists(), "round {round}: {ready:?}");
        floor.git_in(&dir, &["fsck", "--connectivity-only"]);
        floor.git_in(&dir, &["status", "--porcelain"]);
        let repos = std::fs::read_dir(repository.parent().expect("a folder")).expect("read");
        let names: Vec<_> = repos.flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["issue-1.git"], "round {round}");
        let kept = again(|| floor.workspace.snapshot(&floor.tree(1))).expect("a tree");
        assert!(floor.workspace.snapshot_holds(&floor.tree(1), &kept).expect("asked"));
    }
}

fn again<T>(mut call: impl FnMut() -> PortResult<T>) -> T {
    for _ in 0..600 {
        match call() {
            Ok(value) => return value,
            Err(PortError::Transient(_)) => std::thread::sleep(std::time::Duration::from_millis(50)),
            Err(PortError::Permanent { why, .. }) => panic!("given up: {why}"),
        }
    }
    panic!("no end of it");
}

#[test]
#[ignore = "run, and killed, by the next one"]
fn a_process_that_keeps_up() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let workspace = Floor::workspace_in(&gits()[0], Path::new(&home));
    let project: ProjectName = "demo".parse().expect("name");
    let order = Tidy { idle: true, ..tidy_order(&Default::default(), &project, Time(0)) };
    println!("begun");
    // A lock that the one before left may be in the way.
    let _ = workspace.keep_up(&order);
}

#[test]
fn upkeep_that_is_killed_at_any_moment_drops_nothing_and_is_done_later() {
    let floor = Floor::new(&gits()[0]);
    floor.prepare(1);
    let mut names = Vec::new();
    for round in 0..6 {
        names.extend(untidy(&floor, round));
        let refs = floor.git_in(&floor.hub(), &["for-each-ref"]);
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "crash::a_process_that_keeps_up", "--ignored", "--nocapture"])
            .env(HOME, floor.home.path())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("started");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.ends_with("begun")));
        // Spun, not slept: the point of the kill is to be anywhere within.
        let until = Instant::now() + Duration::from_millis(u64::from(round) * 17);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        let group = format!("-{}", child.id());
        // It may have ended by itself.
        Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).status().expect("kill");
        child.wait().expect("dead");
        check_whole(&floor, &refs, &names);
    }
    age_locks(&floor.hub());
    floor.workspace.keep_up(&floor.tidy(true)).expect("kept up");
    let refs = floor.git_in(&floor.hub(), &["for-each-ref"]);
    check_whole(&floor, &refs, &names);
    assert!(counted(&floor, &floor.hub()).0 <= 1_000);
}

/// As if every lock in there had been left long ago.
fn age_locks(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            age_locks(&path);
        } else if path.extension().is_some_and(|ext| ext == "lock" || ext == "new") {
            let lock = std::fs::File::options().write(true).open(&path).expect("a lock");
            lock.set_modified(SystemTime::now() - Duration::from_secs(7200)).expect("aged");
        }
    }
}
