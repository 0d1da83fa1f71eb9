//! Hand sessions with a worktree of their own, and what becomes of it: merged, kept or dropped, also if whoever does
//! it is killed at any point.

use crate::floor::{DEMO, Floor, wait_for};
use serde_json::Value;
use shopfloor_adapters::host::process::{end_tree, identify};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

/// Works when it is told to: a line is a script.
const WORKS: &str = "while read -r line; do eval \"$line\"; done";

fn spawn(floor: &Floor, story: &str, more: &[&str]) -> (String, PathBuf) {
    let args = ["session", "spawn", "dev", "1", story, "--worktree", "--command", WORKS];
    let (code, made) = floor.json(&[&args, more].concat());
    assert_eq!(code, 0, "{made}");
    (
        made["name"].as_str().expect("a name").to_owned(),
        PathBuf::from(made["cwd"].as_str().expect("a folder")),
    )
}

fn says(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn git_in(folder: &std::path::Path, args: &[&str]) -> String {
    let output =
        std::process::Command::new("git").arg("-C").arg(folder).args(args).output().expect("git runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn commit(tree: &std::path::Path, file: &str) {
    std::fs::write(tree.join(file), "work\n").expect("written");
    git_in(tree, &["add", "-A"]);
    git_in(tree, &["-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-qm", file]);
}

fn hub(floor: &Floor) -> PathBuf {
    floor.home().join("projects/sample/hub.git")
}

fn listed(floor: &Floor, name: &str) -> Value {
    let (_, all) = floor.json(&["session", "list"]);
    all.as_array().expect("a list").iter().find(|one| one["name"] == name).cloned().unwrap_or_default()
}

#[test]
fn work_in_a_worktree_of_its_own_is_merged_through_the_queue() {
    let floor = Floor::new(DEMO);
    let (name, tree) = spawn(&floor, "1", &[]);
    assert_eq!(listed(&floor, &name)["branch"], "hand/sample-dev-1-1-h1");
    assert_eq!(git_in(&tree, &["symbolic-ref", "--short", "HEAD"]), "hand/sample-dev-1-1-h1");
    assert_ne!(tree, floor.path("repo"));
    // The session itself works there.
    floor.ok(&[
        "session",
        "send",
        &name,
        "pwd > where; echo \"$PROJECT_REPO_ROOT $SHOPFLOOR_BRANCH\" >> where",
    ]);
    let mut text = String::new();
    wait_for("it has worked", || {
        text = std::fs::read_to_string(tree.join("where")).unwrap_or_default();
        text.lines().count() == 2
    });
    assert!(text.ends_with(&format!("{} hand/sample-dev-1-1-h1\n", tree.display())), "{text}");
    // What cannot be done is refused, and the session runs on.
    let refuse = |more: &[&str], why: &str| {
        let refused = floor.run(&[&["session", "finish", &name, "--merge"], more].concat());
        assert_eq!(refused.status.code(), Some(1), "{}", says(&refused));
        assert!(says(&refused).contains(why), "{}", says(&refused));
        assert_eq!(listed(&floor, &name)["state"], "alive");
    };
    refuse(&["--approve"], "uncommitted changes: 1 files");
    std::fs::remove_file(tree.join("where")).expect("removed");
    refuse(&["--approve"], "nothing that main lacks");
    commit(&tree, "story.txt");
    refuse(&[], "is not approved");
    let (code, done) = floor.json(&["session", "finish", &name, "--merge", "--approve"]);
    assert_eq!((code, &done["how"], &done["worktree"]), (0, &"merge".into(), &Value::Null), "{done}");
    assert!(done["queue"].is_string() && done["rescue"].is_string(), "{done}");
    assert!(!tree.exists());
    assert_eq!(listed(&floor, &name), Value::Null);
    floor.ok(&["merge-queue", "process"]);
    assert_eq!(git_in(&hub(&floor), &["show", "main:story.txt"]), "work");
    // Once more is fine; otherwise is not.
    floor.ok(&["session", "finish", &name, "--merge"]);
    let otherwise = floor.run(&["session", "finish", &name, "--drop"]);
    assert!(says(&otherwise).contains("finished already: merged"), "{}", says(&otherwise));
}

#[test]
fn work_is_kept_or_dropped_with_a_rescue_ref() {
    let floor = Floor::new(DEMO);
    let (name, tree) = spawn(&floor, "2", &["--branch", "topic/two"]);
    commit(&tree, "one.txt");
    std::fs::write(tree.join("half.txt"), "half\n").expect("written");
    // The branch is taken, and so are others.
    for (branch, why) in [("topic/two", "is the branch of"), ("main", "only the merge queue moves it")] {
        let refused =
            floor.run(&["session", "spawn", "dev", "1", "3", "--worktree", "--branch", branch, "--", "true"]);
        assert_eq!(refused.status.code(), Some(2), "{}", says(&refused));
        assert!(says(&refused).contains(why), "{}", says(&refused));
    }
    let (_, kept) = floor.json(&["session", "finish", &name, "--keep"]);
    assert_eq!(
        (&kept["how"], &kept["worktree"]),
        (&"keep".into(), &tree.display().to_string().into()),
        "{kept}"
    );
    assert_eq!(listed(&floor, &name)["state"], "ended");
    assert!(tree.join("half.txt").exists());
    floor.ok(&["session", "kill-all"]);
    let (_, dropped) = floor.json(&["session", "finish", &name, "--drop"]);
    assert_eq!((&dropped["how"], &dropped["worktree"]), (&"drop".into(), &Value::Null), "{dropped}");
    assert!(!tree.exists());
    let clone = floor.home().join("projects/sample/clone.git");
    let rescue = dropped["rescue"].as_str().expect("a ref");
    assert_eq!(git_in(&clone, &["show", &format!("{rescue}:half.txt")]), "half");
    assert_eq!(git_in(&clone, &["show", &format!("{rescue}:one.txt")]), "work");
    for repo in [clone, hub(&floor)] {
        assert_eq!(git_in(&repo, &["rev-parse", "--verify", "--quiet", "refs/heads/topic/two"]), "");
    }
    floor.ok(&["session", "finish", &name, "--drop"]);
    // A branch that the hub had before is not the session's to remove.
    floor.git(&["push", "--quiet", &hub(&floor).display().to_string(), "HEAD:refs/heads/theirs"]);
    let (name, tree) = spawn(&floor, "5", &["--branch", "theirs"]);
    commit(&tree, "more.txt");
    let said = floor.ok(&["session", "finish", &name, "--drop"]);
    assert!(said.contains("the hub's theirs stays") && !tree.exists(), "{said}");
    assert_ne!(git_in(&hub(&floor), &["rev-parse", "--verify", "--quiet", "refs/heads/theirs"]), "");
    // One without a worktree has nothing to finish.
    let plain = floor.ok(&["session", "spawn", "dev", "1", "4", "--command", "sleep 1000"]);
    let refused = floor.run(&["session", "finish", plain.trim(), "--drop"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(says(&refused).contains("no worktree of its own"), "{}", says(&refused));
    floor.ok(&["session", "kill-all"]);
}

/// A git that stops for ever at its n-th call, and the file that says so.
struct Stopping {
    calls: PathBuf,
    stop: PathBuf,
    reached: PathBuf,
}

impl Stopping {
    fn new(floor: &Floor) -> Stopping {
        let folder = floor.path("stopping");
        std::fs::create_dir(&folder).expect("a folder");
        let of = |name: &str| folder.join(name);
        let (git, this) =
            (of("git"), Stopping { calls: of("calls"), stop: of("stop"), reached: of("reached") });
        let script = format!(
            "#!/bin/sh\necho >> {calls}\nif [ \"$(wc -l < {calls})\" = \"$(cat {stop})\" ]; then echo $$ > {reached}.new; mv {reached}.new {reached}; exec sleep 1000; fi\nexec git \"$@\"\n",
            calls = this.calls.display(),
            stop = this.stop.display(),
            reached = this.reached.display(),
        );
        std::fs::write(&git, script).expect("written");
        std::fs::set_permissions(&git, PermissionsExt::from_mode(0o755)).expect("executable");
        let config = floor.home().join("floor.toml");
        let text = std::fs::read_to_string(&config).expect("it is there");
        std::fs::write(&config, format!("{text}[git]\nprogram = \"{}\"\n", git.display())).expect("written");
        this.at(0);
        this
    }

    fn at(&self, call: u32) {
        std::fs::write(&self.stop, call.to_string()).expect("written");
        std::fs::write(&self.calls, "").expect("written");
        let _ = std::fs::remove_file(&self.reached);
    }

    /// Runs it, and kills it at that call; whether it got there.
    fn kill_at(&self, floor: &Floor, args: &[&str], call: u32) -> bool {
        self.at(call);
        let mut child = floor.command(args).stdout(std::process::Stdio::null()).spawn().expect("it runs");
        let mut over = false;
        wait_for("it is there or over", || {
            over = child.try_wait().expect("it can be asked").is_some();
            over || self.reached.exists()
        });
        let reached = self.reached.exists();
        if reached {
            let pid = std::fs::read_to_string(&self.reached).expect("a pid").trim().parse().expect("a pid");
            child.kill().expect("killed");
            child.wait().expect("it ended");
            end_tree(identify(pid).expect("it runs"), Duration::ZERO).expect("ended");
        }
        self.at(0);
        reached
    }
}

#[test]
fn a_finish_that_is_killed_at_any_point_and_run_again_ends_the_same() {
    let floor = Floor::new(DEMO);
    let git = Stopping::new(&floor);
    let clone = floor.home().join("projects/sample/clone.git");
    let mut call = 1;
    for round in 0.. {
        let (name, tree) = spawn(&floor, &format!("5.{round}"), &[]);
        let branch = listed(&floor, &name)["branch"].as_str().expect("a branch").to_owned();
        let file = format!("file{round}.txt");
        commit(&tree, &file);
        let merges = round % 2 == 0;
        let args: &[&str] = if merges { &["--merge", "--approve"] } else { &["--drop"] };
        let args = [&["session", "finish", &name], args].concat();
        let reached = git.kill_at(&floor, &args, call);
        if reached {
            floor.ok(&args);
        }
        assert!(!tree.exists(), "round {round}, killed at call {call}");
        let (_, done) = floor.json(&args);
        let rescue = done["rescue"].as_str().expect("a ref").to_owned();
        assert_eq!(git_in(&clone, &["show", &format!("{rescue}:{file}")]), "work", "killed at call {call}");
        let published =
            git_in(&hub(&floor), &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]);
        let (_, queue) = floor.json(&["merge-queue", "list"]);
        let queued = queue.as_array().expect("a list").iter().filter(|e| e["branch"] == branch).count();
        assert_eq!(
            (published.is_empty(), queued),
            (!merges, usize::from(merges)),
            "killed at call {call}: {queue}"
        );
        // Every point of both would take minutes; each time another is taken.
        if !reached && !merges {
            break;
        }
        call += 3;
    }
    floor.ok(&["session", "kill-all"]);
}

#[test]
fn a_start_that_is_killed_leaves_what_can_be_finished() {
    let floor = Floor::new(DEMO);
    let git = Stopping::new(&floor);
    for call in [2, 5, 8] {
        let args = ["session", "spawn", "dev", "7", "7", "--worktree", "--command", WORKS];
        if !git.kill_at(&floor, &args, call) {
            break;
        }
        let (_, all) = floor.json(&["session", "list"]);
        for one in all.as_array().expect("a list") {
            assert_eq!(one["state"], "ended", "{one}");
            floor.ok(&["session", "finish", one["name"].as_str().expect("a name"), "--drop"]);
        }
        let trees = floor.home().join("projects/sample/worktrees");
        let left = std::fs::read_dir(trees).map_or(0, |all| all.count());
        assert_eq!(
            (left, floor.json(&["session", "list"]).1),
            (0, Value::Array(Vec::new())),
            "killed at {call}"
        );
    }
    floor.ok(&["session", "kill-all"]);
}

#[test]
fn its_worktree_is_set_up_and_torn_down_as_a_jobs_is_and_its_folder_is_trusted() {
    let floor = Floor::new(&format!(
        "{DEMO}[worktree]\nsetup = ['''pwd > \"$SHOPFLOOR_CHECKOUT/../ready\"; [ ! -e \"$SHOPFLOOR_CHECKOUT/../broken\" ]''']\nteardown = ['''pwd > \"$SHOPFLOOR_CHECKOUT/../torn\"''']\n"
    ));
    let read = |file: &str| std::fs::read_to_string(floor.path(file)).unwrap_or_default();
    let line = format!("echo \"$SHOPFLOOR_PORT\" > {}; sleep 1000", floor.path("port").display());
    let args = ["session", "spawn", "dev", "1", "1", "--worktree", "--runtime", "claude", "--command", &line];
    let (code, made) = floor.json(&args);
    assert_eq!(code, 0, "{made}");
    let [name, cwd] = ["name", "cwd"].map(|field| made[field].as_str().expect("text").to_owned());
    let tree = PathBuf::from(cwd);
    assert_eq!(read("ready").trim(), tree.display().to_string(), "before anything works there");
    // Its client would ask whether the folder can be trusted.
    let state: Value = serde_json::from_str(&read("home/.claude.json")).expect("JSON");
    assert_eq!(state["projects"][tree.display().to_string()]["hasTrustDialogAccepted"], true, "{state}");
    wait_for("it has worked", || read("port").ends_with('\n'));
    assert!(read("port").trim().parse::<u16>().is_ok(), "{}", read("port"));
    assert_eq!(read("torn"), "");
    floor.ok(&["session", "finish", &name, "--drop"]);
    assert_eq!(read("torn").trim(), tree.display().to_string());
    let ports = floor.home().join("projects/sample/setup");
    assert_eq!(std::fs::read_dir(ports).map_or(0, |all| all.count()), 0, "the port is free");
    // One that cannot be set up is not started. What there is of it can be finished.
    std::fs::write(floor.path("broken"), "").expect("written");
    let refused = floor.run(&["session", "spawn", "dev", "1", "2", "--worktree", "--command", WORKS]);
    assert_eq!(refused.status.code(), Some(1), "{}", says(&refused));
    assert!(says(&refused).contains("its setup failed: ") && says(&refused).contains("exit code 1"));
    let name = "hand-sample-dev-1-2-h2";
    assert_eq!(listed(&floor, name)["state"], "ended");
    floor.ok(&["session", "finish", name, "--drop"]);
    assert_eq!(listed(&floor, name), Value::Null);
}
