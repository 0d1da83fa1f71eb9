//! A floor that an earlier build left in the middle of its work is opened, migrated with a backup, and finished.
//!
//! `upgrade/` has what build f1bc031 left when its daemon, and everybody else on the machine, was killed: an agent's question
//! is open, one issue has failed and is blocked, one is in its checks, and one waits for that. The store is its SQL, the
//! repositories are streams of `git fast-export`; worktrees were linked to a common repository then.

use crate::floor::{DEMO, Floor, git_in, run_git, wait_for};
use shopfloor_core::event::Accepter;
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::{End, JobState};
use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Command, Stdio};

const STORE: &str = include_str!("upgrade/floor.sql");
const HUB: &str = include_str!("upgrade/hub.export");
const CLONE: &str = include_str!("upgrade/clone.export");

fn import(repository: &Path, home: &Path, stream: &str) {
    git_in(home, home, &["init", "--quiet", "--bare", "-b", "main", &repository.display().to_string()]);
    let mut child = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(repository)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .stdin(Stdio::piped())
        .spawn()
        .expect("git runs");
    child.stdin.take().expect("a pipe").write_all(stream.as_bytes()).expect("written");
    assert!(child.wait().expect("it ends").success());
}

/// The floor as it was left. A checkout is all that its user needs to have kept.
fn left_behind() -> Floor {
    // The repository and its configuration are as the harness makes them; the floor is the old build's.
    let floor = Floor::new(&DEMO.replace("max_jobs = 2", "max_jobs = 4"));
    let (home, user) = (floor.home(), floor.path("home"));
    let config = std::fs::read(home.join("floor.toml")).expect("the floor's configuration");
    std::fs::remove_dir_all(&home).expect("removed");
    let project = home.join("projects/sample");
    DirBuilder::new().recursive(true).mode(0o700).create(&project).expect("a folder");
    std::fs::write(home.join("floor.toml"), config).expect("written");
    let store = rusqlite::Connection::open(home.join("floor.db")).expect("a database");
    let folder = floor.folder.path().display().to_string();
    store.execute_batch(&STORE.replace("@FOLDER@", &folder)).expect("the old store");
    drop(store);
    let (hub, clone) = (project.join("hub.git"), project.join("clone.git"));
    import(&hub, &user, HUB);
    import(&clone, &user, CLONE);
    // Where the factory's own settings are, which the next daemon writes.
    git_in(&clone, &user, &["config", "include.path", "shopfloor.config"]);
    for issue in 1..=3 {
        let (place, branch) =
            (project.join(format!("worktrees/issue-{issue}")), format!("fix/issue-{issue}"));
        git_in(&clone, &user, &["worktree", "add", "--quiet", &place.display().to_string(), &branch]);
        let ready = clone.join(format!("worktrees/issue-{issue}/shopfloor-ready"));
        std::fs::write(ready, format!("refs/heads/{branch}")).expect("written");
    }
    // The demo agent's own note that it has asked.
    std::fs::write(clone.join("worktrees/issue-1/demo-question"), "").expect("written");
    let remote = ["remote", "set-url", "shopfloor", &hub.display().to_string()];
    floor.git(&remote);
    floor.git(&["fetch", "--quiet", "shopfloor"]);
    floor.git(&["reset", "--hard", "--quiet", "shopfloor/main"]);
    floor
}

#[test]
fn what_an_earlier_build_left_in_the_middle_of_its_work_is_finished() {
    let floor = left_behind();
    // Whoever looks first migrates it, and keeps what was there.
    let (_, before) = floor.json(&["status"]);
    let state = |issue: u64| {
        let jobs = before["jobs"].as_array().expect("jobs");
        jobs.iter().find(|job| job["issue"] == issue).map(|job| job["state"].clone())
    };
    assert_eq!(
        [1, 2, 3, 4].map(state),
        [Some("needs_human".into()), Some("failed".into()), Some("checking".into()), None]
    );
    let copy = rusqlite::Connection::open(floor.home().join("floor.db.v3.bak")).expect("a backup");
    let version: i64 = copy.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a version");
    assert_eq!(version, 3);

    floor.ok(&["up", "--detach"]);
    wait_for("the dependency lands, and what waited for it", || {
        [3, 4]
            .map(|n| floor.engine().floor().job_of(&floor.project, IssueNumber(n)).and_then(|job| job.end()))
            == [Some(End::Merged); 2]
    });
    // The question outlived the session that asked it.
    assert!(matches!(floor.job(IssueNumber(1)).state, JobState::NeedsHuman { .. }));
    floor.ok(&["answer", "q1", "blue"]);
    wait_for("the answered one lands", || floor.job(IssueNumber(1)).end() == Some(End::Merged));
    assert_eq!(
        ["one.txt", "three.txt", "four.txt"].map(|file| floor.landed(file)),
        ["blue", "three", "four"]
    );
    floor.assert_history_green();
    // Nobody had accepted anything then: what was found is in force, once.
    let engine = floor.engine();
    let accepted = engine.floor().accepted(&floor.project).expect("the configuration was found");
    assert_eq!(accepted.by, Accepter::First);
    // What was blocked is so still, and can be asked for again.
    assert_eq!(floor.job(IssueNumber(2)).end(), Some(End::Failed));
    assert!(floor.ok(&["status"]).contains("label blocked is set"));
    // What the old build had kept is still there.
    let kept = floor.ok(&["rescue", "list"]);
    assert!(kept.contains("dev-sample-2"), "{kept}");
    assert!(run_git(&floor.path("repo"), &floor.path("home"), &["fsck", "--strict"]).status.success());
}

#[test]
fn a_newer_store_is_refused_with_one_line() {
    let floor = left_behind();
    let store = rusqlite::Connection::open(floor.home().join("floor.db")).expect("the store");
    store.pragma_update(None, "user_version", 999).expect("from the future");
    drop(store);
    for command in [&["status"][..], &["up", "--until-idle"], &["issue", "list"]] {
        let refused = floor.run(command);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{command:?}: {said}");
        let [error] = said.lines().collect::<Vec<_>>()[..] else { panic!("{command:?}: {said}") };
        assert!(error.starts_with("error: the store was written by a newer shopfloor (schema 999"), "{said}");
    }
    assert!(!floor.home().join("floor.db.v999.bak").exists());
}
