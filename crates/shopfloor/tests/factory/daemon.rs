//! The daemon in a world that changes under it: its folder, its store, an earlier floor's leftovers.

use crate::floor::{DEMO, Floor, wait_for};
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::End;

fn log(floor: &Floor) -> String {
    std::fs::read_to_string(floor.home().join("daemon.log")).unwrap_or_default()
}

fn lands(floor: &Floor, issue: IssueNumber) {
    wait_for("it lands", || {
        let engine = floor.engine();
        let job = engine.floor().job_of(&floor.project, issue);
        let end = job.and_then(|job| job.end());
        assert!(matches!(end, None | Some(End::Merged)), "{end:?}: {:?}", job.and_then(|j| j.reason.clone()));
        end.is_some()
    });
}

fn add(floor: &Floor, name: &str) {
    let body = format!("demo: write {name}.txt <<{name}");
    floor.ok(&["issue", "add", name, "--body", &body, "--label", "backlog"]);
}

#[test]
fn the_folder_it_was_started_in_may_go() {
    let floor = Floor::new(DEMO);
    let folder = floor.path("passing");
    std::fs::create_dir(&folder).expect("a folder");
    let up = floor.command(&["up", "--detach"]).current_dir(&folder).output().expect("it runs");
    assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));
    std::fs::remove_dir(&folder).expect("removed");
    add(&floor, "one");
    lands(&floor, IssueNumber(1));
    assert_eq!(floor.landed("one.txt"), "one");
}

#[test]
fn its_log_has_levels_and_fields_and_is_begun_anew_without_losing_a_line() {
    let floor = Floor::new(DEMO);
    let [file, before] = ["daemon.log", "daemon.log.1"].map(|name| floor.home().join(name));
    // A line short of its bound.
    std::fs::write(&file, format!("{}\n", "x".repeat(8 * 1024 * 1024 - 1))).expect("a long log");
    let up = ["up", "--detach", "--log", "debug"];
    floor.ok(&up);
    add(&floor, "one");
    lands(&floor, IssueNumber(1));
    floor.ok(&["down"]);
    let read = |path| std::fs::read_to_string(path).expect("a log");
    let old = read(&before);
    let lines: Vec<&str> = old.lines().skip(1).collect();
    assert_eq!(lines.len(), 1, "begun anew after the line that was too much: {lines:?}");
    let new = read(&file);
    let all = format!("{}\n{new}", lines[0]);
    assert!(all.lines().all(|line| line[10..].starts_with('T') && line[19..].starts_with("Z ")), "{all}");
    assert!(all.contains(" DEBUG start_session was performed effect="), "{all}");
    let said = |text: &str| all.lines().filter(|line| line.contains(text)).count();
    let states = ["job state: starting", "job state: reviewing", "job ended: "].map(said);
    assert_eq!(states, [1; 3], "{all}");
    assert!(all.contains(" INFO  job state: working project=sample issue=1\n"), "{all}");
}

#[test]
fn a_store_that_somebody_holds_is_waited_for() {
    let floor = Floor::new(DEMO);
    floor.ok(&["up", "--detach"]);
    let holder = rusqlite::Connection::open(floor.home().join("floor.db")).expect("the store");
    holder.busy_timeout(std::time::Duration::from_secs(30)).expect("patience");
    add(&floor, "one");
    holder.execute_batch("BEGIN IMMEDIATE").expect("held");
    wait_for("the daemon says that it waits", || log(&floor).contains("nothing goes on until the store"));
    holder.execute_batch("COMMIT").expect("released");
    lands(&floor, IssueNumber(1));
    assert_eq!(floor.landed("one.txt"), "one");
}

#[test]
fn a_store_that_is_deleted_or_replaced_stops_it_with_one_line() {
    for replaced in [false, true] {
        let floor = Floor::new(DEMO);
        floor.ok(&["up", "--detach"]);
        let store = floor.home().join("floor.db");
        let copy = floor.path("copy.db");
        // Whole by itself, as a copy that somebody puts back is.
        let open = rusqlite::Connection::open(&store).expect("the store");
        open.execute("VACUUM INTO ?1", [copy.to_str().expect("UTF-8")]).expect("copied");
        drop(open);
        if replaced {
            std::fs::rename(&copy, &store).expect("replaced");
        } else {
            std::fs::remove_file(&store).expect("deleted");
        }
        wait_for("it has ended", || log(&floor).contains("was deleted or replaced while it was in use"));
        wait_for("nobody answers", || !floor.home().join("daemon.sock").exists());
        if !replaced {
            std::fs::rename(&copy, &store).expect("put back");
        }
        // SQLite's own files were the other one's.
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(floor.home().join(format!("floor.db{suffix}")));
        }
        floor.ok(&["status"]);
    }
}

#[test]
fn what_an_earlier_floor_left_is_not_taken_for_new() {
    let floor = Floor::new(DEMO);
    let issue = floor.issue("One", "demo: write one.txt <<one");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.job(issue).end(), Some(End::Merged));
    floor.tmux(&["kill-server"]);
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(floor.home().join(format!("floor.db{suffix}")));
    }
    let refused = floor.run(&["init"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("earlier floor") && said.contains("--set-aside"), "{said}");
    assert!(!floor.home().join("floor.db").exists(), "nothing was begun");
    floor.ok(&["init", "--set-aside"]);
    assert!(!floor.home().join("sessions").exists());
    assert!(floor.home().join("floor.toml").exists());
    let aside = std::fs::read_dir(floor.home()).expect("read").flatten().map(|e| e.path());
    let aside = aside
        .into_iter()
        .find(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("earlier-")));
    assert!(aside.expect("put aside").join("sessions/e1").exists());
    let issue = floor.issue("Two", "demo: write two.txt <<two");
    assert_eq!(issue, IssueNumber(1));
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("two.txt"), "two");
}

#[test]
fn a_store_put_back_from_a_copy_counts_on_from_what_is_there() {
    let floor = Floor::new(DEMO);
    std::fs::create_dir_all(floor.home().join("sessions/e7")).expect("a folder");
    std::fs::create_dir_all(floor.home().join("projects/sample/ci/run-9")).expect("a folder");
    std::fs::write(floor.home().join("sessions/e7/result.json"), "{\"verdict\":\"APPROVE\"}").expect("old");
    let issue = floor.issue("One", "demo: write one.txt <<one");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.job(issue).last_session.map(|e| e.0), Some(8));
}
