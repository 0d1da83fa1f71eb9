//! Somebody's first steps: they commit on their own primary branch while the factory merges into its own.

use crate::floor::{DEMO, Floor, wait_for};
use shopfloor_core::state::End;

fn commit(floor: &Floor, file: &str) -> String {
    std::fs::write(floor.path("repo").join(file), file).expect("written");
    floor.git_insists(&["add", file]);
    floor.git_insists(&["commit", "--quiet", "-m", &format!("add {file}"), "--", file]);
    floor.git(&["rev-parse", "HEAD"])
}

fn together(floor: &Floor) {
    assert_eq!(floor.git(&["rev-parse", "main"]), floor.hub(&["rev-parse", "main"]));
    assert_eq!(floor.git(&["status", "--porcelain", "--untracked-files=no"]), "");
}

#[test]
fn who_commits_the_configuration_and_begins_ends_with_one_history() {
    let floor = Floor::new(DEMO);
    floor.git(&["add", "shopfloor.toml"]);
    floor.git(&["commit", "--quiet", "-m", "configure"]);
    let own = floor.git(&["rev-parse", "HEAD"]);
    let issue = floor.issue("One", "demo: write one.txt <<one");
    let (code, text) = floor.until_idle();
    assert_eq!((code, floor.job(issue).end()), (0, Some(End::Merged)), "{text}");
    floor.hub(&["merge-base", "--is-ancestor", &own, "main"]);
    assert_eq!(floor.landed("one.txt"), "one");
    together(&floor);
}

#[test]
fn commits_that_part_from_the_floors_go_through_the_queue() {
    for method in ["rebase", "squash", "merge"] {
        let floor = Floor::new(&format!("{DEMO}\n[merge]\nmethod = \"{method}\"\n"));
        // Somebody else's, which this checkout does not have.
        commit(&floor, "theirs");
        floor.git(&["push", "--quiet", "shopfloor", "main"]);
        floor.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        let own = commit(&floor, "ours");
        let (code, text) = floor.until_idle();
        assert_eq!(code, 0, "{method}: {text}");
        assert_eq!((floor.landed("theirs").as_str(), floor.landed("ours").as_str()), ("theirs", "ours"));
        together(&floor);
        floor.hub(&["cat-file", "-e", &own]);
        assert_eq!(floor.hub(&["for-each-ref", "refs/heads/checkout"]), "", "its branch is gone");
        // Once more is nothing.
        let before = floor.hub(&["rev-parse", "main"]);
        assert_eq!(floor.until_idle().0, 0);
        assert_eq!(floor.hub(&["rev-parse", "main"]), before, "{method}");
    }
}

#[test]
fn commits_that_conflict_are_told_with_what_to_type_and_that_works() {
    let floor = Floor::new(DEMO);
    std::fs::write(floor.path("repo/README"), "theirs\n").expect("written");
    floor.git(&["commit", "--quiet", "-am", "theirs"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    floor.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    std::fs::write(floor.path("repo/README"), "ours\n").expect("written");
    floor.git(&["commit", "--quiet", "-am", "ours"]);
    let before = floor.git(&["rev-parse", "main"]);
    floor.until_idle();
    assert_eq!(floor.git(&["rev-parse", "main"]), before, "it is left as it is");
    floor.until_idle();
    let events = floor.ok(&["events"]);
    assert!(events.contains("`git pull --rebase shopfloor main`"), "{events}");
    // The person does so, and resolves it their way.
    floor.git_insists(&[
        "-c",
        "rebase.autoStash=true",
        "pull",
        "--quiet",
        "--rebase",
        "-X",
        "theirs",
        "shopfloor",
        "main",
    ]);
    floor.until_idle();
    assert_eq!(floor.landed("README"), "ours");
    together(&floor);
}

#[test]
fn what_is_committed_while_the_daemon_runs_is_taken_in() {
    let floor = Floor::new(DEMO);
    floor.ok(&["up", "--detach"]);
    let own = commit(&floor, "mine");
    wait_for("it is taken in", || floor.hub(&["rev-parse", "main"]) == own);
    // Also when git has packed the branch away, and from another branch.
    floor.git(&["pack-refs", "--all"]);
    floor.git(&["checkout", "--quiet", "-b", "topic"]);
    floor.git(&["commit", "--quiet", "--allow-empty", "-m", "topic"]);
    floor.git(&["branch", "--force", "main", "topic"]);
    let own = floor.git(&["rev-parse", "main"]);
    wait_for("it is taken in", || floor.hub(&["rev-parse", "main"]) == own);
}

#[test]
fn init_commits_its_file_if_asked_and_nothing_else() {
    let floor = Floor::new(DEMO);
    floor.git(&["checkout", "--quiet", "-b", "topic"]);
    let refused = |says: &str| {
        let output = floor.run(&["init", "--commit"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says), "{said}");
    };
    refused("on topic, not main");
    floor.git(&["checkout", "--quiet", "main"]);
    std::fs::write(floor.path("repo/staged"), "x").expect("written");
    floor.git(&["add", "staged"]);
    let output = floor.run(&["init", "--commit", "--allow-dirty"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("staged already"));
    floor.git(&["reset", "--quiet"]);
    // The user's hook has its say, and theirs is the name.
    let hook = floor.path("repo/.git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().expect("a folder")).expect("hooks");
    std::fs::write(&hook, "#!/bin/sh\necho not today >&2\nexit 1\n").expect("written");
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("mode");
    let output = floor.run(&["init", "--commit"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("not today"));
    assert_eq!(floor.git(&["diff", "--cached", "--name-only"]), "");
    std::fs::remove_file(&hook).expect("removed");
    assert!(floor.ok(&["init", "--commit"]).contains("committed shopfloor.toml"));
    assert_eq!(floor.git(&["show", "--name-only", "--format=%an", "HEAD"]), "Somebody\n\nshopfloor.toml");
    assert_eq!(floor.git(&["rev-parse", "main"]), floor.hub(&["rev-parse", "main"]));
    assert!(floor.ok(&["init", "--commit"]).contains("kept shopfloor.toml"), "once is enough");
}
