//! Runs of formulas on a real floor: commands of the factory's, steps of an agent's, what both leave, and what dies in
//! between.

use crate::floor::{DEMO, Floor, wait_for};
use crate::kills::up_killed_after;
use serde_json::{Value, json};

/// Looks, has the agent write a file, and counts what it committed.
const TIDY: &str = r#"
description = "Tidy {{ area }}"
[vars.area]
default = "docs"
[[steps]]
id = "look"
run = ["git", "ls-files", "--", "*.sh"]
[[steps]]
id = "write"
needs = ["look"]
description = """
Write about {{ area }}.
demo: write {{ area }}.txt <<tidy
"""
[[steps]]
id = "count"
needs = ["write"]
run = ["git", "log", "--format=%s", "-1"]
[[steps]]
id = "tell"
needs = ["count"]
description = "Say what came of it."
"#;

fn with(formula: &str, config: &str) -> Floor {
    let floor = Floor::new(&format!("{DEMO}{config}"));
    write(&floor, "tidy", formula);
    floor.accept();
    floor
}

fn write(floor: &Floor, name: &str, formula: &str) {
    let folder = floor.path("repo/.shopfloor/formulas");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(format!("{name}.toml")), formula).expect("written");
}

fn run(floor: &Floor) -> Value {
    floor.json(&["run", "show", "1"]).1
}

fn step<'a>(run: &'a Value, id: &str) -> &'a Value {
    run["steps"].as_array().expect("a list").iter().find(|step| step["id"] == id).expect("a step")
}

#[test]
fn a_run_does_its_steps_in_order_and_what_it_leaves_lands_like_any_change() {
    let floor = with(TIDY, "");
    assert_eq!(floor.ok(&["formula", "run", "tidy", "--var", "area=notes"]).lines().next(), Some("run 1"));
    let (code, said) = floor.until_idle();
    assert_eq!(code, 0, "{said}");
    let run = run(&floor);
    assert_eq!((&run["state"], &run["why"]), (&json!("done"), &Value::Null), "{run}");
    assert_eq!(step(&run, "look")["output"], "check.sh");
    assert_eq!(step(&run, "write")["note"], "did write");
    assert_eq!(step(&run, "count")["output"], "Carry out run 1");
    assert!(run["steps"].as_array().expect("a list").iter().all(|step| step["attempts"] == 1), "{run}");
    // It was checked, reviewed and queued as what an issue asks for is.
    assert_eq!(floor.landed("notes.txt"), "tidy");
    assert_eq!(floor.json(&["pr", "show", "1"]).1["reviews"][0]["verdict"], "APPROVE");
    floor.assert_history_green();
    assert!(!floor.home().join("projects/sample/worktrees/dev-r1").exists());
    // It can be run again.
    assert_eq!(floor.ok(&["formula", "run", "tidy"]).lines().next(), Some("run 2"));
}

#[test]
fn a_run_of_commands_starts_no_agent() {
    let floor = with("[[steps]]\nid = \"look\"\nrun = [\"ls\"]\n", "");
    floor.ok(&["formula", "run", "tidy"]);
    assert_eq!(floor.until_idle().0, 0);
    let found = run(&floor);
    assert_eq!((&found["state"], &found["session"]), (&json!("done"), &Value::Null));
    assert!(floor.engine().floor().sessions.iter().next().is_none());
    assert!(!floor.home().join("projects/sample/worktrees/dev-r1").exists());
}

#[test]
fn a_command_may_say_that_there_is_nothing_to_do_or_fail() {
    let two = |code: u8| {
        let first = format!("[[steps]]\nid = \"look\"\nrun = [\"sh\", \"-c\", \"echo seen; exit {code}\"]\n");
        format!("{first}[[steps]]\nid = \"write\"\nneeds = [\"look\"]\ntitle = \"Write\"\n")
    };
    let floor = with(&two(78), "");
    floor.ok(&["formula", "run", "tidy"]);
    assert_eq!(floor.until_idle().0, 0);
    assert_eq!(run(&floor)["state"], "nothing_to_do");
    write(&floor, "tidy", &two(3));
    floor.accept();
    floor.ok(&["formula", "run", "tidy"]);
    assert_eq!(floor.until_idle().0, 3);
    let second = floor.json(&["run", "show", "2"]).1;
    assert_eq!(
        (&second["state"], &second["why"]),
        (&json!("failed"), &json!("step look failed: exit code 3"))
    );
    assert_eq!(step(&second, "look")["output"], "seen");
    assert!(floor.engine().floor().sessions.iter().next().is_none(), "no token was spent");
}

#[test]
fn what_is_over_is_not_done_again_whatever_dies_in_between() {
    let floor = with(TIDY, "");
    floor.ok(&["formula", "run", "tidy"]);
    for lines in 1..=7 {
        if up_killed_after(&floor, lines) {
            break;
        }
        floor.tmux(&["kill-server"]);
    }
    let (code, said) = floor.until_idle();
    assert_eq!(code, 0, "{said}");
    let run = run(&floor);
    assert_eq!(run["state"], "done", "{run}");
    assert_eq!(floor.landed("docs.txt"), "tidy");
    // What the successors were told is on record: nobody said twice of a step that it was done.
    let entries = floor.json(&["events", "--limit", "1000"]).1;
    let entries = entries.as_array().expect("a list");
    let done = |id: &str| {
        let text = format!("step {id} is done");
        entries.iter().filter(|entry| entry["text"].as_str().is_some_and(|t| t.contains(&text))).count()
    };
    for id in ["look", "write", "count", "tell"] {
        assert_eq!(done(id), 1, "step {id}");
    }
}

#[test]
fn a_step_is_done_when_its_verifier_says_so() {
    let formula = r#"
[[steps]]
id = "write"
description = "demo: write docs.txt <<x"
verify = "docs"
[[steps]]
id = "tell"
needs = ["write"]
description = "Say it."
"#;
    let floor = with(formula, "[verify.docs]\nchecks = [{ files = \"docs.txt\" }, { git = \"clean\" }]\n");
    floor.ok(&["formula", "run", "tidy"]);
    assert_eq!(floor.until_idle().0, 0);
    assert_eq!(run(&floor)["state"], "done");
    // Its verifier is not content.
    floor.configure(|text| text.replace("files = \"docs.txt\"", "files = \"never.txt\""));
    floor.ok(&["formula", "run", "tidy"]);
    assert_eq!(floor.until_idle().0, 3);
    let second = floor.json(&["run", "show", "2"]).1;
    assert_eq!(second["state"], "failed");
    assert!(second["why"].as_str().is_some_and(|why| why.contains("never.txt")), "{second}");
    // A verifier that there is not.
    write(&floor, "tidy", &formula.replace("verify = \"docs\"", "verify = \"dosc\""));
    assert_eq!(floor.run(&["formula", "check"]).status.code(), Some(2));
    floor.accept();
    let refused = floor.run(&["formula", "run", "tidy"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no [verify.dosc]"));
}

/// A person writes a formula and the agents it names together, and checks both before accepting them.
#[test]
fn a_formula_is_checked_against_what_the_checkout_says_now() {
    let floor = with("role = \"herald\"\n[[steps]]\nid = \"say\"\ndescription = \"Say it.\"\n", "");
    let check = |more: &[&str]| {
        let done = floor.run(&[&["formula", "check"], more].concat());
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let file = ".shopfloor/formulas/tidy.toml";
    for more in [&[][..], &[file]] {
        let (code, said) = check(more);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("tidy.toml:1:8: there is no [agents.herald]"), "{said}");
    }
    floor.edit(|text| format!("{text}\n[agents.herald]\nruntime = \"demo\"\n"));
    for more in [&[][..], &[file]] {
        assert_eq!(check(more).0, Some(0), "{}", check(more).1);
    }
    // What is run is what was accepted.
    let refused = floor.run(&["formula", "run", "tidy"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("formula `tidy`: there is no [agents.herald]"), "{said}");
}

#[test]
fn a_run_is_explained_while_it_waits_and_when_it_is_over() {
    let floor = with("[[steps]]\nid = \"look\"\nrun = [\"true\"]\n", "");
    floor.ok(&["pause", "--reason", "lunch"]);
    floor.ok(&["formula", "run", "tidy"]);
    for asked in [&["runs"][..], &["run", "show", "1"], &["explain", "r1"]] {
        let said = floor.ok(asked);
        assert!(said.contains("its project is paused") && said.contains("lunch"), "{asked:?}: {said}");
    }
    let shown = floor.json(&["explain", "r1"]).1;
    assert_eq!((&shown["run"]["state"], &shown["job"]), (&json!("waiting"), &Value::Null));
    floor.ok(&["resume", "--all"]);
    assert_eq!(floor.until_idle().0, 0);
    let said = floor.ok(&["explain", "r1"]);
    assert!(said.starts_with("run 1 of tidy, asked for by ") && said.contains(": done\n"), "{said}");
    assert!(said.contains("  job 1: done since ") && said.contains("run 1 of tidy ended: done"), "{said}");
    let shown = floor.json(&["explain", "r1"]).1;
    assert_eq!((&shown["run"]["state"], &shown["job"]["kind"]), (&json!("done"), &json!("run")));
    let none = floor.run(&["explain", "r2"]);
    assert_eq!(none.status.code(), Some(4), "{}", String::from_utf8_lossy(&none.stderr));
}

#[test]
fn a_run_is_cancelled_with_its_command() {
    let floor =
        with("[[steps]]\nid = \"long\"\nrun = [\"sh\", \"-c\", \"echo $$ > pid; exec sleep 600\"]\n", "");
    floor.ok(&["formula", "run", "tidy"]);
    floor.ok(&["up", "--detach"]);
    let file = floor.home().join("projects/sample/worktrees/dev-r1/pid");
    let pid = || std::fs::read_to_string(&file).unwrap_or_default().trim().to_owned();
    wait_for("the command begins", || !pid().is_empty());
    let process = format!("/proc/{}", pid());
    let busy = floor.run(&["formula", "run", "tidy"]);
    assert_eq!(busy.status.code(), Some(5), "one run of a formula at a time");
    let job = floor.json(&["status"]).1["jobs"][0].clone();
    assert_eq!((&job["run"], &job["issue"], &job["kind"]), (&json!(1), &Value::Null, &json!("run")), "{job}");
    floor.ok(&["run", "cancel", "1"]);
    wait_for("the command is ended", || !std::path::Path::new(&process).exists());
    wait_for("the run is over", || run(&floor)["state"] == "cancelled");
    let long = step(&run(&floor), "long").clone();
    assert_eq!((&long["state"], &long["can_be_done"]), (&json!("failed"), &json!(false)), "{long}");
    assert_eq!(long["note"], "stopped: the run was cancelled");
    assert_eq!(floor.run(&["run", "cancel", "1"]).status.code(), Some(1));
}

#[test]
fn only_a_person_has_a_formula_run_and_only_what_they_accepted() {
    let floor = with(TIDY, "");
    let mut agent = floor.command(&["formula", "run", "tidy"]);
    assert_eq!(agent.env("SHOPFLOOR_SESSION", "1").output().expect("it runs").status.code(), Some(6));
    // What the file says now is not what is run.
    write(&floor, "tidy", "[[steps]]\nid = \"other\"\nrun = [\"false\"]\n");
    write(&floor, "new", "[[steps]]\nid = \"other\"\nrun = [\"false\"]\n");
    let unknown = floor.run(&["formula", "run", "new"]);
    assert_eq!(unknown.status.code(), Some(4));
    let dry = floor.json(&["formula", "run", "tidy", "--dry-run"]).1;
    assert_eq!((&dry["lifetime"], &dry["idle"]), (&json!("8h"), &Value::Null), "{dry}");
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("not accepted yet"));
    let said = floor.ok(&["formula", "run", "tidy"]);
    assert!(said.contains("what was accepted is run"), "{said}");
    assert_eq!(run(&floor)["steps"].as_array().map(Vec::len), Some(4));
    // What is wrong with one is said where it stands.
    write(&floor, "new", "[[steps]]\nid = \"a\"\nneeds = [\"a\"]\ntitle = \"A\"\n");
    let wrong = floor.run(&["formula", "check"]);
    assert_eq!(wrong.status.code(), Some(2));
    let said = String::from_utf8_lossy(&wrong.stdout).into_owned();
    assert!(said.contains("new.toml:3:1: steps wait for one another: a -> a"), "{said}");
}
