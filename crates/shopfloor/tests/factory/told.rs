//! Who is told what became of a change: its pull request, and the project's own commands.

use crate::branches::{PEOPLE, floor, push};
use crate::floor::{Floor, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::Path;

/// A line to `told` beside the checkout.
const TELLS: &str = r#"
[merge]
on_landed = ["sh", "-c", 'echo "$SHOPFLOOR_OUTCOME $SHOPFLOOR_BRANCH $SHOPFLOOR_COMMIT $SHOPFLOOR_BASE $SHOPFLOOR_AUTHOR" >> "$SHOPFLOOR_CHECKOUT/../told"']
on_not_landed = ["sh", "-c", 'echo "$SHOPFLOOR_OUTCOME $SHOPFLOOR_BRANCH $SHOPFLOOR_LOG $SHOPFLOOR_REASON" >> "$SHOPFLOOR_CHECKOUT/../told"; exit 4']
"#;

fn told(floor: &Floor) -> Vec<String> {
    let text = std::fs::read_to_string(floor.path("told")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn entry(floor: &Floor, branch: &str) -> Value {
    floor.json(&["explain", branch]).1["entry"].clone()
}

#[test]
fn a_command_is_run_once_for_what_landed_and_for_what_did_not() {
    let floor = floor(&format!("{PEOPLE}{TELLS}"));
    let before = floor.hub(&["rev-parse", "main"]);
    push(&floor, "alice/fix", "a.txt", "one");
    floor.ok(&["merge-queue", "add", "alice/fix", "--approve"]);
    // Without a daemon too: all of it is done when that returns.
    floor.ok(&["merge-queue", "process"]);
    let commit = floor.hub(&["rev-parse", "main"]);
    let author = floor.hub(&["log", "-1", "--format=%an <%ae>", "main^2"]);
    assert_eq!(told(&floor), [format!("landed alice/fix {commit} {before} {author}")]);
    let shown = entry(&floor, "alice/fix");
    assert_eq!((&shown["base"], &shown["command"]), (&json!(before), &json!("ran")), "{shown}");
    assert_eq!((&shown["author"], shown["run"].is_u64()), (&json!(author), true), "{shown}");

    push(&floor, "alice/broken", "b.txt", "BROKEN");
    floor.ok(&["merge-queue", "add", "alice/broken", "--approve"]);
    floor.run(&["merge-queue", "process"]);
    let said = told(&floor).pop().expect("a line");
    let words: Vec<&str> = said.split(' ').collect();
    assert_eq!(words[..2], ["failed", "alice/broken"], "{said}");
    assert!(Path::new(words[2]).is_file() && said.contains("does not pass"), "{said}");
    // What goes wrong with the command itself is shown, and nothing more.
    assert_eq!(entry(&floor, "alice/broken")["command"], "exit code 4");
    assert!(floor.ok(&["events"]).contains("the command on_not_landed for entry 2: exit code 4"));
    floor.until_idle();
    assert_eq!(told(&floor).len(), 2);
}

/// A command that says that it began, and goes on when it is let through.
fn waiting_command(floor: &Floor) -> std::fs::File {
    let (fifo, began) = (floor.path("go-on"), floor.path("told"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let script = format!("echo $SHOPFLOOR_BRANCH >> {}; read _ < {}", began.display(), fifo.display());
    floor.configure(|config| format!("{config}\n[merge]\non_landed = [\"sh\", \"-c\", '{script}']\n"));
    std::fs::File::options().read(true).write(true).open(fifo).expect("it opens")
}

#[test]
fn one_that_hangs_holds_up_no_landing_and_one_that_is_cut_short_is_not_run_again() {
    let floor = Floor::new(PEOPLE);
    let mut go_on = waiting_command(&floor);
    assert_eq!(floor.until_idle().0, 0);
    floor.ok(&["up", "--detach"]);
    for branch in ["one", "two"] {
        push(&floor, branch, &format!("{branch}.txt"), "x");
        floor.ok(&["merge-queue", "add", branch, "--approve"]);
        wait_for("it lands", || entry(&floor, branch)["status"] == "merged");
        floor.git_insists(&["pull", "--quiet", "--ff-only", "shopfloor", "main"]);
    }
    // Both have landed; the first is still being told, and the second comes after it.
    wait_for("it is told", || !told(&floor).is_empty());
    assert_eq!((told(&floor), &entry(&floor, "one")["command"]), (vec!["one".to_owned()], &Value::Null));

    // The daemon dies in the middle of the first.
    let holder = std::fs::read_to_string(floor.home().join("daemon.lock")).expect("the lock file");
    let pid = holder.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("a pid");
    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL).expect("killed");
    wait_for("it is gone", || floor.run(&["up", "--detach"]).status.success());
    wait_for("the second is told", || told(&floor).len() == 2);
    let first = entry(&floor, "one")["command"].clone();
    assert!(first.as_str().is_some_and(|how| how.contains("not run again")), "{first}");
    std::io::Write::write_all(&mut go_on, b"\n").expect("written");
    wait_for("the second is done", || entry(&floor, "two")["command"] == "ran");
    floor.ok(&["down"]);
    assert_eq!(told(&floor), ["one", "two"]);
}
